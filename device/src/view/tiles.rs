//! One-dimensional tiles: how elements are divided among blocks and threads.
//!
//! A tile holds `PIECES` pieces of 16 bytes for each thread of the block.
//! How its elements are dealt to the threads is the [`Layout`]: [`Packed`], 16 bytes side by side, or [`Striped`], one element after the other.

use super::{Out, Vector, Width, Word};
use crate::law::law;
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
            law(
                PIECES >= 1 && PIECES <= 8,
                "a thread copies 1 to 8 pieces of 16 bytes for a tile",
            )
        };
        Self::of(block.threads().get(), len.get())
    }

    /// Tiles over `len` elements, as large as a crew of `threads` threads makes them.
    ///
    /// Traps from 2³¹ tiles on, and for no or more than 1024 threads.
    #[inline(always)]
    pub fn for_crew(threads: Uniform<u32>, len: Uniform<u64>) -> Self {
        const {
            law(
                PIECES >= 1 && PIECES <= 8,
                "a thread copies 1 to 8 pieces of 16 bytes for a tile",
            )
        };
        if threads.get() == 0 || threads.get() > 1024 {
            ptx::trap();
        }
        Self::of(threads.get(), len.get())
    }

    #[inline(always)]
    fn of(threads: u32, len: u64) -> Self {
        let tile = Self::elements(threads);
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

    /// Element behind the last of all tiles.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.tiling.len
    }

    /// Elements from one tile's start to the next one's.
    #[inline(always)]
    pub(crate) fn stride(&self) -> u64 {
        u64::from(self.step) * u64::from(self.tiling.tile)
    }

    /// The witness of the piece that starts at element `at`, of which `count` lanes exist.
    ///
    /// The caller answers for it: the places are this thread's, by layout `L`, in a tile of this share.
    #[inline(always)]
    pub(crate) fn piece<L>(
        &self,
        at: u64,
        step: u32,
        count: u32,
        values: T::Vector,
    ) -> Piece<T, PIECES, A, L> {
        Piece {
            at,
            step,
            count,
            bound: self.tiling.len,
            values,
            kind: PhantomData,
        }
    }
}

mod layout {
    pub trait Sealed {}
    impl Sealed for super::Packed {}
    impl Sealed for super::Striped {}
}

/// How the elements of a tile are dealt to threads: [`Packed`] or [`Striped`].
pub trait Layout: layout::Sealed {
    /// Whether the elements of a piece lie side by side.
    const PACKED: bool;
}

/// Piece `j` of thread `t` is the vector at element `(j·threads + t)·lanes`: one access of 16 bytes, where the output is aligned to it.
#[derive(Clone, Copy, Debug)]
pub enum Packed {}

/// Lane `i` of piece `j` of thread `t` is element `(j·lanes + i)·threads + t`: threads side by side write elements side by side, whatever the alignment.
#[derive(Clone, Copy, Debug)]
pub enum Striped {}

impl Layout for Packed {
    const PACKED: bool = true;
}

impl Layout for Striped {
    const PACKED: bool = false;
}

/// As many elements as make 16 bytes, of a tile, for one thread to work on, with the places they came from.
///
/// With [`GridStride`] it is the witness that no other thread of the grid holds these places, so values may be written there.
#[derive(Debug)]
#[must_use = "a piece is to be used: put it into an output or take its values"]
pub struct Piece<T: Word, const PIECES: usize, A, L> {
    pub(super) at: u64,
    pub(super) step: u32,
    pub(super) count: u32,
    pub(super) bound: u64,
    values: T::Vector,
    kind: PhantomData<(A, L)>,
}

impl<T: Word, const PIECES: usize, A, L> Piece<T, PIECES, A, L> {
    /// The first element's index in the whole.
    #[inline(always)]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Elements from one lane to the next.
    #[inline(always)]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Elements that exist, of the first lanes; the lanes behind them hold no element and have unspecified values.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The elements.
    #[inline(always)]
    pub fn values(&self) -> T::Vector {
        self.values
    }

    /// The same places with other elements.
    #[inline(always)]
    pub fn with(self, values: T::Vector) -> Self {
        Self { values, ..self }
    }

