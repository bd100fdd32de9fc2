//! Widths of accesses, chosen by alignment.

use crate::Uniform;

/// The widest access that an address allows: 4, 8 or 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 4 bytes.
    B4,
    /// 8 bytes.
    B8,
    /// 16 bytes.
    B16,
}

impl Width {
    /// The widest access whose every address is `address` plus a multiple of 16.
    #[inline(always)]
    pub const fn of(address: u64) -> Self {
        match address % 16 {
            0 => Self::B16,
            8 => Self::B8,
            _ => Self::B4,
        }
    }

    /// Its bytes.
    #[inline(always)]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::B4 => 4,
            Self::B8 => 8,
            Self::B16 => 16,
        }
    }
}

impl Uniform<Width> {
    /// The narrower of the two.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if (a as u8) < (b as u8) { a } else { b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_divides_every_address() {
        for (address, width) in [
            (0, Width::B16),
            (16, Width::B16),
            (8, Width::B8),
            (24, Width::B8),
            (4, Width::B4),
            (12, Width::B4),
            (1004, Width::B4),
        ] {
            assert_eq!(Width::of(address), width, "address {address}");
            assert_eq!(address % u64::from(width.bytes()), 0);
        }
    }
}
