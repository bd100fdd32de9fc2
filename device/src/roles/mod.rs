//! Warp specialisation: some warps of a block fill the stages of a ring, the others use them.
//!
//! ```
//! use nstage::pipeline::Bulk;
//! use nstage::roles::{Fixed, Roles};
//! use nstage::shared::Region;
//! use nstage::view::{In, Out, Tiling};
//! use nstage::stream::Tiles;
//! use nstage::{Block, Uniform};
//!
//! fn scale(block: &mut Block, shared: Region, x: In<f32>, y: Out<f32>, a: f32) {
//!     let roles = Roles::<Bulk, _>::new(block, Fixed::<4>, Uniform::<u32>::constant::<1>());
//!     let share = Tiling::<f32, 1>::for_crew(roles.consumers(), x.len()).grid_stride(roles.block());
//!     let mut y = y.packed::<1>();
//!     let tiles = Tiles::<_, 1, true, _>::new(x, share);
//!     let _shared = roles.run(
//!         shared,
//!         tiles,
//!         |producer, mut tiles| producer.fill(&mut tiles),
//!         |consumer, mut tiles| consumer.for_each(&mut tiles, |tile| tile.each(|piece| y.put(piece.map(|x| a * x)))),
//!     );
//! }
//! ```
//!
//! Each stage has two barriers: *full*, at which copies arrive and consumers wait, and *empty*, at which consumers arrive and producers wait.
//! A role gets a handle on its half of the ring and no other; the block itself is lent to the roles until both are done, so that neither can meet its barrier, which would wait for the other role for ever.
//!
//! Both roles go through the same tiles. A consumer that waits for more tiles than were committed waits for ever.

mod depth;
mod half;
mod laws;

pub use depth::{AtRunTime, Depth, Fixed};
pub use half::{Consumer, Filling, Producer, Reading};

use crate::crew::{Crew, LANES};
use crate::law::law;
use crate::pipeline::copy::Cast;
use crate::pipeline::scope::BARRIER;
use crate::pipeline::{Layout, Mechanism};
use crate::shared::{Region, padded};
use crate::stream::Source;
use crate::view::Word;
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// A block whose first warps are producers and whose other warps are consumers.
///
/// `M` is [`Bulk`](crate::pipeline::Bulk) or [`Arrivals`](crate::pipeline::Arrivals), `D` the depth of the ring: [`Fixed`] or [`AtRunTime`].
#[derive(Debug)]
pub struct Roles<'b, M, D> {
    block: &'b mut Block,
    depth: D,
    producers: u32,
    consumers: u32,
    cast: Cast,
    mechanism: PhantomData<M>,
}

impl<'b, M: Mechanism, D: Depth> Roles<'b, M, D> {
    /// Divides the block: its first `producer_warps` warps fill a ring of the given depth, the others use it.
    ///
    /// Traps where a role has no warp, or where the last warp is not whole.
    #[inline(always)]
    pub fn new(block: &'b mut Block, depth: D, producer_warps: Uniform<u32>) -> Self {
        const {
            law(
                M::BARRIERS,
                "roles meet at the stages' barriers: take `Bulk` or `Arrivals`",
            )
        };
        let (threads, producers) = (block.threads().get(), producer_warps.get() * LANES);
        if producers == 0 || producers >= threads || !threads.is_multiple_of(LANES) {
            ptx::trap();
        }
        Self {
            block,
            depth,
            producers,
            consumers: threads - producers,
            cast: Cast::ALONE,
            mechanism: PhantomData,
        }
    }

    /// The same for every block of the cluster together: each block fetches its share of a span and hands it to all.
    ///
    /// # Safety
    /// - The launch has clusters of `BLOCKS` blocks, and all of them make this call.
    /// - The producers of all blocks append the same spans of the same memory, in one order, and their consumers wait for as many stages.
    #[inline(always)]
    pub unsafe fn multicast<const BLOCKS: u32>(self) -> Self {
        // SAFETY: the caller's contract.
        unsafe { self.multicast_if::<BLOCKS, true>() }
    }

    /// [`multicast`](Roles::multicast), or, where `ON` is false, every block by itself.
    ///
    /// # Safety
    /// - As for [`multicast`](Roles::multicast), where `ON` is true.
    #[inline(always)]
    pub unsafe fn multicast_if<const BLOCKS: u32, const ON: bool>(self) -> Self {
        const {
            law(
                BLOCKS >= 2 && BLOCKS <= 8,
                "a cluster that shares copies has 2 to 8 blocks",
            );
            law(
                M::BULK || !ON,
                "only bulk copies reach all blocks of a cluster: take `Bulk`",
            );
        }
        if !ON {
            return self;
        }
        // SAFETY: reading a special register has no requirement.
        let rank = unsafe { ptx::cluster_ctarank() };
        Self {
            cast: Cast::cluster(BLOCKS, rank),
            ..self
        }
    }

