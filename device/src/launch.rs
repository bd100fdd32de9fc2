//! What an entry hands to its body.

use crate::Block;
use crate::shared::Region;

/// What a launch gives each thread: its block, and the block's dynamic shared memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The thread's membership of its block.
    pub block: Block,
    /// The dynamic shared memory of the launch.
    pub shared: Region,
}

impl Launch {
    /// Takes hold of the launch.
    ///
    /// # Safety
    /// - Called once a thread, at the top of a kernel, by every thread of the block; [`kernels!`](crate::kernels) does it.
    /// - Every collective call made through the value is made by all threads of the block, in one order (the contract of [`Entry`](crate::Entry)).
    /// - Grid and block are one-dimensional.
    #[inline(always)]
    pub unsafe fn enter() -> Self {
        // SAFETY: the caller's contract, which is that of both.
        unsafe {
            Self {
                block: Block::enter(),
                shared: Region::dynamic(),
            }
        }
    }
}
