//! Matrix descriptors: the 64-bit operand that tells `wgmma` where a factor is in shared memory.
//!
//! A factor is made of *core matrices*, eight lines of 16 bytes. Along k (K-major) or along m or n (MN-major) the elements
//! of a line are neighbours. Two distances say where the next core matrix is in each direction; which is which depends on both
//! the direction and the swizzle, and some combinations need only one of them.
//!
//! | bits | what |
//! |---|---|
//! | 0–13 | start address, in units of 16 bytes |
//! | 16–29 | leading byte offset, in units of 16 bytes |
//! | 32–45 | stride byte offset, in units of 16 bytes |
//! | 49–51 | base offset: 128-byte row of the pattern that the start address stands in |
//! | 62–63 | swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes |

use super::swizzle::Swizzle;

/// Bytes of a line of a core matrix.
pub const CHUNK: usize = 16;
/// Bytes that one instruction takes of a row of a, or of a column of b.
const DEPTH: usize = 32;

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Start address, in bytes.
    pub start: u32,
    /// Leading byte offset.
    pub leading: u32,
    /// Stride byte offset.
    pub stride: u32,
    /// Base offset, from 0 to 7.
    pub base: u32,
    /// Swizzle.
    pub swizzle: Swizzle,
}

/// In which direction the elements of a line are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// Along k: a row by row, b column by column.
    K,
    /// Along m or n, for 16-bit elements only: the `imm-trans` operands.
    Mn,
}

/// Sixteen bytes of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where they are in shared memory.
    pub address: u32,
    /// Row of a, or column of b, of the first element.
    pub line: usize,
    /// Index along k of the first element.
    pub k: usize,
}

impl Descriptor {
    /// What the bits say.
    #[must_use]
    pub const fn decode(bits: u64) -> Self {
        const fn field(bits: u64, from: u32) -> u32 {
            ((bits >> from) as u32 & 0x3fff) << 4
        }
        Self {
            start: field(bits, 0),
            leading: field(bits, 16),
            stride: field(bits, 32),
            base: (bits >> 49) as u32 & 7,
            swizzle: match bits >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::B128,
                2 => Swizzle::B64,
                _ => Swizzle::B32,
            },
        }
    }

    /// The bits; addresses and distances are cut to multiples of 16 below 2^18.
    #[must_use]
    pub const fn encode(&self) -> u64 {
        const fn field(bytes: u32, at: u32) -> u64 {
            ((bytes as u64 & 0x3_ffff) >> 4) << at
        }
        let swizzle = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::B128 => 1,
            Swizzle::B64 => 2,
            Swizzle::B32 => 3,
        };
        field(self.start, 0)
            | field(self.leading, 16)
            | field(self.stride, 32)
            | (self.base as u64 & 7) << 49
            | swizzle << 62
    }

    /// The chunks of a factor with so many lines (rows of a, columns of b), a multiple of 8.
    pub fn chunks(
        self,
        major: Major,
        lines: usize,
        element_bytes: usize,
    ) -> impl Iterator<Item = Chunk> {
        let in_chunk = CHUNK / element_bytes.clamp(1, CHUNK);
        let depth = DEPTH / element_bytes.clamp(1, DEPTH);
        // Chunks lie along one direction, single elements along the other.
        let (chunks, singles) = match major {
            Major::K => (depth / in_chunk, lines),
            Major::Mn => (lines / in_chunk, depth),
        };
        (0..singles).flat_map(move |single| {
            (0..chunks).map(move |chunk| {
                let address = self.address(major, chunk as u32, single as u32);
                match major {
                    Major::K => Chunk {
                        address,
                        line: single,
                        k: chunk * in_chunk,
                    },
                    Major::Mn => Chunk {
                        address,
                        line: chunk * in_chunk,
                        k: single,
                    },
                }
            })
        })
    }

    /// The address of a chunk: the `chunk`-th along the direction of neighbours, the `single`-th across it.
    #[inline(always)]
    #[must_use]
    pub const fn address(&self, major: Major, chunk: u32, single: u32) -> u32 {
        let span = self.swizzle.span();
        let (inside, group) = (single % 8, single / 8);
        let wide = span / CHUNK as u32;
        let offset = match (major, self.swizzle) {
            // Chunks are a leading offset apart, eights a stride.
            (Major::K, Swizzle::None) => chunk
                .wrapping_mul(self.leading)
                .wrapping_add(group.wrapping_mul(self.stride)),
            // Without swizzle the two change places.
            (Major::Mn, Swizzle::None) => chunk
                .wrapping_mul(self.stride)
                .wrapping_add(group.wrapping_mul(self.leading)),
            // All chunks of an instruction are in one row of the pattern, and there is no leading offset.
            (Major::K, _) => (chunk * CHUNK as u32).wrapping_add(group.wrapping_mul(self.stride)),
            // A row of the pattern takes a few chunks, the next few are a leading offset on.
            (Major::Mn, _) => (chunk % wide * CHUNK as u32)
                .wrapping_add((chunk / wide).wrapping_mul(self.leading))
                .wrapping_add(group.wrapping_mul(self.stride)),
        };
        let address = self.start.wrapping_add(offset).wrapping_add(inside * span);
        // The pattern starts where the base offset says, not at the next multiple of its period.
        let shift = self.base << 7;
        self.swizzle
            .apply(address.wrapping_sub(shift))
            .wrapping_add(shift)
    }
}
