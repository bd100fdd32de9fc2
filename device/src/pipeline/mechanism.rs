//! How the bytes of a stage get there: the copies of one thread, and what it takes to wait for them.

use crate::ptx::{self, CacheAll, CacheGlobal};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Groups {}
    impl Sealed for super::Direct {}
}

/// A way for a thread to copy bytes from global to shared memory and to wait for them: [`Groups`] or [`Direct`].
pub trait Mechanism: sealed::Sealed {
    /// Whether copies run on while the thread does something else.
    const ASYNCHRONOUS: bool;

    /// Copies `BYTES` (4, 8 or 16) bytes.
    ///
    /// # Safety
    /// - `dst` and `src` are multiples of `BYTES`, with as many bytes of the block's shared memory and of readable global memory behind them.
    /// - Until the copy is waited for, nobody writes the source or accesses the destination.
    unsafe fn copy<const BYTES: usize>(dst: u32, src: *const u8);

    /// Copies the first `size` of `BYTES` bytes and fills the rest with zeros; `size` is a multiple of 4, at most `BYTES`.
    ///
    /// # Safety
    /// As for [`copy`](Mechanism::copy), with `size` readable bytes.
    unsafe fn copy_prefix<const BYTES: usize>(dst: u32, src: *const u8, size: u32);

    /// Closes the thread's running group.
    fn commit();

    /// Waits until at most `PENDING` of the thread's newest groups are incomplete.
    fn wait<const PENDING: usize>();
}

/// `cp.async` and its commit groups: copies run on, a wait names how many groups may stay open.
#[derive(Clone, Copy, Debug)]
pub enum Groups {}

/// Plain loads and stores: the thread itself carries the bytes, and they are there when it goes on.
///
/// A ring of one stage over it is the synchronous kernel that pipelines are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Direct {}

impl Mechanism for Groups {
    const ASYNCHRONOUS: bool = true;

    #[inline(always)]
    unsafe fn copy<const BYTES: usize>(dst: u32, src: *const u8) {
        // SAFETY: the caller's contract.
        // Whole pieces of 16 bytes need no L1 line: they are used from shared memory, once.
        unsafe {
            if BYTES == 16 {
                ptx::cp_async::<CacheGlobal, 16>(dst, src)
            } else {
                ptx::cp_async::<CacheAll, BYTES>(dst, src)
            }
        }
    }

    #[inline(always)]
    unsafe fn copy_prefix<const BYTES: usize>(dst: u32, src: *const u8, size: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            if BYTES == 16 {
                ptx::cp_async_zfill::<CacheGlobal, 16>(dst, src, size)
            } else {
                ptx::cp_async_zfill::<CacheAll, BYTES>(dst, src, size)
            }
        }
    }

    #[inline(always)]
    fn commit() {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::cp_async_commit_group() }
    }

    #[inline(always)]
    fn wait<const PENDING: usize>() {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::cp_async_wait_group::<PENDING>() }
    }
}

impl Mechanism for Direct {
    const ASYNCHRONOUS: bool = false;

    #[inline(always)]
    unsafe fn copy<const BYTES: usize>(dst: u32, src: *const u8) {
        // SAFETY: the caller's contract.
        unsafe {
            match BYTES {
                16 => ptx::st_shared_v4_u32(dst, ptx::ld_global_v4_u32(src.cast())),
                8 => ptx::st_shared_v2_u32(dst, ptx::ld_global_v2_u32(src.cast())),
                _ => ptx::st_shared_u32(dst, [src.cast::<u32>().read()]),
            }
        }
    }

    #[inline(always)]
    unsafe fn copy_prefix<const BYTES: usize>(dst: u32, src: *const u8, size: u32) {
        for word in 0..(BYTES / 4) as u32 {
            let offset = word * 4;
            let value = if offset < size {
                // SAFETY: the caller's contract: the first `size` bytes are readable.
                unsafe { src.cast::<u32>().add(word as usize).read() }
            } else {
                0
            };
            // SAFETY: the caller's contract: `BYTES` bytes of shared memory are behind `dst`.
            unsafe { ptx::st_shared_u32(dst + offset, [value]) };
        }
    }

    #[inline(always)]
    fn commit() {}

    #[inline(always)]
    fn wait<const PENDING: usize>() {}
}
