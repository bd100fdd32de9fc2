//! Variables, parameters and their initialisers.

use super::{Parsed, Parser};
use crate::ast::{Init, Linkage, Space, Type, Variable};
use crate::lexer::TokenKind;

/// Dimensions of an array, and elements an initialiser may hold in all: sixteen million, more than any file has bytes for.
const MAX_DIMENSIONS: usize = 16;

/// Everything in front of a declared name, shared by all names of one declaration.
struct Prefix {
    align: Option<u32>,
    vector: u8,
    ty: Type,
    ptr: Option<String>,
    attribute: Option<String>,
}

impl Parser<'_> {
    /// The space that the current token names.
    pub(super) fn at_space(&self) -> Option<Space> {
        if self.kind() != TokenKind::Dotted {
            return None;
        }
        Space::parse(&self.here()[1..])
    }

    /// `.space …prefix… name, name = init;`, the current token being the space. Adds each variable.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        add: &mut dyn FnMut(Variable),
    ) -> Parsed<()> {
        let Some(space) = self.at_space() else {
            return self.fail("a state space");
        };
        self.advance();
        let prefix = self.prefix()?;
        loop {
            let mut variable = self.declarator(linkage, space, &prefix)?;
            if self.accept(TokenKind::Equals) {
                variable.init = Some(self.initialiser()?);
            }
            add(variable);
            if !self.accept(TokenKind::Comma) {
                return self.expect_end("`,`, `=` or `;` after a declared name");
            }
        }
    }

    /// A parenthesised parameter list, empty where there are no parentheses.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable>> {
        let mut list = Vec::new();
        if !self.accept(TokenKind::OpenParen) || self.accept(TokenKind::CloseParen) {
            return Ok(list);
        }
        loop {
            let space = match self.at_space() {
                Some(space @ (Space::Param | Space::Reg)) => space,
                _ => return self.fail("`.param` or `.reg`"),
            };
            self.advance();
            let prefix = self.prefix()?;
            list.push(self.declarator(Linkage::Local, space, &prefix)?);
            if !self.accept(TokenKind::Comma) {
                self.expect(TokenKind::CloseParen, "`,` or `)` after a parameter")?;
                return Ok(list);
            }
        }
    }

    /// `.align 16 .v4 .f32 .ptr .global .align 8`, in any order that compilers write.
    fn prefix(&mut self) -> Parsed<Prefix> {
        let mut align = None;
        let mut vector = 1;
        let mut ty = None;
        let mut ptr = None;
        let mut attribute = None;
        while self.kind() == TokenKind::Dotted {
            let from = self.at;
            match self.here() {
                ".align" => {
                    self.advance();
                    align = Some(self.small("an alignment in bytes")?);
                }
                ".v2" => vector = self.vector_width(2),
                ".v4" => vector = self.vector_width(4),
                ".v8" => vector = self.vector_width(8),
                ".attribute" => attribute = Some(self.attribute()?),
                ".ptr" => {
                    self.advance();
                    while self.kind() == TokenKind::Dotted {
                        if self.accept_dotted(".align") {
                            self.small::<u32>("an alignment in bytes")?;
                        } else {
                            self.advance();
                        }
                    }
                    ptr = Some(self.text_since(from));
                }
                word => {
                    let Some(found) = Type::parse(&word[1..]) else {
                        return self.fail("a type, `.align`, `.v2`, `.v4` or `.ptr`");
                    };
                    self.advance();
                    ty = Some(found);
                }
            }
        }
        let Some(ty) = ty else {
            return self.fail("a type");
        };
        Ok(Prefix {
            align,
            vector,
            ty,
            ptr,
            attribute,
        })
    }

    fn vector_width(&mut self, width: u8) -> u8 {
        self.advance();
        width
    }

    /// `.attribute(…)`, as text without the outer parentheses.
    fn attribute(&mut self) -> Parsed<String> {
        self.advance();
        self.expect(TokenKind::OpenParen, "`(` after `.attribute`")?;
        let from = self.at;
        let mut open = 1_usize;
        loop {
            match self.kind() {
                TokenKind::OpenParen => open += 1,
                TokenKind::CloseParen => open -= 1,
                TokenKind::Dotted | TokenKind::Number | TokenKind::Comma | TokenKind::Word => {}
                _ => return self.fail("`)` after an attribute"),
            }
            if open == 0 {
                let text = if self.at == from {
                    String::new()
                } else {
                    self.text_since(from)
                };
                self.advance();
                return Ok(text);
            }
            self.advance();
        }
    }

    /// `name`, `name<10>`, `name[4][]`.
    fn declarator(&mut self, linkage: Linkage, space: Space, prefix: &Prefix) -> Parsed<Variable> {
        let name = self.expect(TokenKind::Word, "a name")?;
        let mut register_range = None;
        if self.accept(TokenKind::Less) {
            register_range = Some(self.small("how many registers")?);
            self.expect(TokenKind::Greater, "`>`")?;
        }
        let mut dims = Vec::new();
        while self.kind() == TokenKind::OpenBracket {
            if dims.len() == MAX_DIMENSIONS {
                return self.fail("at most sixteen dimensions");
            }
            self.advance();
            if self.accept(TokenKind::CloseBracket) {
                dims.push(0);
                continue;
            }
            dims.push(self.integer("a number of elements")?);
            self.expect(TokenKind::CloseBracket, "`]`")?;
        }
        Ok(Variable {
            linkage,
            space,
            align: prefix.align,
            vector: prefix.vector,
            ty: prefix.ty,
            name: self.text(name).to_owned(),
            register_range,
            dims,
            ptr: prefix.ptr.clone(),
            attribute: prefix.attribute.clone(),
            init: None,
            pos: name.pos,
        })
    }

    fn initialiser(&mut self) -> Parsed<Init> {
        if self.kind() != TokenKind::OpenBrace {
            return self.initial_value();
        }
        self.advance();
        self.nested("an initialiser", |parser| {
            let mut list = Vec::new();
            loop {
                if parser.accept(TokenKind::CloseBrace) {
                    return Ok(Init::List(list));
                }
                list.push(parser.initialiser()?);
                if !parser.accept(TokenKind::Comma) {
                    parser.expect(TokenKind::CloseBrace, "`,` or `}` in an initialiser")?;
                    return Ok(Init::List(list));
                }
            }
        })
    }

    /// A number, a symbol with an offset, `generic(symbol)`, or `0xFF(symbol)`.
    fn initial_value(&mut self) -> Parsed<Init> {
        if self.kind() == TokenKind::Number && self.kind_at(1) == TokenKind::OpenParen {
            let mask = self.small("a byte mask")?;
            self.advance();
            let symbol = self.symbol(Some(mask))?;
            self.expect(TokenKind::CloseParen, "`)` after a masked symbol")?;
            return Ok(symbol);
        }
        if self.kind() == TokenKind::Word && self.here() != "WARP_SZ" {
            return self.symbol(None);
        }
        Ok(Init::Number(self.immediate()?))
    }

    fn symbol(&mut self, mask: Option<u64>) -> Parsed<Init> {
        let generic = self.here() == "generic" && self.kind_at(1) == TokenKind::OpenParen;
        if generic {
            self.advance();
            self.advance();
        }
        let name = self.expect(TokenKind::Word, "a symbol")?;
        let inner = self.offset()?;
        if generic {
            self.expect(TokenKind::CloseParen, "`)` after `generic(`")?;
        }
        let outer = if generic { self.offset()? } else { 0 };
        let name = self.text(name).to_owned();
        Ok(Init::Symbol {
            name,
            offset: inner.wrapping_add(outer),
            generic,
            mask,
        })
    }

    /// `+ 8`, `- 8`, `+-8`, any number of them, or nothing; the sum in bytes.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0_i64;
        loop {
            let negative = match self.kind() {
                TokenKind::Plus => false,
                TokenKind::Minus => true,
                _ => return Ok(sum),
            };
            self.advance();
            let term = self.offset_term()?;
            sum = if negative {
                sum.wrapping_sub(term)
            } else {
                sum.wrapping_add(term)
            };
        }
    }
}
