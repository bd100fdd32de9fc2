//! Moving the lanes of a register to and from host bytes.
//!
//! All accesses are relaxed atomics of the access's own width: plain loads and stores on the machines we run on,
//! and no undefined behaviour when a kernel under test has a data race between blocks.
//! Every function here takes a pointer that addresses are added to, and is unsafe for the same reason:
//! the caller has checked that each lane's bytes are inside one live segment and naturally aligned.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::lanes::LANES;

/// Where the lanes' bytes are.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<'a> {
    /// Address zero of the segment's window.
    pub(crate) host: *mut u8,
    /// Address by lane.
    pub(crate) addresses: &'a [u64; LANES],
    /// Bytes added to each.
    pub(crate) offset: u64,
    /// Bytes from each lane's address to the next one's if that is the same for all 32, else zero.
    pub(crate) step: u64,
    pub(crate) mask: u32,
}

impl Lanes<'_> {
    /// Calls `each` with every lane and its bytes.
    #[inline(always)]
    fn each(&self, mut each: impl FnMut(usize, *mut u8)) {
        if self.step != 0 {
            let mut at = self
                .host
                .wrapping_add(self.addresses[0].wrapping_add(self.offset) as usize);
            for lane in 0..LANES {
                each(lane, at);
                at = at.wrapping_add(self.step as usize);
            }
            return;
        }
        let place = |lane: usize| {
            self.host
                .wrapping_add(self.addresses[lane].wrapping_add(self.offset) as usize)
        };
        if self.mask == u32::MAX {
            for lane in 0..LANES {
                each(lane, place(lane));
            }
        } else {
            let mut rest = self.mask;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                each(lane, place(lane));
                rest &= rest - 1;
            }
        }
    }
}

macro_rules! transfers {
    ($($load:ident $store:ident $atomic:ident $bits:ty;)*) => {$(
        /// Loads one element a lane.
        ///
        /// # Safety
        /// The bytes of every lane of the mask are inside one live segment, and aligned.
        #[inline(always)]
        pub(crate) unsafe fn $load<T>(lanes: Lanes<'_>, into: &mut [T; LANES], convert: impl Fn($bits) -> T) {
            lanes.each(|lane, at| {
                // SAFETY: the caller vouches for the bytes; alignment too.
                into[lane] = convert(unsafe { (*at.cast::<$atomic>()).load(Relaxed) });
            });
        }

        /// Stores one element a lane; of two lanes with one address the higher wins.
        ///
        /// # Safety
        /// As for loads, and the segment is writable.
        #[inline(always)]
        pub(crate) unsafe fn $store<T: Copy>(lanes: Lanes<'_>, from: &[T; LANES], convert: impl Fn(T) -> $bits) {
            lanes.each(|lane, at| {
                // SAFETY: the caller vouches for the bytes; alignment too.
                unsafe { (*at.cast::<$atomic>()).store(convert(from[lane]), Relaxed) };
            });
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

/// The addresses of the lanes of a mask, seen together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The lowest.
    pub(crate) low: u64,
    /// One past the highest byte.
    pub(crate) high: u64,
    /// Bits that are set in any, or as good as that for telling whether all are multiples of the access's size.
    pub(crate) bits: u64,
    /// Whether all 32 lanes are there and each one's bytes follow the one's before.
    pub(crate) dense: bool,
}

/// The extent of accesses of `bytes` bytes, a power of two; the mask is not empty.
#[inline(always)]
pub(crate) fn extent(addresses: &[u64; LANES], mask: u32, bytes: u64) -> Extent {
    let first = addresses[mask.trailing_zeros() as usize & 31];
    if mask == u32::MAX {
        let mut differs = 0;
        for (lane, address) in addresses.iter().enumerate() {
            differs |= address ^ first.wrapping_add(lane as u64 * bytes);
        }
        if differs == 0 {
            let high = first.saturating_add(LANES as u64 * bytes);
            return Extent {
                low: first,
                high,
                bits: first,
                dense: true,
            };
        }
    }
    let (mut low, mut high, mut bits) = (first, first, first);
    for (lane, &address) in addresses.iter().enumerate() {
        // Lanes that are not there count as the first.
        let address = if mask >> lane & 1 == 1 {
            address
        } else {
            first
        };
        low = low.min(address);
        high = high.max(address);
        bits |= address;
    }
    Extent {
        low,
        high: high.saturating_add(bytes),
        bits,
        dense: false,
    }
}
