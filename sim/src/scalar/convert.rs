//! `cvt` of one lane, between any two types.

use super::exact::{BF16, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32, Value};
use super::float::flush;
use super::small_float::{self, Overflow, SmallFloat, narrow, relu, to_tf32};

/// A type as `cvt` sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bits, and whether there is a sign.
    Integer(u32, bool),
    F16,
    Bf16,
    F32,
    F64,
    Tf32,
    E4M3,
    E5M2,
}

impl Kind {
    pub(crate) const fn format(self) -> Option<&'static Format> {
        Some(match self {
            Self::Integer(..) => return None,
            Self::F16 => &F16,
            Self::Bf16 => &BF16,
            Self::F32 => &F32,
            Self::F64 => &F64,
            Self::Tf32 => &TF32,
            Self::E4M3 => &E4M3,
            Self::E5M2 => &E5M2,
        })
    }

    /// Whether it is a float format narrower than f32.
    const fn is_small(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::Bf16 | Self::Tf32 | Self::E4M3 | Self::E5M2
        )
    }

    /// Bits of a value in its register.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Integer(bits, _) => bits,
            Self::F16 | Self::Bf16 => 16,
            Self::F32 | Self::Tf32 => 32,
            Self::F64 => 64,
            Self::E4M3 | Self::E5M2 => 8,
        }
    }
}

/// A conversion with everything that its instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) from: Kind,
    pub(crate) to: Kind,
    pub(crate) rounding: Rounding,
    /// Round to an integer although the result is a float (`.rni` and its like).
    pub(crate) integral: bool,
    pub(crate) ftz: bool,
    /// `.sat`.
    pub(crate) saturate: bool,
    /// `.satfinite`.
    pub(crate) satfinite: bool,
    pub(crate) relu: bool,
}

/// The converted bits, zero-extended (for an integer with a sign: sign-extended to 64 bits).
pub(crate) fn convert(bits: u64, how: &Conversion) -> u64 {
    match (how.from, how.to) {
        (Kind::Integer(width, signed), Kind::Integer(to, to_signed)) => {
            let value = integer(bits, width, signed);
            let value = if how.saturate {
                clamp(value, to, to_signed)
            } else {
                value
            };
            integer(value as u64, to, to_signed) as u64
        }
        (Kind::Integer(width, signed), to) => {
            let value = Value::integer(integer(bits, width, signed));
            finish(value, to, how)
        }
        (from, Kind::Integer(to, signed)) => {
            let value = source(bits, from, how.ftz);
            let value = match value.to_integer(how.rounding) {
                // NaN has no nearest integer; where f64 or 64 bits are involved the ISA says the top bit, else zero.
                None if to == 64 || from == Kind::F64 => 1 << (to - 1),
                None => 0,
                Some(value) => clamp(value, to, signed),
            };
            integer(value as u64, to, signed) as u64
        }
        (Kind::F32 | Kind::F64, to) if to.is_small() && !how.integral && !how.saturate => {
            let value = match how.from {
                Kind::F64 => f64::from_bits(bits),
                _ => flush(f32::from_bits(bits as u32), how.ftz).into(),
            };
            u64::from(small(value, to, how))
        }
        (from, to) => {
            let mut value = source(bits, from, how.ftz);
            if how.integral {
                value = value.to_integral(how.rounding);
            }
            finish(value, to, how)
        }
    }
}

/// A number in one of the formats narrower than f32.
fn small(value: f64, to: Kind, how: &Conversion) -> u32 {
    fn into<F: SmallFloat>(value: f64, how: &Conversion, overflow: Overflow) -> u32 {
        let bits = narrow::<F>(value, how.rounding, overflow);
        if how.relu { relu::<F>(bits) } else { bits }
    }
    let overflow = if how.satfinite {
        Overflow::Largest
    } else {
        Overflow::Infinity
    };
    match to {
        Kind::F16 => into::<small_float::F16>(value, how, overflow),
        Kind::Bf16 => into::<small_float::Bf16>(value, how, overflow),
        Kind::E4M3 => into::<small_float::E4m3>(value, how, overflow),
        Kind::E5M2 => into::<small_float::E5m2>(value, how, overflow),
        _ => to_tf32(value as f32, how.rounding, overflow, how.relu),
    }
}

/// The integer that the low bits stand for.
fn integer(bits: u64, width: u32, signed: bool) -> i128 {
    let unused = 64 - width;
    if signed {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits << unused >> unused)
    }
}

