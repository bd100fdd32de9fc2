//! The two halves of a ring between roles.

use super::depth::{Depth, Position};
use crate::Uniform;
use crate::crew::{Crew, LANES, meet_warp};
use crate::pipeline::copy::{Cast, Copied, Copier};
use crate::pipeline::ring::Stage;
use crate::pipeline::scope::{BARRIER, BlockScope};
use crate::pipeline::{Layout, Mechanism, ReadSlot};
use crate::ptx;
use crate::stream::{Kind, Left, Source};
use crate::view::{In, Word};
use core::marker::PhantomData;
use core::ops::Deref;

/// Barriers of the block that the roles' own meetings use.
const PRODUCERS: u32 = 1;
const CONSUMERS: u32 = 2;

/// The half of the ring that is filled, in the hands of one producer thread.
#[derive(Debug)]
pub struct Producer<T, M, D> {
    crew: Crew,
    layout: Layout<T>,
    depth: D,
    empty: u32,
    cast: Cast,
    at: Position,
    /// Stages that were committed, not more than there are.
    committed: u32,
    mechanism: PhantomData<M>,
}

impl<T: Word, M: Mechanism, D: Depth> Producer<T, M, D> {
    #[inline(always)]
    pub(super) fn new(crew: Crew, layout: Layout<T>, depth: D, empty: u32, cast: Cast) -> Self {
        Self {
            crew,
            layout,
            depth,
            empty,
            cast,
            at: Position::default(),
            committed: 0,
            mechanism: PhantomData,
        }
    }

    /// The producers.
    #[inline(always)]
    pub fn crew(&self) -> Crew {
        self.crew
    }

    /// The next stage, once all consumers have released it.
    ///
    /// Every producer thread acquires every stage.
    #[inline(always)]
    pub fn acquire(&mut self) -> Filling<'_, T, M, D> {
        let barrier = self.empty + self.at.stage * BARRIER;
        wait::<M>(barrier, self.at.free(), self.cast);
        if M::BULK {
            // One thread alone arrives: without this, the ring could go around while another lane still looks for this phase.
            meet_warp();
        }
        let stage = Stage(self.at.stage);
        let copier = Copier::new(
            self.layout.address(stage),
            self.layout.len * size_of::<T>() as u32,
            self.layout.barriers + stage.0 * BARRIER,
            self.cast,
        );
        Filling { half: self, copier }
    }

    /// Fills a stage for every tile of `source`.
    #[inline(always)]
    pub fn fill<S: Source<Item = T>>(&mut self, source: &mut S) {
        let (mut left, irregular) = (source.steps().get(), source.irregular_steps().get());
        let crew = self.crew;
        let mut turn = |half: &mut Self, tiles, steady| {
            let (half, copier) = half.acquire().take();
            let issue = Left {
                tiles,
                ahead: 0,
                steady,
            };
            source.refill(crew, copier, issue);
            half.commit();
        };
        // A bulk copy of a regular tile has a loop of its own; element copies would have all of their code twice.
        while M::BULK && left > irregular {
            turn(self, left, true);
            left -= 1;
        }
        while left > 0 {
            turn(self, left, !M::BULK && left > irregular);
            left -= 1;
        }
    }

    /// Waits for all producers.
    ///
    /// Every producer thread makes the call.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: the producers are whole warps, all of them make the call, and nobody else knows the barrier.
        unsafe { ptx::bar_sync_count::<PRODUCERS>(self.crew.threads) };
    }

    #[inline(always)]
    fn commit(&mut self) {
        M::commit(
            self.crew.thread,
            self.layout.barriers + self.at.stage * BARRIER,
        );
        self.at.advance(self.depth);
        self.committed = (self.committed + 1).min(self.depth.stages());
    }

    /// Waits until every copy has landed, whoever was to use it.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        // Back by the stages that may be under way: the last phase of each is complete or running.
        let mut at = self.at.back(self.committed, self.depth);
        while self.committed > 0 {
            wait::<M>(
                self.layout.barriers + at.stage * BARRIER,
                at.parity,
                self.cast,
            );
            at.advance(self.depth);
            self.committed -= 1;
        }
    }
}

/// A stage that a producer fills.
///
/// [`commit`](Filling::commit) hands it over; one that is dropped is committed as well, and one that is forgotten is never handed over.
#[derive(Debug)]
#[must_use = "a stage that was acquired is to be filled and committed"]
pub struct Filling<'r, T: Word, M: Mechanism, D: Depth> {
    half: &'r mut Producer<T, M, D>,
    copier: Copier<'r, M>,
}

impl<'r, T: Word, M: Mechanism, D: Depth> Filling<'r, T, M, D> {
    /// The producers copy the elements `start..start + count` of `from` behind what the stage holds already.
    ///
    /// `BYTES` at a time (4, 8 or 16); choose by [`In::width`].
    /// Returns the element of the stage at which they start; the next span starts at a multiple of 16 bytes again.
    /// Every producer thread makes the call.
    ///
    /// Traps where the stage has no room, where `from` ends before `start + count`, or where the first element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub fn append<const BYTES: usize>(
        &mut self,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Uniform<u32> {
        let crew = self.half.crew;
        self.copier.append::<T, BYTES>(crew, from, start, count)
    }

