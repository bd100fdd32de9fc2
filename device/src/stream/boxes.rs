//! Boxes of a tensor as the source of a stream: what a tensor copy brings.

use super::{Kind, Left, Source};
use crate::crew::Crew;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot};
use crate::tensor::{Boxes, TensorMap, Walk};
use crate::view::{Vector, Word};
use crate::{Uniform, ptx};
use core::marker::PhantomData;

/// Boxes of a tensor that lie side by side in one dimension.
#[derive(Clone, Debug)]
pub struct TensorBoxes<B: Boxes> {
    map: TensorMap<B>,
    walk: Walk<B>,
    to_read: u32,
    steps: u32,
}

impl<B: Boxes> TensorBoxes<B> {
    /// `steps` boxes of `map`, the first of which starts at `at`, and each of which follows on the one before in dimension `dimension`, counted from the innermost.
    ///
    /// Coordinates may lie outside of the tensor, where zeros stand.
    #[inline(always)]
    pub fn new(
        map: TensorMap<B>,
        at: Uniform<B::At>,
        dimension: usize,
        steps: Uniform<u32>,
    ) -> Self {
        let () = B::LAWS;
        Self {
            map,
            walk: Walk::new(at, dimension),
            to_read: 0,
            steps: steps.get(),
        }
    }

    /// Elements of a stage.
    pub const STAGE_LEN: u32 = B::BYTES / size_of::<B::Item>() as u32;
}

impl<B: Boxes> Source for TensorBoxes<B>
where
    B::Item: Word,
{
    type Item = B::Item;
    type Tile<'s> = BoxTile<'s, B>;

    #[inline(always)]
    fn stage_len(&self) -> Uniform<u32> {
        // SAFETY: a constant.
        unsafe { Uniform::assume(Self::STAGE_LEN) }
    }

    #[inline(always)]
    fn suits(&self, _: u32) -> bool {
        true
    }

    #[inline(always)]
    fn steps(&self) -> Uniform<u32> {
        // SAFETY: made from a uniform value.
        unsafe { Uniform::assume(self.steps) }
    }

    #[inline(always)]
    fn irregular_steps(&self) -> Uniform<u32> {
        Uniform::<u32>::constant::<0>()
    }

    #[inline(always)]
    fn refill<M: Mechanism>(&mut self, crew: Crew, mut stage: Copier<'_, M>, left: Left) {
        if left.more_than(0) {
            // SAFETY: a walk is made of uniform values.
            let at = unsafe { Uniform::assume(self.walk.step()) };
            stage.append_box(crew, &self.map, at);
        }
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        _: Crew,
        slot: ReadSlot<'s, B::Item, BlockScope>,
        _: u32,
        _: Kind,
    ) -> BoxTile<'s, B> {
        let index = self.to_read;
        self.to_read += 1;
        BoxTile {
            slot,
            index,
            boxes: PhantomData,
        }
    }
}

/// A box in its stage.
#[derive(Debug)]
pub struct BoxTile<'s, B: Boxes> {
    slot: ReadSlot<'s, B::Item, BlockScope>,
    index: u32,
    boxes: PhantomData<B>,
}

impl<B: Boxes> BoxTile<'_, B>
where
    B::Item: Word,
{
    /// Its number, counted from the first box.
    #[inline(always)]
    pub fn index(&self) -> Uniform<u32> {
        // SAFETY: boxes are counted by all threads alike.
        unsafe { Uniform::assume(self.index) }
    }

    /// The 16 bytes from element `column` of line `line` on, wherever the swizzle put them; lines run over all dimensions but the innermost.
    ///
    /// Traps where the box has no such line, or the line no such 16 aligned bytes.
    #[inline(always)]
    pub fn vector(&self, line: u32, column: u32) -> <B::Item as Word>::Vector {
        let lanes = <B::Item as Word>::Vector::LANES;
        if line >= B::BYTES / B::LINE || column >= B::EXTENTS[0] || !column.is_multiple_of(lanes) {
            ptx::trap();
        }
        let offset = line * B::LINE + column * size_of::<B::Item>() as u32;
        // SAFETY: the place lies in the box, which fills the stage; a swizzle permutes chunks inside of a line, and lines lie on multiples of their length.
        unsafe { self.slot.swizzled_vector_at(offset, B::SWIZZLE) }
    }
}
