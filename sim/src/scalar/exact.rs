//! Floating point with one rounding at the end, for every format and rounding mode.
//!
//! A finite value is held exactly as an integer times a power of two, an operation is carried out on that, and [`Format::round`] rounds once.
//! The host's own arithmetic rounds to nearest only, and only f32 and f64; where that is what is asked for it is used instead, being faster.

/// How a result that does not fit is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`.
    Zero,
    /// `.rm`: towards minus infinity.
    Down,
    /// `.rp`: towards plus infinity.
    Up,
}

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Bits of significand, the hidden one included.
    precision: u32,
    /// Bits of exponent.
    exponent_bits: u32,
    /// Exponent of the smallest normal number.
    min_exponent: i32,
    /// Bits of the largest finite number.
    max_finite: u64,
    /// Bits of infinity; `None` where the format has none and overflow gives NaN.
    infinity: Option<u64>,
    /// The NaN that operations give.
    pub(crate) nan: u64,
}

/// IEEE binary16.
pub(crate) const F16: Format = Format::ieee(11, 5, 0x7fff);
/// The upper half of an f32.
pub(crate) const BF16: Format = Format::ieee(8, 8, 0x7fff);
/// IEEE binary32.
pub(crate) const F32: Format = Format::ieee(24, 8, 0x7fff_ffff);
/// IEEE binary64.
pub(crate) const F64: Format = Format::ieee(53, 11, 0x7ff8_0000_0000_0000);
/// Eight bits of range, ten of fraction, in 19 bits.
pub(crate) const TF32: Format = Format::ieee(11, 8, 0x3_ffff);
/// 8-bit format with five exponent bits.
pub(crate) const E5M2: Format = Format::ieee(3, 5, 0x7f);
/// 8-bit format with four exponent bits and no infinity.
pub(crate) const E4M3: Format = Format {
    precision: 4,
    exponent_bits: 4,
    min_exponent: -6,
    max_finite: 0x7e,
    infinity: None,
    nan: 0x7f,
};

/// A finite value, `(-1)^negative * (mantissa + below) * 2^exponent` where `0 < below < 1` if `sticky`, else zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finite {
    pub(crate) negative: bool,
    pub(crate) mantissa: u128,
    pub(crate) exponent: i32,
    pub(crate) sticky: bool,
}

/// Any value of a format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Nan,
    Infinite { negative: bool },
    Finite(Finite),
}

use Value::{Infinite, Nan};

impl Format {
    const fn ieee(precision: u32, exponent_bits: u32, nan: u64) -> Self {
        let fraction_bits = precision - 1;
        let infinity = ((1u64 << exponent_bits) - 1) << fraction_bits;
        Self {
            precision,
            exponent_bits,
            min_exponent: 2 - (1 << (exponent_bits - 1)),
            max_finite: infinity - 1,
            infinity: Some(infinity),
            nan,
        }
    }

    const fn fraction_bits(&self) -> u32 {
        self.precision - 1
    }

    const fn sign_bit(&self) -> u64 {
        1 << (self.fraction_bits() + self.exponent_bits)
    }

    /// The bits of the largest finite number with this sign.
    pub(crate) const fn largest(&self, negative: bool) -> u64 {
        if negative {
            self.max_finite | self.sign_bit()
        } else {
            self.max_finite
        }
    }

    /// What the bits stand for.
    pub(crate) fn value(&self, bits: u64) -> Value {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        match self.infinity {
            Some(infinity) if magnitude == infinity => return Infinite { negative },
            _ if magnitude > self.max_finite => return Nan,
            _ => {}
        }
        let fraction = magnitude & ((1 << self.fraction_bits()) - 1);
        let field = (magnitude >> self.fraction_bits()) as i32;
        let (mantissa, exponent) = if field == 0 {
            (fraction, self.min_exponent)
        } else {
            (
                fraction | 1 << self.fraction_bits(),
                self.min_exponent + field - 1,
            )
        };
        Value::finite(
            negative,
            u128::from(mantissa),
            exponent - self.fraction_bits() as i32,
        )
    }

