//! The bytes of one box: where each chunk of sixteen stands in global and in shared memory.
//!
//! A few things that documents say little about were read off an H200, and its recordings hold this module to them.
//! A box must start at a multiple of 16 bytes in the innermost dimension, and a store at coordinates that are not negative:
//! anything else is an illegal instruction. Loads tell elements inside the tensor from those outside one by one, but stores
//! write whole chunks, so that up to 15 bytes after the end of a line are overwritten. And a swizzle's rows in shared memory
//! are as wide as the swizzle, also when the box is narrower.

use super::swizzle::Swizzle;
use super::tensor_map::{DataType, Fill, MOST_RANK, TensorMap};
use crate::scalar::exact::Rounding;
use crate::scalar::small_float::{Overflow, to_tf32};

/// Bytes of a chunk.
pub const CHUNK: u32 = 16;
/// The NaN that stands outside a tensor, once for every two bytes whatever the type.
const OUTSIDE_NAN: [u8; 2] = 0x7ff7u16.to_le_bytes();

/// Which way a box is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the tensor into shared memory.
    Load,
    /// From shared memory into the tensor.
    Store,
}

/// Why a box cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message names each field")]
pub enum BoxError {
    #[error("tensor copy: {got} coordinates, {expected} expected for this tensor map")]
    Rank { got: usize, expected: usize },
    #[error(
        "tensor copy: innermost coordinate {coordinate} is {bytes} bytes in, a multiple of 16 expected"
    )]
    Misaligned { coordinate: i32, bytes: i64 },
    #[error(
        "tensor copy: coordinate {coordinate} in dimension {dimension} of a store, at least 0 expected; only loads may start outside"
    )]
    Negative { dimension: usize, coordinate: i32 },
}

/// Sixteen bytes of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they stand in shared memory.
    pub shared: u32,
    /// Where they stand in global memory; meaningless if no bytes are copied.
    pub global: u64,
    /// How many of them are copied, from the first on. A load fills the others.
    pub bytes: u32,
}

/// The chunks of a box, in the order in which they stand in shared memory without swizzle.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    map: &'a TensorMap,
    direction: Direction,
    start: [i64; MOST_RANK],
    shared: u32,
    /// Position in the box: lines by dimension, and the chunk of the line.
    line: [u32; MOST_RANK],
    chunk: u32,
    done: bool,
}

impl TensorMap {
    /// Bytes that a copy of a box counts on its mbarrier, what is outside the tensor included.
    #[must_use]
    pub fn box_bytes(&self) -> u32 {
        (1..MOST_RANK).fold(self.line_bytes(), |bytes, dimension| {
            bytes.saturating_mul(self.taken(dimension))
        })
    }

    /// Bytes from one line of a box in shared memory to the next: a swizzle's rows are always whole.
    #[must_use]
    pub const fn line_pitch(&self) -> u32 {
        match self.swizzle() {
            Swizzle::None => self.line_bytes(),
            swizzle => swizzle.span(),
        }
    }

    /// Bytes that a box takes up in shared memory.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        (1..MOST_RANK).fold(self.line_pitch(), |bytes, dimension| {
            bytes.saturating_mul(self.taken(dimension))
        })
    }

    /// The chunks of the box whose first element is at `coordinates`, innermost first, and whose shared memory starts at `shared`.
    pub fn pieces(
        &self,
        direction: Direction,
        coordinates: &[i32],
        shared: u32,
    ) -> Result<Pieces<'_>, BoxError> {
        if coordinates.len() != self.rank() {
            return Err(BoxError::Rank {
                got: coordinates.len(),
                expected: self.rank(),
            });
        }
        let mut start = [0; MOST_RANK];
        for (dimension, coordinate) in coordinates.iter().enumerate() {
            if direction == Direction::Store && *coordinate < 0 {
                return Err(BoxError::Negative {
                    dimension,
                    coordinate: *coordinate,
                });
            }
            start[dimension] = i64::from(*coordinate);
        }
        let bytes = start[0] * i64::from(self.data().bytes());
        if bytes % i64::from(CHUNK) != 0 {
            return Err(BoxError::Misaligned {
                coordinate: coordinates[0],
                bytes,
            });
        }
        Ok(Pieces {
            map: self,
            direction,
            start,
            shared,
            line: [0; MOST_RANK],
            chunk: 0,
            done: false,
        })
    }

    /// The bytes that a load puts where the tensor has nothing.
    #[must_use]
    pub fn fill_bytes(&self) -> [u8; CHUNK as usize] {
        let mut bytes = [0; CHUNK as usize];
        if self.fill() == Fill::Nan {
            bytes.as_chunks_mut().0.fill(OUTSIDE_NAN);
        }
        bytes
    }

    /// What a load makes of bytes of the tensor: numbers of the tf32 types are rounded, to nearest even.
    ///
    /// The flushing types flush nothing when they are copied, and stores change nothing.
    #[must_use]
    pub fn loaded(&self, mut bytes: [u8; CHUNK as usize]) -> [u8; CHUNK as usize] {
        if matches!(self.data(), DataType::Tf32 | DataType::Tf32Ftz) {
            for word in bytes.as_chunks_mut().0 {
                let value = f32::from_le_bytes(*word);
                *word = to_tf32(value, Rounding::Nearest, Overflow::Infinity, false).to_le_bytes();
            }
        }
        bytes
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.done {
            return None;
        }
        let map = self.map;
        let mut global = map.address();
        let mut outside = false;
        let mut line = 0u32;
        for dimension in (1..map.rank()).rev() {
            let position = self.line[dimension];
            line = line
                .wrapping_mul(map.taken(dimension))
                .wrapping_add(position);
            let at = self.start[dimension] + i64::from(position) * i64::from(map.step(dimension));
            outside |= at < 0 || at as u64 >= map.elements(dimension);
            global = global.wrapping_add((at as u64).wrapping_mul(map.stride(dimension)));
        }
        let size = i64::from(map.data().bytes());
        let first = self.start[0] * size + i64::from(self.chunk * CHUNK);
        global = global.wrapping_add(first as u64);
        // Both ends of a chunk are multiples of its size, so that its first byte decides.
        let left = if outside || first < 0 {
            0
        } else {
            (map.elements(0) as i64 * size - first).clamp(0, CHUNK.into())
        };
        let bytes = match self.direction {
            Direction::Store if left > 0 => CHUNK,
            _ => left as u32,
        };
        let offset = line
            .wrapping_mul(map.line_pitch())
            .wrapping_add(self.chunk * CHUNK);
        let shared = map.swizzle().apply(self.shared.wrapping_add(offset));
        self.advance();
        Some(Piece {
            shared,
            global,
            bytes,
        })
    }
}

impl Pieces<'_> {
    fn advance(&mut self) {
        self.chunk += 1;
        if self.chunk * CHUNK < self.map.line_bytes() {
            return;
        }
        self.chunk = 0;
        for dimension in 1..self.map.rank() {
            self.line[dimension] += 1;
            if self.line[dimension] < self.map.taken(dimension) {
                return;
            }
            self.line[dimension] = 0;
        }
        self.done = true;
    }
}
