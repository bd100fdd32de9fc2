//! Who shares the stages of a ring.

use super::mechanism::Mechanism;
use super::ring::{Engine, Misuse, Stage};
use crate::law::law;
use crate::{Block, ptx};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::BlockScope {}
    impl Sealed for super::ThreadScope {}
}

/// Who shares the stages: [`BlockScope`] or [`ThreadScope`].
pub trait Scope: sealed::Sealed {
    /// Whether threads read what others copied, so that barriers are needed.
    const SHARED: bool;
}

/// All threads of the block fill a stage together and read all of it.
#[derive(Clone, Copy, Debug)]
pub enum BlockScope {}

/// Each thread fills its own part of a stage and reads that alone: no barrier is needed.
#[derive(Clone, Copy, Debug)]
pub enum ThreadScope {}

impl Scope for BlockScope {
    const SHARED: bool = true;
}

impl Scope for ThreadScope {
    const SHARED: bool = false;
}

/// Bytes of a barrier.
pub(crate) const BARRIER: u32 = 8;

/// The engine of the device: the ring's decisions as instructions.
#[derive(Debug)]
pub struct Hardware<'b, C, M> {
    block: &'b Block,
    /// Address of stage 0's barrier, where the mechanism has barriers.
    barriers: u32,
    kind: PhantomData<(C, M)>,
}

impl<'b, C: Scope, M: Mechanism> Hardware<'b, C, M> {
    /// The engine of `block`, for `stages` stages whose barriers, if there are any, lie at `barriers`.
    #[inline(always)]
    pub(crate) fn new(block: &'b Block, barriers: u32, stages: u32) -> Self {
        const {
            law(
                C::SHARED || !M::BARRIERS,
                "barriers of stages are for threads that share them: a thread's own stages need `Groups` or `Direct`",
            )
        };
        if M::BARRIERS {
            // Two laps of a ring may be told apart, so a wait by parity is enough.
            if block.thread() == 0 {
                let mut stage = 0;
                while stage < stages {
                    // SAFETY: the place is the ring's own, which no barrier lives in; the threads meet below before they use it.
                    unsafe {
                        ptx::mbarrier_init(
                            barriers + stage * BARRIER,
                            M::arrivals(block.threads().get()),
                        );
                    }
                    stage += 1;
                }
            }
            M::hand_over();
            block.sync();
        }
        Self {
            block,
            barriers,
            kind: PhantomData,
        }
    }

    /// Ends the barriers of `stages` stages; nothing is under way in any of them, and every thread has met since.
    #[inline(always)]
    pub(crate) fn end(&mut self, stages: u32) {
        if M::BARRIERS {
            if self.block.thread() == 0 {
                let mut stage = 0;
                while stage < stages {
                    // SAFETY: a barrier was made there, and all of its phases were waited for.
                    unsafe { ptx::mbarrier_inval(self.barriers + stage * BARRIER) };
                    stage += 1;
                }
            }
            M::hand_over();
            self.block.sync();
        }
    }

    /// The block.
    #[inline(always)]
    pub(crate) fn block(&self) -> &'b Block {
        self.block
    }
}

impl<C: Scope, M: Mechanism> Engine for Hardware<'_, C, M> {
    const WAITS_FOR_ALL: bool = M::BARRIERS;

    #[inline(always)]
    fn commit(&mut self, stage: Stage) {
        M::commit(self.block.thread(), self.barriers + stage.0 * BARRIER);
    }

    #[inline(always)]
    fn wait<const PENDING: usize>(&mut self, stage: Stage, lap: u32) {
        M::wait::<PENDING>(self.barriers + stage.0 * BARRIER, lap);
    }

    #[inline(always)]
    fn barrier(&mut self) {
        if C::SHARED {
            self.block.sync();
        }
    }

    #[inline(always)]
    fn misuse(&mut self, _: Misuse) -> ! {
        ptx::trap()
    }

    #[inline(always)]
    fn opaque(&mut self, value: u32) -> u32 {
        ptx::opaque(value)
    }
}
