//! Barriers between a block's threads beside its own: split ones, whose arrival and wait lie apart, and named ones for some of its warps.

use crate::law::law;
use crate::shared::{GRAIN, Region};
use crate::{Block, Uniform, ptx};

/// A barrier of all threads of the block, at which a thread arrives at one place and waits at another.
///
/// Its phase is part of it: [`arrive`](Barrier::arrive) takes the barrier and leaves something that can only be waited for,
/// so no thread arrives twice in a phase, waits for a phase that it has no part in, or types a parity.
///
/// ```
/// use nstage::Block;
/// use nstage::barrier::Barrier;
/// use nstage::shared::Region;
///
/// fn hand_over(block: &Block, memory: Region) -> Region {
///     let barrier = Barrier::new(block, memory);
///     // … what others are to see …
///     let arrived = barrier.arrive();
///     // … what concerns nobody else …
///     let barrier = arrived.wait();
///     barrier.end(block)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a barrier is ended before its memory is used again"]
pub struct Barrier {
    memory: Region,
    parity: u32,
}

/// A barrier at which this thread has arrived.
#[derive(Debug)]
#[must_use = "who has arrived must wait before the barrier can be used again"]
pub struct Arrived {
    barrier: Barrier,
}

impl Barrier {
    /// Shared memory of a barrier, in bytes.
    pub const BYTES: u32 = GRAIN;

    /// A barrier in the first bytes of `memory`.
    ///
    /// Collective.
    ///
    /// Traps where the memory has less than 8 bytes.
    #[inline(always)]
    pub fn new(block: &Block, memory: Region) -> Self {
        if memory.bytes().get() < 8 {
            ptx::trap();
        }
        if block.thread() == 0 {
            // SAFETY: the memory is the caller's, so no barrier lives there; the threads meet below before they use it.
            unsafe { ptx::mbarrier_init(memory.address().get(), block.threads().get()) };
        }
        block.sync();
        Self { memory, parity: 0 }
    }

    /// Arrives: the others will see what this thread has done.
    #[inline(always)]
    pub fn arrive(self) -> Arrived {
        // SAFETY: the barrier lives, and each thread arrives once in a phase: the value is gone until the phase was waited for.
        unsafe { ptx::mbarrier_arrive(self.memory.address().get()) };
        Arrived { barrier: self }
    }

    /// Arrives once all of this thread's element copies have landed: the others will see what they brought.
    ///
    /// What the thread has written itself is not published.
    #[inline(always)]
    pub fn arrive_with_copies(self) -> Arrived {
        // SAFETY: as for `arrive`.
        unsafe { ptx::cp_async_mbarrier_arrive_noinc(self.memory.address().get()) };
        Arrived { barrier: self }
    }

    /// Ends the barrier and gives its memory back.
    ///
    /// Collective.
    #[inline(always)]
    pub fn end(self, block: &Block) -> Region {
        block.sync();
        if block.thread() == 0 {
            // SAFETY: every thread has waited for the phase in which it arrived last, and has come here.
            unsafe { ptx::mbarrier_inval(self.memory.address().get()) };
        }
        block.sync();
        self.memory
    }
}

impl Arrived {
    /// Whether everybody has arrived; it does not wait.
    #[inline(always)]
    pub fn is_complete(&self) -> bool {
        // SAFETY: the barrier lives, and the phase is the one in which this thread arrived.
        unsafe {
            ptx::mbarrier_test_wait_parity(self.barrier.memory.address().get(), self.barrier.parity)
        }
    }

    /// Waits until everybody has arrived, and sees what they did before.
    #[inline(always)]
    pub fn wait(self) -> Barrier {
        while !self.is_complete() {}
        Barrier {
            parity: self.barrier.parity ^ 1,
            ..self.barrier
        }
    }
}

/// Barrier number `ID` of the block, for `THREADS` of its threads.
///
/// Numbers 0 to 2 are taken: by the block itself and by [roles](crate::roles).
#[derive(Debug)]
pub struct Named<const ID: u32, const THREADS: u32>(());

impl Block {
    /// Barrier number `ID`, for `THREADS` threads of the block.
    ///
    /// # Safety
    /// - The threads that use it are whole warps, and in each round `THREADS` threads in all arrive, each once.
    /// - All values of this number that are in use at a time have the same `THREADS`.
    #[inline(always)]
    pub unsafe fn named<const ID: u32, const THREADS: u32>(&self) -> Named<ID, THREADS> {
        const {
            law(
                ID >= 3 && ID < 16,
                "a block has 16 barriers, of which 0 to 2 are taken: choose 3 to 15",
            );
            law(
                THREADS > 0 && THREADS.is_multiple_of(32) && THREADS <= 1024,
                "a named barrier is for whole warps: 32 to 1024 threads, a multiple of 32",
            );
        }
        if THREADS > self.threads().get() {
            ptx::trap();
        }
        Named(())
    }
}

impl<const ID: u32, const THREADS: u32> Named<ID, THREADS> {
    /// Threads that take part.
    #[inline(always)]
    pub const fn threads(&self) -> Uniform<u32> {
        Uniform::<u32>::constant::<THREADS>()
    }

    /// Waits until all have arrived, and sees what they did before.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: the contract of `Block::named`.
        unsafe { ptx::bar_sync_count::<ID>(THREADS) };
    }

    /// Arrives and goes on: those who wait will see what this warp has done.
    #[inline(always)]
    pub fn arrive(&self) {
        // SAFETY: the contract of `Block::named`.
        unsafe { ptx::bar_arrive::<ID>(THREADS) };
    }
}
