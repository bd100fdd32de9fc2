//! The PTX spelling of the tree's small enumerations, in both directions, and the size of each type.

use crate::ast::{Linkage, Space, Type};

/// Every type with its word and its size in bits.
const TYPES: &[(Type, &str, u32)] = &[
    (Type::B8, "b8", 8),
    (Type::B16, "b16", 16),
    (Type::B32, "b32", 32),
    (Type::B64, "b64", 64),
    (Type::B128, "b128", 128),
    (Type::U8, "u8", 8),
    (Type::U16, "u16", 16),
    (Type::U32, "u32", 32),
    (Type::U64, "u64", 64),
    (Type::S8, "s8", 8),
    (Type::S16, "s16", 16),
    (Type::S32, "s32", 32),
    (Type::S64, "s64", 64),
    (Type::F16, "f16", 16),
    (Type::F16x2, "f16x2", 32),
    (Type::BF16, "bf16", 16),
    (Type::BF16x2, "bf16x2", 32),
    (Type::F32, "f32", 32),
    (Type::F32x2, "f32x2", 64),
    (Type::F64, "f64", 64),
    (Type::TF32, "tf32", 32),
    (Type::E4M3, "e4m3", 8),
    (Type::E5M2, "e5m2", 8),
    (Type::E4M3x2, "e4m3x2", 16),
    (Type::E5M2x2, "e5m2x2", 16),
    (Type::U16x2, "u16x2", 32),
    (Type::S16x2, "s16x2", 32),
    (Type::U4, "u4", 4),
    (Type::S4, "s4", 4),
    (Type::B1, "b1", 1),
    (Type::Pred, "pred", 1),
];

impl Type {
    /// The type that a word without its dot names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        TYPES.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// The word, without a dot: `f32`.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// Bits of a value; one for a predicate.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.row().2
    }

    /// Bytes of a value in memory. Predicates have no place there and answer one.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    fn row(self) -> &'static (Type, &'static str, u32) {
        // The table is in the enumeration's order, which a test holds.
        &TYPES[self as usize]
    }
}

impl Space {
    /// The space that a word without its dot names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "reg" => Space::Reg,
            "global" => Space::Global,
            "shared" => Space::Shared,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" => Space::Param,
            _ => return None,
        })
    }

    /// The word, without a dot.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }
}

impl Linkage {
    /// The word with its dot; empty where no word is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Linkage::Local => "",
            Linkage::Visible => ".visible",
            Linkage::Extern => ".extern",
            Linkage::Weak => ".weak",
            Linkage::Common => ".common",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_finds_its_own_row() {
        for &(ty, word, bits) in TYPES {
            assert_eq!(
                (ty.word(), ty.bits(), Type::parse(word)),
                (word, bits, Some(ty))
            );
        }
    }
}