    /// The block.
    #[inline(always)]
    pub fn block(&self) -> &Block {
        self.block
    }

    /// Threads that fill.
    #[inline(always)]
    pub fn producers(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.producers) }
    }

    /// Threads that use.
    #[inline(always)]
    pub fn consumers(&self) -> Uniform<u32> {
        // SAFETY: made from uniform values.
        unsafe { Uniform::assume(self.consumers) }
    }

    /// Shared memory of a ring of `stages` stages of `len` elements each, in bytes.
    pub const fn shared_bytes<T: Word>(len: u32, stages: u32) -> u32 {
        padded(len * size_of::<T>() as u32) * stages + padded(2 * stages * BARRIER)
    }

    /// Runs both roles, each in its own warps, over the stages of `source`, and gives the shared memory back when both are done.
    ///
    /// Each role gets its half of the ring, and the source for its own use.
    /// Collective.
    ///
    /// Traps where the memory is smaller than [`shared_bytes`](Roles::shared_bytes) says.
    #[inline(always)]
    pub fn run<S: Source + Clone>(
        self,
        memory: Region,
        source: S,
        produce: impl FnOnce(&mut Producer<S::Item, M, D>, S),
        consume: impl FnOnce(&mut Consumer<S::Item, M, D>, S),
    ) -> Region {
        let layout = self.lay_out::<S::Item>(&memory, source.stage_len().get());
        let empty = layout.barriers + self.depth.stages() * BARRIER;
        self.make_barriers(layout.barriers, empty);
        // A whole warp has one role.
        if self.block.thread() < self.producers {
            let crew = Crew {
                thread: self.block.thread(),
                threads: self.producers,
            };
            let mut half = Producer::new(crew, layout, self.depth, empty, self.cast);
            produce(&mut half, source);
            half.finish();
        } else {
            let crew = Crew {
                thread: self.block.thread() - self.producers,
                threads: self.consumers,
            };
            let mut half = Consumer::new(crew, layout, self.depth, empty, self.cast);
            consume(&mut half, source);
        }
        self.end_barriers(layout.barriers);
        memory
    }

    #[inline(always)]
    fn lay_out<T: Word>(&self, memory: &Region, len: u32) -> Layout<T> {
        let stages = self.depth.stages();
        // No block has so much shared memory; below it, the sizes are numbers of 32 bits.
        if len > 1 << 20 || Self::shared_bytes::<T>(len, stages) > memory.bytes().get() {
            ptx::trap();
        }
        let (base, pitch) = (memory.address().get(), padded(len * size_of::<T>() as u32));
        Layout {
            base,
            pitch,
            barriers: base + pitch * stages,
            len,
            item: PhantomData,
        }
    }

    /// Makes the barriers of all stages, and shows them to everybody who will arrive.
    #[inline(always)]
    fn make_barriers(&self, full: u32, empty: u32) {
        if self.block.thread() == 0 {
            let mut stage = 0;
            while stage < self.depth.stages() {
                // SAFETY: the places are the ring's own, in which no barrier lives; everybody meets below before they are used.
                unsafe {
                    ptx::mbarrier_init(full + stage * BARRIER, M::arrivals(self.producers));
                    ptx::mbarrier_init(
                        empty + stage * BARRIER,
                        self.consumers / LANES * self.cast.blocks(),
                    );
                }
                stage += 1;
            }
            if self.cast.blocks() > 1 {
                // SAFETY: the instruction has no requirement.
                unsafe { ptx::fence_mbarrier_init() };
            }
        }
        M::hand_over();
        self.meet();
    }

    /// Ends the barriers: nothing is under way, and nobody arrives any more once all have met.
    #[inline(always)]
    fn end_barriers(&self, full: u32) {
        self.meet();
        if self.block.thread() == 0 {
            let mut barrier = 0;
            while barrier < 2 * self.depth.stages() {
                // SAFETY: a barrier was made there, and its last use lies before the meeting.
                unsafe { ptx::mbarrier_inval(full + barrier * BARRIER) };
                barrier += 1;
            }
        }
        M::hand_over();
        self.block.sync();
    }

    /// All threads that use the barriers meet: those of the block, or of the cluster.
    #[inline(always)]
    fn meet(&self) {
        if self.cast.blocks() > 1 {
            // SAFETY: every thread of the cluster comes here (the contract of `multicast`).
            unsafe {
                ptx::barrier_cluster_arrive();
                ptx::barrier_cluster_wait();
            }
        } else {
            self.block.sync();
        }
    }
}
