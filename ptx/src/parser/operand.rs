//! Operands.

use super::{Parsed, Parser};
use crate::ast::{Address, AddressBase, Operand};
use crate::lexer::TokenKind;

/// What the message says where no operand begins.
const OPERAND: &str = "an operand";

impl Parser<'_> {
    /// The operands of an instruction, up to its `;`. Only a call has parenthesised lists; elsewhere `(` begins a constant.
    pub(super) fn operands(&mut self, call: bool) -> Parsed<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.kind() == TokenKind::Semicolon {
            return Ok(operands);
        }
        loop {
            let operand = match self.kind() {
                TokenKind::OpenParen if call => self.list()?,
                _ => self.operand()?,
            };
            operands.push(operand);
            if !self.accept(TokenKind::Comma) {
                return Ok(operands);
            }
        }
    }

    fn operand(&mut self) -> Parsed<Operand> {
        match self.kind() {
            TokenKind::OpenBracket => self.address(),
            TokenKind::OpenBrace => Ok(Operand::Vector(self.vector()?)),
            _ => self.scalar(),
        }
    }

    /// An operand without brackets of its own, as it also stands in vectors and lists.
    fn scalar(&mut self) -> Parsed<Operand> {
        let first = self.single()?;
        if self.kind() != TokenKind::Pipe || !matches!(first, Operand::Name { .. } | Operand::Sink)
        {
            return Ok(first);
        }
        self.advance();
        let second = self.single()?;
        Ok(Operand::Pair(Box::new(first), Box::new(second)))
    }

    fn single(&mut self) -> Parsed<Operand> {
        if self.at_constant() || matches!(self.kind(), TokenKind::OpenParen | TokenKind::Dotted) {
            return Ok(Operand::Immediate(self.immediate()?));
        }
        if self.accept(TokenKind::Bang) {
            let name = self.expect(TokenKind::Word, "a predicate after `!`")?;
            return Ok(Operand::Not(self.text(name).to_owned()));
        }
        let name = self.expect(TokenKind::Word, OPERAND)?;
        let name = self.text(name);
        if name == "_" {
            return Ok(Operand::Sink);
        }
        let component = self.component();
        if component.is_none() && matches!(self.kind(), TokenKind::Plus | TokenKind::Minus) {
            return Ok(Operand::Offset {
                name: name.to_owned(),
                offset: self.offset()?,
            });
        }
        Ok(Operand::Name {
            name: name.to_owned(),
            component,
        })
    }

    /// `.x` of `%tid.x`.
    fn component(&mut self) -> Option<char> {
        if self.kind() != TokenKind::Dotted {
            return None;
        }
        let mut letters = self.here()[1..].chars();
        let letter = letters
            .next()
            .filter(|letter| "xyzwrgba".contains(*letter))?;
        if letters.next().is_some() {
            return None;
        }
        self.advance();
        Some(letter)
    }

    /// `{a, b}`, the current token being the brace.
    fn vector(&mut self) -> Parsed<Vec<Operand>> {
        self.advance();
        let mut elements = Vec::new();
        loop {
            elements.push(self.scalar()?);
            if !self.accept(TokenKind::Comma) {
                self.expect(TokenKind::CloseBrace, "`,` or `}` in a vector")?;
                return Ok(elements);
            }
        }
    }

    /// `(a, b)` of a call, the current token being the parenthesis.
    fn list(&mut self) -> Parsed<Operand> {
        self.advance();
        let mut elements = Vec::new();
        if self.accept(TokenKind::CloseParen) {
            return Ok(Operand::List(elements));
        }
        loop {
            elements.push(self.scalar()?);
            if !self.accept(TokenKind::Comma) {
                self.expect(TokenKind::CloseParen, "`,` or `)` in a list")?;
                return Ok(Operand::List(elements));
            }
        }
    }

    /// `[base+offset]` or `[map, {x, y}]`, the current token being the bracket.
    fn address(&mut self) -> Parsed<Operand> {
        self.advance();
        let base = if self.at_constant() || self.kind() == TokenKind::OpenParen {
            AddressBase::Number(self.integer("an address")?)
        } else {
            let name = self.expect(TokenKind::Word, "a register, a variable or a number")?;
            AddressBase::Name(self.text(name).to_owned())
        };
        let offset = self.offset()?;
        let mut coordinates = None;
        if self.accept(TokenKind::Comma) {
            if self.kind() != TokenKind::OpenBrace {
                return self.fail("coordinates in braces");
            }
            coordinates = Some(self.vector()?);
        }
        self.expect(TokenKind::CloseBracket, "`+`, `-` or `]` in an address")?;
        Ok(Operand::Address(Address {
            base,
            offset,
            coordinates,
        }))
    }
}
