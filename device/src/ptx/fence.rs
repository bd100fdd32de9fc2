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
