//! Numbers and constant expressions.
//!
//! Expressions are folded while they are read: the tree holds values only.
//! As the ISA has it, integers are 64 bits wide; they are signed unless written with `U`, too large for a signed one, or cast.

use super::{Parsed, Parser};
use crate::ast::Immediate;
use crate::lexer::TokenKind;

/// What `WARP_SZ` stands for on every device there is.
const WARP_SIZE: u64 = 32;

/// A folded value.
#[derive(Clone, Copy)]
enum Value {
    Int { bits: u64, unsigned: bool },
    F32(u32),
    F64(u64),
}

impl Value {
    fn signed(bits: i64) -> Self {
        Value::Int {
            bits: bits.cast_unsigned(),
            unsigned: false,
        }
    }
}

impl Parser<'_> {
    /// Whether the current token can only begin a constant (a parenthesis can also begin a call's list).
    pub(super) fn at_constant(&self) -> bool {
        match self.kind() {
            TokenKind::Number | TokenKind::Minus | TokenKind::Plus | TokenKind::Tilde => true,
            TokenKind::Bang => self.kind_at(1) != TokenKind::Word,
            TokenKind::Word => self.here() == "WARP_SZ",
            _ => false,
        }
    }

    /// A constant expression.
    pub(super) fn immediate(&mut self) -> Parsed<Immediate> {
        Ok(match self.ternary()? {
            Value::Int { bits, unsigned } => Immediate::Int {
                bits,
                negative: !unsigned && bits.cast_signed() < 0,
            },
            Value::F32(bits) => Immediate::F32(bits),
            Value::F64(bits) => Immediate::F64(bits),
        })
    }

    /// A constant expression with an integer value, as its 64 bits.
    pub(super) fn integer(&mut self, expected: &str) -> Parsed<u64> {
        let start = self.token();
        let from = self.at;
        match self.ternary()? {
            Value::Int { bits, .. } => Ok(bits),
            _ => {
                let found = super::quote(&self.text_since(from));
                self.report(start, found, expected)
            }
        }
    }

    /// A plain number that fits `T`: an index, a line, an alignment.
    pub(super) fn small<T: TryFrom<u64>>(&mut self, expected: &str) -> Parsed<T> {
        if self.kind() != TokenKind::Number {
            return self.fail(expected);
        }
        let place = self.token();
        let bits = match self.number()? {
            Value::Int { bits, .. } => T::try_from(bits).ok(),
            _ => None,
        };
        match bits {
            Some(value) => Ok(value),
            None => self.report(place, super::quote(self.text(place)), expected),
        }
    }

    /// One summand of an offset: a product at most, as the sum is the caller's.
    pub(super) fn offset_term(&mut self) -> Parsed<i64> {
        let place = self.token();
        match self.binary(PRODUCT)? {
            Value::Int { bits, .. } => Ok(bits.cast_signed()),
            _ => self.report(place, super::quote(self.text(place)), "an offset in bytes"),
        }
    }

    fn ternary(&mut self) -> Parsed<Value> {
        let condition = self.binary(0)?;
        if self.kind() != TokenKind::Question {
            return Ok(condition);
        }
        let place = self.advance();
        self.nested("`?`", |parser| {
            let Value::Int { bits, .. } = condition else {
                return parser.report(
                    place,
                    "`?` after a float".to_owned(),
                    "an integer condition",
                );
            };
            let yes = parser.ternary()?;
            parser.expect(TokenKind::Colon, "`:` and the other value")?;
            let no = parser.ternary()?;
            Ok(if bits != 0 { yes } else { no })
        })
    }

    /// Operators that bind at least as tightly as `floor`.
    fn binary(&mut self, floor: u8) -> Parsed<Value> {
        let mut left = self.unary()?;
        while let Some(strength) = strength(self.kind()).filter(|&strength| strength >= floor) {
            let operator = self.advance();
            let right = self.binary(strength + 1)?;
            left = match apply(operator.kind, left, right) {
                Ok(value) => value,
                Err((found, expected)) => return self.report(operator, found.to_owned(), expected),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Value> {
        let operator = self.token();
        match operator.kind {
            TokenKind::Minus | TokenKind::Plus | TokenKind::Tilde | TokenKind::Bang => {
                self.advance();
                let value = self.nested("an operator", Self::unary)?;
                match (operator.kind, value) {
                    (TokenKind::Plus, value) => Ok(value),
                    // `-9223372036854775808` is signed although its digits alone are not.
                    (TokenKind::Minus, Value::Int { bits, unsigned }) => Ok(Value::Int {
                        bits: bits.wrapping_neg(),
                        unsigned: unsigned && bits != 1 << 63,
                    }),
                    (TokenKind::Minus, Value::F32(bits)) => Ok(Value::F32(bits ^ 1 << 31)),
                    (TokenKind::Minus, Value::F64(bits)) => Ok(Value::F64(bits ^ 1 << 63)),
                    (TokenKind::Tilde, Value::Int { bits, unsigned }) => Ok(Value::Int {
                        bits: !bits,
                        unsigned,
                    }),
                    (TokenKind::Bang, Value::Int { bits, .. }) => {
                        Ok(Value::signed(i64::from(bits == 0)))
                    }
                    _ => self.report(operator, "`~` or `!` on a float".to_owned(), "an integer"),
                }
            }
            TokenKind::OpenParen => {
                self.advance();
                self.nested("`(`", Self::parenthesised)
            }
            TokenKind::Word if self.here() == "WARP_SZ" => {
                self.advance();
                Ok(Value::Int {
                    bits: WARP_SIZE,
                    unsigned: false,
                })
            }
            TokenKind::Number => self.number(),
            // `.5` reads as a dotted word; nothing else of that look begins a constant.
            TokenKind::Dotted if self.here()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.number()
            }
            _ => self.fail("a constant"),
        }
    }

    /// Behind `(`: a cast of what follows, or an expression and `)`.
    fn parenthesised(&mut self) -> Parsed<Value> {
        for (word, unsigned) in [(".s64", false), (".u64", true)] {
            if self.accept_dotted(word) {
                self.expect(TokenKind::CloseParen, "`)` after the type of a cast")?;
                let place = self.token();
                return match self.unary()? {
                    Value::Int { bits, .. } => Ok(Value::Int { bits, unsigned }),
                    _ => self.report(place, "a cast of a float".to_owned(), "an integer"),
                };
            }
        }
        let value = self.ternary()?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(value)
    }

    fn number(&mut self) -> Parsed<Value> {
        let token = self.advance();
        match read_number(self.text(token)) {
            Ok(value) => Ok(value),
            Err(expected) => self.report(token, super::quote(self.text(token)), expected),
        }
    }
}

/// The value of a literal, or what was expected instead.
fn read_number(text: &str) -> Result<Value, &'static str> {
    let tail = text.get(2..).unwrap_or("");
    match text.get(..2) {
        Some("0f" | "0F") => {
            let bits = u32::from_str_radix(tail, 16)
                .ok()
                .filter(|_| tail.len() == 8);
            return bits
                .map(Value::F32)
                .ok_or("`0f` and eight hexadecimal digits");
        }
        Some("0d" | "0D") => {
            let bits = u64::from_str_radix(tail, 16)
                .ok()
                .filter(|_| tail.len() == 16);
            return bits
                .map(Value::F64)
                .ok_or("`0d` and sixteen hexadecimal digits");
        }
        _ => {}
    }
    let (digits, suffix) = match text.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let tail = digits.get(2..).unwrap_or("");
    let (digits, radix, expected) = match digits.get(..2) {
        Some("0x" | "0X") => (tail, 16, "`0x` and hexadecimal digits of at most 64 bits"),
        Some("0b" | "0B") => (tail, 2, "`0b` and binary digits of at most 64 bits"),
        Some(_) if digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()) => (
            &digits[1..],
            8,
            "octal digits (a leading zero makes a number octal) of at most 64 bits",
        ),
        _ if !suffix && digits.contains(['.', 'e', 'E']) => {
            let value: Option<f64> = digits.parse().ok();
            return value
                .map(|value| Value::F64(value.to_bits()))
                .ok_or("a number");
        }
        _ => (digits, 10, "an integer of at most 64 bits"),
    };
    if digits.starts_with('+') {
        return Err(expected);
    }
    let bits = u64::from_str_radix(digits, radix).map_err(|_| expected)?;
    Ok(Value::Int {
        bits,
        unsigned: suffix || bits > i64::MAX.cast_unsigned(),
    })
}