    /// The bits nearest to the value in the sense of `rounding`.
    pub(crate) fn round(&self, value: Value, rounding: Rounding) -> u64 {
        let finite = match value {
            Nan => return self.nan,
            Infinite { negative } => return self.infinite(negative),
            Value::Finite(finite) => finite,
        };
        let sign = if finite.negative { self.sign_bit() } else { 0 };
        if finite.mantissa == 0 && !finite.sticky {
            return sign;
        }
        let width = 128 - finite.mantissa.leading_zeros() as i32;
        let top = finite.exponent + width - 1;
        let fraction_bits = self.fraction_bits() as i32;
        let mut unit = top.max(self.min_exponent) - fraction_bits;
        let mut kept = finite.rounded_to(unit, rounding) as u64;
        if kept == 1 << self.precision {
            kept >>= 1;
            unit += 1;
        }
        if kept < 1 << self.fraction_bits() {
            return sign | kept;
        }
        let field = (unit + fraction_bits - self.min_exponent + 1) as u64;
        let magnitude = (field << self.fraction_bits()) + (kept - (1 << self.fraction_bits()));
        if field >= 1 << self.exponent_bits || magnitude > self.max_finite {
            return self.overflow(finite.negative, rounding);
        }
        sign | magnitude
    }

    fn infinite(&self, negative: bool) -> u64 {
        match self.infinity {
            Some(bits) if negative => bits | self.sign_bit(),
            Some(bits) => bits,
            None if negative => self.nan | self.sign_bit(),
            None => self.nan,
        }
    }

    fn overflow(&self, negative: bool, rounding: Rounding) -> u64 {
        let to_infinity = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if to_infinity {
            self.infinite(negative)
        } else {
            self.largest(negative)
        }
    }
}

impl Value {
    /// A finite value without remainder.
    pub(crate) const fn finite(negative: bool, mantissa: u128, exponent: i32) -> Self {
        Self::Finite(Finite {
            negative,
            mantissa,
            exponent,
            sticky: false,
        })
    }

    /// An integer.
    pub(crate) const fn integer(value: i128) -> Self {
        Self::finite(value < 0, value.unsigned_abs(), 0)
    }

    fn is_negative(self) -> bool {
        match self {
            Nan => false,
            Infinite { negative } => negative,
            Self::Finite(finite) => finite.negative,
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Self::Finite(finite) if finite.mantissa == 0 && !finite.sticky)
    }

    /// The exact sum; `rounding` decides the sign of an exact zero.
    #[must_use]
    pub(crate) fn add(self, other: Self, rounding: Rounding) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Nan,
            (Infinite { .. }, _) => self,
            (_, Infinite { .. }) => other,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a.add(b, rounding)),
        }
    }

    /// The exact product.
    #[must_use]
    pub(crate) fn mul(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { .. }, _) if other.is_zero() => Nan,
            (_, Infinite { .. }) if self.is_zero() => Nan,
            (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative },
            (Self::Finite(a), Self::Finite(b)) => {
                Self::finite(negative, a.mantissa * b.mantissa, a.exponent + b.exponent)
            }
        }
    }

    /// The quotient, with a remainder remembered as sticky.
    #[must_use]
    pub(crate) fn div(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => Nan,
            (Infinite { .. }, _) => Infinite { negative },
            (_, Infinite { .. }) => Self::finite(negative, 0, 0),
            (Self::Finite(a), Self::Finite(b)) => match (a.mantissa, b.mantissa) {
                (0, 0) => Nan,
                (_, 0) => Infinite { negative },
                (0, _) => Self::finite(negative, 0, 0),
                (numerator, denominator) => {
                    let shift = numerator.leading_zeros() as i32 - 1;
                    let numerator = numerator << shift;
                    Self::Finite(Finite {
                        negative,
                        mantissa: numerator / denominator,
                        exponent: a.exponent - shift - b.exponent,
                        sticky: !numerator.is_multiple_of(denominator),
                    })
                }
            },
        }
    }

    /// The square root, with a remainder remembered as sticky.
    #[must_use]
    pub(crate) fn sqrt(self) -> Self {
        match self {
            Self::Finite(a) if a.mantissa == 0 => self,
            Nan | Infinite { negative: false } => self,
            _ if self.is_negative() => Nan,
            Infinite { .. } => Nan,
            Self::Finite(a) => {
                let mut shift = a.mantissa.leading_zeros() as i32 - 1;
                // The exponent must be even to be halved.
                shift -= (a.exponent - shift) & 1;
                let square = a.mantissa << shift;
                let root = square.isqrt();
                Self::Finite(Finite {
                    negative: false,
                    mantissa: root,
                    exponent: (a.exponent - shift) / 2,
                    sticky: root * root != square,
                })
            }
        }
    }

    /// The integer nearest in the sense of `rounding`; `None` for NaN, saturated at the ends of i128 for values beyond.
    pub(crate) fn to_integer(self, rounding: Rounding) -> Option<i128> {
        match self {
            Nan => None,
            Infinite { negative } => Some(if negative { i128::MIN } else { i128::MAX }),
            Self::Finite(a) if a.mantissa == 0 => Some(0),
            Self::Finite(a) => {
                let width = 128 - a.mantissa.leading_zeros() as i32;
                if a.exponent + width > 126 {
                    return Some(if a.negative { i128::MIN } else { i128::MAX });
                }
                let magnitude = a.rounded_to(0, rounding) as i128;
                Some(if a.negative { -magnitude } else { magnitude })
            }
        }
    }

    /// The nearest integer that is still a float, with the sign of a zero kept.
    #[must_use]
    pub(crate) fn to_integral(self, rounding: Rounding) -> Self {
        match self {
            Self::Finite(a) if a.exponent < 0 => {
                Self::finite(a.negative, a.rounded_to(0, rounding), 0)
            }
            _ => self,
        }
    }
}

