//! Instructions of a warp: its barrier, its shuffles, votes, matches, reductions and elections.

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

macro_rules! votes {
    ($($name:ident, $ret:ty, $ptx:literal, $what:literal, $call:ident $(as $as:ty)?;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " d, predicate, mask;`")]
            ///
            /// # Threads
            /// Every lane of `mask`.
            ///
            /// # Safety
            /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
            ///
            /// sm_80
            #[must_use = "a vote's result is its purpose"]
            pub unsafe fn $name(mask: u32, predicate: bool) -> $ret {
                // SAFETY: the caller's contract.
                unsafe { llvm::$call(mask as i32, predicate) $(as $as)? }
            }
        )+}
    };
}

votes! {
    vote_sync_all, bool, "vote.sync.all.pred", "Whether the predicate holds in every lane of `mask`.", vote_all_sync;
    vote_sync_any, bool, "vote.sync.any.pred", "Whether the predicate holds in a lane of `mask`.", vote_any_sync;
    vote_sync_uni, bool, "vote.sync.uni.pred", "Whether the predicate is the same in every lane of `mask`.", vote_uni_sync;
    vote_sync_ballot, u32, "vote.sync.ballot.b32", "The lanes of `mask` in which the predicate holds, a bit each.", vote_ballot_sync as u32;
}

instructions! {
    /// The lanes of `mask` that hold the same value, a bit each.
    ///
    /// # PTX
    /// `match.any.sync.b32 d, value, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    ///
    /// sm_80
    #[must_use = "a match's result is its purpose"]
    pub unsafe fn match_any_sync(mask: u32, value: u32) -> u32 {
        // SAFETY: the caller's contract.
        unsafe { llvm::match_any_sync(mask as i32, value as i32) as u32 }
    }

    /// Elects one lane of `mask`: true there, false in the others.
    ///
    /// # PTX
    /// `elect.sync _|p, mask;`
    ///
    /// # Threads
    /// Every lane of `mask`.
    ///
    /// # Safety
    /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
    ///
    /// sm_90, PTX 8.0
    #[must_use = "an election's result is its purpose"]
    pub unsafe fn elect_sync(mask: u32) -> bool {
        let elected: u32;
        // SAFETY: the caller's contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred elected; elect.sync _|elected, {mask}; selp.b32 {d}, 1, 0, elected; }}",
                mask = in(reg32) mask, d = lateout(reg32) elected,
                options(nostack, preserves_flags),
            );
        }
        elected != 0
    }
}

macro_rules! reductions {
    ($($name:ident, $ty:ty, $ptx:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " d, value, mask;`")]
            ///
            /// # Threads
            /// Every lane of `mask`.
            ///
            /// # Safety
            /// - All lanes of `mask` make this call with the same mask, and the calling lane is one of them.
            ///
            /// sm_80
            #[must_use = "a reduction's result is its purpose"]
            pub unsafe fn $name(mask: u32, value: $ty) -> $ty {
                // SAFETY: the caller's contract.
                unsafe { llvm::$name(value as i32, mask as i32) as $ty }
            }
        )+}
    };
}

reductions! {
    redux_sync_add_u32, u32, "redux.sync.add.s32", "The sum of the values of the lanes of `mask`, modulo 2³².";
    redux_sync_min_u32, u32, "redux.sync.min.u32", "The smallest of the values of the lanes of `mask`.";
    redux_sync_max_u32, u32, "redux.sync.max.u32", "The largest of the values of the lanes of `mask`.";
    redux_sync_min_s32, i32, "redux.sync.min.s32", "The smallest of the values of the lanes of `mask`, which have signs.";
    redux_sync_max_s32, i32, "redux.sync.max.s32", "The largest of the values of the lanes of `mask`, which have signs.";
    redux_sync_and_b32, u32, "redux.sync.and.b32", "The bits that are set in the values of all lanes of `mask`.";
    redux_sync_or_b32, u32, "redux.sync.or.b32", "The bits that are set in the value of a lane of `mask`.";
    redux_sync_xor_b32, u32, "redux.sync.xor.b32", "The bits that are set in the values of an odd number of lanes of `mask`.";
}
