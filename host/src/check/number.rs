//! The number types of arguments, and their bytes.

use std::fmt;

use half::{bf16, f16};

use crate::io::npy::{self, Number};
use crate::workload::input;

/// A number type, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its name")]
pub(crate) enum Type {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

/// Name, bytes, and for floats the bits of precision.
const TYPES: &[(Type, &str, usize, Option<u32>)] = &[
    (Type::U8, "u8", 1, None),
    (Type::U16, "u16", 2, None),
    (Type::U32, "u32", 4, None),
    (Type::U64, "u64", 8, None),
    (Type::I8, "i8", 1, None),
    (Type::I16, "i16", 2, None),
    (Type::I32, "i32", 4, None),
    (Type::I64, "i64", 8, None),
    (Type::F16, "f16", 2, Some(11)),
    (Type::Bf16, "bf16", 2, Some(8)),
    (Type::F32, "f32", 4, Some(24)),
    (Type::F64, "f64", 8, Some(53)),
];

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl Type {
    /// The type of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Every name, for a message.
    pub(crate) fn names() -> String {
        TYPES.iter().map(|row| row.1).collect::<Vec<_>>().join(", ")
    }

    fn row(self) -> &'static (Self, &'static str, usize, Option<u32>) {
        // Every variant has a row; the test below says so.
        TYPES.iter().find(|row| row.0 == self).unwrap_or(&TYPES[0])
    }

    /// Bytes of a number.
    pub(crate) fn bytes(self) -> usize {
        self.row().2
    }

    /// Whether it is a float.
    pub(crate) fn is_float(self) -> bool {
        self.row().3.is_some()
    }

