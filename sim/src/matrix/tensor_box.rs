//! The bytes of one box: where each chunk of sixteen stands in global and in shared memory.

use std::ops::Range;

use super::swizzle::Swizzle;
use super::tensor_map::{DataType, Fill, MOST_RANK, TensorMap};

/// Bytes of a chunk.
pub const CHUNK: u32 = 16;

/// Sixteen bytes of a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they stand in shared memory.
    pub shared: u32,
    /// Which of the sixteen are inside the tensor; a load fills the others, a store leaves them out.
    pub inside: Range<u32>,
    /// Where the first byte of `inside` stands in global memory; the others follow it.
    pub global: u64,
}

/// The chunks of a box, in the order in which they stand in shared memory without swizzle.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    map: &'a TensorMap,
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
    ///
    /// Coordinates may be negative; missing ones are zero.
    #[must_use]
    pub fn pieces(&self, coordinates: &[i32], shared: u32) -> Pieces<'_> {
        let mut start = [0; MOST_RANK];
        for (start, coordinate) in start.iter_mut().zip(coordinates) {
            *start = i64::from(*coordinate);
        }
        Pieces {
            map: self,
            start,
            shared,
            line: [0; MOST_RANK],
            chunk: 0,
            done: false,
        }
    }

    /// The bytes that a load puts where the tensor has nothing: sixteen of them.
    #[must_use]
    pub fn fill_bytes(&self) -> [u8; CHUNK as usize] {
        let nan: u128 = match (self.fill(), self.data()) {
            (Fill::Nan, DataType::F16) => 0x7fff,
            (Fill::Nan, DataType::Bf16) => 0x7fff,
            (Fill::Nan, DataType::F64) => 0x7fff_ffff_ffff_ffff,
            (Fill::Nan, data) if data.is_float() => 0x7fff_ffff,
            _ => 0,
        };
        let bits = 8 * self.data().bytes();
        (0..128 / bits)
            .fold(0u128, |all, index| all | nan << (bits * index))
            .to_le_bytes()
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.done {
            return None;
        }
        let map = self.map;
        let size = i64::from(map.data().bytes());
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
        let in_chunk = i64::from(CHUNK) / size;
        let first = self.start[0] + i64::from(self.chunk) * in_chunk;
        let elements = map.elements(0) as i64;
        // Elements of the chunk that the tensor has.
        let from = (-first).clamp(0, in_chunk);
        let to = elements.saturating_sub(first).clamp(from, in_chunk);
        let inside = if outside || from == to {
            0..0
        } else {
            (from * size) as u32..(to * size) as u32
        };
        global = global.wrapping_add(((first + from).wrapping_mul(size)) as u64);
        let offset = line
            .wrapping_mul(map.line_pitch())
            .wrapping_add(self.chunk * CHUNK);
        let shared = map.swizzle().apply(self.shared.wrapping_add(offset));
        self.advance();
        Some(Piece {
            shared,
            inside,
            global,
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
