//! Two-dimensional views: how the rows and columns of a plane are divided among blocks and threads.
//!
//! A plane is cut into patches, a strip of columns wide and `ROWS` rows high, which blocks take in turns.
//! In a patch, each thread of the block owns one 16-byte vector of columns, in every row.

use super::{Out, Vector, Width, Word};
use crate::law::law;
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// A plane of `width` × `height` elements, row after row, cut into patches of `ROWS` rows.
#[derive(Clone, Copy, Debug)]
pub struct Plane<T, const ROWS: u32> {
    width: u32,
    height: u32,
    strip: u32,
    strips: u32,
    patches: u32,
    item: PhantomData<T>,
}

impl<T: Word, const ROWS: u32> Plane<T, ROWS> {
    /// The plane of `width` columns and `height` rows, with strips as wide as the block makes them.
    ///
    /// Traps where the width, the height or the number of patches does not fit in 31 bits.
    #[inline(always)]
    pub fn new(block: &Block, width: Uniform<u32>, height: Uniform<u32>) -> Self {
        const { law(ROWS >= 1, "a patch has at least one row") };
        Self::of(block.threads().get(), width.get(), height.get())
    }

    /// The same for a block whose last `idle` threads have no columns: strips are as wide as the others make them.
    ///
    /// Traps as [`new`](Plane::new), and where no thread is left.
    #[inline(always)]
    pub fn within(block: &Block, width: Uniform<u32>, height: Uniform<u32>, idle: u32) -> Self {
        const { law(ROWS >= 1, "a patch has at least one row") };
        let threads = block.threads().get();
        if idle >= threads {
            ptx::trap();
        }
        Self::of(threads - idle, width.get(), height.get())
    }

    #[inline(always)]
    pub(crate) fn of(threads: u32, width: u32, height: u32) -> Self {
        const MOST: u32 = i32::MAX as u32;
        let strip = Self::columns(threads);
        if width > MOST || height > MOST {
            ptx::trap();
        }
        // At least one, so that dividing by it needs no check; an empty plane has no patch all the same.
        let strips = width.div_ceil(strip).max(1);
        let Some(patches) = strips.checked_mul(if width == 0 { 0 } else { height.div_ceil(ROWS) })
        else {
            ptx::trap()
        };
        Self {
            width,
            height,
            strip,
            strips,
            patches,
            item: PhantomData,
        }
    }

    /// Columns of a strip of a block of `threads` threads.
    #[inline(always)]
    pub const fn columns(threads: u32) -> u32 {
        threads * T::Vector::LANES
    }

    /// Columns of the plane.
    #[inline(always)]
    pub fn width(&self) -> Uniform<u32> {
        // SAFETY: made from a uniform value.
        unsafe { Uniform::assume(self.width) }
    }

    /// Rows of the plane.
    #[inline(always)]
    pub fn height(&self) -> Uniform<u32> {
        // SAFETY: made from a uniform value.
        unsafe { Uniform::assume(self.height) }
    }

    /// Elements of the plane.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u64> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(u64::from(self.width) * u64::from(self.height)) }
    }

    /// Whether the plane has no element.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }

    /// The widest access to a vector of columns in a plane that starts at an address of width `start`.
    #[inline(always)]
    pub fn access(&self, start: Uniform<Width>) -> Uniform<Width> {
        let row = Width::of(u64::from(self.width) * size_of::<T>() as u64);
        // SAFETY: made from a uniform value.
        start.min(unsafe { Uniform::assume(row) })
    }

    #[inline(always)]
    pub(crate) fn share(&self, first: u32, step: u32) -> Patches<T, ROWS> {
        Patches {
            plane: *self,
            next: first,
            step,
            done: false,
        }
    }

    /// The patches of this block, where blocks take turns.
    #[inline(always)]
    pub fn patches(&self, block: &Block) -> Patches<T, ROWS> {
        self.share(block.index().get(), block.blocks().get())
    }
}

/// The patches that one block goes through.
#[derive(Debug)]
pub struct Patches<T, const ROWS: u32> {
    plane: Plane<T, ROWS>,
    next: u32,
    step: u32,
    done: bool,
}

impl<T: Word, const ROWS: u32> Iterator for Patches<T, ROWS> {
    type Item = Patch<T, ROWS>;

