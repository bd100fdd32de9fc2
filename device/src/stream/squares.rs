//! The square tiles of a matrix as the source of a stream: what a transposition reads.
//!
//! A stage holds one tile of 64 × 64 elements, row after row; in each row the vectors stand in an order of their own,
//! so that threads side by side, which read vectors below one another, meet in no bank of shared memory.

use super::{Kind, Left, Source};
use crate::crew::Crew;
use crate::law::law;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot};
use crate::view::{In, Width};
use crate::{Block, Uniform, ptx};

/// Rows and columns of a tile.
const SIDE: u32 = 64;
/// Vectors of a row of a tile, and groups of four rows.
const ACROSS: u32 = SIDE / 4;

/// The tiles of a matrix that blocks take in turns.
///
/// `ALIGNED` rows are copied in pieces of 16 bytes, others an element at a time; elements outside the matrix are zeros.
#[derive(Clone, Debug)]
pub struct Squares<const ALIGNED: bool> {
    elements: In<f32>,
    rows: u32,
    columns: u32,
    /// Tiles side by side.
    strips: u32,
    /// The tile to copy next, and the one to hand out next.
    to_issue: u64,
    to_read: u64,
    step: u32,
    steps: u32,
}

impl<const ALIGNED: bool> Squares<ALIGNED> {
    /// Threads of a block: each has a square of 4 × 4 elements of a tile.
    pub const THREADS: u32 = ACROSS * ACROSS;

    /// Elements of a stage.
    pub const STAGE: u32 = SIDE * SIDE;

    /// Rows and columns of a tile.
    pub const SIDE: u32 = SIDE;

    /// This block's tiles of the matrix of `rows` rows and `columns` columns.
    ///
    /// Traps where the view is shorter, where the number of tiles does not fit in 31 bits, or where `ALIGNED` is claimed of rows that are not.
    #[inline(always)]
    pub fn new(
        block: &Block,
        elements: In<f32>,
        rows: Uniform<u32>,
        columns: Uniform<u32>,
    ) -> Self {
        let (rows, columns) = (rows.get(), columns.get());
        let aligned = elements.width().get() == Width::B16 && columns.is_multiple_of(4);
        let strips = columns.div_ceil(SIDE);
        let tiles = u64::from(strips) * u64::from(rows.div_ceil(SIDE));
        let len = u64::from(rows) * u64::from(columns);
        if len > elements.len || tiles >= 1 << 31 || (ALIGNED && !aligned) {
            ptx::trap();
        }
        let (first, step) = (block.index().get(), block.blocks().get());
        Self {
            elements,
            rows,
            columns,
            strips: strips.max(1),
            to_issue: u64::from(first),
            to_read: u64::from(first),
            step,
            steps: (tiles as u32).saturating_sub(first).div_ceil(step),
        }
    }

    /// First row and column of a tile.
    #[inline(always)]
    fn corner(&self, tile: u64) -> (u32, u32) {
        let tile = tile as u32;
        (tile / self.strips * SIDE, tile % self.strips * SIDE)
    }

    /// Copies this thread's part of the tile at a corner, `BYTES` at a time.
    #[inline(always)]
    fn copy<M: Mechanism, const BYTES: usize>(&self, crew: Crew, to: u32, corner: (u32, u32)) {
        let lanes = BYTES as u32 / 4;
        let pieces = SIDE / lanes;
        let mut piece = crew.thread;
        while piece < SIDE * pieces {
            let (inner, offset) = (piece / pieces, piece % pieces * lanes);
            let (row, column) = (corner.0 + inner, corner.1 + offset);
            let size = if row < self.rows && column < self.columns {
                BYTES as u32
            } else {
                0
            };
            let at = u64::from(row) * u64::from(self.columns) + u64::from(column);
            let src = self.elements.base.wrapping_add(at as usize).cast::<u8>();
            let to = to + place(inner, offset / 4) + offset % 4 * 4;
            // SAFETY: only elements that exist are read: aligned rows consist of whole vectors; threads and rounds have different places in the stage.
            unsafe {
                if !M::ASYNCHRONOUS && size > 0 {
                    M::copy::<BYTES>(to, src);
                } else {
                    M::copy_prefix::<BYTES>(to, src, size);
                }
            }
            piece += crew.threads;
        }
    }
}

/// Where vector `vector` of row `row` of a tile stands in its stage, in bytes.
#[inline(always)]
const fn place(row: u32, vector: u32) -> u32 {
    (row * ACROSS + (vector ^ (row / 4))) * 16
}

impl<const ALIGNED: bool> Source for Squares<ALIGNED> {
    type Item = f32;
    type Tile<'s> = Square<'s>;

