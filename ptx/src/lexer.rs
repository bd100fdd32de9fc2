//! Text to tokens.
//!
//! A token is a kind and a place; its text is a slice of the source, so lexing allocates one flat vector and nothing else.
//! Nothing is an error here: what no rule reads becomes [`TokenKind::Unknown`] or [`TokenKind::Unterminated`], and the parser words the complaint, because it knows what it expected.

use crate::ast::Pos;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name: `add`, `%r1`, `$L__BB0_1`, `_`.
    Word,
    /// A word with its dot: `.global`, `.shared::cta`, `.1d`.
    Dotted,
    /// A number in any notation, unchecked.
    Number,
    /// A string with its quotes.
    Text,
    Comma,
    Semicolon,
    Colon,
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    OpenParen,
    CloseParen,
    At,
    Bang,
    Pipe,
    PipePipe,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Tilde,
    Ampersand,
    AmpersandAmpersand,
    Caret,
    Less,
    LessEquals,
    ShiftLeft,
    Greater,
    GreaterEquals,
    ShiftRight,
    Equals,
    EqualsEquals,
    BangEquals,
    Question,
    /// A `/*` or a `"` whose other end is missing.
    Unterminated,
    /// A character that begins nothing.
    Unknown,
    /// The end of the text.
    End,
}

/// A token: its kind, its bytes in the source and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) pos: Pos,
}

