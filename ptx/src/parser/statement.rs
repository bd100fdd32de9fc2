//! Bodies: declarations, labels, instructions and scopes.

use super::{Parsed, Parser};
use crate::ast::{Guard, Instruction, Linkage, Statement};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `{ … }`, the current token being the brace. Statements that cannot be read are reported and left out.
    pub(super) fn block(&mut self) -> Parsed<Vec<Statement>> {
        self.nested("a scope", |parser| {
            let opening = parser.advance();
            let mut statements = Vec::new();
            loop {
                match parser.kind() {
                    TokenKind::CloseBrace => {
                        parser.advance();
                        return Ok(statements);
                    }
                    TokenKind::End => {
                        return parser
                            .fail(&format!("`}}` for the `{{` on line {}", opening.pos.line));
                    }
                    _ if parser.exhausted() => return Err(super::Reported),
                    _ => {
                        let from = parser.at;
                        if parser.statement(&mut statements).is_err() {
                            parser.recover_statement(from);
                        }
                    }
                }
            }
        })
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        match self.kind() {
            TokenKind::OpenBrace => out.push(Statement::Block(self.block()?)),
            TokenKind::Dotted => return self.directive(out),
            TokenKind::Word if self.kind_at(1) == TokenKind::Colon => out.push(self.label()?),
            TokenKind::Word | TokenKind::At => {
                out.push(Statement::Instruction(self.instruction()?))
            }
            _ => return self.fail("an instruction, a label, a declaration or `}`"),
        }
        Ok(())
    }

    fn directive(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        if self.at_space().is_some() {
            return self.variables(Linkage::Local, &mut |variable| {
                out.push(Statement::Variable(variable))
            });
        }
        let pos = self.pos();
        match self.here() {
            ".loc" => {
                out.push(self.loc()?);
                Ok(())
            }
            ".pragma" => {
                self.advance();
                for text in self.strings()? {
                    out.push(Statement::Pragma { text, pos });
                }
                self.expect_end("`,` or `;` after a string")
            }
            _ => self.fail("`.reg`, `.local`, `.shared`, `.param`, `.loc` or `.pragma`"),
        }
    }

    /// `"a", "b"`, without the quotes.
    pub(super) fn strings(&mut self) -> Parsed<Vec<String>> {
        let mut strings = Vec::new();
        loop {
            let token = self.expect(TokenKind::Text, "a string")?;
            let text = self.text(token);
            strings.push(text[1..text.len() - 1].to_owned());
            if !self.accept(TokenKind::Comma) {
                return Ok(strings);
            }
        }
    }

    /// `.loc 1 33 4` and what DWARF adds behind it; no `;` ends it.
    fn loc(&mut self) -> Parsed<Statement> {
        self.advance();
        let file = self.small("the number of a file")?;
        let line = self.small("a line")?;
        let column = self.small("a column")?;
        let mut rest = None;
        let mut from = None;
        while self.accept(TokenKind::Comma) {
            from = from.or(Some(self.at));
            let word = self.expect(TokenKind::Word, "`function_name` or `inlined_at`")?;
            match self.text(word) {
                "function_name" => {
                    self.expect(TokenKind::Word, "the label of a function's name")?;
                    self.offset()?;
                }
                "inlined_at" => {
                    for what in ["the number of a file", "a line", "a column"] {
                        self.small::<u32>(what)?;
                    }
                }
                _ => {
                    self.at -= 1;
                    return self.fail("`function_name` or `inlined_at`");
                }
            }
            rest = from.map(|from| self.text_since(from));
        }
        Ok(Statement::Loc {
            file,
            line,
            column,
            rest,
        })
    }

    /// `NAME:`, or a list or a prototype that bears a name.
    fn label(&mut self) -> Parsed<Statement> {
        let name = self.advance();
        self.advance();
        let pos = name.pos;
        let name = self.text(name).to_owned();
        if self.accept_dotted(".branchtargets") {
            let mut labels = Vec::new();
            loop {
                let label = self.expect(TokenKind::Word, "a label")?;
                labels.push(self.text(label).to_owned());
                if !self.accept(TokenKind::Comma) {
                    self.expect_end("`,` or `;` after a label")?;
                    return Ok(Statement::BranchTargets { name, labels, pos });
                }
            }
        }
        if self.accept_dotted(".callprototype") {
            let from = self.at;
            self.parameters()?;
            self.expect(TokenKind::Word, "`_` or a name")?;
            self.parameters()?;
            while self.kind() == TokenKind::Dotted {
                self.advance();
                if self.kind() == TokenKind::Number {
                    self.advance();
                }
            }
            let text = self.text_since(from);
            self.expect_end("`;` after a prototype")?;
            return Ok(Statement::CallPrototype { name, text, pos });
        }
        Ok(Statement::Label { name, pos })
    }

    fn instruction(&mut self) -> Parsed<Instruction> {
        let guard = if self.accept(TokenKind::At) {
            Some(self.guard()?)
        } else {
            None
        };
        let opcode = self.expect(TokenKind::Word, "an instruction")?;
        let mut modifiers = Vec::new();
        while self.kind() == TokenKind::Dotted {
            modifiers.push(self.here()[1..].to_owned());
            self.advance();
        }
        let pos = opcode.pos;
        let opcode = self.text(opcode).to_owned();
        let operands = self.operands(opcode == "call")?;
        self.expect_end(if operands.is_empty() {
            "an operand or `;`"
        } else {
            "`,` or `;` after an operand"
        })?;
        Ok(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            pos,
        })
    }

    fn guard(&mut self) -> Parsed<Guard> {
        let negated = self.accept(TokenKind::Bang);
        let register = self.expect(TokenKind::Word, "a predicate register")?;
        Ok(Guard {
            negated,
            register: self.text(register).to_owned(),
        })
    }
}