fn clamp(value: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

fn source(bits: u64, from: Kind, ftz: bool) -> Value {
    let Some(format) = from.format() else {
        return Value::Nan;
    };
    let bits = if ftz && from == Kind::F32 && bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    };
    format.value(bits)
}

fn finish(value: Value, to: Kind, how: &Conversion) -> u64 {
    let Some(format) = to.format() else { return 0 };
    let (nan, negative) = match value {
        Value::Nan => (true, false),
        Value::Infinite { negative } => (false, negative),
        Value::Finite(finite) => (false, finite.negative),
    };
    if how.saturate && (nan || negative) || how.relu && !nan && negative {
        return 0;
    }
    let mut bits = format.round(value, how.rounding);
    if how.saturate {
        let one = format.round(Value::integer(1), Rounding::Nearest);
        bits = bits.min(one);
    }
    if how.satfinite && !nan {
        let magnitude = bits & (format.largest(true) ^ format.largest(false)).wrapping_sub(1);
        if magnitude > format.largest(false) {
            bits = format.largest(negative);
        }
    }
    if to == Kind::F32 && how.ftz && bits & 0x7f80_0000 == 0 {
        bits &= 0x8000_0000;
    }
    // A tf32 sits in the upper bits of an f32.
    if to == Kind::Tf32 {
        if nan { 0x7fff_ffff } else { bits << 13 }
    } else {
        bits
    }
}

impl Conversion {
    /// The conversion in one word, for the fields of an instruction.
    pub(crate) fn pack(&self) -> u32 {
        let kind = |kind: Kind| match kind {
            Kind::Integer(bits, signed) => bits.trailing_zeros() * 2 + u32::from(signed),
            Kind::F16 => 16,
            Kind::Bf16 => 17,
            Kind::F32 => 18,
            Kind::F64 => 19,
            Kind::Tf32 => 20,
            Kind::E4M3 => 21,
            Kind::E5M2 => 22,
        };
        let flags = [
            self.integral,
            self.ftz,
            self.saturate,
            self.satfinite,
            self.relu,
        ];
        let flags = flags
            .iter()
            .enumerate()
            .fold(0, |word, (at, flag)| word | u32::from(*flag) << at);
        kind(self.from) | kind(self.to) << 8 | (self.rounding as u32) << 16 | flags << 24
    }

    /// What [`pack`](Self::pack) packed.
    pub(crate) fn unpack(word: u32) -> Self {
        let kind = |code: u32| match code & 0xff {
            16 => Kind::F16,
            17 => Kind::Bf16,
            18 => Kind::F32,
            19 => Kind::F64,
            20 => Kind::Tf32,
            21 => Kind::E4M3,
            22 => Kind::E5M2,
            code => Kind::Integer(1 << (code / 2), code % 2 == 1),
        };
        let rounding = match word >> 16 & 0xff {
            0 => Rounding::Nearest,
            1 => Rounding::NearestAway,
            2 => Rounding::Zero,
            3 => Rounding::Down,
            _ => Rounding::Up,
        };
        let flag = |at: u32| word >> (24 + at) & 1 != 0;
        Self {
            from: kind(word),
            to: kind(word >> 8),
            rounding,
            integral: flag(0),
            ftz: flag(1),
            saturate: flag(2),
            satfinite: flag(3),
            relu: flag(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let kinds = [
            Kind::Integer(8, false),
            Kind::Integer(64, true),
            Kind::F16,
            Kind::Bf16,
            Kind::F32,
            Kind::F64,
            Kind::Tf32,
            Kind::E4M3,
            Kind::E5M2,
        ];
        let roundings = [
            Rounding::Nearest,
            Rounding::NearestAway,
            Rounding::Zero,
            Rounding::Down,
            Rounding::Up,
        ];
        for from in kinds {
            for to in kinds {
                for rounding in roundings {
                    for flags in 0..32 {
                        let flag = |at: u32| flags >> at & 1 != 0;
                        let conversion = Conversion {
                            from,
                            to,
                            rounding,
                            integral: flag(0),
                            ftz: flag(1),
                            saturate: flag(2),
                            satfinite: flag(3),
                            relu: flag(4),
                        };
                        assert_eq!(Conversion::unpack(conversion.pack()), conversion);
                    }
                }
            }
        }
    }
}
