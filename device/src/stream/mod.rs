//! Floor 3: the loop itself.
//!
//! A [`Stream`] goes through the tiles of a source, several stages ahead of the code that uses them.
//! It owns the prologue, the steady state, the ragged tail (one commit a step, also past the end) and the drain, for any number of tiles from none on:
//!
//! ```
//! use nstage::Block;
//! use nstage::pipeline::TwoBarrier;
//! use nstage::shared::Region;
//! use nstage::stream::{Stream, Tiles};
//! use nstage::view::{In, Out, Tiling};
//!
//! fn scale(block: &Block, shared: Region, x: In<f32>, y: Out<f32>, a: f32) {
//!     let share = Tiling::<f32, 1>::new(block, x.len()).grid_stride(block);
//!     let mut y = y.striped::<1>();
//!     let mut tiles = Stream::<_, TwoBarrier, 4>::new(block, shared, Tiles::<_, 1, false, _>::new(x, share));
//!     while let Some(tile) = tiles.next() {
//!         tile.each_striped(|piece| y.put(piece.map(|x| a * x)));
//!     }
//!     let _shared = tiles.drain();
//! }
//! ```
//!
//! Items are lent, not given: a tile ends before the next one is taken, since its stage is filled again then.

mod boxes;
mod pairs;
pub mod panels;
mod rows;
mod squares;
mod tiles;

pub use boxes::{BoxTile, TensorBoxes};
pub use pairs::{Pair, Pairs};
pub use panels::{Matrix, Panel, Panels};
pub use rows::{Row, Rows};
pub use squares::{Square, Squares};
pub use tiles::{Tile, Tiles};

use crate::crew::Crew;
use crate::pipeline::{BlockScope, Copier, Groups, Mechanism, Pipeline, ReadSlot, Schedule, Span};
use crate::shared::Region;
use crate::view::Word;
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// What a stream goes through: how a stage is filled, and what the filled stage is to its user.
pub trait Source {
    /// Elements of the stages.
    type Item: Word;
    /// A filled stage, with whatever its user needs beside the bytes.
    type Tile<'s>;

    /// Elements of a stage.
    fn stage_len(&self) -> Uniform<u32>;

    /// Whether the tiles are as large as a crew of `threads` threads takes them.
    fn suits(&self, threads: u32) -> bool;

    /// Tiles in all.
    fn steps(&self) -> Uniform<u32>;

    /// Tiles at the end that are handed out as irregular: ragged ones.
    fn irregular_steps(&self) -> Uniform<u32>;

    /// Issues the copies of the next tile, of which `left` are not issued yet; none when that is zero.
    ///
    /// Collective.
    fn refill<M: Mechanism>(&mut self, crew: Crew, stage: Copier<'_, M>, left: Left);

    /// The next tile that was not handed out yet, from the stage that holds it, with `left` tiles to hand out, this one included.
    ///
    /// What is known of the tile is a constant wherever this is called.
    fn tile<'s>(
        &mut self,
        crew: Crew,
        slot: ReadSlot<'s, Self::Item, BlockScope>,
        left: u32,
        kind: Kind,
    ) -> Self::Tile<'s>;
}

/// How many tiles a source has still to issue.
///
/// Comparisons instead of a number: the loop counts tiles to hand out, and a constant distance lies between the two.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Tiles to hand out.
    pub(crate) tiles: u32,
    /// How many of these are on their way already.
    pub(crate) ahead: u32,
    /// Whether this is a loop over regular tiles, where a quick path for them pays; elsewhere, one path for all keeps the code small.
    pub(crate) steady: bool,
}

impl Left {
    /// Whether more than `count` tiles are to be issued.
    #[inline(always)]
    pub fn more_than(self, count: u32) -> bool {
        self.tiles > self.ahead + count
    }

    /// Whether a path of its own for regular tiles pays here; a constant wherever it is asked.
    #[inline(always)]
    pub fn steady(self) -> bool {
        self.steady
    }
}

/// What is known of a tile before it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is regular.
    Regular,
    /// It is one of the irregular ones at the end.
    Irregular,
    /// Nothing.
    Either,
}

/// The tiles of a source, `STAGES` stages deep.
#[derive(Debug)]
pub struct Stream<'b, S: Source, H, const STAGES: usize, M: Mechanism = Groups> {
    pipeline: Pipeline<'b, S::Item, STAGES, BlockScope, M>,
    source: S,
    left: u32,
    schedule: PhantomData<H>,
}

impl<'b, S: Source, H: Schedule, const STAGES: usize, M: Mechanism> Stream<'b, S, H, STAGES, M> {
    /// Starts the copies of the first tiles, into the first bytes of `memory`.
    ///
    /// Collective.
    ///
    /// Traps where the memory is smaller than [`Pipeline::shared_bytes`] says, or where the source's tiles were made for another number of threads.
    #[inline(always)]
    pub fn new(block: &'b Block, memory: Region, mut source: S) -> Self {
        let (left, crew) = (source.steps().get(), block.crew());
        if !source.suits(crew.threads) {
            ptx::trap();
        }
        let pipeline = Pipeline::primed(block, memory, source.stage_len(), |stage, ahead| {
            source.refill(
                crew,
                stage,
                Left {
                    tiles: left,
                    ahead,
                    steady: false,
                },
            );
        });
        Self {
            pipeline,
            source,
            left,
            schedule: PhantomData,
        }
    }

    /// The next tile, once its copies have landed, while those of later tiles go on; none after the last.
    ///
    /// Collective: every thread of the block takes every tile.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator's items outlive the next call, these must not"
    )]
    #[inline(always)]
    pub fn next(&mut self) -> Option<S::Tile<'_>> {
        if self.left == 0 {
            return None;
        }
        Some(self.take(Kind::Either))
    }

    /// Calls `f` with every tile that is left, in order.
    ///
    /// The same tiles as by [`next`](Stream::next), quicker and in more code: regular tiles and the ragged one get loops of their own, so that tests for the one do not burden the other.
    /// Collective.
    #[inline(always)]
    pub fn for_each(&mut self, mut f: impl FnMut(S::Tile<'_>)) {
        let irregular = self.source.irregular_steps().get();
        while self.left > irregular {
            f(self.take(Kind::Regular));
        }
        while self.left > 0 {
            f(self.take(Kind::Irregular));
        }
    }

    #[inline(always)]
    fn take(&mut self, kind: Kind) -> S::Tile<'_> {
        let tiles = self.left;
        let left = Left {
            tiles,
            ahead: STAGES as u32 - 1,
            steady: matches!(kind, Kind::Regular),
        };
        self.left -= 1;
        let crew = self.pipeline.block().crew();
        let source = &mut self.source;
        let slot = self
            .pipeline
            .turn::<H>(|stage| source.refill(crew, stage, left));
        source.tile(crew, slot, tiles, kind)
    }

    /// The place of element `index` in every stage, for [`ReadSlot::element`].
    ///
    /// Traps where a stage has none.
    #[inline(always)]
    pub fn element(&self, index: u32) -> Span<S::Item, 1> {
        Span::element(self.pipeline.stage_len().get(), index)
    }

    /// The place of the 16 bytes from element `index` on in every stage, for [`ReadSlot::vector`].
    ///
    /// Traps where a stage has none, or where they are not aligned.
    #[inline(always)]
    pub fn vector(&self, index: u32) -> Span<S::Item, 16> {
        Span::vector(self.pipeline.stage_len().get(), index)
    }

    /// Waits for all copies and all threads, and gives the shared memory back.
    ///
    /// Collective.
    #[inline(always)]
    pub fn drain(self) -> Region {
        self.pipeline.drain()
    }
}
