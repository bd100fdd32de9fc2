//! The panels of two matrices as the source of a stream: what a tile of their product needs, step by step.
//!
//! A stage holds `ROWS` × `DEPTH` elements of the left matrix and, behind them, `DEPTH` × `COLUMNS` of the right one; a step goes on by `DEPTH` along the sum.
//! Elements that lie outside the matrices are zeros.

use super::{Kind, Left, Source};
use crate::crew::Crew;
use crate::law::law;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot};
use crate::view::{In, Width};
use crate::{Uniform, ptx};

/// Rows and columns of a tile of the product that one thread computes.
const EACH: u32 = 4;

/// A matrix, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    elements: In<f32>,
    rows: u32,
    columns: u32,
}

impl Matrix {
    /// `elements` as `rows` rows of `columns` elements.
    ///
    /// Traps where there are fewer elements.
    #[inline(always)]
    pub fn new(elements: In<f32>, rows: Uniform<u32>, columns: Uniform<u32>) -> Self {
        let (rows, columns) = (rows.get(), columns.get());
        if u64::from(rows) * u64::from(columns) > elements.len {
            ptx::trap();
        }
        Self {
            elements,
            rows,
            columns,
        }
    }

    /// Whether every row starts at a multiple of 16 bytes.
    #[inline(always)]
    pub fn is_aligned(&self) -> Uniform<bool> {
        // SAFETY: a matrix is made of uniform values.
        unsafe {
            Uniform::assume(
                self.elements.width().get() == Width::B16 && self.columns.is_multiple_of(4),
            )
        }
    }

    /// The crew copies the rectangle of `ROWS` × `COLUMNS` elements at (`row`, `column`) to `to`, `BYTES` at a time.
    ///
    /// # Safety
    /// - `to` is a multiple of 16 in a stage that the caller fills, with room for the rectangle.
    /// - With 16 bytes, rows are aligned, and `column` is a multiple of 4.
    #[inline(always)]
    unsafe fn copy<M: Mechanism, const BYTES: usize, const ROWS: u32, const COLUMNS: u32>(
        &self,
        crew: Crew,
        to: u32,
        row: u32,
        column: u32,
    ) {
        let lanes = BYTES as u32 / 4;
        let pieces = COLUMNS / lanes;
        let mut piece = crew.thread;
        while piece < ROWS * pieces {
            let (row, column) = (row + piece / pieces, column + piece % pieces * lanes);
            let exists = row < self.rows && column < self.columns;
            let size = if exists {
                (self.columns - column).min(lanes) * 4
            } else {
                0
            };
            let at = u64::from(row) * u64::from(self.columns) + u64::from(column);
            let src = self.elements.base.wrapping_add(at as usize).cast::<u8>();
            // SAFETY: only elements that exist are read; threads and rounds have different places in the stage.
            unsafe {
                if !M::ASYNCHRONOUS && size == BYTES as u32 {
                    M::copy::<BYTES>(to + piece * BYTES as u32, src);
                } else {
                    M::copy_prefix::<BYTES>(to + piece * BYTES as u32, src, size);
                }
            }
            piece += crew.threads;
        }
    }
}

/// The panels of `a` and `b` for the tile of their product that starts at one row and column.
///
/// With `WIDE`, elements are copied 16 bytes at a time, else 4.
#[derive(Clone, Debug)]
pub struct Panels<const ROWS: u32, const COLUMNS: u32, const DEPTH: u32, const WIDE: bool> {
    a: Matrix,
    b: Matrix,
    row: u32,
    column: u32,
    /// Where in the sum the next panels to copy start.
    at: u32,
}

impl<const ROWS: u32, const COLUMNS: u32, const DEPTH: u32, const WIDE: bool>
    Panels<ROWS, COLUMNS, DEPTH, WIDE>
{
    /// Threads that a tile of the product takes.
    pub const THREADS: u32 = {
        law(
            ROWS.is_multiple_of(EACH) && COLUMNS.is_multiple_of(EACH) && DEPTH.is_multiple_of(4),
            "a tile of a product is cut into squares of 4 × 4 elements, and its depth into fours",
        );
        ROWS / EACH * (COLUMNS / EACH)
    };

    /// Elements of a stage.
    pub const STAGE: u32 = (ROWS + COLUMNS) * DEPTH;

    /// The panels for the tile at (`row`, `column`).
    ///
    /// Traps where the matrices do not fit each other, or where `WIDE` is claimed of rows that are not aligned or of a column between vectors.
    #[inline(always)]
    pub fn new(a: Matrix, b: Matrix, row: Uniform<u32>, column: Uniform<u32>) -> Self {
        let aligned = a.is_aligned().get() && b.is_aligned().get();
        if a.columns != b.rows || (WIDE && !(aligned && column.get().is_multiple_of(4))) {
            ptx::trap();
        }
        Self {
            a,
            b,
            row: row.get(),
            column: column.get(),
            at: 0,
        }
    }
}

