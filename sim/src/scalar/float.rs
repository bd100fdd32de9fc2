//! f32 and f64 operations of one lane.
//!
//! Round-to-nearest goes to the host, the other modes to [`exact`](super::exact). A NaN result of an f32 operation is always the
//! canonical one, as on hardware. Approximate operations are computed in f64 and rounded once, which is inside the ISA's bounds.

use super::exact::{self, F32, F64, Rounding};

/// The NaN of f32 results.
pub(crate) const NAN32: f32 = f32::from_bits(0x7fff_ffff);

/// The canonical NaN for any NaN.
#[inline(always)]
pub(crate) fn canonical(a: f32) -> f32 {
    if a.is_nan() { NAN32 } else { a }
}

/// `.ftz`: subnormal numbers become zero, with their sign.
#[inline(always)]
pub(crate) fn flush(a: f32, ftz: bool) -> f32 {
    let bits = a.to_bits();
    if ftz && bits & 0x7f80_0000 == 0 {
        f32::from_bits(bits & 0x8000_0000)
    } else {
        a
    }
}

/// `.ftz` of a product, or of one with a sum: hardware flushes what was subnormal before it was rounded, even where rounding makes it normal.
#[inline(always)]
pub(crate) fn flush_unrounded(value: f32, [a, b, c]: [f32; 3], ftz: bool) -> f32 {
    if !ftz || value.abs() != f32::MIN_POSITIVE {
        return value;
    }
    // The product is exact, and so is the sum together with what it lost.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let added = sum - product;
    let lost = (product - (sum - added)) + (c - added);
    let least = f64::from(f32::MIN_POSITIVE);
    if sum.abs() < least || sum.abs() == least && lost * sum < 0.0 {
        0f32.copysign(value)
    } else {
        value
    }
}

/// `.sat`: into [0, 1], NaN becoming zero.
#[inline(always)]
pub(crate) fn saturate(a: f32, sat: bool) -> f32 {
    if !sat {
        a
    } else if a > 0.0 {
        if a > 1.0 { 1.0 } else { a }
    } else {
        0.0
    }
}

/// The end of every f32 operation.
#[inline(always)]
pub(crate) fn finish(a: f32, ftz: bool, sat: bool) -> f32 {
    saturate(flush(canonical(a), ftz), sat)
}

#[inline(always)]
fn bits32(a: f32) -> u64 {
    u64::from(a.to_bits())
}

fn from32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[inline(always)]
pub(crate) fn add32(a: f32, b: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        a + b
    } else {
        from32(exact::add(&F32, bits32(a), bits32(b), rounding))
    }
}

#[inline(always)]
pub(crate) fn mul32(a: f32, b: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        a * b
    } else {
        from32(exact::mul(&F32, bits32(a), bits32(b), rounding))
    }
}

#[inline(always)]
pub(crate) fn fma32(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        a.mul_add(b, c)
    } else {
        from32(exact::fma(&F32, bits32(a), bits32(b), bits32(c), rounding))
    }
}

#[inline(always)]
pub(crate) fn div32(a: f32, b: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        a / b
    } else {
        from32(exact::div(&F32, bits32(a), bits32(b), rounding))
    }
}

#[inline(always)]
pub(crate) fn sqrt32(a: f32, rounding: Rounding) -> f32 {
    if rounding == Rounding::Nearest {
        a.sqrt()
    } else {
        from32(exact::sqrt(&F32, bits32(a), rounding))
    }
}

#[inline(always)]
pub(crate) fn add64(a: f64, b: f64, rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest {
        a + b
    } else {
        f64::from_bits(exact::add(&F64, a.to_bits(), b.to_bits(), rounding))
    }
}

#[inline(always)]
pub(crate) fn mul64(a: f64, b: f64, rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest {
        a * b
    } else {
        f64::from_bits(exact::mul(&F64, a.to_bits(), b.to_bits(), rounding))
    }
}

