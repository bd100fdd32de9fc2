//! The handles on a stage: one to fill it, one to read it.

use super::copy::{Copied, Copier};
use super::mechanism::Mechanism;
use super::ring::{Ring, Stage};
use super::scope::{BlockScope, Hardware, Scope, ThreadScope};
use super::{Layout, outside};
use crate::law::law;
use crate::tensor::{self, Boxes, TensorMap};
use crate::view::{In, Vector, Word};
use crate::{Block, Uniform};
use core::marker::PhantomData;

/// A stage that is being filled.
///
/// Copies are issued through it, and [`commit`](WriteSlot::commit) closes their group; a slot that is dropped commits as well.
#[derive(Debug)]
#[must_use = "a stage that was acquired is to be filled and committed"]
pub struct WriteSlot<'r, 'b, T, const STAGES: usize, C: Scope, M: Mechanism> {
    ring: &'r mut Ring<Hardware<'b, C, M>, STAGES>,
    copier: Copier<'r, M>,
    item: PhantomData<T>,
}

impl<'r, 'b, T: Word, const STAGES: usize, C: Scope, M: Mechanism>
    WriteSlot<'r, 'b, T, STAGES, C, M>
{
    #[inline(always)]
    pub(super) fn new(
        ring: &'r mut Ring<Hardware<'b, C, M>, STAGES>,
        layout: Layout<T>,
        stage: Stage,
    ) -> Self {
        Self {
            ring,
            copier: layout.copier(stage),
            item: PhantomData,
        }
    }

    /// Closes the group of the copies issued through this slot, also when there were none.
    ///
    /// It does not wait.
    #[inline(always)]
    pub fn commit(self) {
        drop(self);
    }
}

impl<T, const STAGES: usize, C: Scope, M: Mechanism> Drop for WriteSlot<'_, '_, T, STAGES, C, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.ring.commit();
    }
}

impl<T: Word, const STAGES: usize, M: Mechanism> WriteSlot<'_, '_, T, STAGES, BlockScope, M> {
    /// The whole block copies the elements `start..start + count` of `from` behind what the stage holds already.
    ///
    /// Each thread copies pieces of `BYTES` bytes (4, 8 or 16); choose by [`In::width`].
    /// Returns the element of the stage at which they start; the next span starts at a multiple of 16 bytes again.
    /// Collective.
    ///
    /// Traps where the stage has no room, where `from` ends before `start + count`, or where the first element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub fn append<const BYTES: usize>(
        &mut self,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Uniform<u32> {
        let crew = self.ring.engine().block().crew();
        self.copier.append::<T, BYTES>(crew, from, start, count)
    }
}

impl<T: Word, const STAGES: usize, M: Mechanism> WriteSlot<'_, '_, T, STAGES, BlockScope, M> {
    /// One thread starts the copy of the box of `map` that starts at `at`, behind what the stage holds already; the stage's barrier expects its bytes.
    ///
    /// Collective.
    ///
    /// Traps where the stage has no room for the box, or where that does not start at a multiple of 128 bytes.
    #[inline(always)]
    pub fn append_box<B: Boxes<Item = T>>(&mut self, map: &TensorMap<B>, at: Uniform<B::At>) {
        const {
            law(
                tensor::fits::<B>(STAGES),
                "a ring of such boxes is larger than the 227 KiB of shared memory that a block can have: take fewer stages or a smaller box",
            )
        };
        let crew = self.ring.engine().block().crew();
        self.copier.append_box(crew, map, at);
    }
}

impl<T: Word, const STAGES: usize, M: Mechanism> WriteSlot<'_, '_, T, STAGES, BlockScope, M> {
    /// The whole block copies the elements `start..start + count` of `from`, whatever their alignment, by the widest copies there are, and says how.
    ///
    /// See [`Copier::memcpy_async`].
    /// Collective.
    #[inline(always)]
    pub fn memcpy_async(
        &mut self,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Copied {
        let crew = self.ring.engine().block().crew();
        self.copier.memcpy_async(crew, from, start, count)
    }
}

impl<T: Word, const STAGES: usize, M: Mechanism> WriteSlot<'_, '_, T, STAGES, ThreadScope, M> {
    /// This thread copies 16 bytes of `from`, from element `index` on, behind its earlier pieces of the stage; zeros follow where `from` has ended.
    ///
    /// Copied `BYTES` (4, 8 or 16) at a time; choose by [`In::width`].
    ///
    /// Traps where the stage has no room for a piece of each thread, or where the element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub fn append<const BYTES: usize>(&mut self, from: &In<T>, index: u64) {
        let block = self.ring.engine().block();
        self.copier.append_own::<T, BYTES>(block, from, index);
    }
}

/// A stage whose copies have landed.
#[derive(Debug)]
#[must_use = "a stage that was waited for is to be read"]
pub struct ReadSlot<'r, T, C> {
    address: u32,
    len: u32,
    stage: PhantomData<(&'r mut (), T, C)>,
}

