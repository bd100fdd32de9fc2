//! Special registers, and instructions that concern only the executing thread.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

macro_rules! registers {
    ($($name:ident, $ptx:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Reads ", $what, ".")]
            ///
            /// # PTX
            #[doc = concat!("`mov.u32 d, ", $ptx, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// Nothing to keep.
            ///
            /// sm_80
            #[must_use = "reading a register has no effect"]
            pub unsafe fn $name() -> u32 {
                // SAFETY: reading a special register has no requirement.
                unsafe { llvm::$name() as u32 }
            }
        )+}
    };
}

registers! {
    tid_x, "%tid.x", "the thread's number in its block along x";
    tid_y, "%tid.y", "the thread's number in its block along y";
    tid_z, "%tid.z", "the thread's number in its block along z";
    ntid_x, "%ntid.x", "the block's threads along x";
    ntid_y, "%ntid.y", "the block's threads along y";
    ntid_z, "%ntid.z", "the block's threads along z";
    ctaid_x, "%ctaid.x", "the block's number in the grid along x";
    ctaid_y, "%ctaid.y", "the block's number in the grid along y";
    ctaid_z, "%ctaid.z", "the block's number in the grid along z";
    nctaid_x, "%nctaid.x", "the grid's blocks along x";
    nctaid_y, "%nctaid.y", "the grid's blocks along y";
    nctaid_z, "%nctaid.z", "the grid's blocks along z";
    laneid, "%laneid", "the thread's lane in its warp";
}

instructions! {
    /// Reads the bytes of dynamic shared memory that the launch gave the block.
    ///
    /// # PTX
    /// `mov.u32 d, %dynamic_smem_size;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// Nothing to keep.
    ///
    /// sm_80
    #[must_use = "reading a register has no effect"]
    pub unsafe fn dynamic_smem_size() -> u32 {
        let bytes: u32;
        // SAFETY: reading a special register has no requirement; it does not change during a launch.
        unsafe {
            core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }

    /// Suspends the thread for about `nanoseconds`, at most one millisecond and at most twice what was asked.
    ///
    /// # PTX
    /// `nanosleep.u32 t;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// Nothing to keep; it orders nothing.
    ///
    /// sm_80
    pub unsafe fn nanosleep(nanoseconds: u32) {
        // SAFETY: the instruction has no requirement.
        unsafe { llvm::nanosleep(nanoseconds as i32) }
    }
}

/// Stops the whole launch with an error.
///
/// # PTX
/// `trap;`
///
/// # Threads
/// Each for itself.
///
/// # Safety
/// Safe to call: it is what the crate does where going on would be undefined.
///
/// sm_80
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn trap() -> ! {
    // SAFETY: the instruction ends the thread and the launch.
    unsafe { core::arch::asm!("trap;", options(noreturn, nostack)) }
}

/// Stops the whole launch with an error; on the host it panics.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
pub fn trap() -> ! {
    panic!("trap")
}

/// `value`, in a form that the compiler knows nothing about, so that a loop that counts with it stays a loop.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn opaque(value: u32) -> u32 {
    let same: u32;
    // SAFETY: a move between registers.
    unsafe {
        core::arch::asm!("mov.u32 {}, {};", out(reg32) same, in(reg32) value, options(pure, nomem, nostack, preserves_flags));
    }
    same
}

/// `value`.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
pub(crate) fn opaque(value: u32) -> u32 {
    value
}
