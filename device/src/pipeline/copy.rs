//! Copies into one stage.

use super::mechanism::Mechanism;
use super::outside;
use crate::law::law;
use crate::view::{In, Word};
use crate::{Block, Uniform};
use core::marker::PhantomData;

/// The right to fill one stage.
///
/// Spans are appended behind one another, so no two copies meet.
#[derive(Debug)]
pub struct Copier<'s, M> {
    address: u32,
    bytes: u32,
    used: u32,
    stage: PhantomData<(&'s mut (), M)>,
}

impl<M: Mechanism> Copier<'_, M> {
    #[inline(always)]
    pub(crate) fn new(address: u32, bytes: u32) -> Self {
        Self {
            address,
            bytes,
            used: 0,
            stage: PhantomData,
        }
    }

    /// The stage's first byte in the `.shared` window.
    #[inline(always)]
    pub(crate) fn address(&self) -> u32 {
        self.address
    }

    /// The whole block copies the elements `start..start + count` of `from` behind what the stage holds already, `BYTES` at a time.
    ///
    /// Returns the element of the stage at which they start; the next span starts at a multiple of 16 bytes again.
    /// Where the last piece is not whole, zeros follow the elements.
    /// Collective.
    ///
    /// Traps where the stage has no room, where `from` ends before `start + count`, or where the first element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub fn append<T: Word, const BYTES: usize>(
        &mut self,
        block: &Block,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Uniform<u32> {
        const {
            law(
                BYTES == 4 || BYTES == 8 || BYTES == 16,
                "a piece has 4, 8 or 16 bytes",
            )
        };
        let (start, count) = (start.get(), count.get());
        let size = size_of::<T>() as u32;
        let at = self.used;
        let room = self.bytes - at;
        if start > from.len || u64::from(count) > from.len - start || count > room / size {
            outside();
        }
        let total = count * size;
        // SAFETY: `start` lies in the view.
        let first = unsafe { from.base.add(start as usize) }.cast::<u8>();
        if !(first as u64).is_multiple_of(BYTES as u64) {
            outside();
        }
        let step = block.threads().get() * BYTES as u32;
        let mut offset = block.thread() * BYTES as u32;
        while offset < total {
            let size = (total - offset).min(BYTES as u32);
            // SAFETY: the source bytes lie in the view; the destination lies in the stage, whose end is a multiple of 128,
            // and in the part that no earlier span took; threads take different pieces; both addresses are multiples of `BYTES`.
            unsafe {
                M::copy_prefix::<BYTES>(
                    self.address + at + offset,
                    first.add(offset as usize),
                    size,
                )
            };
            offset += step;
        }
        self.used = (at + total).next_multiple_of(16).min(self.bytes);
        // SAFETY: computed from uniform values.
        unsafe { Uniform::assume(at / size) }
    }

    /// Each thread copies one 16-byte piece to its own place behind what the stage holds already:
    /// the elements of `from` from `index` on, as far as there are any, and zeros for the rest.
    ///
    /// Traps where the stage has no room, or where the first element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub(crate) fn append_own<T: Word, const BYTES: usize>(
        &mut self,
        block: &Block,
        from: &In<T>,
        index: u64,
    ) {
        const {
            law(
                BYTES == 4 || BYTES == 8 || BYTES == 16,
                "a piece is copied 4, 8 or 16 bytes at a time",
            )
        };
        let element = size_of::<T>() as u64;
        let left = (from.len.saturating_sub(index)).min(16 / element) * element;
        let source = from.base.wrapping_add(index as usize).cast::<u8>();
        let step = block.threads().get() * 16;
        if step > self.bytes - self.used || !(source as u64).is_multiple_of(BYTES as u64) {
            outside();
        }
        let to = self.address + self.used + block.thread() * 16;
        for skip in (0..16).step_by(BYTES) {
            let size = (left as u32).saturating_sub(skip).min(BYTES as u32);
            // SAFETY: only elements that exist are read; the place is this thread's own, in a part of the stage that no earlier piece took.
            unsafe { M::copy_prefix::<BYTES>(to + skip, source.wrapping_add(skip as usize), size) };
        }
        self.used += step;
    }
}