/// The strength of `*`, `/` and `%`, above all others.
const PRODUCT: u8 = 9;

/// How tightly a binary operator binds; `None` for everything else.
fn strength(kind: TokenKind) -> Option<u8> {
    Some(match kind {
        TokenKind::PipePipe => 0,
        TokenKind::AmpersandAmpersand => 1,
        TokenKind::Pipe => 2,
        TokenKind::Caret => 3,
        TokenKind::Ampersand => 4,
        TokenKind::EqualsEquals | TokenKind::BangEquals => 5,
        TokenKind::Less | TokenKind::LessEquals | TokenKind::Greater | TokenKind::GreaterEquals => {
            6
        }
        TokenKind::ShiftLeft | TokenKind::ShiftRight => 7,
        TokenKind::Plus | TokenKind::Minus => 8,
        TokenKind::Star | TokenKind::Slash | TokenKind::Percent => PRODUCT,
        _ => return None,
    })
}

/// Folds one operator; the error is what was found and what was expected.
fn apply(
    operator: TokenKind,
    left: Value,
    right: Value,
) -> Result<Value, (&'static str, &'static str)> {
    let (
        Value::Int {
            bits: a,
            unsigned: left_unsigned,
        },
        Value::Int {
            bits: b,
            unsigned: right_unsigned,
        },
    ) = (left, right)
    else {
        return Err(("an operator between floats", "integers"));
    };
    // A shift keeps the type of its left side; otherwise unsigned wins.
    let shift = matches!(operator, TokenKind::ShiftLeft | TokenKind::ShiftRight);
    let unsigned = left_unsigned || right_unsigned && !shift;
    let (signed_a, signed_b) = (a.cast_signed(), b.cast_signed());
    let order = if unsigned {
        a.cmp(&b)
    } else {
        signed_a.cmp(&signed_b)
    };
    let amount = u32::try_from(b).ok().filter(|&amount| amount < 64);
    let truth = |truth: bool| Ok(Value::signed(i64::from(truth)));
    let bits = match operator {
        TokenKind::Plus => a.wrapping_add(b),
        TokenKind::Minus => a.wrapping_sub(b),
        TokenKind::Star => a.wrapping_mul(b),
        TokenKind::Slash | TokenKind::Percent if b == 0 => {
            return Err(("a division by zero", "a divisor other than zero"));
        }
        TokenKind::Slash if unsigned => a / b,
        TokenKind::Slash => signed_a.wrapping_div(signed_b).cast_unsigned(),
        TokenKind::Percent if unsigned => a % b,
        TokenKind::Percent => signed_a.wrapping_rem(signed_b).cast_unsigned(),
        TokenKind::ShiftLeft => amount.map_or(0, |amount| a << amount),
        TokenKind::ShiftRight if left_unsigned => amount.map_or(0, |amount| a >> amount),
        TokenKind::ShiftRight => (signed_a >> amount.unwrap_or(63)).cast_unsigned(),
        TokenKind::Ampersand => a & b,
        TokenKind::Pipe => a | b,
        TokenKind::Caret => a ^ b,
        TokenKind::AmpersandAmpersand => return truth(a != 0 && b != 0),
        TokenKind::PipePipe => return truth(a != 0 || b != 0),
        TokenKind::EqualsEquals => return truth(a == b),
        TokenKind::BangEquals => return truth(a != b),
        TokenKind::Less => return truth(order.is_lt()),
        TokenKind::LessEquals => return truth(order.is_le()),
        TokenKind::Greater => return truth(order.is_gt()),
        TokenKind::GreaterEquals => return truth(order.is_ge()),
        _ => return Err(("a symbol between numbers", "an operator")),
    };
    Ok(Value::Int { bits, unsigned })
}
