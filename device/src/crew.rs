//! Threads that work together: all of a block, or those of one role.

use crate::{Block, Uniform, ptx};

/// Lanes of a warp.
pub(crate) const LANES: u32 = 32;

/// A thread's membership of a crew, which shares out work among its threads.
///
/// Of a block there is one, its whole ([`Block::crew`]); [`roles`](crate::roles) divide a block into two.
#[derive(Clone, Copy, Debug)]
pub struct Crew {
    pub(crate) thread: u32,
    pub(crate) threads: u32,
}

impl Crew {
    /// This thread's number in the crew.
    #[inline(always)]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Threads of the crew.
    #[inline(always)]
    pub fn threads(&self) -> Uniform<u32> {
        // SAFETY: crews are made of uniform values.
        unsafe { Uniform::assume(self.threads) }
    }
}

impl Block {
    /// All threads of the block.
    #[inline(always)]
    pub fn crew(&self) -> Crew {
        Crew {
            thread: self.thread(),
            threads: self.threads().get(),
        }
    }
}

/// The lanes of this warp wait for one another, and see what the others did before.
///
/// The caller answers for it that all lanes of the warp come here.
#[inline(always)]
pub(crate) fn meet_warp() {
    // SAFETY: the caller's word.
    unsafe { ptx::bar_warp_sync(u32::MAX) };
}
