//! Sums over a block, in a fixed order.

use crate::shared::Region;
use crate::view::Elected;
use crate::{Block, ptx};

/// Lanes of a warp.
const LANES: u32 = 32;
/// All lanes of a warp.
const WARP: u32 = u32::MAX;

impl Block {
    /// The sum of the `value`s of all threads, for thread 0; the others get nothing.
    ///
    /// The order of additions depends on the number of threads alone: in each warp lane `i` takes in lane `i + 16`, then `i + 8`, and so on,
    /// and then the warps' sums are added in the same way, in the order of the warps.
    ///
    /// The scratch memory is free again when the call returns; it holds [`sum_scratch_bytes`](Block::sum_scratch_bytes) at least.
    /// Collective, for blocks of whole warps.
    ///
    /// Traps where the scratch memory is too small, or where the block's last warp is not whole.
    #[inline(always)]
    pub fn sum(&self, value: f32, scratch: &mut Region) -> Option<Elected<f32>> {
        let threads = self.threads().get();
        if scratch.bytes().get() < Self::sum_scratch_bytes() || !threads.is_multiple_of(LANES) {
            ptx::trap();
        }
        let scratch = scratch.address().get();
        let (warp, lane) = (self.thread() / LANES, self.thread() % LANES);
        let sum = warp_sum(value);
        if lane == 0 {
            // SAFETY: one place for each warp, in the region that the caller lends; nobody reads it before the barrier.
            unsafe { ptx::st_shared_f32(scratch + warp * 4, [sum]) };
        }
        self.sync();
        let mut total = None;
        if warp == 0 {
            let sum = if lane < threads / LANES {
                // SAFETY: written before the barrier.
                let [sum] = unsafe { ptx::ld_shared_f32(scratch + lane * 4) };
                sum
            } else {
                0.0
            };
            let sum = warp_sum(sum);
            if lane == 0 {
                total = Some(Elected(sum));
            }
        }
        self.sync();
        total
    }

    /// Bytes of scratch memory that [`sum`](Block::sum) wants.
    pub const fn sum_scratch_bytes() -> u32 {
        LANES * 4
    }
}

/// The sum over the warp, right in lane 0.
#[inline(always)]
fn warp_sum(value: f32) -> f32 {
    // Written out: in a loop over an array, the array would land in local memory.
    let sum = add_lane::<16>(value);
    let sum = add_lane::<8>(sum);
    let sum = add_lane::<4>(sum);
    let sum = add_lane::<2>(sum);
    add_lane::<1>(sum)
}

/// `value` plus that of the lane `OFFSET` above.
#[inline(always)]
fn add_lane<const OFFSET: u32>(value: f32) -> f32 {
    // SAFETY: reached by whole warps: the block's contract, or a condition on the warp's number.
    value + f32::from_bits(unsafe { ptx::shfl_sync_down(WARP, value.to_bits(), OFFSET) })
}
