//! Module level: the header, variables, functions and the directives that only tools read.

use super::{Parsed, Parser};
use crate::ast::{Directive, Function, Item, Linkage, Module, Version};
use crate::lexer::TokenKind;

/// The header's lines, each at most once.
#[derive(Default)]
struct Header {
    version: Option<Version>,
    target: Option<Vec<String>>,
    address_size: Option<u8>,
}

impl Parser<'_> {
    /// The whole text. `None` where it has no header; then the error is recorded.
    pub(super) fn module(&mut self) -> Option<Module> {
        let mut header = Header::default();
        let mut items = Vec::new();
        while self.kind() != TokenKind::End && !self.exhausted() {
            let from = self.at;
            if self.item(&mut header, &mut items).is_err() {
                // Start over at the item's first token, so that its braces are seen in pairs.
                self.at = from;
                self.nesting = 0;
                self.recover_item();
            }
        }
        let version = header
            .version
            .or_else(|| self.missing("`.version` in front of everything else"));
        let target = header
            .target
            .or_else(|| self.missing("`.target` after `.version`"));
        let address_size = header.address_size.unwrap_or(64);
        Some(Module {
            version: version?,
            target: target?,
            address_size,
            items,
        })
    }

    /// A header line that the whole text lacks is reported at its first token.
    fn missing<T>(&mut self, expected: &str) -> Option<T> {
        let at = std::mem::take(&mut self.at);
        let result: Parsed<T> = self.fail(expected);
        self.at = at;
        result.ok()
    }

    fn item(&mut self, header: &mut Header, items: &mut Vec<Item>) -> Parsed<()> {
        const EXPECTED: &str =
            "a directive: `.entry`, `.func`, `.global`, `.const`, `.shared`, `.file`, …";
        if self.kind() != TokenKind::Dotted {
            return self.fail(EXPECTED);
        }
        match self.here() {
            ".version" => self.once(header.version.is_some())?,
            ".target" => self.once(header.target.is_some())?,
            ".address_size" => self.once(header.address_size.is_some())?,
            ".file" => {
                items.push(self.file()?);
                return Ok(());
            }
            ".section" => {
                items.push(self.section()?);
                return Ok(());
            }
            ".pragma" | ".alias" => {
                items.push(self.text_directive()?);
                return Ok(());
            }
            _ => return self.symbol_item(items, EXPECTED),
        }
        let word = self.advance();
        match self.text(word) {
            ".version" => header.version = Some(self.version()?),
            ".target" => header.target = Some(self.target()?),
            _ => header.address_size = Some(self.address_size()?),
        }
        Ok(())
    }

    fn once(&mut self, seen: bool) -> Parsed<()> {
        if seen {
            let found = format!("a second `{}`", self.here());
            return self.report(self.token(), found, "one for the whole text");
        }
        Ok(())
    }

    fn version(&mut self) -> Parsed<Version> {
        const EXPECTED: &str = "a version such as 8.0";
        if self.kind() != TokenKind::Number {
            return self.fail(EXPECTED);
        }
        let parts = self.here().split_once('.');
        let version = parts.and_then(|(major, minor)| {
            Some(Version {
                major: major.parse().ok()?,
                minor: minor.parse().ok()?,
            })
        });
        let Some(version) = version else {
            return self.fail(EXPECTED);
        };
        self.advance();
        Ok(version)
    }

    fn target(&mut self) -> Parsed<Vec<String>> {
        let mut words = Vec::new();
        loop {
            let word = self.expect(TokenKind::Word, "a target such as sm_80")?;
            words.push(self.text(word).to_owned());
            if !self.accept(TokenKind::Comma) {
                return Ok(words);
            }
        }
    }

    fn address_size(&mut self) -> Parsed<u8> {
        match self.here() {
            "32" => {
                self.advance();
                Ok(32)
            }
            "64" => {
                self.advance();
                Ok(64)
            }
            _ => self.fail("32 or 64"),
        }
    }

    /// `.file 1 "name"`; a time stamp and a size behind it are dropped, as they say nothing that lasts.
    fn file(&mut self) -> Parsed<Item> {
        self.advance();
        let index = self.small("the number of a file")?;
        let token = self.expect(TokenKind::Text, "the file's name in quotes")?;
        let text = self.text(token);
        let name = text[1..text.len() - 1].to_owned();
        while self.accept(TokenKind::Comma) {
            self.small::<u64>("a time stamp or a size")?;
        }
        Ok(Item::File { index, name })
    }

    /// `.section name { … }`, kept as text.
    fn section(&mut self) -> Parsed<Item> {
        let (from, pos) = (self.at, self.pos());
        self.advance();
        if !matches!(self.kind(), TokenKind::Dotted | TokenKind::Word) {
            return self.fail("a section's name");
        }
        self.advance();
        let opening = self.expect(TokenKind::OpenBrace, "`{` after a section's name")?;
        loop {
            match self.kind() {
                TokenKind::CloseBrace => {
                    self.advance();
                    return Ok(Item::Other {
                        text: self.text_since(from),
                        pos,
                    });
                }
                TokenKind::End
                | TokenKind::OpenBrace
                | TokenKind::Unterminated
                | TokenKind::Unknown => {
                    return self.fail(&format!("`}}` for the `{{` on line {}", opening.pos.line));
                }
                _ => self.advance(),
            };
        }
    }

    /// A directive that ends with `;`, kept as text.
    fn text_directive(&mut self) -> Parsed<Item> {
        let (from, pos) = (self.at, self.pos());
        self.advance();
        while matches!(
            self.kind(),
            TokenKind::Text | TokenKind::Word | TokenKind::Comma
        ) {
            self.advance();
        }
        self.expect_end("`;` after a directive")?;
        Ok(Item::Other {
            text: self.text_since(from),
            pos,
        })
    }

    /// A linkage word and a variable or a function.
    fn symbol_item(&mut self, items: &mut Vec<Item>, expected: &str) -> Parsed<()> {
        let linkage = match self.here() {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => Linkage::Local,
        };
        if linkage != Linkage::Local {
            self.advance();
        }
        if self.at_space().is_some() {
            return self.variables(linkage, &mut |variable| {
                items.push(Item::Variable(variable))
            });
        }
        let is_entry = match (self.kind(), self.here()) {
            (TokenKind::Dotted, ".entry") => true,
            (TokenKind::Dotted, ".func") => false,
            _ if linkage == Linkage::Local => return self.fail(expected),
            _ => return self.fail("`.entry`, `.func` or a state space"),
        };
        self.advance();
        items.push(Item::Function(self.function(is_entry, linkage)?));
        Ok(())
    }

    fn function(&mut self, is_entry: bool, linkage: Linkage) -> Parsed<Function> {
        let returns = if is_entry {
            Vec::new()
        } else {
            self.parameters()?
        };
        let name = self.expect(TokenKind::Word, "the function's name")?;
        let params = self.parameters()?;
        let mut directives = Vec::new();
        while self.kind() == TokenKind::Dotted {
            self.function_directive(&mut directives)?;
        }
        let body = match self.kind() {
            TokenKind::OpenBrace => Some(self.block()?),
            _ => {
                self.expect_end("`{` or `;` after a function's head")?;
                None
            }
        };
        Ok(Function {
            is_entry,
            linkage,
            name: self.text(name).to_owned(),
            returns,
            params,
            directives,
            body,
            pos: name.pos,
        })
    }

    /// `.maxntid 128, 1, 1`, `.noreturn`, `.pragma "…";`.
    fn function_directive(&mut self, out: &mut Vec<Directive>) -> Parsed<()> {
        let token = self.advance();
        let (name, pos) = (self.text(token).to_owned(), token.pos);
        if self.kind() == TokenKind::Text {
            for text in self.strings()? {
                out.push(Directive {
                    name: name.clone(),
                    values: Vec::new(),
                    text: Some(text),
                    pos,
                });
            }
            return self.expect_end("`,` or `;` after a string");
        }
        let mut values = Vec::new();
        if self.at_constant() {
            values.push(self.integer("a number")?);
            while self.accept(TokenKind::Comma) {
                values.push(self.integer("a number")?);
            }
        }
        out.push(Directive {
            name,
            values,
            text: None,
            pos,
        });
        Ok(())
    }
}