    #[inline(always)]
    fn stage_len(&self) -> Uniform<u32> {
        // SAFETY: a constant.
        unsafe { Uniform::assume(Self::STAGE) }
    }

    #[inline(always)]
    fn suits(&self, threads: u32) -> bool {
        threads == Self::THREADS
    }

    #[inline(always)]
    fn steps(&self) -> Uniform<u32> {
        // SAFETY: made of uniform values.
        unsafe { Uniform::assume(self.steps) }
    }

    #[inline(always)]
    fn irregular_steps(&self) -> Uniform<u32> {
        Uniform::<u32>::constant::<0>()
    }

    #[inline(always)]
    fn refill<M: Mechanism>(&mut self, crew: Crew, stage: Copier<'_, M>, left: Left) {
        const {
            law(
                !M::BULK,
                "the vectors of a tile stand in an order that a bulk copy does not make: take `Groups` or `Arrivals`",
            )
        };
        if !left.more_than(0) {
            return;
        }
        let corner = self.corner(self.to_issue);
        self.to_issue += u64::from(self.step);
        if ALIGNED {
            self.copy::<M, 16>(crew, stage.address(), corner);
        } else {
            self.copy::<M, 4>(crew, stage.address(), corner);
        }
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        crew: Crew,
        slot: ReadSlot<'s, f32, BlockScope>,
        _: u32,
        _: Kind,
    ) -> Square<'s> {
        let (row, column) = self.corner(self.to_read);
        self.to_read += u64::from(self.step);
        Square {
            slot,
            row,
            column,
            thread: crew.thread,
        }
    }
}

/// A tile in its stage.
#[derive(Debug)]
pub struct Square<'s> {
    slot: ReadSlot<'s, f32, BlockScope>,
    row: u32,
    column: u32,
    thread: u32,
}

impl Square<'_> {
    /// First row and column, in the matrix, of this thread's square of 4 × 4 elements.
    ///
    /// Threads side by side have squares below one another, which lie side by side in the transposed matrix.
    #[inline(always)]
    pub fn at(&self) -> (u32, u32) {
        let (group, vector) = square(self.thread);
        (self.row + 4 * group, self.column + 4 * vector)
    }

    /// The four columns of this thread's square, each from the top.
    #[inline(always)]
    pub fn columns(&self) -> [[f32; 4]; 4] {
        let (group, vector) = square(self.thread);
        // SAFETY: the vectors lie in the stage.
        let [a, b, c, d]: [[f32; 4]; 4] =
            [0, 1, 2, 3].map(|row| unsafe { self.slot.vector_at(place(4 * group + row, vector)) });
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a, b);
        let ([c0, c1, c2, c3], [d0, d1, d2, d3]) = (c, d);
        [
            [a0, b0, c0, d0],
            [a1, b1, c1, d1],
            [a2, b2, c2, d2],
            [a3, b3, c3, d3],
        ]
    }
}

/// The group of four rows, and the vector of each, that a thread has of a tile.
#[inline(always)]
const fn square(thread: u32) -> (u32, u32) {
    (thread % ACROSS, thread / ACROSS % ACROSS)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::HashSet;

    /// Eight threads read 128 bytes in one go, when they meet in no bank.
    fn distinct_banks(places: impl Iterator<Item = u32>) -> bool {
        let banks: HashSet<u32> = places.map(|place| place / 16 % 8).collect();
        banks.len() == 8
    }

    #[test]
    fn every_vector_has_a_place_of_its_own() {
        let places: HashSet<u32> = (0..SIDE)
            .flat_map(|row| (0..ACROSS).map(move |vector| place(row, vector)))
            .collect();
        assert_eq!(places.len() as u32, SIDE * ACROSS);
        assert!(places.iter().all(|place| *place < SIDE * SIDE * 4));
    }

    #[test]
    fn neither_copies_nor_reads_meet_in_a_bank() {
        for first in (0..Squares::<true>::THREADS).step_by(8) {
            let threads = first..first + 8;
            for row in 0..4 {
                let reads = threads.clone().map(|thread| {
                    let (group, vector) = square(thread);
                    place(4 * group + row, vector)
                });
                assert!(distinct_banks(reads), "row {row}, from thread {first} on");
            }
            let copies = threads.map(|piece| place(piece / ACROSS, piece % ACROSS));
            assert!(distinct_banks(copies), "from piece {first} on");
        }
    }

    #[test]
    fn every_square_has_one_thread() {
        let squares: HashSet<_> = (0..Squares::<true>::THREADS).map(square).collect();
        assert_eq!(squares.len() as u32, ACROSS * ACROSS);
    }
}