    /// The same places with each element replaced by `f` of it.
    #[inline(always)]
    pub fn map(self, f: impl FnMut(T) -> T) -> Self {
        Self {
            values: self.values.map(f),
            ..self
        }
    }
}

/// An output divided like the tiles that are put into it.
#[derive(Debug)]
pub struct OutTiles<T, const PIECES: usize, L> {
    base: *mut T,
    len: u64,
    layout: PhantomData<L>,
}

impl<T: Word> Out<T> {
    /// Divides the output into tiles of `PIECES` packed pieces a thread, written 16 bytes at a time.
    ///
    /// Traps where the first element is not aligned to 16 bytes; ask [`width`](Out::width) first.
    #[inline(always)]
    pub fn packed<const PIECES: usize>(self) -> OutTiles<T, PIECES, Packed> {
        if self.width().get() != Width::B16 {
            ptx::trap();
        }
        self.into_tiles()
    }

    /// Divides the output into tiles of `PIECES` striped pieces a thread, written an element at a time.
    #[inline(always)]
    pub fn striped<const PIECES: usize>(self) -> OutTiles<T, PIECES, Striped> {
        self.into_tiles()
    }

    #[inline(always)]
    fn into_tiles<const PIECES: usize, L>(self) -> OutTiles<T, PIECES, L> {
        OutTiles {
            base: self.base,
            len: self.len,
            layout: PhantomData,
        }
    }
}

impl<T: Word, const PIECES: usize, L: Layout> OutTiles<T, PIECES, L> {
    /// Writes a piece to the places it came from.
    ///
    /// Traps where the output is shorter than the tiles were.
    #[inline(always)]
    pub fn put(&mut self, piece: Piece<T, PIECES, GridStride, L>) {
        // The same comparison for every piece, of two values that a kernel usually has from one parameter: it folds away.
        if piece.bound > self.len {
            ptx::trap();
        }
        // SAFETY: the elements that exist lie below the piece's bound, which lies in the view, and packed pieces are aligned as the view is;
        // the grid-stride tiles of one tiling belong to one block each and their elements, in one layout, to one thread,
        // and every thread of the grid divides this output in the same way (the contract of `Out::new`), so nobody else writes here.
        unsafe {
            let to = self.base.add(piece.at as usize);
            if L::PACKED && piece.count == T::Vector::LANES {
                piece.values.store_global::<16>(to);
            } else {
                piece.values.for_each(|lane, value| {
                    if lane < piece.count {
                        to.add((lane * piece.step) as usize).write(value);
                    }
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec;

    #[test]
    fn every_tile_belongs_to_one_block() {
        let tile = Tiling::<f32, 2>::elements(32);
        assert_eq!(tile, 256);
        for len in [0, 1, 255, 256, 257, 1023, 1024, 1025, 5 * 256 + 7] {
            let tiling = Tiling::<f32, 2>::of(32, len);
            for blocks in [1, 2, 3, 5, 64, u32::MAX] {
                let mut owners = vec![0; len as usize];
                for block in 0..blocks.min(64) {
                    let share = tiling.share::<GridStride>(block, blocks);
                    for step in 0..share.steps().get() {
                        let start = share.start() + u64::from(step) * share.stride();
                        let last = step + 1 == share.steps().get();
                        let count = if last && share.ragged != 0 {
                            share.ragged
                        } else {
                            tile
                        };
                        for element in start..start + u64::from(count) {
                            owners[element as usize] += 1;
                        }
                    }
                }
                assert!(
                    owners.iter().all(|count| *count == 1),
                    "{len} elements, {blocks} blocks"
                );
            }
        }
    }

    #[test]
    fn the_ragged_tile_is_the_last_step_of_one_block() {
        // Eleven whole tiles and five elements, which make the twelfth.
        let tiling = Tiling::<f32, 1>::of(32, 11 * 128 + 5);
        for blocks in 1..=13 {
            for block in 0..blocks {
                let share = tiling.share::<GridStride>(block, blocks);
                let expected = if block == 11 % blocks { 5 } else { 0 };
                assert_eq!(share.ragged, expected, "block {block} of {blocks}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "trap")]
    fn more_tiles_than_numbers_trap() {
        let _ = Tiling::<f32, 1>::of(32, 128 << 31);
    }
}
