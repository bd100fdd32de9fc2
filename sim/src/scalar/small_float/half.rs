//! Arithmetic of f16 and bf16: one rounding, to nearest.
//!
//! Sums and products are computed in f64 and rounded again. Two roundings to nearest give the same as one
//! when the first keeps more than twice the bits, which holds for sums; products are exact in f64.
//! A fused multiply-add has no such luck, so that its f64 sum is rounded *to odd*, after which the second rounding is as good as the only one.

use super::{Bf16, F16, Overflow, SmallFloat, narrow, widen};
use crate::scalar::exact::Rounding;

/// A format of 16 bits that has arithmetic.
pub(crate) trait Half: SmallFloat + Sized {
    /// Half a unit in the last place of a number just below one.
    const HALF_UNIT: f64 = 1.0 / (1u64 << (Self::FRACTION_BITS + 2)) as f64;

    /// What the bits stand for.
    #[inline(always)]
    fn value(bits: u16) -> f32 {
        widen::<Self>(bits.into())
    }

    /// The bits of the nearest number; of two, the even one.
    #[inline(always)]
    fn nearest(value: f64) -> u16 {
        narrow::<Self>(value, Rounding::Nearest, Overflow::Infinity) as u16
    }

    /// `.ftz`: subnormal numbers become zero, with their sign.
    #[inline(always)]
    fn flush(bits: u16, ftz: bool) -> u16 {
        let magnitude = bits & (Self::SIGN - 1) as u16;
        if ftz && u32::from(magnitude) < Self::MIN_NORMAL {
            bits ^ magnitude
        } else {
            bits
        }
    }

    /// Whether the bits are a NaN.
    #[inline(always)]
    fn is_nan(bits: u16) -> bool {
        u32::from(bits) & (Self::SIGN - 1) > Self::INFINITY
    }

    /// `add`.
    #[inline(always)]
    fn add(a: u16, b: u16, ftz: bool, clamp: Clamp) -> u16 {
        let [a, b] = [a, b].map(|bits| f64::from(Self::value(Self::flush(bits, ftz))));
        Self::finish(a + b, ftz, clamp)
    }

    /// `sub`.
    #[inline(always)]
    fn sub(a: u16, b: u16, ftz: bool, clamp: Clamp) -> u16 {
        Self::add(a, b ^ Self::SIGN as u16, ftz, clamp)
    }

    /// `mul`.
    #[inline(always)]
    fn mul(a: u16, b: u16, ftz: bool, clamp: Clamp) -> u16 {
        let [a, b] = [a, b].map(|bits| f64::from(Self::value(Self::flush(bits, ftz))));
        Self::finish(a * b, ftz, clamp)
    }

    /// `fma`.
    #[inline(always)]
    fn fma(a: u16, b: u16, c: u16, ftz: bool, clamp: Clamp) -> u16 {
        let [a, b, c] = [a, b, c].map(|bits| f64::from(Self::value(Self::flush(bits, ftz))));
        Self::finish(add_to_odd(a * b, c), ftz, clamp)
    }

    /// `neg`; of a NaN, the NaN.
    #[inline(always)]
    fn neg(a: u16, ftz: bool) -> u16 {
        if Self::is_nan(a) {
            Self::NAN as u16
        } else {
            Self::flush(a, ftz) ^ Self::SIGN as u16
        }
    }

    /// `abs`; of a NaN, the NaN.
    #[inline(always)]
    fn abs(a: u16, ftz: bool) -> u16 {
        if Self::is_nan(a) {
            Self::NAN as u16
        } else {
            Self::flush(a, ftz) & !(Self::SIGN as u16)
        }
    }

    /// `min`; `nan` is `.NaN`, `xorsign` is `.xorsign.abs`.
    #[inline(always)]
    fn min(a: u16, b: u16, ftz: bool, nan: bool, xorsign: bool) -> u16 {
        extreme::<Self>(a, b, ftz, nan, xorsign, |a, b| a < b)
    }

    /// `max`; `nan` is `.NaN`, `xorsign` is `.xorsign.abs`.
    #[inline(always)]
    fn max(a: u16, b: u16, ftz: bool, nan: bool, xorsign: bool) -> u16 {
        extreme::<Self>(a, b, ftz, nan, xorsign, |a, b| a > b)
    }

    /// The end of every operation: flushing, rounding, clamping.
    #[inline(always)]
    fn finish(value: f64, ftz: bool, clamp: Clamp) -> u16 {
        // Flushed is what would be subnormal were it rounded to the format's bits without its limit on exponents: all below
        // the smallest normal number, but for the last half of a unit before it, which rounds up to it.
        let limit = f64::from(Self::value(Self::MIN_NORMAL as u16)) * (1.0 - Self::HALF_UNIT);
        let bits = Self::nearest(if ftz && value.abs() < limit {
            0f64.copysign(value)
        } else {
            value
        });
        let negative = u32::from(bits) & Self::SIGN != 0;
        match clamp {
            Clamp::None => bits,
            Clamp::Unit if negative || Self::is_nan(bits) => 0,
            Clamp::Unit => bits.min(Self::nearest(1.0)),
            Clamp::Relu if negative => 0,
            Clamp::Relu => bits,
        }
    }
}

impl Half for F16 {}
impl Half for Bf16 {}

/// What a result is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clamp {
    /// Nothing.
    None,
    /// `.sat`: from 0 to 1; NaN gives 0.
    Unit,
    /// `.relu`: from 0 up; NaN stays NaN.
    Relu,
}

/// Both halves of two packed pairs.
#[inline(always)]
pub(crate) fn pair2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Both halves of three packed pairs.
#[inline(always)]
pub(crate) fn pair3(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16, c as u16))
        | u32::from(f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16)) << 16
}

/// The sum, and if it is not exact the one of its two neighbours whose last bit is set.
#[inline(always)]
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: what the rounding took away, exactly.
    let b_part = sum - a;
    let lost = (a - (sum - b_part)) + (b - b_part);
    // An infinite or NaN sum makes `lost` NaN, which is neither.
    let outward = (lost > 0.0) == (sum > 0.0);
    if lost != 0.0 && !lost.is_nan() && sum.to_bits() & 1 == 0 {
        let bits = sum.to_bits();
        f64::from_bits(if outward { bits + 1 } else { bits - 1 })
    } else {
        sum
    }
}

/// `min` or `max`: a NaN gives way to a number unless `.NaN` is asked for, and −0 is less than +0.
#[inline(always)]
fn extreme<F: Half>(
    a: u16,
    b: u16,
    ftz: bool,
    nan: bool,
    xorsign: bool,
    first: impl Fn(i32, i32) -> bool,
) -> u16 {
    let sign = F::SIGN as u16;
    let xor = (a ^ b) & sign;
    let [a, b] = [a, b].map(|bits| {
        if xorsign {
            F::flush(bits, ftz) & !sign
        } else {
            F::flush(bits, ftz)
        }
    });
    // Sign and magnitude as an integer that is ordered as the numbers are, the two zeros included.
    let order = |bits: u16| {
        let magnitude = i32::from(bits & !sign);
        if bits & sign != 0 {
            -1 - magnitude
        } else {
            magnitude
        }
    };
    let result = match (F::is_nan(a), F::is_nan(b)) {
        (true, true) => return F::NAN as u16,
        (true, false) | (false, true) if nan => return F::NAN as u16,
        (true, false) => b,
        (false, true) => a,
        (false, false) if first(order(a), order(b)) => a,
        (false, false) => b,
    };
    if xorsign { result | xor } else { result }
}
