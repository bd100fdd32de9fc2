//! The rows of a patch as the source of a stream: what a stencil reads.
//!
//! A stage holds one row, from one vector left of the patch to one vector right of it.
//! Above and below the plane its first and last row are repeated; to the left and right, columns that do not exist are not copied,
//! and [`Rows::column`] and [`Rows::neighbours`] name the nearest that do.

use super::{Kind, Left, Source};
use crate::crew::Crew;
use crate::law::law;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot, Span};
use crate::view::{In, Patch, Vector, Width, Word};
use crate::{Block, Uniform, ptx};

/// The rows of a patch of `In<T>`, with `REACH` more above and below.
///
/// `ALIGNED` rows are copied in pieces of 16 bytes, by the quickest code; others as wide as their alignment allows.
#[derive(Clone, Debug)]
pub struct Rows<T, const REACH: u32, const ALIGNED: bool> {
    /// The first column that is copied, in row 0.
    source: *const T,
    access: Width,
    /// Element of the stage where that column goes.
    at: u32,
    /// Columns that are copied.
    count: u32,
    /// Elements of a stage.
    len: u32,
    /// Columns of the plane, and its last row.
    width: u32,
    last_row: u32,
    /// The row to copy next, counted from `REACH` above the plane.
    to_issue: u32,
    /// The row to hand out next, counted from the first.
    to_read: u32,
    steps: u32,
}

impl<T: Word, const REACH: u32, const ALIGNED: bool> Rows<T, REACH, ALIGNED> {
    /// The rows that a stencil of reach `REACH` reads in order to compute `patch`.
    ///
    /// Traps where `from` is shorter than the plane, or where `ALIGNED` is claimed of rows that are not; ask [`Plane::access`](crate::view::Plane::access) first.
    #[inline(always)]
    pub fn new<const ROWS: u32>(from: In<T>, patch: &Patch<T, ROWS>) -> Self {
        let lanes = T::Vector::LANES;
        let plane = patch.plane;
        let access = plane.access(from.width()).get();
        if plane.len().get() > from.len || (ALIGNED && access != Width::B16) {
            ptx::trap();
        }
        let width = plane.width().get();
        let left = patch.column.min(lanes);
        let first = patch.column - left;
        let end =
            (u64::from(patch.column) + u64::from(patch.strip() + lanes)).min(u64::from(width));
        Self {
            source: from.base.wrapping_add(first as usize),
            access: if ALIGNED { Width::B16 } else { access },
            at: lanes - left,
            count: (end - u64::from(first)) as u32,
            len: patch.strip() + 2 * lanes,
            width,
            last_row: plane.height().get() - 1,
            to_issue: patch.row,
            to_read: 0,
            steps: patch.rows + 2 * REACH,
        }
    }

    /// Elements of a stage for blocks of `threads` threads.
    pub const fn stage_len_of(threads: u32) -> u32 {
        (threads + 2) * T::Vector::LANES
    }

    /// The place, in every row, of the column nearest to `offset` from this thread's first.
    #[inline(always)]
    pub fn column(&self, block: &Block, offset: i32) -> Span<T, 1> {
        self.column_of(block.thread(), offset)
    }

    #[inline(always)]
    fn column_of(&self, thread: u32, offset: i32) -> Span<T, 1> {
        // A stage starts one vector left of the patch.
        let wanted = (((thread + 1) * T::Vector::LANES) as i32).saturating_add(offset);
        // Not `clamp`, which panics where the bounds are out of order.
        let nearest = wanted
            .max(self.at as i32)
            .min((self.at + self.count) as i32 - 1);
        Span::element(self.len, nearest as u32)
    }

    /// The places, in every row, of the vectors left of this thread's, its own and right of it, where rows are aligned.
    ///
    /// At the plane's edges, and beyond, the nearest vector that exists stands in for one that does not.
    #[inline(always)]
    pub fn neighbours(&self, block: &Block) -> [Span<T, 16>; 3] {
        self.neighbours_of(block.thread())
    }

    #[inline(always)]
    fn neighbours_of(&self, thread: u32) -> [Span<T, 16>; 3] {
        let lanes = T::Vector::LANES;
        [0, 1, 2].map(|place| {
            let wanted = (thread + place) * lanes;
            let nearest = wanted.max(self.at).min(self.at + self.count - lanes);
            Span::vector(self.len, nearest)
        })
    }

    /// Copies this thread's part of a row, `BYTES` at a time.
    #[inline(always)]
    fn copy<M: Mechanism, const BYTES: usize>(&self, crew: Crew, to: u32, row: *const u8) {
        let total = self.count * size_of::<T>() as u32;
        let step = crew.threads * BYTES as u32;
        let mut offset = crew.thread * BYTES as u32;
        let mut copy = || {
            if offset < total {
                // SAFETY: the columns lie in the row and in the stage; threads and rounds have different places;
                // rows are aligned to `BYTES`, and their columns start and, being multiples of that many bytes, end there.
                unsafe { M::copy::<BYTES>(to + offset, row.wrapping_add(offset as usize)) };
            }
            offset += step;
            offset < total
        };
        if BYTES == 16 && self.suits(crew.threads) {
            // One vector for each thread, and two more for the neighbours.
            copy();
            copy();
        } else {
            while copy() {}
        }
    }
}

impl<T: Word, const REACH: u32, const ALIGNED: bool> Source for Rows<T, REACH, ALIGNED> {
    type Item = T;
    type Tile<'s> = Row<'s, T>;