impl Finite {
    /// The mantissa in units of `2^unit`, rounded.
    fn rounded_to(&self, unit: i32, rounding: Rounding) -> u128 {
        let shift = unit - self.exponent;
        if shift <= 0 {
            // Every operation keeps enough bits that a remainder is always below the unit.
            return self.mantissa << -shift;
        }
        let (kept, rest, half) = match shift {
            1..=127 => {
                let kept = self.mantissa >> shift;
                (kept, self.mantissa - (kept << shift), 1u128 << (shift - 1))
            }
            128 => (0, self.mantissa, 1u128 << 127),
            // Less than half a unit, whatever it is.
            _ => (0, u128::from(self.mantissa != 0 || self.sticky), 2),
        };
        let inexact = rest != 0 || self.sticky;
        let up = match rounding {
            Rounding::Nearest => rest > half || (rest == half && (self.sticky || kept & 1 == 1)),
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
            Rounding::Down => self.negative && inexact,
            Rounding::Up => !self.negative && inexact,
        };
        kept + u128::from(up)
    }

    fn top(&self) -> i32 {
        self.exponent + 128 - self.mantissa.leading_zeros() as i32
    }

    fn add(self, other: Self, rounding: Rounding) -> Self {
        if self.mantissa == 0 && other.mantissa == 0 {
            let negative = if self.negative == other.negative {
                self.negative
            } else {
                rounding == Rounding::Down
            };
            return Self {
                negative,
                mantissa: 0,
                exponent: 0,
                sticky: false,
            };
        }
        if self.mantissa == 0 {
            return other;
        }
        if other.mantissa == 0 {
            return self;
        }
        let (big, small) = if self.top() >= other.top() {
            (self, other)
        } else {
            (other, self)
        };
        // The larger one's top bit goes to bit 125: room for a carry above, and the most room for the smaller one below.
        let lift = big.mantissa.leading_zeros() as i32 - 2;
        let exponent = big.exponent - lift;
        let large = big.mantissa << lift;
        let shift = exponent - small.exponent;
        let (aligned, sticky) = match shift {
            ..=0 => (small.mantissa << -shift, false),
            1..=127 => {
                let kept = small.mantissa >> shift;
                (kept, kept << shift != small.mantissa)
            }
            _ => (0, true),
        };
        if big.negative == small.negative {
            return Self {
                negative: big.negative,
                mantissa: large + aligned,
                exponent,
                sticky,
            };
        }
        if large == aligned && !sticky {
            return Self {
                negative: rounding == Rounding::Down,
                mantissa: 0,
                exponent: 0,
                sticky: false,
            };
        }
        if aligned > large {
            return Self {
                negative: small.negative,
                mantissa: aligned - large,
                exponent,
                sticky: false,
            };
        }
        // What was cut off the smaller one makes the difference a little less than the kept bits say.
        Self {
            negative: big.negative,
            mantissa: large - aligned - u128::from(sticky),
            exponent,
            sticky,
        }
    }
}

/// `a + b` in one format.
pub(crate) fn add(format: &Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    format.round(format.value(a).add(format.value(b), rounding), rounding)
}

/// `a * b` in one format.
pub(crate) fn mul(format: &Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    format.round(format.value(a).mul(format.value(b)), rounding)
}

/// `a * b + c` in one format, rounded once.
pub(crate) fn fma(format: &Format, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    format.round(
        format
            .value(a)
            .mul(format.value(b))
            .add(format.value(c), rounding),
        rounding,
    )
}

/// `a / b` in one format.
pub(crate) fn div(format: &Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    format.round(format.value(a).div(format.value(b)), rounding)
}

/// The square root in one format.
pub(crate) fn sqrt(format: &Format, a: u64, rounding: Rounding) -> u64 {
    format.round(format.value(a).sqrt(), rounding)
}

/// A value of one format in another.
pub(crate) fn convert(from: &Format, to: &Format, a: u64, rounding: Rounding) -> u64 {
    to.round(from.value(a), rounding)
}

#[cfg(test)]
mod tests;
