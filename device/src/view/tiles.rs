//! One-dimensional tiles: how elements are divided among blocks and threads.
//!
//! A tile of `PIECES` pieces a thread holds, piece by piece, one 16-byte piece of each thread of the block:
//! piece `j` of thread `t` starts at element `(j·threads + t)·lanes` of the tile.

use super::{Out, Vector, Width, Word};
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// Elements cut into tiles of `PIECES` 16-byte pieces a thread; the last tile may be ragged.
#[derive(Clone, Copy, Debug)]
pub struct Tiling<T, const PIECES: usize> {
    len: u64,
    tile: u32,
    full: u32,
    rest: u32,
    item: PhantomData<T>,
}

impl<T: Word, const PIECES: usize> Tiling<T, PIECES> {
    /// Tiles over `len` elements, as large as the block makes them.
    ///
    /// Traps from 2³¹ tiles on, which is more than any memory holds.
    #[inline(always)]
    pub fn new(block: &Block, len: Uniform<u64>) -> Self {
        const {
            assert!(
                PIECES >= 1 && PIECES <= 8,
                "a thread copies 1 to 8 pieces of 16 bytes for a tile"
            )
        };
        let len = len.get();
        let tile = Self::elements(block.threads().get());
        let full = len / u64::from(tile);
        if full >= 1 << 31 {
            ptx::trap();
        }
        // Not `%`: one division is slow enough.
        let rest = len - full * u64::from(tile);
        Self {
            len,
            tile,
            full: full as u32,
            rest: rest as u32,
            item: PhantomData,
        }
    }

    /// Elements of a tile of a block of `threads` threads.
    #[inline(always)]
    pub const fn elements(threads: u32) -> u32 {
        threads * PIECES as u32 * T::Vector::LANES
    }

    /// Bytes of a tile of a block of `threads` threads.
    #[inline(always)]
    pub const fn bytes(threads: u32) -> u32 {
        threads * PIECES as u32 * 16
    }

    /// Elements in all tiles together.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u64> {
        // SAFETY: made from a uniform value.
        unsafe { Uniform::assume(self.len) }
    }

    /// Whether there is no tile at all.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }

    /// Elements of a tile.
    #[inline(always)]
    pub fn tile(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.tile) }
    }

    /// The tiles of this block where blocks take turns: block `b` of `g` takes the tiles `b`, `b + g`, `b + 2g`, …
    #[inline(always)]
    pub fn grid_stride(&self, block: &Block) -> Share<T, PIECES, GridStride> {
        self.share(block.index().get(), block.blocks().get())
    }

    /// The tiles `first`, `first + step`, `first + 2·step`, …, whoever else takes them too.
    ///
    /// Traps where `step` is zero.
    #[inline(always)]
    pub fn strided(&self, first: Uniform<u32>, step: Uniform<u32>) -> Share<T, PIECES, Any> {
        if step.get() == 0 {
            ptx::trap();
        }
        self.share(first.get(), step.get())
    }

    #[inline(always)]
    fn share<A: Assignment>(&self, first: u32, step: u32) -> Share<T, PIECES, A> {
        // The ragged tile, if there is one, is the last of all: the last step of its block, and nobody else's.
        let tiles = self.full + u32::from(self.rest != 0);
        let steps = if first < tiles {
            (tiles - first - 1) / step + 1
        } else {
            0
        };
        let last = u64::from(first)
            + u64::from(steps)
                .wrapping_sub(1)
                .wrapping_mul(u64::from(step));
        let ragged = if steps > 0 && last == u64::from(self.full) {
            self.rest
        } else {
            0
        };
        Share {
            tiling: *self,
            first,
            step,
            steps,
            ragged,
            assignment: PhantomData,
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::GridStride {}
    impl Sealed for super::Any {}
}

/// How tiles came to a block: [`GridStride`] or [`Any`].
pub trait Assignment: Copy + sealed::Sealed {}

/// Each tile belongs to one block of the grid, so its elements may be written.
#[derive(Clone, Copy, Debug)]
pub enum GridStride {}

/// Other blocks may have the tile too: for reading.
#[derive(Clone, Copy, Debug)]
pub enum Any {}

impl Assignment for GridStride {}
impl Assignment for Any {}

/// The tiles that one block goes through, in order: whole ones, then perhaps a ragged one.
#[derive(Clone, Copy, Debug)]
pub struct Share<T, const PIECES: usize, A> {
    pub(crate) tiling: Tiling<T, PIECES>,
    first: u32,
    step: u32,
    steps: u32,
    /// Elements of the ragged tile, which is the last one; 0 without one.
    pub(crate) ragged: u32,
    assignment: PhantomData<A>,
}

impl<T: Word, const PIECES: usize, A: Assignment> Share<T, PIECES, A> {
    /// Tiles of the share.
    #[inline(always)]
    pub fn steps(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.steps) }
    }

    /// Element at which the first tile starts.
    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        u64::from(self.first) * u64::from(self.tiling.tile)
    }

    /// Elements from one tile's start to the next one's.
    #[inline(always)]
    pub(crate) fn stride(&self) -> u64 {
        u64::from(self.step) * u64::from(self.tiling.tile)
    }

    /// The witness of the vector at element `at`, of which `count` lanes exist.
    ///
    /// The caller answers for it: `at` is this thread's in a tile of this share.
    #[inline(always)]
    pub(crate) fn piece(&self, at: u64, count: u32, values: T::Vector) -> Piece<T, PIECES, A> {
        Piece {
            at,
            count,
            bound: self.tiling.len,
            values,
            assignment: PhantomData,
        }
    }
}