impl<T: Word, C: Scope> ReadSlot<'_, T, C> {
    #[inline(always)]
    pub(crate) fn new(layout: Layout<T>, stage: Stage) -> Self {
        Self {
            address: layout.address(stage),
            len: layout.len,
            stage: PhantomData,
        }
    }

    /// The first half of the stage and the second.
    #[inline(always)]
    pub(crate) fn halves(self) -> (Self, Self) {
        let len = self.len / 2;
        let half = |address| Self {
            address,
            len,
            stage: PhantomData,
        };
        let behind = self.address + len * size_of::<T>() as u32;
        (half(self.address), half(behind))
    }

    /// Ends the reading of the stage.
    ///
    /// It does not wait: the next verb that lets the stage be filled again meets the barrier.
    #[inline(always)]
    pub fn release(self) {
        drop(self);
    }

    /// The vector at `offset` bytes.
    ///
    /// # Safety
    /// `offset` is a multiple of 16 and lies in the stage, in the part that this thread may read.
    #[inline(always)]
    pub(crate) unsafe fn vector_at(&self, offset: u32) -> T::Vector {
        // SAFETY: the slot exists, so the stage's copies have landed and were published; the place by the caller's contract.
        unsafe { T::Vector::load_shared(self.address + offset) }
    }

    /// The vector that a swizzle of `span` bytes, 0 for none, put where it belongs for `offset`.
    ///
    /// # Safety
    /// As for [`vector_at`](Self::vector_at); the stage consists of whole rows of the swizzle.
    #[inline(always)]
    pub(crate) unsafe fn swizzled_vector_at(&self, offset: u32, span: u32) -> T::Vector {
        // SAFETY: as for `vector_at`; the chunk stays in its row of the swizzle.
        unsafe { T::Vector::load_shared(tensor::swizzled(self.address + offset, span)) }
    }
}

impl<T: Word> ReadSlot<'_, T, BlockScope> {
    /// The element at `offset` bytes.
    ///
    /// # Safety
    /// `offset` is a multiple of the element's size and lies in the stage.
    #[inline(always)]
    pub(crate) unsafe fn element_at(&self, offset: u32) -> T {
        // SAFETY: as for `vector_at`.
        unsafe { T::load_shared(self.address + offset) }
    }
}

// The empty body has a purpose: a slot with a destructor must be released before the next verb, or the program does not compile.
impl<T, C> Drop for ReadSlot<'_, T, C> {
    #[inline(always)]
    fn drop(&mut self) {}
}

impl<T: Word> ReadSlot<'_, T, BlockScope> {
    /// The element `index` of the stage.
    ///
    /// Traps where the stage has none; a [`Span`] checks once for a whole loop.
    #[inline(always)]
    pub fn get(&self, index: u32) -> T {
        self.element(Span::element(self.len, index))
    }

    /// The element of a checked span.
    #[inline(always)]
    pub fn element(&self, span: Span<T, 1>) -> T {
        if span.len != self.len {
            outside();
        }
        // SAFETY: the span was checked against a stage of this length.
        unsafe { self.element_at(span.offset) }
    }

    /// The 16 bytes of a checked span.
    #[inline(always)]
    pub fn vector(&self, span: Span<T, 16>) -> T::Vector {
        if span.len != self.len {
            outside();
        }
        // SAFETY: the span was checked against a stage of this length.
        unsafe { self.vector_at(span.offset) }
    }
}

impl<T: Word> ReadSlot<'_, T, ThreadScope> {
    /// This thread's piece `piece`, in the order in which it was appended.
    ///
    /// Traps where the stage has no such piece.
    #[inline(always)]
    pub fn piece(&self, block: &Block, piece: u32) -> T::Vector {
        let step = block.threads().get() * 16;
        let start = u64::from(piece) * u64::from(step);
        if start + u64::from(step) > u64::from(self.len) * size_of::<T>() as u64 {
            outside();
        }
        // SAFETY: the piece lies in the stage; it is this thread's own.
        unsafe { self.vector_at(start as u32 + block.thread() * 16) }
    }
}

/// A place in any stage of a ring, checked once: an element (`KIND` 1) or 16 aligned bytes (`KIND` 16).
///
/// Checked outside a loop, it makes the reads in the loop free of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T, const KIND: usize> {
    offset: u32,
    len: u32,
    item: PhantomData<T>,
}

impl<T: Word> Span<T, 1> {
    /// The element `index` of stages of `len` elements.
    ///
    /// Traps where there is none.
    #[inline(always)]
    pub fn element(len: u32, index: u32) -> Self {
        if index >= len {
            outside();
        }
        Self {
            offset: index * size_of::<T>() as u32,
            len,
            item: PhantomData,
        }
    }
}

impl<T: Word> Span<T, 16> {
    /// The 16 bytes from element `index` on, of stages of `len` elements.
    ///
    /// Traps where they are not in the stage, or where they do not start at a multiple of 16 bytes.
    #[inline(always)]
    pub fn vector(len: u32, index: u32) -> Self {
        let lanes = T::Vector::LANES;
        if !index.is_multiple_of(lanes) || index >= len || len - index < lanes {
            outside();
        }
        Self {
            offset: index * size_of::<T>() as u32,
            len,
            item: PhantomData,
        }
    }
}
