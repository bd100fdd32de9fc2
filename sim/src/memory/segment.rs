//! Ranges of simulated addresses with bytes behind them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A range of addresses of one window, and where its bytes are on the host.
///
/// Whoever makes one keeps the bytes (and the bitmap) alive and in place for as long as it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// First address.
    pub(crate) base: u64,
    /// Bytes.
    pub(crate) len: u64,
    /// The byte at `base`.
    pub(crate) host: *mut u8,
    /// One bit a byte, set where somebody wrote; bit zero stands for address `valid_base`. Null where all is written.
    pub(crate) valid: *const AtomicU64,
    pub(crate) valid_base: u64,
    pub(crate) writable: bool,
}

// SAFETY: the pointers are used for atomic accesses only, and the owner of the bytes outlives every segment.
unsafe impl Send for Segment {}
// SAFETY: see above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Whether `from..to` is inside.
    #[inline(always)]
    pub(crate) fn contains(&self, from: u64, to: u64) -> bool {
        from >= self.base && to <= self.base + self.len && from <= to
    }

    /// The pointer that an address of this segment is added to.
    #[inline(always)]
    pub(crate) fn biased(&self) -> *mut u8 {
        self.host.wrapping_sub(self.base as usize)
    }

    /// The bits of up to 64 bytes from `address` on, which is in the segment with all of them.
    #[inline(always)]
    pub(crate) fn valid_bits(&self, address: u64, len: u32) -> u64 {
        debug_assert!(len <= 64 && self.contains(address, address + u64::from(len)));
        let at = address - self.valid_base;
        let (word, bit) = ((at / 64) as usize, (at % 64) as u32);
        // SAFETY: the bitmap has a bit for each byte of the segment, and the range is inside.
        let mut bits = unsafe { (*self.valid.add(word)).load(Relaxed) } >> bit;
        if bit + len > 64 {
            // SAFETY: as above; the range reaches into the next word.
            bits |= unsafe { (*self.valid.add(word + 1)).load(Relaxed) } << (64 - bit);
        }
        bits & low_bits(len)
    }

    /// Whether all of `from..to`, which is in the segment, is written.
    #[inline(always)]
    pub(crate) fn is_valid(&self, from: u64, to: u64) -> bool {
        let mut at = from;
        while at < to {
            let len = (to - at).min(64) as u32;
            if self.valid_bits(at, len) != low_bits(len) {
                return false;
            }
            at += u64::from(len);
        }
        true
    }

    /// Marks up to 64 bytes from `address` on as written. `shared` tells that other workers may do the same.
    #[inline(always)]
    pub(crate) fn mark_valid(&self, address: u64, len: u32, shared: bool) {
        debug_assert!(len <= 64 && self.contains(address, address + u64::from(len)));
        let at = address - self.valid_base;
        let (word, bit) = ((at / 64) as usize, (at % 64) as u32);
        let bits = low_bits(len);
        // SAFETY: the bitmap has a bit for each byte of the segment, and the range is inside.
        unsafe { set(&*self.valid.add(word), bits << bit, shared) };
        if bit + len > 64 {
            // SAFETY: as above; the range reaches into the next word.
            unsafe { set(&*self.valid.add(word + 1), bits >> (64 - bit), shared) };
        }
    }
}

impl Segment {
    /// Says of up to 64 bytes from `address` on which are written and which are not, in memory that no other worker touches.
    #[inline(always)]
    pub(crate) fn set_valid(&self, address: u64, len: u32, bits: u64) {
        if self.valid.is_null() {
            return;
        }
        let at = address - self.valid_base;
        let (word, bit) = ((at / 64) as usize, (at % 64) as u32);
        let replace = |word: &AtomicU64, keep: u64, bits: u64| {
            word.store((word.load(Relaxed) & keep) | bits, Relaxed)
        };
        // SAFETY: the bitmap has a bit for each byte of the segment, and the range is inside.
        unsafe { replace(&*self.valid.add(word), !(low_bits(len) << bit), bits << bit) };
        if bit + len > 64 {
            // SAFETY: as above; the range reaches into the next word.
            unsafe {
                replace(
                    &*self.valid.add(word + 1),
                    !(low_bits(len) >> (64 - bit)),
                    bits >> (64 - bit),
                )
            };
        }
    }
}

#[inline(always)]
fn set(word: &AtomicU64, bits: u64, shared: bool) {
    let old = word.load(Relaxed);
    if old & bits != bits {
        if shared {
            word.fetch_or(bits, Relaxed);
        } else {
            word.store(old | bits, Relaxed);
        }
    }
}

/// The lowest `len` bits.
#[inline(always)]
pub(crate) const fn low_bits(len: u32) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// The segments of one window, in order of address.
#[derive(Debug, Default)]
pub(crate) struct Segments(Vec<Segment>);

impl Segments {
    pub(crate) fn new(segments: Vec<Segment>) -> Self {
        Self(segments)
    }

    /// The segment with all of `from..to`; `cache` is where the last one of the same instruction was.
    #[inline(always)]
    pub(crate) fn find(&self, from: u64, to: u64, cache: &mut u32) -> Option<&Segment> {
        match self.0.get(*cache as usize) {
            Some(segment) if segment.contains(from, to) => Some(segment),
            _ => self.search(from, to, cache),
        }
    }

    #[cold]
    fn search(&self, from: u64, to: u64, cache: &mut u32) -> Option<&Segment> {
        let index = self
            .0
            .partition_point(|segment| segment.base <= from)
            .checked_sub(1)?;
        let segment = self
            .0
            .get(index)
            .filter(|segment| segment.contains(from, to))?;
        *cache = index as u32;
        Some(segment)
    }
}
