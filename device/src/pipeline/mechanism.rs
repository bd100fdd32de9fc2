//! How the bytes of a stage get there, and what it takes to wait for them.
//!
//! | mechanism | who copies | who waits for what | needs |
//! |---|---|---|---|
//! | [`Direct`] | each thread, by loads and stores | nothing to wait for | sm_80 |
//! | [`Groups`] | each thread, by `cp.async` | its own commit groups; a barrier publishes them | sm_80 |
//! | [`Arrivals`] | each thread, by `cp.async` | everybody's copies of one stage, at the stage's barrier | sm_80, PTX 7.1 |
//! | [`Bulk`] | one thread, by bulk copies | the bytes of one stage, at the stage's barrier | sm_90, PTX 8.0 |

use crate::catalogue::Requires;
use crate::ptx::{self, CacheAll, CacheGlobal};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Groups {}
    impl Sealed for super::Direct {}
    impl Sealed for super::Arrivals {}
    impl Sealed for super::Bulk {}
}

/// A way to bring bytes from global to shared memory and to wait for them: [`Groups`], [`Arrivals`], [`Bulk`] or [`Direct`].
pub trait Mechanism: sealed::Sealed {
    /// The same where addresses are not multiples of 16 bytes.
    type Unaligned: Mechanism;

    /// Whether copies run on while the thread does something else.
    const ASYNCHRONOUS: bool;
    /// Whether every stage has a barrier at which its copies are waited for.
    const BARRIERS: bool;
    /// Whether one thread copies for all.
    const BULK: bool;
    /// What the instructions need.
    const REQUIRES: Requires;

    /// Copies `BYTES` (4, 8 or 16) bytes.
    ///
    /// # Safety
    /// - The mechanism is none of bulk copies.
    /// - `dst` and `src` are multiples of `BYTES`, with as many bytes of the block's shared memory and of readable global memory behind them.
    /// - Until the copy is waited for, nobody writes the source or accesses the destination.
    unsafe fn copy<const BYTES: usize>(dst: u32, src: *const u8);

    /// Copies the first `size` of `BYTES` bytes and fills the rest with zeros; `size` is a multiple of 4, at most `BYTES`.
    ///
    /// # Safety
    /// As for [`copy`](Mechanism::copy), with `size` readable bytes.
    unsafe fn copy_prefix<const BYTES: usize>(dst: u32, src: *const u8, size: u32);

    /// Arrivals that a stage's barrier expects, in a block of `threads` threads.
    fn arrivals(threads: u32) -> u32;

    /// Closes the running group of thread `thread`; `barrier` is that of its stage.
    fn commit(thread: u32, barrier: u32);

    /// Waits until at most `PENDING` of the thread's newest groups are incomplete, or, where there are barriers, for the phase of this parity.
    fn wait<const PENDING: usize>(barrier: u32, parity: u32);

    /// Makes memory that was accessed in one way fit to be accessed in the other, once the threads have met.
    fn hand_over();
}

/// `cp.async` and its commit groups: copies run on, a wait names how many groups may stay open.
#[derive(Clone, Copy, Debug)]
pub enum Groups {}

/// Plain loads and stores: the thread itself carries the bytes, and they are there when it goes on.
///
/// A ring of one stage over it is the synchronous kernel that pipelines are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Direct {}

/// `cp.async` that arrive at the stage's barrier when they have landed: one wait is for the copies of all threads, and publishes them.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {}

/// Bulk copies: one thread starts the copy of a whole span, and the stage's barrier counts the bytes.
#[derive(Clone, Copy, Debug)]
pub enum Bulk {}

impl Mechanism for Groups {
    type Unaligned = Self;

    const ASYNCHRONOUS: bool = true;
    const BARRIERS: bool = false;
    const BULK: bool = false;
    const REQUIRES: Requires = Requires::SM_80;

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
    fn arrivals(_: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn commit(_: u32, _: u32) {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::cp_async_commit_group() }
    }

    #[inline(always)]
    fn wait<const PENDING: usize>(_: u32, _: u32) {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::cp_async_wait_group::<PENDING>() }
    }

    #[inline(always)]
    fn hand_over() {}
}

impl Mechanism for Arrivals {
    type Unaligned = Self;

    const ASYNCHRONOUS: bool = true;
    const BARRIERS: bool = true;
    const BULK: bool = false;
    const REQUIRES: Requires = Requires::MBARRIER;

    #[inline(always)]
    unsafe fn copy<const BYTES: usize>(dst: u32, src: *const u8) {
        // SAFETY: the caller's contract.
        unsafe { Groups::copy::<BYTES>(dst, src) }
    }

    #[inline(always)]
    unsafe fn copy_prefix<const BYTES: usize>(dst: u32, src: *const u8, size: u32) {
        // SAFETY: the caller's contract.
        unsafe { Groups::copy_prefix::<BYTES>(dst, src, size) }
    }

    #[inline(always)]
    fn arrivals(threads: u32) -> u32 {
        threads
    }

    #[inline(always)]
    fn commit(_: u32, barrier: u32) {
        // SAFETY: the ring's barrier expects one arrival of every thread, and a stage is filled again only after its phase was waited for.
        unsafe { ptx::cp_async_mbarrier_arrive_noinc(barrier) }
    }

    #[inline(always)]
    fn wait<const PENDING: usize>(barrier: u32, parity: u32) {
        // SAFETY: the ring's barrier lives; its running phase is the one asked for or the next.
        while !unsafe { ptx::mbarrier_test_wait_parity(barrier, parity) } {}
    }

    #[inline(always)]
    fn hand_over() {}
}

impl Mechanism for Bulk {
    type Unaligned = Arrivals;

    const ASYNCHRONOUS: bool = true;
    const BARRIERS: bool = true;
    const BULK: bool = true;
    const REQUIRES: Requires = Requires::SM_90;

    #[inline(always)]
    unsafe fn copy<const BYTES: usize>(_: u32, _: *const u8) {
        ptx::trap()
    }

    #[inline(always)]
    unsafe fn copy_prefix<const BYTES: usize>(_: u32, _: *const u8, _: u32) {
        ptx::trap()
    }

    #[inline(always)]
    fn arrivals(_: u32) -> u32 {
        1
    }

    #[inline(always)]
    fn commit(thread: u32, barrier: u32) {
        if thread == 0 {
            // SAFETY: the ring's barrier expects one arrival of this thread, and a stage is filled again only after its phase was waited for.
            unsafe { ptx::mbarrier_arrive(barrier) };
        }
    }

    #[inline(always)]
    fn wait<const PENDING: usize>(barrier: u32, parity: u32) {
        // SAFETY: the ring's barrier lives; its running phase is the one asked for or the next.
        while !unsafe { ptx::mbarrier_try_wait_parity(barrier, parity) } {}
    }

    #[inline(always)]
    fn hand_over() {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::fence_proxy_async_shared_cta() }
    }
}

impl Mechanism for Direct {
    type Unaligned = Self;

    const ASYNCHRONOUS: bool = false;
    const BARRIERS: bool = false;
    const BULK: bool = false;
    const REQUIRES: Requires = Requires::SM_80;

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
    fn arrivals(_: u32) -> u32 {
        0
    }

    #[inline(always)]
    fn commit(_: u32, _: u32) {}

    #[inline(always)]
    fn wait<const PENDING: usize>(_: u32, _: u32) {}

    #[inline(always)]
    fn hand_over() {}
}
