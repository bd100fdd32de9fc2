//! The tiles of two arrays side by side as the source of a stream: what a kernel of two inputs reads.
//!
//! A stage holds a tile of the first array and, behind it, the tile of the second at the same place.

use super::{Kind, Left, Source, Tile, Tiles};
use crate::Uniform;
use crate::crew::Crew;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot};
use crate::view::{Assignment, In, Packed, Piece, Share, Striped, Tiling, Word};

/// The tiles of a share of two [`In`]s.
///
/// See [`Tiles`], which it is two of.
#[derive(Clone, Debug)]
pub struct Pairs<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment> {
    first: Tiles<T, PIECES, ALIGNED, A>,
    second: Tiles<T, PIECES, ALIGNED, A>,
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment>
    Pairs<T, PIECES, ALIGNED, A>
{
    /// The tiles of `share`, read from `first` and from `second`.
    ///
    /// Traps as [`Tiles::new`] does.
    #[inline(always)]
    pub fn new(first: In<T>, second: In<T>, share: Share<T, PIECES, A>) -> Self {
        Self {
            first: Tiles::new(first, share),
            second: Tiles::new(second, share),
        }
    }

    /// Elements of a stage for blocks of `threads` threads.
    pub const fn stage_len_of(threads: u32) -> u32 {
        2 * Tiling::<T, PIECES>::elements(threads)
    }
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment> Source
    for Pairs<T, PIECES, ALIGNED, A>
{
    type Item = T;
    type Tile<'s> = Pair<'s, T, PIECES, A>;

    #[inline(always)]
    fn stage_len(&self) -> Uniform<u32> {
        self.first.stage_len() + self.second.stage_len()
    }

    #[inline(always)]
    fn suits(&self, threads: u32) -> bool {
        self.first.suits(threads)
    }

    #[inline(always)]
    fn steps(&self) -> Uniform<u32> {
        self.first.steps()
    }

    #[inline(always)]
    fn irregular_steps(&self) -> Uniform<u32> {
        self.first.irregular_steps()
    }

    #[inline(always)]
    fn refill<M: Mechanism>(&mut self, crew: Crew, stage: Copier<'_, M>, left: Left) {
        let (first, second) = stage.halves();
        self.first.refill(crew, first, left);
        self.second.refill(crew, second, left);
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        crew: Crew,
        slot: ReadSlot<'s, T, BlockScope>,
        left: u32,
        kind: Kind,
    ) -> Pair<'s, T, PIECES, A> {
        let (first, second) = slot.halves();
        Pair {
            first: self.first.tile(crew, first, left, kind),
            second: self.second.tile(crew, second, left, kind),
        }
    }
}

/// A tile of each array in their stage.
#[derive(Debug)]
pub struct Pair<'s, T: Word, const PIECES: usize, A: Assignment> {
    first: Tile<'s, T, PIECES, A>,
    second: Tile<'s, T, PIECES, A>,
}

impl<T: Word, const PIECES: usize, A: Assignment> Pair<'_, T, PIECES, A> {
    /// Calls `f` with each of this thread's packed pieces of the first array that holds an element, and the second's elements at the same places, in order.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(Piece<T, PIECES, A, Packed>, T::Vector)) {
        let Self { first, second } = self;
        first.each(|piece| {
            let other = second.values_at(&piece);
            f(piece, other);
        });
    }

    /// The same with striped pieces.
    #[inline(always)]
    pub fn each_striped(self, mut f: impl FnMut(Piece<T, PIECES, A, Striped>, T::Vector)) {
        let Self { first, second } = self;
        first.each_striped(|piece| {
            let other = second.striped_at(&piece);
            f(piece, other);
        });
    }
}
