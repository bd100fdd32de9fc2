//! The floating-point formats narrower than f32: what their bits stand for, and how a number is rounded into them.
//!
//! Everything is computed in f64, which holds every value of these formats, every f32, and every product of two of them exactly;
//! one rounding at the end goes into the format. The code is a few integer operations without a table or a loop, so that a row of lanes vectorises.
//!
//! Each format has one NaN that operations give. Its payload is the hardware's: all ones below the sign.

pub(crate) mod half;
#[cfg(test)]
mod tests;

use super::exact::Rounding;

/// A format with at most ten bits of fraction; values travel in the low bits of a `u32`.
pub(crate) trait SmallFloat {
    /// Bits of fraction, the hidden one not counted.
    const FRACTION_BITS: u32;
    /// Bits of exponent.
    const EXPONENT_BITS: u32;
    /// Bits of the largest finite number.
    const MAX_FINITE: u32;
    /// Bits of infinity; of the NaN in the one format that has no infinity.
    const INFINITY: u32;
    /// The NaN that operations give.
    const NAN: u32 = Self::SIGN - 1;
    /// The sign's bit.
    const SIGN: u32 = 1 << (Self::FRACTION_BITS + Self::EXPONENT_BITS);
    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32 = 2 - (1 << (Self::EXPONENT_BITS - 1));
    /// Smallest normal number.
    const MIN_NORMAL: u32 = 1 << Self::FRACTION_BITS;
    /// What turns a value whose bits were moved to the top of an f32 into itself: the ratio of the two exponent biases.
    const REBIAS: f32 = f32::from_bits(((126 + Self::MIN_EXPONENT + 127) as u32) << 23);
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: $fraction:literal $exponent:literal, $max:literal, $infinity:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;

        impl SmallFloat for $name {
            const FRACTION_BITS: u32 = $fraction;
            const EXPONENT_BITS: u32 = $exponent;
            const MAX_FINITE: u32 = $max;
            const INFINITY: u32 = $infinity;
        }
    )*};
}

formats! {
    /// IEEE binary16.
    F16: 10 5, 0x7bff, 0x7c00;
    /// The upper half of an f32.
    Bf16: 7 8, 0x7f7f, 0x7f80;
    /// The upper 19 bits of an f32. In a register they stand at the top, see [`to_tf32`].
    Tf32: 10 8, 0x3_fbff, 0x3_fc00;
    /// One byte with four bits of exponent, no infinity and a single NaN.
    E4m3: 3 4, 0x7e, 0x7f;
    /// One byte, the upper half of an f16.
    E5m2: 2 5, 0x7b, 0x7c;
}

/// The NaN of f32 results.
const NAN32: f32 = f32::from_bits(0x7fff_ffff);

/// What the bits stand for, exactly. A NaN of a format that is a prefix of f32 keeps its payload, others become the one of f32.
#[inline(always)]
pub(crate) fn widen<F: SmallFloat>(bits: u32) -> f32 {
    let magnitude = bits & (F::SIGN - 1);
    let sign = (bits & F::SIGN) << (31 - F::FRACTION_BITS - F::EXPONENT_BITS);
    let prefix = f32::from_bits(magnitude << (23 - F::FRACTION_BITS));
    let value = if F::EXPONENT_BITS == 8 {
        prefix
    } else if magnitude <= F::MAX_FINITE {
        // The product is exact, and turns a subnormal number into a normal one.
        prefix * F::REBIAS
    } else if magnitude == F::INFINITY && F::INFINITY != F::NAN {
        f32::INFINITY
    } else {
        return NAN32;
    };
    f32::from_bits(value.to_bits() | sign)
}

/// What becomes of a number beyond the largest finite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// As IEEE 754 says for the rounding mode.
    Infinity,
    /// `.satfinite`: the largest finite number, also for infinity.
    Largest,
}

/// The bits nearest to the value in the sense of `rounding`.
#[inline(always)]
pub(crate) fn narrow<F: SmallFloat>(value: f64, rounding: Rounding, overflow: Overflow) -> u32 {
    const FRACTION: u32 = 52;
    const INFINITY: u64 = 0x7ff << FRACTION;
    let magnitude = value.to_bits() & (u64::MAX >> 1);
    let negative = value.is_sign_negative();
    let sign = if negative { F::SIGN } else { 0 };
    let field = magnitude >> FRACTION;
    let significand = (magnitude & ((1 << FRACTION) - 1)) | u64::from(field != 0) << FRACTION;
    // How many exponents above the smallest the number is; below it the unit stays that of the smallest.
    let above = field.max(1) as i32 - 1023 - F::MIN_EXPONENT;
    // Past 60 nothing is kept and everything is less than half a unit, as it is at 60.
    let shift = (FRACTION as i32 - F::FRACTION_BITS as i32 + (-above).max(0)).min(60) as u32;
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    // The hidden bit in `kept` counts as one exponent, a carry out of the fraction as the next.
    let rounded = ((above.max(0) as u32) << F::FRACTION_BITS) + kept as u32 + u32::from(up);
    let toward_zero = match rounding {
        Rounding::Nearest | Rounding::NearestAway => false,
        Rounding::Zero => true,
        Rounding::Down => !negative,
        Rounding::Up => negative,
    };
    let largest = overflow == Overflow::Largest || (toward_zero && magnitude != INFINITY);
    if magnitude > INFINITY {
        F::NAN
    } else if rounded <= F::MAX_FINITE {
        sign | rounded
    } else if largest {
        sign | F::MAX_FINITE
    } else {
        sign | F::INFINITY
    }
}

/// `.relu`: negative numbers become zero; a NaN stays one.
#[inline(always)]
pub(crate) fn relu<F: SmallFloat>(bits: u32) -> u32 {
    if bits & (F::SIGN - 1) > F::INFINITY {
        F::NAN
    } else if bits & F::SIGN != 0 {
        0
    } else {
        bits
    }
}

/// A tf32 as it stands in a register: in the upper 19 bits, the lower 13 being zero.
#[inline(always)]
pub(crate) fn to_tf32(value: f32, rounding: Rounding, overflow: Overflow, clamp: bool) -> u32 {
    let bits = narrow::<Tf32>(value.into(), rounding, overflow);
    (if clamp { relu::<Tf32>(bits) } else { bits }) << 13
}

/// What the tensor cores make of a register that holds a tf32: the lower 13 bits do not count.
#[inline(always)]
pub(crate) fn from_tf32(register: u32) -> f32 {
    f32::from_bits(register & !0x1fff)
}
