//! Barriers of a block.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;
use crate::law::law;

instructions! {
    /// Waits for all threads of the block, and orders their memory accesses before it against those after it.
    ///
    /// # PTX
    /// `bar.sync 0;`
    ///
    /// # Threads
    /// Every thread of the block, converged: all threads of a warp at the same instruction.
    ///
    /// # Safety
    /// - All threads of the block that have not exited make this call, as often as each other and in one order with other barriers.
    /// - It completes no asynchronous copy: wait for the copies first.
    ///
    /// sm_80
    pub unsafe fn bar_sync() {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_sync_aligned_all(0) }
    }

    /// Waits at barrier `ID` until `threads` threads of the block have arrived.
    ///
    /// # PTX
    /// `bar.sync ID, threads;`
    ///
    /// # Threads
    /// Whole warps, converged.
    ///
    /// # Safety
    /// - `ID` is below 16, `threads` is a positive multiple of 32 and the same in every call of one generation.
    /// - No warp arrives twice in one generation.
    ///
    /// sm_80
    pub unsafe fn bar_sync_count<const ID: u32>(threads: u32) where { law(ID < 16, "a block has 16 barriers, numbered 0 to 15") } {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_sync_aligned_count(ID as i32, threads as i32) }
    }

    /// Arrives at barrier `ID`, which expects `threads` threads, without waiting.
    ///
    /// # PTX
    /// `bar.arrive ID, threads;`
    ///
    /// # Threads
    /// Whole warps, converged.
    ///
    /// # Safety
    /// - `ID` is below 16, `threads` is a positive multiple of 32 and the same in every call of one generation.
    /// - No warp arrives twice in one generation.
    ///
    /// sm_80
    pub unsafe fn bar_arrive<const ID: u32>(threads: u32) where { law(ID < 16, "a block has 16 barriers, numbered 0 to 15") } {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_arrive_aligned_count(ID as i32, threads as i32) }
    }

    /// Waits for all threads of the block; the threads of a warp may come from different places.
    ///
    /// # PTX
    /// `barrier.sync 0;`
    ///
    /// # Threads
    /// Every thread of the block.
    ///
    /// # Safety
    /// - All threads of the block that have not exited make this call or [`bar_sync`], as often as each other and in one order with other barriers.
    /// - It completes no asynchronous copy: wait for the copies first.
    ///
    /// sm_80
    pub unsafe fn barrier_sync() {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_sync_all(0) }
    }

    /// Waits at barrier `ID` until `threads` threads have arrived; the threads of a warp may come from different places.
    ///
    /// # PTX
    /// `barrier.sync ID, threads;`
    ///
    /// # Threads
    /// All threads of the warps that take part.
    ///
    /// # Safety
    /// - `ID` is below 16, `threads` is a positive multiple of 32 and the same in every call of one generation.
    /// - No warp arrives twice in one generation.
    ///
    /// sm_80
    pub unsafe fn barrier_sync_count<const ID: u32>(threads: u32) where { law(ID < 16, "a block has 16 barriers, numbered 0 to 15") } {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_sync_count(ID as i32, threads as i32) }
    }

    /// Arrives at barrier `ID`, which expects `threads` threads, without waiting; the threads of a warp may come from different places.
    ///
    /// # PTX
    /// `barrier.arrive ID, threads;`
    ///
    /// # Threads
    /// All threads of the warps that take part.
    ///
    /// # Safety
    /// - `ID` is below 16, `threads` is a positive multiple of 32 and the same in every call of one generation.
    /// - No warp arrives twice in one generation.
    ///
    /// sm_80
    pub unsafe fn barrier_arrive<const ID: u32>(threads: u32) where { law(ID < 16, "a block has 16 barriers, numbered 0 to 15") } {
        // SAFETY: the caller's contract.
        unsafe { llvm::barrier_cta_arrive_count(ID as i32, threads as i32) }
    }
}