impl<const ROWS: u32, const COLUMNS: u32, const DEPTH: u32, const WIDE: bool> Source
    for Panels<ROWS, COLUMNS, DEPTH, WIDE>
{
    type Item = f32;
    type Tile<'s> = Panel<'s, ROWS, COLUMNS, DEPTH>;

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
        // SAFETY: a matrix is made of uniform values.
        unsafe { Uniform::assume(self.a.columns.div_ceil(DEPTH)) }
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
                "panels have edges, where elements are copied one by one: take `Groups` or `Arrivals`",
            )
        };
        if !left.more_than(0) {
            return;
        }
        let (to, at) = (stage.address(), self.at);
        let behind = to + ROWS * DEPTH * 4;
        self.at += DEPTH;
        // SAFETY: a stage holds both rectangles, behind one another; the place in the sum is a multiple of 4, and aligned rows were asked for above.
        unsafe {
            if WIDE {
                self.a.copy::<M, 16, ROWS, DEPTH>(crew, to, self.row, at);
                self.b
                    .copy::<M, 16, DEPTH, COLUMNS>(crew, behind, at, self.column);
            } else {
                self.a.copy::<M, 4, ROWS, DEPTH>(crew, to, self.row, at);
                self.b
                    .copy::<M, 4, DEPTH, COLUMNS>(crew, behind, at, self.column);
            }
        }
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        crew: Crew,
        slot: ReadSlot<'s, f32, BlockScope>,
        _: u32,
        _: Kind,
    ) -> Panel<'s, ROWS, COLUMNS, DEPTH> {
        Panel {
            slot,
            thread: crew.thread,
        }
    }
}

/// The panels in their stage.
#[derive(Debug)]
pub struct Panel<'s, const ROWS: u32, const COLUMNS: u32, const DEPTH: u32> {
    slot: ReadSlot<'s, f32, BlockScope>,
    thread: u32,
}

impl<const ROWS: u32, const COLUMNS: u32, const DEPTH: u32> Panel<'_, ROWS, COLUMNS, DEPTH> {
    /// Adds to `sums`, this thread's square of the product, what these panels contribute: in the order of the sum, one `fma` for each.
    ///
    /// The thread's square is the one of [`square`].
    #[inline(always)]
    pub fn multiply(&self, sums: &mut [[f32; 4]; 4]) {
        let (row, column) = square::<COLUMNS>(self.thread);
        let behind = ROWS * DEPTH * 4;
        let mut k = 0;
        while k < DEPTH {
            // SAFETY: the thread's rows and columns lie in the panels, and so do the next four places of the sum; all are multiples of 4 elements.
            let a: [[f32; 4]; 4] = core::array::from_fn(|i| unsafe {
                self.slot.vector_at(((row + i as u32) * DEPTH + k) * 4)
            });
            // SAFETY: as above.
            let b: [[f32; 4]; 4] = core::array::from_fn(|i| unsafe {
                self.slot
                    .vector_at(behind + ((k + i as u32) * COLUMNS + column) * 4)
            });
            for place in 0..4 {
                for i in 0..4 {
                    for j in 0..4 {
                        sums[i][j] = crate::math::fma(a[i][place], b[place][j], sums[i][j]);
                    }
                }
            }
            k += 4;
        }
    }
}

/// The first row and column, in a tile of the product of `COLUMNS` columns, of the square of 4 × 4 that thread `thread` computes.
#[inline(always)]
pub const fn square<const COLUMNS: u32>(thread: u32) -> (u32, u32) {
    let across = COLUMNS / EACH;
    (thread / across * EACH, thread % across * EACH)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_element_of_a_tile_has_one_thread() {
        let mut seen = HashSet::new();
        for thread in 0..Panels::<64, 32, 16, true>::THREADS {
            let (row, column) = square::<32>(thread);
            for element in 0..16 {
                let place = (row + element / 4, column + element % 4);
                assert!(place.0 < 64 && place.1 < 32, "{place:?}");
                assert!(seen.insert(place), "{place:?} twice");
            }
        }
        assert_eq!(seen.len(), 64 * 32);
    }
}