    #[inline(always)]
    fn next(&mut self) -> Option<Patch<T, ROWS>> {
        if self.done || self.next >= self.plane.patches {
            return None;
        }
        let patch = self.next;
        match patch.checked_add(self.step) {
            Some(next) => self.next = next,
            None => self.done = true,
        }
        let plane = self.plane;
        let column = patch % plane.strips * plane.strip;
        let row = patch / plane.strips * ROWS;
        let rows = ROWS.min(plane.height - row);
        Some(Patch {
            plane,
            column,
            row,
            rows,
        })
    }
}

/// A strip of columns wide and some rows high; it belongs to one block of the grid.
#[derive(Debug)]
pub struct Patch<T, const ROWS: u32> {
    pub(crate) plane: Plane<T, ROWS>,
    /// First column.
    pub(crate) column: u32,
    /// First row.
    pub(crate) row: u32,
    /// Rows, at least one.
    pub(crate) rows: u32,
}

impl<T: Word, const ROWS: u32> Patch<T, ROWS> {
    /// Its first column.
    #[inline(always)]
    pub fn column(&self) -> Uniform<u32> {
        // SAFETY: a patch is made of uniform values.
        unsafe { Uniform::assume(self.column) }
    }

    /// Its first row.
    #[inline(always)]
    pub fn row(&self) -> Uniform<u32> {
        // SAFETY: a patch is made of uniform values.
        unsafe { Uniform::assume(self.row) }
    }

    /// Its rows.
    #[inline(always)]
    pub fn rows(&self) -> Uniform<u32> {
        // SAFETY: a patch is made of uniform values.
        unsafe { Uniform::assume(self.rows) }
    }

    /// Columns of a whole strip.
    #[inline(always)]
    pub(crate) fn strip(&self) -> u32 {
        self.plane.strip
    }

    /// This thread's columns in all rows of the patch.
    #[inline(always)]
    pub fn lane(&self, block: &Block) -> Lane<T, ROWS> {
        self.lane_of(block.thread())
    }

    #[inline(always)]
    fn lane_of(&self, thread: u32) -> Lane<T, ROWS> {
        let offset = thread * T::Vector::LANES;
        let column = self.column + offset;
        // Threads beyond the strip have none of its columns: those belong to another patch.
        let end = if offset < self.plane.strip {
            self.plane.width
        } else {
            0
        };
        Lane {
            first: u64::from(self.row) * u64::from(self.plane.width) + u64::from(column),
            count: end.saturating_sub(column).min(T::Vector::LANES),
            rows: self.rows,
            width: self.plane.width,
            height: self.plane.height,
            item: PhantomData,
        }
    }
}

/// One thread's columns of a patch: the witness that no other thread of the grid holds them.
#[derive(Debug)]
pub struct Lane<T, const ROWS: u32> {
    /// Element in the first row.
    first: u64,
    /// Columns that exist.
    count: u32,
    rows: u32,
    width: u32,
    height: u32,
    item: PhantomData<T>,
}

