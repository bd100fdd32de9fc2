//! Memory fences of the executing thread.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

macro_rules! membars {
    ($($name:ident, $ptx:literal, $who:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Orders this thread's accesses before it against those after it, for all threads of the ", $who, ".")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - It waits for no other thread and for no asynchronous copy.
            ///
            /// sm_80
            pub unsafe fn $name() {
                // SAFETY: the instruction has no requirement.
                unsafe { llvm::$name() }
            }
        )+}
    };
}

membars! {
    membar_cta, "membar.cta", "block (CUDA's `__threadfence_block`)";
    membar_gl, "membar.gl", "device (CUDA's `__threadfence`)";
    membar_sys, "membar.sys", "whole system (CUDA's `__threadfence_system`)";
}

macro_rules! fences {
    ($($name:ident, $ptx:literal, $what:literal, $rule:literal, $since:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            #[doc = $rule]
            ///
            #[doc = $since]
            pub unsafe fn $name() {
                // SAFETY: the instruction has no requirement.
                unsafe { core::arch::asm!(concat!($ptx, ";"), options(nostack, preserves_flags)) }
            }
        )+}
    };
}

fences! {
    fence_acq_rel_cta, "fence.acq_rel.cta", "Orders this thread's accesses before it against those after it, for threads of the block.",
    "- It waits for no other thread and for no asynchronous copy.", "sm_80";
    fence_acq_rel_cluster, "fence.acq_rel.cluster", "Orders this thread's accesses before it against those after it, for threads of the cluster.",
    "- It waits for no other thread and for no asynchronous copy.", "sm_90";
    fence_acq_rel_gpu, "fence.acq_rel.gpu", "Orders this thread's accesses before it against those after it, for threads of the device.",
    "- It waits for no other thread and for no asynchronous copy.", "sm_80";
    fence_acq_rel_sys, "fence.acq_rel.sys", "Orders this thread's accesses before it against those after it, for the whole system.",
    "- It waits for no other thread and for no asynchronous copy.", "sm_80";
    fence_mbarrier_init, "fence.mbarrier_init.release.cluster", "Publishes this thread's `mbarrier.init`s to the cluster, by a barrier of the cluster that follows.",
    "- It publishes nothing else.", "sm_90, PTX 8.0";
    fence_proxy_async, "fence.proxy.async", "Orders this thread's ordinary accesses and those of bulk copies, in all memory.",
    "- It works within one thread, and on what that thread has seen: other threads follow by a barrier.", "sm_90, PTX 8.0";
    fence_proxy_async_global, "fence.proxy.async.global", "Orders this thread's ordinary accesses and those of bulk copies, in global memory.",
    "- As for [`fence_proxy_async`].", "sm_90, PTX 8.0";
    fence_proxy_async_shared_cta, "fence.proxy.async.shared::cta", "Orders this thread's ordinary accesses and those of bulk copies, in the block's shared memory.",
    "- As for [`fence_proxy_async`].", "sm_90, PTX 8.0";
    fence_proxy_async_shared_cluster, "fence.proxy.async.shared::cluster", "Orders this thread's ordinary accesses and those of bulk copies, in the cluster's shared memory.",
    "- As for [`fence_proxy_async`].", "sm_90, PTX 8.0";
}
