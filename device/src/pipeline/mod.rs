//! Floor 2: the ring of stages in shared memory, with the four verbs of libcu++ as typed slots.
//!
//! | verb | blocks? | does |
//! |---|---|---|
//! | [`producer_acquire`](Pipeline::producer_acquire) | at a barrier | a [`WriteSlot`] on the next stage: only there can copies be issued |
//! | [`WriteSlot::commit`] | no | closes the group of the copies issued through the slot |
//! | [`consumer_wait`](Pipeline::consumer_wait) | for the copies, at a barrier | a [`ReadSlot`] on the oldest stage: only there can a stage be read |
//! | [`ReadSlot::release`] | no | ends the reading; the next verb that needs it meets the barrier |
//! | [`step`](Pipeline::step) | for the copies, at a barrier | both slots at once, with one barrier for both |
//! | [`drain`](Pipeline::drain) | for all copies, at a barrier | ends the ring and gives the shared memory back |
//!
//! A slot borrows the ring, so only the slots of one verb exist at a time, and none outlives its stage.
//! The depth of each wait follows from how many groups were committed since; it is never typed.
//! What types cannot see (acquiring a stage while all hold unread tiles, waiting for a tile that was never committed) traps, where other libraries hang;
//! in loops of the usual form the checks fold away.

pub(crate) mod copy;
mod laws;
pub(crate) mod mechanism;
pub mod ring;
mod schedule;
pub(crate) mod scope;
pub(crate) mod slot;

pub use copy::{Copied, Copier, Path};
pub use mechanism::{Arrivals, Bulk, Direct, Groups, Mechanism};
pub use schedule::{OneBarrier, Schedule, TwoBarrier};
pub use scope::{BlockScope, Hardware, Scope, ThreadScope};
pub use slot::{ReadSlot, Span, WriteSlot};

use crate::shared::{Region, padded};
use crate::view::Word;
use crate::{Block, Uniform, ptx};
use copy::Cast;
use core::marker::PhantomData;
use ring::{Ring, Stage};
use scope::BARRIER;

/// A ring of `STAGES` stages of shared memory, filled by copies that run on while earlier stages are used.
///
/// `C` says who shares the stages, `M` how bytes get there.
/// All verbs are collective in [`BlockScope`]: every thread of the block calls them, in one order.
#[derive(Debug)]
pub struct Pipeline<'b, T, const STAGES: usize, C = BlockScope, M = Groups> {
    ring: Ring<Hardware<'b, C, M>, STAGES>,
    memory: Region,
    layout: Layout<T>,
}

/// More elements than a stage can have.
const MOST_ELEMENTS: u32 = 1 << 20;

/// Where the stages are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<T> {
    /// Address of stage 0.
    pub(crate) base: u32,
    /// Bytes from one stage to the next.
    pub(crate) pitch: u32,
    /// Address of stage 0's barrier, where the mechanism has barriers.
    pub(crate) barriers: u32,
    /// Elements of a stage.
    pub(crate) len: u32,
    pub(crate) item: PhantomData<T>,
}

impl<T> Layout<T> {
    #[inline(always)]
    pub(crate) fn address(&self, stage: Stage) -> u32 {
        self.base + stage.0 * self.pitch
    }

    #[inline(always)]
    fn copier<'s, M: Mechanism>(&self, stage: Stage) -> Copier<'s, M> {
        Copier::new(
            self.address(stage),
            self.len * size_of::<T>() as u32,
            self.barriers + stage.0 * BARRIER,
            Cast::ALONE,
        )
    }
}

impl<'b, T: Word, const STAGES: usize, C: Scope, M: Mechanism> Pipeline<'b, T, STAGES, C, M> {
    /// Shared memory of a ring whose stages hold `len` elements each, in bytes.
    pub const fn shared_bytes(len: u32) -> u32 {
        let barriers = if M::BARRIERS {
            padded(STAGES as u32 * BARRIER)
        } else {
            0
        };
        padded(len * size_of::<T>() as u32) * STAGES as u32 + barriers
    }

