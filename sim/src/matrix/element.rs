//! Types of matrix elements, and numbers as registers hold them.

use crate::scalar::exact::Rounding;
use crate::scalar::small_float::{Bf16, E4m3, E5m2, F16, Overflow, from_tf32, narrow, widen};

/// Type of the elements of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is its PTX word")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    S8,
    U8,
}

impl Element {
    /// Bits of an element in a register or in memory.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 => 32,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
        }
    }

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits() / 8
    }

    /// Elements in one 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> usize {
        32 / self.bits()
    }

    /// Whether the elements are integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::S8 | Self::U8)
    }

    /// The value of the element in the low bits; every value of every type is an f64.
    #[inline(always)]
    #[must_use]
    pub fn value(self, bits: u32) -> f64 {
        match self {
            Self::F16 => widen::<F16>(bits & 0xffff).into(),
            Self::Bf16 => widen::<Bf16>(bits & 0xffff).into(),
            Self::Tf32 => from_tf32(bits).into(),
            Self::E4m3 => widen::<E4m3>(bits & 0xff).into(),
            Self::E5m2 => widen::<E5m2>(bits & 0xff).into(),
            Self::S8 => f64::from(bits as i8),
            Self::U8 => f64::from(bits as u8),
        }
    }

    /// The value of one of the elements packed in a register, counted from the lowest bits.
    #[inline(always)]
    #[must_use]
    pub fn value_in(self, register: u32, index: usize) -> f64 {
        self.value(register >> ((index * self.bits()) & 31))
    }
}

/// Type of the elements of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// `.f32`.
    F32,
    /// `.f16`, two in a register.
    F16,
    /// `.s32`.
    S32 {
        /// `.satfinite`: sums beyond the range become its ends; otherwise they wrap.
        saturate: bool,
    },
}

impl Accumulator {
    /// Elements in one 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::S32 { .. } => 1,
        }
    }

    /// The value of one of the elements packed in a register, counted from the lowest bits.
    #[inline(always)]
    #[must_use]
    pub fn value_in(self, register: u32, index: usize) -> f64 {
        match self {
            Self::F32 => f32::from_bits(register).into(),
            Self::F16 => widen::<F16>(register >> ((16 * index) & 31) & 0xffff).into(),
            Self::S32 { .. } => f64::from(register as i32),
        }
    }

    /// The register with one of its elements set to a sum, rounded to nearest.
    #[inline(always)]
    #[must_use]
    pub fn put(self, register: u32, index: usize, sum: f64) -> u32 {
        match self {
            Self::F32 if sum.is_nan() => 0x7fff_ffff,
            Self::F32 => (sum as f32).to_bits(),
            Self::F16 => {
                let shift = (16 * index) & 31;
                let bits = narrow::<F16>(sum, Rounding::Nearest, Overflow::Infinity);
                register & !(0xffff << shift) | bits << shift
            }
            Self::S32 { saturate: true } => sum as i32 as u32,
            // A sum of the longest row is far inside 64 bits, and f64 holds it exactly.
            Self::S32 { saturate: false } => sum as i64 as u32,
        }
    }
}