    /// The producers copy the elements `start..start + count` of `from`, whatever their alignment, by the widest copies there are, and say how.
    ///
    /// See [`Copier::memcpy_async`].
    /// Every producer thread makes the call.
    #[inline(always)]
    pub fn memcpy_async(
        &mut self,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Copied {
        let crew = self.half.crew;
        self.copier.memcpy_async(crew, from, start, count)
    }

    /// Hands the stage over to the consumers, once its copies have landed.
    ///
    /// It does not wait.
    #[inline(always)]
    pub fn commit(self) {
        drop(self);
    }

    /// The half and the right to fill, for whoever commits otherwise.
    #[inline(always)]
    fn take(self) -> (&'r mut Producer<T, M, D>, Copier<'r, M>) {
        let slot = core::mem::ManuallyDrop::new(self);
        // SAFETY: both are moved out once, and the slot is not dropped.
        unsafe { (core::ptr::read(&slot.half), core::ptr::read(&slot.copier)) }
    }
}

impl<T: Word, M: Mechanism, D: Depth> Drop for Filling<'_, T, M, D> {
    #[inline(always)]
    fn drop(&mut self) {
        self.half.commit();
    }
}

/// The half of the ring that is read, in the hands of one consumer thread.
#[derive(Debug)]
pub struct Consumer<T, M, D> {
    crew: Crew,
    layout: Layout<T>,
    depth: D,
    empty: u32,
    cast: Cast,
    at: Position,
    mechanism: PhantomData<M>,
}

impl<T: Word, M: Mechanism, D: Depth> Consumer<T, M, D> {
    #[inline(always)]
    pub(super) fn new(crew: Crew, layout: Layout<T>, depth: D, empty: u32, cast: Cast) -> Self {
        Self {
            crew,
            layout,
            depth,
            empty,
            cast,
            at: Position::default(),
            mechanism: PhantomData,
        }
    }

    /// The consumers.
    #[inline(always)]
    pub fn crew(&self) -> Crew {
        self.crew
    }

    /// The next stage, once its copies have landed.
    ///
    /// Every consumer thread waits for every stage.
    #[inline(always)]
    pub fn wait(&mut self) -> Reading<'_, T> {
        let stage = self.at.stage;
        wait::<M>(
            self.layout.barriers + stage * BARRIER,
            self.at.parity,
            self.cast,
        );
        self.at.advance(self.depth);
        Reading {
            slot: ReadSlot::new(self.layout, Stage(stage)),
            release: Release {
                empty: self.empty + stage * BARRIER,
                cast: self.cast,
                lane: self.crew.thread % LANES,
            },
        }
    }

    /// Calls `f` with every tile of `source`, in order.
    ///
    /// Traps where the source's tiles were made for another number of threads than there are consumers.
    #[inline(always)]
    pub fn for_each<S: Source<Item = T>>(
        &mut self,
        source: &mut S,
        mut f: impl FnMut(S::Tile<'_>),
    ) {
        let crew = self.crew;
        if !source.suits(crew.threads) {
            ptx::trap();
        }
        let (mut left, irregular) = (source.steps().get(), source.irregular_steps().get());
        while left > irregular {
            let Reading { slot, release } = self.wait();
            f(source.tile(crew, slot, left, Kind::Regular));
            drop(release);
            left -= 1;
        }
        while left > 0 {
            let Reading { slot, release } = self.wait();
            f(source.tile(crew, slot, left, Kind::Irregular));
            drop(release);
            left -= 1;
        }
    }

    /// Waits for all consumers.
    ///
    /// Every consumer thread makes the call.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: the consumers are whole warps, all of them make the call, and nobody else knows the barrier.
        unsafe { ptx::bar_sync_count::<CONSUMERS>(self.crew.threads) };
    }
}

/// A stage that a consumer reads.
///
/// [`release`](Reading::release) lets it be filled again, once all consumers have released it; one that is dropped is released as well, and one that is forgotten is never filled again.
#[derive(Debug)]
#[must_use = "a stage that was waited for is to be read"]
pub struct Reading<'r, T> {
    slot: ReadSlot<'r, T, BlockScope>,
    release: Release,
}

impl<T: Word> Reading<'_, T> {
    /// Ends the reading of the stage.
    #[inline(always)]
    pub fn release(self) {
        drop(self);
    }
}

impl<'r, T> Deref for Reading<'r, T> {
    type Target = ReadSlot<'r, T, BlockScope>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.slot
    }
}

/// What is due when a stage is not read any more.
#[derive(Debug)]
struct Release {
    empty: u32,
    cast: Cast,
    lane: u32,
}

impl Drop for Release {
    #[inline(always)]
    fn drop(&mut self) {
        // The arrival speaks for the whole warp.
        meet_warp();
        if self.cast.blocks() == 1 {
            if self.lane == 0 {
                // SAFETY: the barrier lives until the roles are done, and expects one arrival of each consumer warp for each stage that was filled.
                unsafe { ptx::mbarrier_arrive(self.empty) };
            }
        } else if self.lane < self.cast.blocks() {
            // A stage is filled by all blocks, so each must know that it is free everywhere: one lane arrives at each.
            // SAFETY: as above, in every block of the cluster; all of them run until all have met.
            unsafe { ptx::mbarrier_arrive_cluster(ptx::mapa(self.empty, self.lane)) };
        }
    }
}

/// Waits for a phase, of arrivals of this block or of the whole cluster.
#[inline(always)]
fn wait<M: Mechanism>(barrier: u32, parity: u32, cast: Cast) {
    if cast.blocks() == 1 {
        M::wait::<0>(barrier, parity);
    } else {
        // SAFETY: the ring's barrier lives; its running phase is the one asked for or the next.
        while !unsafe { ptx::mbarrier_try_wait_parity_cluster(barrier, parity) } {}
    }
}
