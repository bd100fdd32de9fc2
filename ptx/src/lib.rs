//! PTX text: lexer, parser, printer and the instruction table.

pub mod ast;
