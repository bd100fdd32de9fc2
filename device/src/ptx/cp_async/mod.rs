//! `cp.async`: copies of 4, 8 or 16 bytes from global to shared memory that run on while the thread does, and the groups by which a thread waits for them.
//!
//! A copy is complete for the issuing thread only after a wait on its group, and for other threads only after a barrier that follows such a wait.
//! From issue to completion nobody may write its source, or read or write its destination.
//!
//! | | whole | the first bytes, zeros behind them | zeros instead of the source, on a condition |
//! |---|---|---|---|
//! | | [`cp_async`] | [`cp_async_zfill`] | [`cp_async_ignore_src`] |
//! | with a cache policy | [`cp_async_hint`] | [`cp_async_zfill_hint`] | [`cp_async_ignore_src_hint`] |
//!
//! Each takes a way through the caches ([`CacheAll`], [`CacheGlobal`], [`L2Prefetch`] of either) and a size; forms that PTX does not have do not compile.
//! The forms without prefetch or policy have names of their own too ([`cp_async_cg_16`] and so on).
//! A piece that is to be *left alone* is one that no copy is issued for: all of these write all of their bytes.

mod forms;
mod named;

pub use forms::*;
pub use named::*;

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

instructions! {
    /// Closes the thread's running group: its copies since the last commit, also when there are none.
    ///
    /// # PTX
    /// `cp.async.commit_group;`
    ///
    /// # Threads
    /// Each for itself; a warp runs it once if converged.
    ///
    /// # Safety
    /// Nothing to keep; what it waits for is nothing.
    ///
    /// sm_80
    pub unsafe fn cp_async_commit_group() {
        // SAFETY: the instruction has no requirement.
        unsafe { llvm::cp_async_commit_group() }
    }

    /// Waits until at most `PENDING` of the thread's newest groups are incomplete.
    ///
    /// # PTX
    /// `cp.async.wait_group PENDING;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// - Copies that are not committed are not waited for, even with 0.
    /// - It makes the copied bytes visible to the executing thread only: a barrier publishes them.
    ///
    /// sm_80
    pub unsafe fn cp_async_wait_group<const PENDING: usize>() {
        // SAFETY: the instruction has no requirement; a memory clobber keeps reads of the destination behind it.
        unsafe { core::arch::asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags)) }
    }

    /// Waits for all of the thread's copies, committed or not.
    ///
    /// # PTX
    /// `cp.async.wait_all;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// - It makes the copied bytes visible to the executing thread only: a barrier publishes them.
    ///
    /// sm_80
    pub unsafe fn cp_async_wait_all() {
        // SAFETY: the instruction has no requirement.
        unsafe { llvm::cp_async_wait_all() }
    }
}
