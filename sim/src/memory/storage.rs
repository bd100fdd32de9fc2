//! Host bytes behind a range of simulated addresses.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of the first byte; no access of the machine needs more.
const ALIGN: usize = 64;
/// Alignment that is asked of the allocator. For a larger one it clears the bytes itself instead of taking pages that the system has cleared,
/// and a large buffer would be touched from end to end before anybody uses it.
const ASKED: usize = 16;
/// Spare bytes at the end, so that a whole word can be read at any offset.
const SLACK: usize = 16;

/// Owned, initialised bytes of fixed size at a stable address.
///
/// Workers reach the bytes through [`Storage::pointer`] and touch them with atomics only (see [`super::lanes`]),
/// so that a kernel with a data race cannot become undefined behaviour of the simulator.
#[derive(Debug)]
pub(crate) struct Storage {
    /// As allocated.
    allocation: NonNull<u8>,
    /// The first aligned byte of it.
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are owned, and everything that can be shared accesses them atomically.
unsafe impl Send for Storage {}
// SAFETY: `&Storage` gives a slice only to callers that hold the memory of a run that is not running, and a raw pointer otherwise.
unsafe impl Sync for Storage {}

impl Storage {
    /// `len` zero bytes, or `None` when the host has not that much memory.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        let layout = Self::layout(len)?;
        // SAFETY: the layout's size is never zero, `SLACK` is in it.
        let allocation = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let gap = allocation.align_offset(ALIGN);
        // SAFETY: the layout has `ALIGN` bytes more than are used, so the gap is inside.
        let start = unsafe { allocation.add(gap) };
        Some(Self {
            allocation,
            start,
            len,
        })
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len.checked_add(SLACK + ALIGN)?, ASKED).ok()
    }

    /// The first byte.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All bytes, while no run is going on.
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: owned, initialised, and a run borrows the owner mutably for as long as its workers write.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// All bytes, exclusively.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len) {
            // SAFETY: `allocation` came from `alloc_zeroed` with this same layout.
            unsafe { dealloc(self.allocation.as_ptr(), layout) }
        }
    }
}
