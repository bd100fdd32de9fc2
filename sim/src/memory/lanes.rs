//! Moving the lanes of a register to and from host bytes.
//!
//! All accesses are relaxed atomics of the access's own width: plain loads and stores on the machines we run on,
//! and no undefined behaviour when a kernel under test has a data race between blocks.
//! Every function here takes a pointer that addresses are added to, and is unsafe for the same reason:
//! the caller has checked that each lane's bytes are inside one live segment and naturally aligned.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::lanes::{LANES, lanes_of};

/// Where the lanes' bytes are.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<'a> {
    /// Address zero of the segment's window.
    pub(crate) host: *mut u8,
    /// Address by lane.
    pub(crate) addresses: &'a [u64; LANES],
    /// Bytes added to each.
    pub(crate) offset: u64,
    pub(crate) mask: u32,
}

macro_rules! transfers {
    ($($load:ident $store:ident $atomic:ident $bits:ty;)*) => {$(
        /// Loads one element a lane.
        ///
        /// # Safety
        /// The bytes of every lane of the mask are inside one live segment, and aligned.
        #[inline(always)]
        pub(crate) unsafe fn $load<T>(lanes: Lanes<'_>, into: &mut [T; LANES], convert: impl Fn($bits) -> T) {
            let mut one = |lane: usize| {
                let at = lanes.host.wrapping_add(lanes.addresses[lane].wrapping_add(lanes.offset) as usize);
                // SAFETY: the caller vouches for the bytes; alignment too.
                into[lane] = convert(unsafe { (*at.cast::<$atomic>()).load(Relaxed) });
            };
            if lanes.mask == u32::MAX { (0..LANES).for_each(one) } else { lanes_of(lanes.mask).for_each(&mut one) }
        }

        /// Stores one element a lane; of two lanes with one address the higher wins.
        ///
        /// # Safety
        /// As for loads, and the segment is writable.
        #[inline(always)]
        pub(crate) unsafe fn $store<T: Copy>(lanes: Lanes<'_>, from: &[T; LANES], convert: impl Fn(T) -> $bits) {
            let mut one = |lane: usize| {
                let at = lanes.host.wrapping_add(lanes.addresses[lane].wrapping_add(lanes.offset) as usize);
                // SAFETY: the caller vouches for the bytes; alignment too.
                unsafe { (*at.cast::<$atomic>()).store(convert(from[lane]), Relaxed) };
            };
            if lanes.mask == u32::MAX { (0..LANES).for_each(one) } else { lanes_of(lanes.mask).for_each(&mut one) }
        }
    )*};
}

transfers! {
    load8 store8 AtomicU8 u8;
    load16 store16 AtomicU16 u16;
    load32 store32 AtomicU32 u32;
    load64 store64 AtomicU64 u64;
}

/// Copies bytes between two segments, 4, 8 or 16 at a time as far as both ends are aligned.
///
/// # Safety
/// Both ranges are inside live segments, and the one written to is writable.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if (from as usize | to as usize | bytes).is_multiple_of(8) {
        for at in (0..bytes).step_by(8) {
            // SAFETY: inside both ranges, and aligned to eight.
            unsafe {
                (*to.add(at).cast::<AtomicU64>())
                    .store((*from.add(at).cast::<AtomicU64>()).load(Relaxed), Relaxed)
            };
        }
    } else if (from as usize | to as usize | bytes).is_multiple_of(4) {
        for at in (0..bytes).step_by(4) {
            // SAFETY: inside both ranges, and aligned to four.
            unsafe {
                (*to.add(at).cast::<AtomicU32>())
                    .store((*from.add(at).cast::<AtomicU32>()).load(Relaxed), Relaxed)
            };
        }
    } else {
        for at in 0..bytes {
            // SAFETY: inside both ranges.
            unsafe {
                (*to.add(at).cast::<AtomicU8>())
                    .store((*from.add(at).cast::<AtomicU8>()).load(Relaxed), Relaxed)
            };
        }
    }
}

/// Writes `bytes` zero bytes.
///
/// # Safety
/// The range is inside a live, writable segment.
#[inline(always)]
pub(crate) unsafe fn clear(to: *mut u8, bytes: usize) {
    for at in 0..bytes {
        // SAFETY: inside the range.
        unsafe { (*to.add(at).cast::<AtomicU8>()).store(0, Relaxed) };
    }
}

/// Lowest address, one past the highest byte, and the union of all address bits, of the lanes of a non-empty mask.
#[inline(always)]
pub(crate) fn extent(addresses: &[u64; LANES], mask: u32, bytes: u64) -> (u64, u64, u64) {
    let first = addresses[mask.trailing_zeros() as usize & 31];
    let (mut low, mut high, mut bits) = (first, first, first);
    if mask == u32::MAX {
        for &address in addresses {
            low = low.min(address);
            high = high.max(address);
            bits |= address;
        }
    } else {
        for lane in lanes_of(mask) {
            low = low.min(addresses[lane]);
            high = high.max(addresses[lane]);
            bits |= addresses[lane];
        }
    }
    (low, high.saturating_add(bytes), bits)
}