/// Cuts a text of less than 4 GiB into tokens; the last one is always [`TokenKind::End`].
pub(crate) fn lex(text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        at: 0,
        pos: Pos { line: 1, column: 1 },
    };
    // Real PTX has a token every four to five bytes.
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.kind == TokenKind::End {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    pos: Pos,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Passes one byte and keeps line and column. UTF-8 continuation bytes do not count as columns.
    fn bump(&mut self) {
        let Some(&byte) = self.bytes.get(self.at) else {
            return;
        };
        self.at += 1;
        if byte == b'\n' {
            self.pos.line += 1;
            self.pos.column = 1;
        } else if byte & 0xC0 != 0x80 {
            self.pos.column += 1;
        }
    }

    fn bump_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && accept(self.bytes[self.at]) {
            self.bump();
        }
    }

    /// Passes white space and comments. Answers false at a comment without an end, standing on its first byte.
    fn skip_blank(&mut self) -> bool {
        loop {
            self.bump_while(|byte| byte.is_ascii_whitespace() || byte == 0x0B);
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.bump_while(|byte| byte != b'\n'),
                (b'/', b'*') => {
                    let Some(length) = find_comment_end(&self.bytes[self.at + 2..]) else {
                        return false;
                    };
                    let end = self.at + 2 + length;
                    while self.at < end {
                        self.bump();
                    }
                }
                _ => return true,
            }
        }
    }

    fn next(&mut self) -> Token {
        let closed = self.skip_blank();
        let (start, pos) = (self.at, self.pos);
        let kind = if !closed {
            // Nothing after an open comment can be read, so the rest of the text is one token.
            self.at = self.bytes.len();
            TokenKind::Unterminated
        } else {
            self.token()
        };
        let bytes = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Token {
            kind,
            start: bytes(start),
            end: bytes(self.at),
            pos,
        }
    }

    fn token(&mut self) -> TokenKind {
        let first = self.peek(0);
        match first {
            _ if self.at >= self.bytes.len() => TokenKind::End,
            b'0'..=b'9' => {
                self.number();
                TokenKind::Number
            }
            b'.' if is_name(self.peek(1)) => {
                self.dotted();
                TokenKind::Dotted
            }
            b'%' if !is_name(self.peek(1)) => self.symbol(1, TokenKind::Percent),
            b'%' => {
                self.bump();
                self.bump_while(is_name);
                TokenKind::Word
            }
            _ if is_name(first) => {
                self.bump_while(is_name);
                TokenKind::Word
            }
            b'"' => self.string(),
            _ => self.punctuation(first),
        }
    }

    /// Digits of any notation; which, the parser decides. A decimal takes its point and its exponent's sign along.
    fn number(&mut self) {
        let radix_prefix =
            self.peek(0) == b'0' && matches!(self.peek(1) | 0x20, b'x' | b'f' | b'd' | b'b');
        self.bump_while(|byte| byte.is_ascii_alphanumeric());
        if radix_prefix {
            return;
        }
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.bump();
            self.bump_while(|byte| byte.is_ascii_alphanumeric());
        }
        let exponent = matches!(self.bytes[self.at - 1], b'e' | b'E');
        if exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
            self.bump();
            self.bump_while(|byte| byte.is_ascii_digit());
        }
    }

    /// `.word` with any number of `::word` behind it.
    fn dotted(&mut self) {
        self.bump();
        self.bump_while(is_name);
        while self.peek(0) == b':' && self.peek(1) == b':' && is_name(self.peek(2)) {
            self.bump();
            self.bump();
            self.bump_while(is_name);
        }
    }

    /// A string ends on its own line; a backslash takes the next character along.
    fn string(&mut self) -> TokenKind {
        self.bump();
        loop {
            match self.peek(0) {
                b'"' => return self.symbol(1, TokenKind::Text),
                b'\\' if self.peek(1) != b'\n' => {
                    self.bump();
                    self.bump();
                }
                b'\n' => return TokenKind::Unterminated,
                _ if self.at >= self.bytes.len() => return TokenKind::Unterminated,
                _ => self.bump(),
            }
        }
    }

    fn symbol(&mut self, length: usize, kind: TokenKind) -> TokenKind {
        for _ in 0..length {
            self.bump();
        }
        kind
    }

    fn punctuation(&mut self, first: u8) -> TokenKind {
        let (length, kind) = match (first, self.peek(1)) {
            (b'|', b'|') => (2, TokenKind::PipePipe),
            (b'&', b'&') => (2, TokenKind::AmpersandAmpersand),
            (b'<', b'<') => (2, TokenKind::ShiftLeft),
            (b'>', b'>') => (2, TokenKind::ShiftRight),
            (b'<', b'=') => (2, TokenKind::LessEquals),
            (b'>', b'=') => (2, TokenKind::GreaterEquals),
            (b'=', b'=') => (2, TokenKind::EqualsEquals),
            (b'!', b'=') => (2, TokenKind::BangEquals),
            (b',', _) => (1, TokenKind::Comma),
            (b';', _) => (1, TokenKind::Semicolon),
            (b':', _) => (1, TokenKind::Colon),
            (b'{', _) => (1, TokenKind::OpenBrace),
            (b'}', _) => (1, TokenKind::CloseBrace),
            (b'[', _) => (1, TokenKind::OpenBracket),
            (b']', _) => (1, TokenKind::CloseBracket),
            (b'(', _) => (1, TokenKind::OpenParen),
            (b')', _) => (1, TokenKind::CloseParen),
            (b'@', _) => (1, TokenKind::At),
            (b'!', _) => (1, TokenKind::Bang),
            (b'|', _) => (1, TokenKind::Pipe),
            (b'+', _) => (1, TokenKind::Plus),
            (b'-', _) => (1, TokenKind::Minus),
            (b'*', _) => (1, TokenKind::Star),
            (b'/', _) => (1, TokenKind::Slash),
            (b'~', _) => (1, TokenKind::Tilde),
            (b'&', _) => (1, TokenKind::Ampersand),
            (b'^', _) => (1, TokenKind::Caret),
            (b'<', _) => (1, TokenKind::Less),
            (b'>', _) => (1, TokenKind::Greater),
            (b'=', _) => (1, TokenKind::Equals),
            (b'?', _) => (1, TokenKind::Question),
            _ => {
                // One whole character, so that a slice of the source stays valid UTF-8.
                self.bump();
                self.bump_while(|byte| byte & 0xC0 == 0x80);
                return TokenKind::Unknown;
            }
        };
        self.symbol(length, kind)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Bytes up to and including the next `*/`.
fn find_comment_end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(2)
        .position(|pair| pair == b"*/")
        .map(|at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        lex(text)
            .iter()
            .map(|token| (token.kind, &text[token.start as usize..token.end as usize]))
            .collect()
    }

    #[test]
    fn words_take_what_belongs_to_them() {
        use TokenKind::*;
        let cases: &[(&str, &[(TokenKind, &str)])] = &[
            (
                "cp.async.cg.shared::cta",
                &[
                    (Word, "cp"),
                    (Dotted, ".async"),
                    (Dotted, ".cg"),
                    (Dotted, ".shared::cta"),
                ],
            ),
            ("%tid.x", &[(Word, "%tid"), (Dotted, ".x")]),
            ("$L__BB0_1:", &[(Word, "$L__BB0_1"), (Colon, ":")]),
            ("7 % 2", &[(Number, "7"), (Percent, "%"), (Number, "2")]),
            ("0x1E+4", &[(Number, "0x1E"), (Plus, "+"), (Number, "4")]),
            (
                "1.5e-3 2e+8 8.0",
                &[(Number, "1.5e-3"), (Number, "2e+8"), (Number, "8.0")],
            ),
            (
                "a/* b\n */c//d\ne",
                &[(Word, "a"), (Word, "c"), (Word, "e")],
            ),
            ("_|%p", &[(Word, "_"), (Pipe, "|"), (Word, "%p")]),
            ("a /* b", &[(Word, "a"), (Unterminated, "/* b")]),
            (
                "\"a\\\"b\" \"c",
                &[(Text, "\"a\\\"b\""), (Unterminated, "\"c")],
            ),
            ("é#", &[(Unknown, "é"), (Unknown, "#")]),
        ];
        for (text, expected) in cases {
            let got = kinds(text);
            assert_eq!(got[..got.len() - 1], **expected, "{text}");
            assert_eq!(got.last().map(|last| last.0), Some(End), "{text}");
        }
    }

    #[test]
    fn places_count_lines_and_characters() {
        let tokens = lex("a\n /*é\né*/ b é c");
        let places: Vec<_> = tokens
            .iter()
            .map(|token| (token.pos.line, token.pos.column))
            .collect();
        assert_eq!(places, [(1, 1), (3, 5), (3, 7), (3, 9), (3, 10)]);
    }
}
