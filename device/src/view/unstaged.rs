//! The pieces of a share straight from global memory, for kernels that need no stage between.
//!
//! The blocks that are there at once hide the latency: 2048 threads with 16 bytes each have 32 KiB on the way on every multiprocessor.

use super::{Assignment, In, Layout, Packed, Piece, Share, Striped, Vector, Width, Word};
use crate::{Block, ptx};

impl<T: Word, const PIECES: usize, A: Assignment> Share<T, PIECES, A> {
    /// Calls `f` with each of this thread's packed pieces that holds an element, in order; all of a tile are loaded before the first is used.
    ///
    /// Traps where `from` is shorter than the tiling or not aligned to 16 bytes, or where the tiling was made for another number of threads.
    #[expect(
        clippy::needless_range_loop,
        reason = "an iterator over the array keeps it in local memory"
    )]
    #[inline(always)]
    pub fn each_packed(
        self,
        block: &Block,
        from: In<T>,
        mut f: impl FnMut(Piece<T, PIECES, A, Packed>),
    ) {
        self.checked(block, &from);
        if from.width().get() != Width::B16 {
            ptx::trap();
        }
        let lanes = T::Vector::LANES;
        let (thread, threads) = (block.thread(), block.threads().get());
        let mut start = self.start();
        let mut left = self.steps().get() - u32::from(self.ragged != 0);
        while left > 0 {
            let mut values = [T::Vector::ZERO; PIECES];
            let at = |piece: usize| start + u64::from((piece as u32 * threads + thread) * lanes);
            for piece in 0..PIECES {
                // SAFETY: a whole tile has `PIECES` vectors a thread, which lie in the view; tiles start at multiples of 16 bytes.
                values[piece] =
                    unsafe { T::Vector::load_global(from.base.add(at(piece) as usize)) };
            }
            for piece in 0..PIECES {
                f(self.piece(at(piece), 1, lanes, values[piece]));
            }
            start += self.stride();
            left -= 1;
        }
        let mut place = thread * lanes;
        while place < self.ragged {
            let count = (self.ragged - place).min(lanes);
            let piece = self.piece(start + u64::from(place), 1, count, T::Vector::ZERO);
            let values = from.at(&piece);
            f(piece.with(values));
            place += threads * lanes;
        }
    }

    /// Calls `f` with each of this thread's striped pieces that holds an element, in order.
    ///
    /// Traps where `from` is shorter than the tiling, or where the tiling was made for another number of threads.
    #[inline(always)]
    pub fn each_striped(
        self,
        block: &Block,
        from: In<T>,
        mut f: impl FnMut(Piece<T, PIECES, A, Striped>),
    ) {
        self.checked(block, &from);
        let lanes = T::Vector::LANES;
        let (thread, threads) = (block.thread(), block.threads().get());
        let mut start = self.start();
        let mut left = self.steps().get();
        while left > 0 {
            let last = left == 1 && self.ragged != 0;
            let len = if last {
                self.ragged
            } else {
                self.tiling.tile().get()
            };
            let mut place = thread;
            while place < len {
                let count = (len - place).div_ceil(threads).min(lanes);
                let piece = self.piece(start + u64::from(place), threads, count, T::Vector::ZERO);
                let values = from.at(&piece);
                f(piece.with(values));
                place += threads * lanes;
            }
            start += self.stride();
            left -= 1;
        }
    }

    #[inline(always)]
    fn checked(&self, block: &Block, from: &In<T>) {
        let own = super::Tiling::<T, PIECES>::elements(block.threads().get());
        if self.tiling.len().get() > from.len || self.tiling.tile().get() != own {
            ptx::trap();
        }
    }
}

impl<T: Word> In<T> {
    /// The elements at the places of a piece; lanes behind those that exist have unspecified values.
    ///
    /// Whole packed pieces are loaded 16 bytes at a time.
    /// Traps where the view is shorter than the tiles of the piece, or where those bytes are not aligned; ask [`width`](In::width) first.
    #[inline(always)]
    pub fn at<const PIECES: usize, A, L: Layout>(
        &self,
        piece: &Piece<T, PIECES, A, L>,
    ) -> T::Vector {
        if piece.bound > self.len || (L::PACKED && self.width().get() != Width::B16) {
            ptx::trap();
        }
        let first = self.base.wrapping_add(piece.at as usize);
        if L::PACKED && piece.count == T::Vector::LANES {
            // SAFETY: the elements lie below the piece's bound, which lies in the view, and packed pieces are aligned as the view is.
            return unsafe { T::Vector::load_global(first) };
        }
        T::Vector::from_fn(|lane| {
            // The last element again, where there is none.
            let lane = lane.min(piece.count - 1);
            // SAFETY: as above; a piece has one element at least.
            unsafe { first.add((lane * piece.step) as usize).read() }
        })
    }
}