    #[inline(always)]
    fn stage_len(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.len) }
    }

    #[inline(always)]
    fn suits(&self, threads: u32) -> bool {
        self.len == Self::stage_len_of(threads)
    }

    #[inline(always)]
    fn steps(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.steps) }
    }

    #[inline(always)]
    fn irregular_steps(&self) -> Uniform<u32> {
        Uniform::<u32>::constant::<0>()
    }

    #[inline(always)]
    fn refill<M: Mechanism>(&mut self, crew: Crew, stage: Copier<'_, M>, left: Left) {
        if !left.more_than(0) {
            return;
        }
        let row = self.to_issue.saturating_sub(REACH).min(self.last_row);
        self.to_issue += 1;
        let row = self
            .source
            .wrapping_add((u64::from(row) * u64::from(self.width)) as usize)
            .cast::<u8>();
        let at = self.at * size_of::<T>() as u32;
        if M::BULK {
            const {
                law(
                    ALIGNED || !M::BULK,
                    "bulk copies start at multiples of 16 bytes: take `M::Unaligned` for other rows",
                )
            };
            // SAFETY: the columns lie in the row and in the stage; rows are aligned to 16 bytes, and their columns start and end there.
            unsafe { stage.bulk(crew, at, row, self.count * size_of::<T>() as u32) };
            return;
        }
        let to = stage.address() + at;
        match self.access {
            Width::B16 => self.copy::<M, 16>(crew, to, row),
            Width::B8 => self.copy::<M, 8>(crew, to, row),
            Width::B4 => self.copy::<M, 4>(crew, to, row),
        }
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        _: Crew,
        slot: ReadSlot<'s, T, BlockScope>,
        _: u32,
        _: Kind,
    ) -> Row<'s, T> {
        let index = self.to_read;
        self.to_read += 1;
        Row { slot, index }
    }
}

/// A row in its stage.
#[derive(Debug)]
pub struct Row<'s, T> {
    slot: ReadSlot<'s, T, BlockScope>,
    index: u32,
}

impl<T: Word> Row<'_, T> {
    /// Its number, counted from the first row that the patch needs.
    #[inline(always)]
    pub fn index(&self) -> Uniform<u32> {
        // SAFETY: rows are counted by all threads alike.
        unsafe { Uniform::assume(self.index) }
    }

    /// The element at a place found by [`Rows::column`].
    #[inline(always)]
    pub fn element(&self, place: Span<T, 1>) -> T {
        self.slot.element(place)
    }

    /// The vector at a place found by [`Rows::neighbours`].
    #[inline(always)]
    pub fn vector(&self, place: Span<T, 16>) -> T::Vector {
        self.slot.vector(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GlobalPtr;
    use crate::view::Plane;

    const THREADS: u32 = 32;
    const LANES: i64 = 4;

    /// Calls `check` with each patch of planes of these widths, its rows, and the width.
    fn each_patch<const ALIGNED: bool>(
        widths: &[u32],
        mut check: impl FnMut(&Rows<f32, 2, ALIGNED>, i64, i64),
    ) {
        for &width in widths {
            // SAFETY: the test is one thread, and nothing is read through the view.
            let x = unsafe {
                let pointer = Uniform::assume(GlobalPtr::<f32>::new(0x1000));
                In::new(pointer, Uniform::assume(u64::from(width) * 3))
            };
            let plane = Plane::<f32, 4>::of(THREADS, width, 3);
            for patch in plane.share(0, 1) {
                let column = i64::from(patch.column);
                check(&Rows::new(x, &patch), column, i64::from(width));
            }
        }
    }

    #[test]
    fn a_column_that_does_not_exist_is_the_nearest_that_does() {
        each_patch::<false>(
            &[1, 3, 4, 127, 128, 129, 130, 255, 300],
            |rows, first, width| {
                for thread in 0..THREADS {
                    for offset in -2..6 {
                        let wanted = first + i64::from(thread) * LANES + i64::from(offset);
                        let expected = wanted.max(0).min(width - 1) - (first - LANES);
                        let span = Span::element(rows.len, expected as u32);
                        assert_eq!(
                            rows.column_of(thread, offset),
                            span,
                            "{width} columns, {wanted}"
                        );
                    }
                }
            },
        );
    }

    #[test]
    fn a_vector_that_does_not_exist_is_the_nearest_that_does() {
        each_patch::<true>(&[4, 124, 128, 132, 256, 260], |rows, first, width| {
            for thread in 0..THREADS {
                let places = [-LANES, 0, LANES].map(|offset| {
                    let wanted = first + i64::from(thread) * LANES + offset;
                    let nearest = wanted.max(0).min(width - LANES);
                    Span::vector(rows.len, (nearest - (first - LANES)) as u32)
                });
                assert_eq!(
                    rows.neighbours_of(thread),
                    places,
                    "{width} columns, thread {thread}"
                );
            }
        });
    }

    #[test]
    fn the_columns_that_are_copied_are_those_that_are_named() {
        each_patch::<false>(&[1, 127, 128, 129, 300], |rows, first, width| {
            let from = first - LANES + i64::from(rows.at);
            assert_eq!(from, (first - LANES).max(0));
            let to = (first + i64::from(THREADS) * LANES + LANES).min(width);
            assert_eq!(from + i64::from(rows.count), to);
            assert!(rows.at + rows.count <= rows.len);
        });
    }
}