    /// Least and most of an integer type.
    fn range(self) -> (i128, i128) {
        let bits = 8 * self.bytes() as u32;
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => (0, (1 << bits) - 1),
            _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// Reads a number of this type: decimal or 0x… for integers, also `nan` and `inf` for floats.
    pub(crate) fn parse(self, text: &str) -> Result<Number, String> {
        if self.is_float() {
            let value = text
                .parse::<f64>()
                .map_err(|_| format!("`{text}` is no number of type {self}"))?;
            return Ok(Number::Float(value));
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        let magnitude = magnitude.map_err(|_| format!("`{text}` is no number of type {self}"))?;
        let value = if negative { -magnitude } else { magnitude };
        let (least, most) = self.range();
        if !(least..=most).contains(&value) {
            return Err(format!(
                "{text} is out of range for {self}, which goes from {least} to {most}"
            ));
        }
        Ok(Number::Integer(value))
    }

    /// Appends a number's little-endian bytes: floats rounded to nearest, integers wrapped.
    pub(crate) fn encode(self, number: Number, into: &mut Vec<u8>) {
        let float = match number {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        };
        match self {
            Self::F16 => into.extend_from_slice(&f16::from_f64(float).to_le_bytes()),
            Self::Bf16 => into.extend_from_slice(&bf16::from_f64(float).to_le_bytes()),
            Self::F32 => into.extend_from_slice(&(float as f32).to_le_bytes()),
            Self::F64 => into.extend_from_slice(&float.to_le_bytes()),
            _ => {
                let value = match number {
                    Number::Integer(value) => value,
                    Number::Float(value) => value as i128,
                };
                into.extend_from_slice(&value.to_le_bytes()[..self.bytes()]);
            }
        }
    }

    /// Writes bytes of this type as a one-dimensional `.npy` array. Halves become float32, since numpy has no bf16.
    pub(crate) fn write_npy(
        self,
        bytes: &[u8],
        sink: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        fn write<T: npyz::AutoSerialize + bytemuck::Pod>(
            bytes: &[u8],
            sink: &mut dyn std::io::Write,
        ) -> std::io::Result<()> {
            let values: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
            npy::write(&[values.len()], &values, sink)
        }
        match self {
            Self::U8 => write::<u8>(bytes, sink),
            Self::U16 => write::<u16>(bytes, sink),
            Self::U32 => write::<u32>(bytes, sink),
            Self::U64 => write::<u64>(bytes, sink),
            Self::I8 => write::<i8>(bytes, sink),
            Self::I16 => write::<i16>(bytes, sink),
            Self::I32 => write::<i32>(bytes, sink),
            Self::I64 => write::<i64>(bytes, sink),
            Self::F32 => write::<f32>(bytes, sink),
            Self::F64 => write::<f64>(bytes, sink),
            Self::F16 | Self::Bf16 => {
                let halves: Vec<u16> = bytemuck::pod_collect_to_vec(bytes);
                let widen = |&half: &u16| match self {
                    Self::F16 => f16::from_bits(half).to_f32(),
                    _ => bf16::from_bits(half).to_f32(),
                };
                let values: Vec<f32> = halves.iter().map(widen).collect();
                npy::write(&[values.len()], &values, sink)
            }
        }
    }

    /// Element `index` of a ramp: the index, wrapped where the type ends or stops being exact.
    pub(crate) fn ramp(self, index: u64) -> Number {
        match self.row().3 {
            Some(precision) => Number::Integer((index % (1 << precision)).into()),
            None => Number::Integer(index.into()),
        }
    }

    /// Element `index` of a random fill: floats in [−1, 1), integers over their range.
    pub(crate) fn random(self, seed: u64, index: u64) -> Number {
        let bits = input::hash(seed, index);
        if self.is_float() {
            Number::Float(f64::from(input::float(bits)))
        } else {
            Number::Integer(bits.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_row() {
        for &(ty, name, bytes, _) in TYPES {
            assert_eq!((ty.to_string().as_str(), ty.bytes()), (name, bytes));
            assert_eq!(Type::from_name(name), Some(ty));
        }
    }

    #[test]
    fn numbers_become_bytes() {
        for (ty, text, expected) in [
            ("u8", "255", &[255][..]),
            ("i8", "-1", &[255]),
            ("u16", "0x1234", &[0x34, 0x12]),
            ("i32", "-2", &[254, 255, 255, 255]),
            ("u64", "18446744073709551615", &[255; 8]),
            ("f16", "1.5", &[0x00, 0x3e]),
            ("bf16", "1.5", &[0xc0, 0x3f]),
            ("f32", "-0", &[0, 0, 0, 0x80]),
            ("f32", "inf", &[0, 0, 0x80, 0x7f]),
            ("f64", "0.1", &0.1_f64.to_le_bytes()),
        ] {
            let ty = Type::from_name(ty).unwrap();
            let mut bytes = Vec::new();
            ty.encode(ty.parse(text).unwrap(), &mut bytes);
            assert_eq!(bytes, expected, "{ty}={text}");
        }
    }

    #[test]
    fn what_is_no_such_number_is_refused() {
        for (ty, text, expected) in [
            (
                Type::U8,
                "256",
                "256 is out of range for u8, which goes from 0 to 255",
            ),
            (
                Type::U32,
                "-1",
                "-1 is out of range for u32, which goes from 0 to 4294967295",
            ),
            (
                Type::I8,
                "-129",
                "-129 is out of range for i8, which goes from -128 to 127",
            ),
            (Type::I64, "1.5", "`1.5` is no number of type i64"),
            (Type::F32, "one", "`one` is no number of type f32"),
            (Type::U64, "0x", "`0x` is no number of type u64"),
        ] {
            assert_eq!(ty.parse(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn ramps_wrap_where_they_must() {
        let element = |ty: Type, index| {
            let mut bytes = Vec::new();
            ty.encode(ty.ramp(index), &mut bytes);
            bytes
        };
        assert_eq!(element(Type::U8, 257), [1]);
        assert_eq!(element(Type::F16, 2048), element(Type::F16, 0));
        assert_eq!(element(Type::F32, 16_777_215), 16_777_215_f32.to_le_bytes());
    }
}
