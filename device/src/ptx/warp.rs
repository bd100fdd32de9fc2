//! Instructions of a warp: its barrier and its shuffles.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

/// The clamp operand of a shuffle over all 32 lanes.
#[cfg(target_arch = "nvptx64")]
const WHOLE_WARP: i32 = 0x1f;
/// The clamp operand of an upward shuffle over all 32 lanes.
#[cfg(target_arch = "nvptx64")]
const WHOLE_WARP_UP: i32 = 0;

instructions! {
    /// Waits for the lanes of `mask`, and orders their memory accesses before it against those after it.
    ///
    /// # PTX
    /// `bar.warp.sync mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    ///
    /// sm_80
    pub unsafe fn bar_warp_sync(mask: u32) {
        // SAFETY: the caller's contract.
        unsafe { llvm::bar_warp_sync(mask as i32) }
    }

    /// The value of the lane `offset` above; the own value where there is none.
    ///
    /// # PTX
    /// `shfl.sync.down.b32 d, value, offset, 0x1f, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    /// - The lane read from is in `mask`, else the value is undefined.
    ///
    /// sm_80
    #[must_use = "a shuffle's result is its purpose"]
    pub unsafe fn shfl_sync_down(mask: u32, value: u32, offset: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { llvm::shfl_sync_down(mask as i32, value as i32, offset as i32, WHOLE_WARP) as u32 }
    }

    /// The value of the lane `offset` below; the own value where there is none.
    ///
    /// # PTX
    /// `shfl.sync.up.b32 d, value, offset, 0, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    /// - The lane read from is in `mask`, else the value is undefined.
    ///
    /// sm_80
    #[must_use = "a shuffle's result is its purpose"]
    pub unsafe fn shfl_sync_up(mask: u32, value: u32, offset: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { llvm::shfl_sync_up(mask as i32, value as i32, offset as i32, WHOLE_WARP_UP) as u32 }
    }

    /// The value of the lane whose number differs in the bits of `lanes`.
    ///
    /// # PTX
    /// `shfl.sync.bfly.b32 d, value, lanes, 0x1f, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    /// - The lane read from is in `mask`, else the value is undefined.
    ///
    /// sm_80
    #[must_use = "a shuffle's result is its purpose"]
    pub unsafe fn shfl_sync_bfly(mask: u32, value: u32, lanes: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { llvm::shfl_sync_bfly(mask as i32, value as i32, lanes as i32, WHOLE_WARP) as u32 }
    }

    /// The value of lane `lane`.
    ///
    /// # PTX
    /// `shfl.sync.idx.b32 d, value, lane, 0x1f, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    /// - The lane read from is in `mask`, else the value is undefined.
    ///
    /// sm_80
    #[must_use = "a shuffle's result is its purpose"]
    pub unsafe fn shfl_sync_idx(mask: u32, value: u32, lane: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { llvm::shfl_sync_idx(mask as i32, value as i32, lane as i32, WHOLE_WARP) as u32 }
    }
}
