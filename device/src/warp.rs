//! The warp that a thread belongs to: exchanges, votes, reductions.
//!
//! Calls marked *collective* are made by all 32 lanes of the warp, in one order; whoever implements [`Entry`](crate::Entry) answers for that as for the block's.
//! Under a branch they are right where the branch is taken by whole warps: a condition on [`index`](Warp::index), or on a vote's result.

use crate::crew::LANES;
use crate::{Block, ptx};
use core::marker::PhantomData;

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

/// A thread's membership of its warp.
#[derive(Clone, Copy, Debug)]
pub struct Warp<'b> {
    block: &'b Block,
    // Not `Send`: a membership means nothing to another thread.
    thread: PhantomData<*const ()>,
}

impl Block {
    /// This thread's warp. Blocks have whole warps only.
    #[inline(always)]
    pub fn warp(&self) -> Warp<'_> {
        Warp {
            block: self,
            thread: PhantomData,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A value that lanes can hand to one another: 4 or 8 bytes.
pub trait Lanes: Copy + sealed::Sealed {
    /// The value with each 32-bit word exchanged by `f`.
    #[doc(hidden)]
    fn exchange(self, f: impl Fn(u32) -> u32) -> Self;
}

macro_rules! lanes {
    ($($ty:ty, $to:expr, $from:expr;)+) => {$(
        impl sealed::Sealed for $ty {}
        impl Lanes for $ty {
            #[inline(always)]
            fn exchange(self, f: impl Fn(u32) -> u32) -> Self {
                $from(f($to(self)))
            }
        }
    )+};
    (@two $($ty:ty, $to:expr, $from:expr;)+) => {$(
        impl sealed::Sealed for $ty {}
        impl Lanes for $ty {
            #[inline(always)]
            fn exchange(self, f: impl Fn(u32) -> u32) -> Self {
                let bits: u64 = $to(self);
                let (low, high) = (f(bits as u32), f((bits >> 32) as u32));
                $from(u64::from(high) << 32 | u64::from(low))
            }
        }
    )+};
}

lanes! {
    u32, |value| value, |bits| bits;
    i32, |value| value as u32, |bits| bits as i32;
    f32, f32::to_bits, f32::from_bits;
}

lanes! { @two
    u64, |value| value, |bits| bits;
    i64, |value| value as u64, |bits| bits as i64;
    f64, f64::to_bits, f64::from_bits;
}

impl Warp<'_> {
    /// This thread's lane, below 32.
    #[inline(always)]
    pub fn lane(&self) -> u32 {
        self.block.thread() % LANES
    }

    /// The warp's number in the block.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.block.thread() / LANES
    }

    /// Waits for the lanes, and shows each what the others wrote before.
    ///
    /// Collective.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::bar_warp_sync(ALL) }
    }

    /// The value of lane `lane` modulo 32.
    ///
    /// Collective.
    #[inline(always)]
    pub fn shuffle<T: Lanes>(&self, value: T, lane: u32) -> T {
        // SAFETY: collective: the whole warp is here, and every lane is in the mask.
        value.exchange(|word| unsafe { ptx::shfl_sync_idx(ALL, word, lane % LANES) })
    }

    /// The value of the lane `offset` above; the own value where there is none.
    ///
    /// Collective.
    #[inline(always)]
    pub fn shuffle_down<T: Lanes>(&self, value: T, offset: u32) -> T {
        // The instruction looks at five bits of the offset.
        let offset = if offset < LANES { offset } else { 0 };
        // SAFETY: as for `shuffle`.
        value.exchange(|word| unsafe { ptx::shfl_sync_down(ALL, word, offset) })
    }

    /// The value of the lane `offset` below; the own value where there is none.
    ///
    /// Collective.
    #[inline(always)]
    pub fn shuffle_up<T: Lanes>(&self, value: T, offset: u32) -> T {
        // The instruction looks at five bits of the offset.
        let offset = if offset < LANES { offset } else { 0 };
        // SAFETY: as for `shuffle`.
        value.exchange(|word| unsafe { ptx::shfl_sync_up(ALL, word, offset) })
    }

    /// The value of the lane whose number differs in the bits of `lanes`, modulo 32.
    ///
    /// Collective.
    #[inline(always)]
    pub fn shuffle_xor<T: Lanes>(&self, value: T, lanes: u32) -> T {
        // SAFETY: as for `shuffle`.
        value.exchange(|word| unsafe { ptx::shfl_sync_bfly(ALL, word, lanes % LANES) })
    }

    /// Whether `predicate` holds in every lane.
    ///
    /// Collective.
    #[inline(always)]
    pub fn all(&self, predicate: bool) -> bool {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::vote_sync_all(ALL, predicate) }
    }

    /// Whether `predicate` holds in some lane.
    ///
    /// Collective.
    #[inline(always)]
    pub fn any(&self, predicate: bool) -> bool {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::vote_sync_any(ALL, predicate) }
    }

    /// The lanes in which `predicate` holds, a bit each.
    ///
    /// Collective.
    #[inline(always)]
    pub fn ballot(&self, predicate: bool) -> u32 {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::vote_sync_ballot(ALL, predicate) }
    }

    /// The lanes that hold the same value as this one, a bit each.
    ///
    /// Collective.
    #[inline(always)]
    pub fn equal_lanes(&self, value: u32) -> u32 {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::match_any_sync(ALL, value) }
    }

    /// The sum of all lanes' values modulo 2³², for every lane.
    ///
    /// Collective.
    #[inline(always)]
    pub fn sum(&self, value: u32) -> u32 {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::redux_sync_add_u32(ALL, value) }
    }

    /// The smallest of all lanes' values, for every lane.
    ///
    /// Collective.
    #[inline(always)]
    pub fn min(&self, value: u32) -> u32 {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::redux_sync_min_u32(ALL, value) }
    }

    /// The largest of all lanes' values, for every lane.
    ///
    /// Collective.
    #[inline(always)]
    pub fn max(&self, value: u32) -> u32 {
        // SAFETY: collective: the whole warp is here.
        unsafe { ptx::redux_sync_max_u32(ALL, value) }
    }
}