impl<T, const ROWS: u32> Lane<T, ROWS> {
    /// Columns that exist: none for a thread to the right of the plane.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// An output divided like the patches that are put into it.
///
/// `ALIGNED` outputs are written 16 bytes at a time, others as wide as the alignment of their rows allows.
#[derive(Debug)]
pub struct OutPlane<T, const ROWS: u32, const ALIGNED: bool> {
    base: *mut T,
    plane: Plane<T, ROWS>,
    access: Width,
}

impl<T: Word> Out<T> {
    /// Divides the output into the patches of `plane`.
    ///
    /// Traps where the output is shorter than the plane, or where `ALIGNED` is claimed of rows that are not; ask [`Plane::access`] first.
    #[inline(always)]
    pub fn plane<const ROWS: u32, const ALIGNED: bool>(
        self,
        plane: Plane<T, ROWS>,
    ) -> OutPlane<T, ROWS, ALIGNED> {
        let access = plane.access(self.width()).get();
        if plane.len().get() > self.len || (ALIGNED && access != Width::B16) {
            ptx::trap();
        }
        OutPlane {
            base: self.base,
            plane,
            access: if ALIGNED { Width::B16 } else { access },
        }
    }
}

impl<T: Word, const ROWS: u32, const ALIGNED: bool> OutPlane<T, ROWS, ALIGNED> {
    /// Writes this thread's columns in row `row` of the patch; columns that do not exist are left out.
    ///
    /// Traps where the patch has no such row, or is one of another plane.
    #[inline(always)]
    pub fn put(&mut self, lane: &Lane<T, ROWS>, row: u32, values: T::Vector) {
        // Usually both come from the same plane, and the comparison folds away.
        if row >= lane.rows || lane.width != self.plane.width || lane.height != self.plane.height {
            ptx::trap();
        }
        let count = if ALIGNED {
            if lane.count == 0 {
                return;
            } else {
                T::Vector::LANES
            }
        } else {
            lane.count
        };
        // SAFETY: the row and the columns lie in the plane, which lies in the view (aligned rows hold whole vectors);
        // the patches of one plane belong to one block each and their columns to one thread, and every thread of the grid divides this output in the same way.
        unsafe {
            let to = self
                .base
                .add((lane.first + u64::from(row) * u64::from(lane.width)) as usize);
            store(to, self.access, values, count);
        }
    }
}

/// Stores the first `count` lanes, as wide as the width allows where all exist.
///
/// # Safety
/// - `count` elements at `to` are writable and nobody else accesses them.
/// - `to` is a multiple of `width`.
#[inline(always)]
unsafe fn store<V: Vector>(to: *mut V::Item, width: Width, values: V, count: u32) {
    // SAFETY: the caller's contract.
    unsafe {
        match width {
            Width::B16 if count == V::LANES => values.store_global::<16>(to),
            Width::B8 if count == V::LANES => values.store_global::<8>(to),
            _ => values.for_each(|lane, value| {
                if lane < count {
                    to.add(lane as usize).write(value);
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;

    #[test]
    fn every_element_belongs_to_one_lane_of_one_block() {
        for (width, height) in [
            (1, 1),
            (127, 3),
            (128, 4),
            (129, 5),
            (517, 9),
            (0, 7),
            (7, 0),
        ] {
            for blocks in [1, 2, 3, 7] {
                let plane = Plane::<f32, 4>::of(32, width, height);
                let mut owners = vec![0; (width * height) as usize];
                for block in 0..blocks {
                    for patch in plane.share(block, blocks) {
                        for thread in 0..32 {
                            let lane = patch.lane_of(thread);
                            for row in 0..lane.rows {
                                let at = lane.first + u64::from(row) * u64::from(lane.width);
                                for column in 0..u64::from(lane.count) {
                                    owners[(at + column) as usize] += 1;
                                }
                            }
                        }
                    }
                }
                assert!(
                    owners.iter().all(|count| *count == 1),
                    "{width} × {height}, {blocks} blocks"
                );
            }
        }
    }

    #[test]
    fn threads_beyond_the_strip_have_no_columns() {
        // A block of 32 threads, of which 30 have columns.
        for patch in Plane::<f32, 4>::of(30, 300, 9).share(0, 1) {
            for thread in 30..32 {
                assert_eq!(patch.lane_of(thread).count(), 0);
            }
            let owned: u32 = (0..32).map(|thread| patch.lane_of(thread).count()).sum();
            assert_eq!(owned, 120.min(300 - patch.column));
        }
    }

    #[test]
    fn turns_end_where_numbers_do() {
        let plane = Plane::<f32, 1>::of(1024, 4096, i32::MAX as u32);
        let mut patches = plane.share(0, u32::MAX);
        assert!(patches.next().is_some());
        assert!(patches.next().is_none());
        assert!(patches.next().is_none());
    }

    #[test]
    fn rows_that_are_not_aligned_narrow_the_access() {
        // SAFETY: the test is one thread.
        let uniform = |width| unsafe { Uniform::assume(width) };
        for (width, start, access) in [
            (512, Width::B16, Width::B16),
            (512, Width::B8, Width::B8),
            (510, Width::B16, Width::B8),
            (511, Width::B16, Width::B4),
            (511, Width::B4, Width::B4),
        ] {
            let plane = Plane::<f32, 4>::of(32, width, 8);
            assert_eq!(
                plane.access(uniform(start)).get(),
                access,
                "{width} columns, {start:?}"
            );
        }
    }
}
