//! Tokens to tree.
//!
//! One recursive descent, a file for each level: [`module`], [`declaration`], [`statement`], [`operand`], [`constant`].
//! Errors are collected: whoever reads a statement or an item catches the failure, and reading goes on behind the next `;` or `}`.
//! Recursion exists only where the language nests (scopes, initialisers, constant expressions), and each has a limit, so that no text can exhaust the stack.

mod constant;
mod declaration;
mod module;
mod operand;
mod statement;

use crate::ast::{Module, Pos};
use crate::error::{Excerpt, MAX_ERRORS, ParseError, ParseErrors, excerpt};
use crate::lexer::{Token, TokenKind, lex};

/// Scopes, initialiser lists and parentheses may nest this deep.
pub const MAX_NESTING: usize = 128;

/// Texts longer than this are refused unread: 64 MiB, many times the largest real file. A tree takes up to a hundred times the bytes of its text.
pub const MAX_BYTES: usize = 64 << 20;

/// Reads a PTX text.
///
/// # Errors
/// All errors of the text, each with its place; see [`ParseErrors`].
pub fn parse(text: &str) -> Result<Module, ParseErrors> {
    if text.len() > MAX_BYTES {
        return Err(too_long(text.len()));
    }
    let tokens = lex(text);
    let mut parser = Parser {
        source: text,
        tokens,
        at: 0,
        nesting: 0,
        errors: Vec::new(),
    };
    let module = parser.module();
    match module {
        Some(module) if parser.errors.is_empty() => Ok(module),
        _ => {
            let truncated = parser.errors.len() >= MAX_ERRORS;
            Err(ParseErrors {
                errors: parser.errors,
                truncated,
            })
        }
    }
}

fn too_long(bytes: usize) -> ParseErrors {
    let pos = Pos { line: 1, column: 1 };
    let error = ParseError {
        pos,
        found: format!("a text of {bytes} bytes"),
        expected: format!("at most {MAX_BYTES} bytes"),
        excerpt: Excerpt {
            line: 1,
            text: String::new(),
            caret: 0,
            width: 1,
        },
    };
    ParseErrors {
        errors: vec![error],
        truncated: false,
    }
}

/// The error is already in the parser's list.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    source: &'a str,
    /// Ends with a [`TokenKind::End`], which is never passed.
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    errors: Vec<ParseError>,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn kind_at(&self, ahead: usize) -> TokenKind {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].kind
    }

    fn text(&self, token: Token) -> &'a str {
        &self.source[token.start as usize..token.end as usize]
    }

    /// The text of the current token.
    fn here(&self) -> &'a str {
        self.text(self.token())
    }

    fn pos(&self) -> Pos {
        self.token().pos
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// Passes the current token if it is of this kind.
    fn accept(&mut self, kind: TokenKind) -> bool {
        let matches = self.kind() == kind;
        if matches {
            self.advance();
        }
        matches
    }

    /// Passes the current token if it is this dotted word.
    fn accept_dotted(&mut self, word: &str) -> bool {
        let matches = self.kind() == TokenKind::Dotted && self.here() == word;
        if matches {
            self.advance();
        }
        matches
    }

    fn expect(&mut self, kind: TokenKind, expected: &str) -> Parsed<Token> {
        if self.kind() == kind {
            Ok(self.advance())
        } else {
            self.fail(expected)
        }
    }

    /// The `;` that ends a statement. Where it is missing, the place to mend is the end of the line before.
    fn expect_end(&mut self, expected: &str) -> Parsed<()> {
        if self.accept(TokenKind::Semicolon) {
            return Ok(());
        }
        let previous = self.tokens[self.at.saturating_sub(1)];
        if self.at == 0 || previous.pos.line == self.token().pos.line {
            return self.fail(expected);
        }
        let width = self.text(previous).chars().count();
        let column = previous
            .pos
            .column
            .saturating_add(u32::try_from(width).unwrap_or(u32::MAX));
        let pos = Pos {
            line: previous.pos.line,
            column,
        };
        let place = Token {
            kind: TokenKind::Unknown,
            start: previous.end,
            end: previous.end,
            pos,
        };
        let found = match self.describe() {
            end if self.kind() == TokenKind::End => end,
            next => format!("{next} on line {}", self.token().pos.line),
        };
        self.report(place, found, expected)
    }

    /// Records that the current token is not what was expected.
    fn fail<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = self.describe();
        self.report(self.token(), found, expected)
    }

    fn report<T>(&mut self, place: Token, found: String, expected: &str) -> Parsed<T> {
        // One error a place: a missing end would otherwise be told by every scope that it ends.
        let told = self.errors.last().is_some_and(|last| last.pos == place.pos);
        if self.errors.len() < MAX_ERRORS && !told {
            let excerpt = excerpt(self.source, &place);
            self.errors.push(ParseError {
                pos: place.pos,
                found,
                expected: expected.to_owned(),
                excerpt,
            });
        }
        Err(Reported)
    }

    fn describe(&self) -> String {
        let token = self.token();
        match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::Unterminated if self.here().starts_with('"') => {
                "a string without its closing quote".to_owned()
            }
            TokenKind::Unterminated => "a comment without its `*/`".to_owned(),
            _ => quote(self.here()),
        }
    }

    fn exhausted(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Reads something nested, unless it is nested too deep.
    fn nested<T>(&mut self, what: &str, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let found = format!("{what} nested {} deep", self.nesting + 1);
            return self.report(self.token(), found, &format!("at most {MAX_NESTING}"));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Source text from the start of token `from` to the end of the token before the current one.
    fn text_since(&self, from: usize) -> String {
        let start = self.tokens[from].start as usize;
        let end = self.tokens[self.at.saturating_sub(1)].end as usize;
        self.source[start..end.max(start)].to_owned()
    }

    /// Goes behind the end of the statement that began at token `from`: behind its `;`, or before the `}` of the scope around it.
    /// Braces that the statement itself opened are closed on the way.
    fn recover_statement(&mut self, from: usize) {
        let mut open = 0_usize;
        for token in &self.tokens[from..self.at] {
            match token.kind {
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace => open = open.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace if open == 0 => return,
                TokenKind::CloseBrace => open -= 1,
                _ => {}
            }
            self.advance();
        }
    }

    /// Goes behind the end of a module-level item: its `;`, or its whole `{ … }`.
    fn recover_item(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.advance().kind {
                TokenKind::End => return,
                TokenKind::Semicolon if open == 0 => return,
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        // An initialiser's list has its `;` behind it.
                        self.accept(TokenKind::Semicolon);
                        return;
                    }
                }
                _ => {}
            }
        }
    }
}

/// A token in back quotes, shortened.
fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
