//! `cp.async`: copies of 4, 8 or 16 bytes from global to shared memory that run on while the thread does, and the groups by which a thread waits for them.
//!
//! A copy is complete for the issuing thread only after a wait on its group, and for other threads only after a barrier that follows such a wait.
//! From issue to completion nobody may write its source, or read or write its destination.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;
use crate::law::law;

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

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::CacheAll {}
    impl Sealed for super::CacheGlobal {}
}

/// The caches that a copy goes through: [`CacheAll`] or [`CacheGlobal`].
pub trait Cache: sealed::Sealed {
    /// Whether L1 takes part.
    const ALL: bool;
}

/// `.ca`: all levels.
#[derive(Clone, Copy, Debug)]
pub enum CacheAll {}

/// `.cg`: L2 only, 16-byte copies only.
#[derive(Clone, Copy, Debug)]
pub enum CacheGlobal {}

impl Cache for CacheAll {
    const ALL: bool = true;
}

impl Cache for CacheGlobal {
    const ALL: bool = false;
}

/// Refuses the forms that PTX does not have.
const fn legal<C: Cache, const BYTES: usize>() {
    law(
        BYTES == 4 || BYTES == 8 || BYTES == 16,
        "a cp.async copies 4, 8 or 16 bytes",
    );
    law(
        C::ALL || BYTES == 16,
        "cache-global copies are 16 bytes: copy 4 or 8 bytes with `CacheAll`",
    );
}

/// Starts to copy `BYTES` bytes from global to shared memory: the form that the parameters name.
///
/// # PTX
/// `cp.async.{ca,cg}.shared.global [dst], [src], BYTES;`
///
/// # Threads
/// Each for itself.
///
/// # Safety
/// - As for [`cp_async_ca_16`] and the other forms.
///
/// sm_80
#[inline(always)]
pub unsafe fn cp_async<C: Cache, const BYTES: usize>(dst: u32, src: *const u8) {
    const { legal::<C, BYTES>() };
    // SAFETY: the caller's contract.
    unsafe {
        match (C::ALL, BYTES) {
            (false, _) => cp_async_cg_16(dst, src),
            (true, 16) => cp_async_ca_16(dst, src),
            (true, 8) => cp_async_ca_8(dst, src),
            (true, _) => cp_async_ca_4(dst, src),
        }
    }
}

/// Starts to copy the first `src_size` of `BYTES` bytes and fills the rest with zeros: the form that the parameters name.
///
/// # PTX
/// `cp.async.{ca,cg}.shared.global [dst], [src], BYTES, src_size;`
///
/// # Threads
/// Each for itself.
///
/// # Safety
/// - As for [`cp_async_ca_16_zfill`] and the other forms.
///
/// sm_80
#[inline(always)]
pub unsafe fn cp_async_zfill<C: Cache, const BYTES: usize>(
    dst: u32,
    src: *const u8,
    src_size: u32,
) {
    const { legal::<C, BYTES>() };
    // SAFETY: the caller's contract.
    unsafe {
        match (C::ALL, BYTES) {
            (false, _) => cp_async_cg_16_zfill(dst, src, src_size),
            (true, 16) => cp_async_ca_16_zfill(dst, src, src_size),
            (true, 8) => cp_async_ca_8_zfill(dst, src, src_size),
            (true, _) => cp_async_ca_4_zfill(dst, src, src_size),
        }
    }
}
