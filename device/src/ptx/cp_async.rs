//! `cp.async`: copies of 4, 8 or 16 bytes from global to shared memory that run on while the thread does, and the groups by which a thread waits for them.
//!
//! A copy is complete for the issuing thread only after a wait on its group, and for other threads only after a barrier that follows such a wait.
//! From issue to completion nobody may write its source, or read or write its destination.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

macro_rules! whole {
    ($($name:ident, $bytes:literal, $ptx:literal, $cache:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Starts to copy ", $bytes, " bytes from global to shared memory, ", $cache, ".")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [dst], [src], ", $bytes, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            #[doc = concat!("- `dst` is an address of the block's shared memory with ", $bytes, " bytes behind it, `src` is in global memory with ", $bytes, " readable bytes.")]
            #[doc = concat!("- Both are multiples of ", $bytes, ".")]
            /// - Until the copy is complete, nobody writes the source, nobody accesses the destination, and no other copy goes there.
            ///
            /// sm_80
            pub unsafe fn $name(dst: u32, src: *const u8) {
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " [{dst}], [{src}], ", $bytes, ";"),
                        dst = in(reg32) dst,
                        src = in(reg64) src,
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

macro_rules! zfill {
    ($($name:ident, $bytes:literal, $ptx:literal, $cache:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Starts to copy the first `src_size` of ", $bytes, " bytes from global to shared memory, ", $cache, ", and fills the rest with zeros.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [dst], [src], ", $bytes, ", src_size;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            #[doc = concat!("- `src_size` is at most ", $bytes, "; `src` is in global memory with `src_size` readable bytes (with 0, nothing is read).")]
            #[doc = concat!("- `dst` is an address of the block's shared memory with ", $bytes, " bytes behind it.")]
            #[doc = concat!("- Both are multiples of ", $bytes, ".")]
            /// - Until the copy is complete, nobody writes the source, nobody accesses the destination, and no other copy goes there.
            ///
            /// sm_80
            pub unsafe fn $name(dst: u32, src: *const u8, src_size: u32) {
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " [{dst}], [{src}], ", $bytes, ", {size};"),
                        dst = in(reg32) dst,
                        src = in(reg64) src,
                        size = in(reg32) src_size,
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

whole! {
    cp_async_ca_4, 4, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_ca_8, 8, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_ca_16, 16, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_cg_16, 16, "cp.async.cg.shared.global", "cached in L2 only";
}

zfill! {
    cp_async_ca_4_zfill, 4, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_ca_8_zfill, 8, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_ca_16_zfill, 16, "cp.async.ca.shared.global", "cached at all levels";
    cp_async_cg_16_zfill, 16, "cp.async.cg.shared.global", "cached in L2 only";
}

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
