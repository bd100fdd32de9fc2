//! The block that a thread belongs to.

use crate::Uniform;
use crate::ptx;
use core::marker::PhantomData;

/// A thread's membership of its block.
///
/// It exists once a thread, from the top of the kernel on, and whoever makes it answers for the collective calls made through it:
/// every thread of the block makes them all, in one order (the contract of [`Entry`](crate::Entry)).
/// Grids and blocks are one-dimensional.
#[derive(Debug)]
pub struct Block {
    // Not `Send`: a membership means nothing to another thread.
    thread: PhantomData<*const ()>,
}

impl Block {
    /// Enters the block.
    ///
    /// # Safety
    /// - Called once a thread, at the top of a kernel, by every thread of the block; [`kernels!`](crate::kernels) does it.
    /// - Every collective call made through the value is made by all threads of the block, in one order.
    #[inline(always)]
    pub unsafe fn enter() -> Self {
        Self {
            thread: PhantomData,
        }
    }

    /// This thread's number in the block.
    #[inline(always)]
    pub fn thread(&self) -> u32 {
        // SAFETY: reading a special register has no requirement.
        unsafe { ptx::tid_x() }
    }

    /// Threads of the block.
    #[inline(always)]
    pub fn threads(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a block.
        unsafe { Uniform::assume(ptx::ntid_x()) }
    }

    /// The block's number in the grid.
    #[inline(always)]
    pub fn index(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a block.
        unsafe { Uniform::assume(ptx::ctaid_x()) }
    }

    /// Blocks of the grid.
    #[inline(always)]
    pub fn blocks(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a grid.
        unsafe { Uniform::assume(ptx::nctaid_x()) }
    }

    /// This thread's number in the grid.
    #[inline(always)]
    pub fn global_thread(&self) -> u64 {
        u64::from(self.index().get()) * u64::from(self.threads().get()) + u64::from(self.thread())
    }

    /// Waits for every thread of the block, and shows each what the others wrote before.
    ///
    /// Collective.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: the block's contract: all of its threads make this call.
        unsafe { ptx::bar_sync() };
    }
}