    /// An empty ring in `memory`, with `len` elements a stage.
    ///
    /// Traps where the memory is smaller than [`shared_bytes`](Pipeline::shared_bytes).
    #[inline(always)]
    pub fn new(block: &'b Block, memory: Region, len: Uniform<u32>) -> Self {
        let (memory, layout) = Self::lay_out(memory, len);
        Self {
            ring: Ring::new(Hardware::new(block, layout.barriers, STAGES as u32)),
            memory,
            layout,
        }
    }

    /// A ring with all stages but one filled through `refill`, which is handed a copier for each.
    #[inline(always)]
    pub(crate) fn primed(
        block: &'b Block,
        memory: Region,
        len: Uniform<u32>,
        mut refill: impl FnMut(Copier<'_, M>, u32),
    ) -> Self {
        let (memory, layout) = Self::lay_out(memory, len);
        let engine = Hardware::new(block, layout.barriers, STAGES as u32);
        let ring = Ring::primed(engine, |stage| refill(layout.copier(stage), stage.0));
        Self {
            ring,
            memory,
            layout,
        }
    }

    /// Lays the stages out from the start of the memory; the rest of it is kept for [`drain`](Pipeline::drain) to give back.
    #[inline(always)]
    fn lay_out(memory: Region, len: Uniform<u32>) -> (Region, Layout<T>) {
        let len = len.get();
        // No block has so much shared memory; below it, the sizes are numbers of 32 bits.
        if len > MOST_ELEMENTS || Self::shared_bytes(len) > memory.bytes().get() {
            outside();
        }
        let (base, pitch) = (memory.address().get(), padded(len * size_of::<T>() as u32));
        let layout = Layout {
            base,
            pitch,
            barriers: base + pitch * STAGES as u32,
            len,
            item: PhantomData,
        };
        (memory, layout)
    }

    /// Elements of a stage.
    #[inline(always)]
    pub fn stage_len(&self) -> Uniform<u32> {
        // SAFETY: made from a uniform value.
        unsafe { Uniform::assume(self.layout.len) }
    }

    /// The next stage, to be filled.
    ///
    /// Meets a barrier where other threads may still read the stage.
    /// Traps where all stages hold tiles that nobody has waited for.
    #[inline(always)]
    pub fn producer_acquire(&mut self) -> WriteSlot<'_, 'b, T, STAGES, C, M> {
        let stage = self.ring.acquire();
        WriteSlot::new(&mut self.ring, self.layout, stage)
    }

    /// The oldest filled stage, once its copies have landed; the younger ones stay under way.
    ///
    /// Meets a barrier, so that each thread sees what the others copied.
    /// Traps where no stage was committed.
    #[inline(always)]
    pub fn consumer_wait(&mut self) -> ReadSlot<'_, T, C> {
        let stage = self.ring.wait();
        ReadSlot::new(self.layout, stage)
    }

    /// The next stage to be filled, and the oldest filled one, with a single barrier for both.
    ///
    /// It keeps one tile less in flight than [`producer_acquire`](Pipeline::producer_acquire) and [`consumer_wait`](Pipeline::consumer_wait) do,
    /// and saves their second barrier. It needs two stages at least, of which one is not filled before.
    #[inline(always)]
    pub fn step(&mut self) -> (WriteSlot<'_, 'b, T, STAGES, C, M>, ReadSlot<'_, T, C>) {
        let (fill, read) = self.ring.step();
        (
            WriteSlot::new(&mut self.ring, self.layout, fill),
            ReadSlot::new(self.layout, read),
        )
    }

    /// Waits for all copies and all threads, and gives the shared memory back.
    #[inline(always)]
    pub fn drain(mut self) -> Region {
        self.ring.drain();
        self.ring.engine().end(STAGES as u32);
        self.memory
    }

    /// The block whose ring this is.
    #[inline(always)]
    pub(crate) fn block(&mut self) -> &'b Block {
        self.ring.engine().block()
    }

    /// One step of schedule `S`: refills a stage and hands out the one to read.
    #[inline(always)]
    pub(crate) fn turn<S: Schedule>(
        &mut self,
        refill: impl FnOnce(Copier<'_, M>),
    ) -> ReadSlot<'_, T, C> {
        let layout = self.layout;
        let stage = S::turn(&mut self.ring, |stage| refill(layout.copier(stage)));
        ReadSlot::new(layout, stage)
    }
}

/// The trap of a slot asked for what its stage does not have.
#[inline(always)]
fn outside() -> ! {
    ptx::trap()
}
