//! Swizzles: the permutation of 16-byte chunks with which tensor copies place rows in shared memory, and wgmma finds them.
//!
//! A swizzle works on addresses in shared memory and not on offsets in a tile: the bits above the row's 128 bytes are
//! exclusive-ored into the chunk's number, so that the pattern repeats every 256, 512 or 1024 bytes.

/// A mode, named by the bytes of the row that chunks are permuted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the number is the bytes")]
pub enum Swizzle {
    None,
    B32,
    B64,
    B128,
}

impl Swizzle {
    /// Bytes of the row that chunks are permuted in; one chunk's without swizzle.
    #[must_use]
    pub const fn span(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }

    /// Bytes after which the pattern repeats.
    #[must_use]
    pub const fn period(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 | Self::B64 | Self::B128 => 8 * self.span(),
        }
    }

    /// The address in shared memory where a byte with this address is to be found. An involution.
    #[inline(always)]
    #[must_use]
    pub const fn apply(self, address: u32) -> u32 {
        address ^ ((address >> 3) & (self.span() - 1) & !15)
    }
}
