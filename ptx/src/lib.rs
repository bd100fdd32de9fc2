//! PTX text: lexer, parser, printer and the instruction table.
//!
//! [`parse`] reads a text into an [`ast::Module`]; printing a module, or any part of it, gives text that reads back to the same tree.
//!
//! ```
//! let module = nstage_ptx::parse(".version 7.0\n.target sm_80\n.visible .entry nothing() { ret; }")?;
//! assert_eq!(module.items.len(), 1);
//!
//! let errors = nstage_ptx::parse(".version 7.0\n.target sm_80\n.visible .entry nothing() { add.s32 %r1, %r2 }").unwrap_err();
//! assert!(errors.to_string().starts_with("3:46: got `}`, expected `,` or `;` after an operand"));
//! # Ok::<(), nstage_ptx::ParseErrors>(())
//! ```

pub mod ast;
pub mod body;
pub mod cfg;
pub mod comments;
mod error;
mod lexer;
mod parser;
mod print;
mod retain;
pub mod table;
pub mod uses;
mod words;

pub use error::{Excerpt, MAX_ERRORS, ParseError, ParseErrors};
pub use parser::{MAX_BYTES, MAX_NESTING, parse};
pub use retain::UnknownEntry;