#[inline(always)]
pub(crate) fn fma64(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest {
        a.mul_add(b, c)
    } else {
        f64::from_bits(exact::fma(
            &F64,
            a.to_bits(),
            b.to_bits(),
            c.to_bits(),
            rounding,
        ))
    }
}

#[inline(always)]
pub(crate) fn div64(a: f64, b: f64, rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest {
        a / b
    } else {
        f64::from_bits(exact::div(&F64, a.to_bits(), b.to_bits(), rounding))
    }
}

#[inline(always)]
pub(crate) fn sqrt64(a: f64, rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest {
        a.sqrt()
    } else {
        f64::from_bits(exact::sqrt(&F64, a.to_bits(), rounding))
    }
}

/// `min` and `max` of any float type: NaN gives way to a number unless `.NaN` is asked for, and −0 is less than +0.
macro_rules! extremes {
    ($min:ident $max:ident $ty:ty, $nan:expr) => {
        #[inline(always)]
        pub(crate) fn $min(a: $ty, b: $ty, nan: bool) -> $ty {
            if a.is_nan() || b.is_nan() {
                return if nan || (a.is_nan() && b.is_nan()) {
                    $nan
                } else if a.is_nan() {
                    b
                } else {
                    a
                };
            }
            if a < b || (a == b && a.is_sign_negative()) {
                a
            } else {
                b
            }
        }

        #[inline(always)]
        pub(crate) fn $max(a: $ty, b: $ty, nan: bool) -> $ty {
            if a.is_nan() || b.is_nan() {
                return if nan || (a.is_nan() && b.is_nan()) {
                    $nan
                } else if a.is_nan() {
                    b
                } else {
                    a
                };
            }
            if a > b || (a == b && a.is_sign_positive()) {
                a
            } else {
                b
            }
        }
    };
}

extremes!(min32 max32 f32, NAN32);
extremes!(min64 max64 f64, f64::from_bits(F64.nan));

/// A function that the hardware approximates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approximate {
    Reciprocal,
    Sqrt,
    ReciprocalSqrt,
    Sin,
    Cos,
    Log2,
    Exp2,
    Tanh,
}

/// Its value, rounded once.
pub(crate) fn approximate(a: f64, function: Approximate) -> f64 {
    match function {
        Approximate::Reciprocal => 1.0 / a,
        Approximate::Sqrt => a.sqrt(),
        Approximate::ReciprocalSqrt => 1.0 / a.sqrt(),
        Approximate::Sin => a.sin(),
        Approximate::Cos => a.cos(),
        Approximate::Log2 => a.log2(),
        Approximate::Exp2 => a.exp2(),
        Approximate::Tanh => a.tanh(),
    }
}

/// The same for f32.
#[inline(always)]
pub(crate) fn approximate32(a: f32, function: Approximate, ftz: bool) -> f32 {
    // A subnormal argument of rsqrt or lg2 counts as zero whatever is asked for; so says the table of each.
    let a = flush(a, ftz);
    finish(approximate(f64::from(a), function) as f32, ftz, false)
}

/// A comparison of `setp` and `set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The unordered ones: true when an operand is NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is NaN.
    Num,
    /// One is NaN.
    Nan,
}

/// Compares numbers; `unordered` tells that one is NaN.
#[inline(always)]
pub(crate) fn compare<T: PartialOrd + Copy>(a: T, b: T, how: Compare) -> bool {
    #[allow(clippy::eq_op, reason = "a value that differs from itself is NaN")]
    let unordered = a != a || b != b;
    match how {
        Compare::Eq => a == b,
        Compare::Ne => !unordered && a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Equ => unordered || a == b,
        Compare::Neu => unordered || a != b,
        Compare::Ltu => unordered || a < b,
        Compare::Leu => unordered || a <= b,
        Compare::Gtu => unordered || a > b,
        Compare::Geu => unordered || a >= b,
        Compare::Num => !unordered,
        Compare::Nan => unordered,
    }
}