/// The 16 bytes of a tile that one thread works on, with the place they came from.
///
/// With [`GridStride`] it is the witness that no other thread of the grid holds this place, so its values may be written there.
#[derive(Debug)]
#[must_use = "a piece is to be used: put it into an output or take its values"]
pub struct Piece<T: Word, const PIECES: usize, A> {
    at: u64,
    count: u32,
    bound: u64,
    values: T::Vector,
    assignment: PhantomData<A>,
}

impl<T: Word, const PIECES: usize, A> Piece<T, PIECES, A> {
    /// The first element's index in the whole.
    #[inline(always)]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Elements that exist; the lanes behind them are zero.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The elements.
    #[inline(always)]
    pub fn values(&self) -> T::Vector {
        self.values
    }

    /// The same place with each element replaced by `f` of it.
    #[inline(always)]
    pub fn map(self, f: impl FnMut(T) -> T) -> Self {
        Self {
            values: self.values.map(f),
            ..self
        }
    }
}

/// An output divided like the tiles that are put into it.
///
/// `ALIGNED` outputs are written 16 bytes at a time, others as wide as the view's alignment allows.
#[derive(Debug)]
pub struct OutTiles<T, const PIECES: usize, const ALIGNED: bool> {
    base: *mut T,
    len: u64,
    width: Width,
}

impl<T: Word> Out<T> {
    /// Divides the output into tiles of `PIECES` pieces a thread.
    ///
    /// Traps where `ALIGNED` is claimed of a view that is not; ask [`width`](Out::width) first.
    #[inline(always)]
    pub fn tiles<const PIECES: usize, const ALIGNED: bool>(self) -> OutTiles<T, PIECES, ALIGNED> {
        let width = self.width().get();
        if ALIGNED && width != Width::B16 {
            ptx::trap();
        }
        OutTiles {
            base: self.base,
            len: self.len,
            width: if ALIGNED { Width::B16 } else { width },
        }
    }
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool> OutTiles<T, PIECES, ALIGNED> {
    /// Writes a piece to the place it came from.
    ///
    /// Traps where the output is shorter than the tiles were.
    #[inline(always)]
    pub fn put(&mut self, piece: Piece<T, PIECES, GridStride>) {
        // The same comparison for every piece, of two values that a kernel usually has from one parameter: it folds away.
        if piece.bound > self.len {
            ptx::trap();
        }
        // SAFETY: the piece lies below its bound, which lies in the view; the grid-stride tiles of one tiling belong to one thread each,
        // and every thread of the grid divides this output in the same way (the contract of `Out::new`), so nobody else writes here.
        unsafe {
            let to = self.base.add(piece.at as usize);
            store(to, self.width, piece.values, piece.count);
        }
    }
}

/// Stores the first `count` lanes, all at once where there are that many and the width allows.
///
/// # Safety
/// - `count` elements at `to` are writable and nobody else accesses them.
/// - `to` is a multiple of `width`.
#[inline(always)]
pub(crate) unsafe fn store<V: Vector>(to: *mut V::Item, width: Width, values: V, count: u32) {
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
