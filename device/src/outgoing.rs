//! Bulk copies out of shared memory, as steps that can only be taken in order.
//!
//! | value | what it is | next step |
//! |---|---|---|
//! | [`Outgoing`] | memory that the block's threads write | [`publish`](Outgoing::publish): a proxy fence and a barrier |
//! | [`Published`] | memory that a bulk copy can read, and nobody writes | [`store`](Published::store), [`reduce_add`](Published::reduce_add), … into a [`Room`] |
//! | [`Sending`] | memory that is being read | [`reuse`](Sending::reuse) once it was read, [`finish`](Sending::finish) once the output is written |
//!
//! A [`Room`] is a tile's place in the output, and each exists once.

use crate::shared::Region;
use crate::tensor::{self, Boxes, TensorMap};
use crate::view::{GridStride, Out, Share, Vector, Width, Word};
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// Shared memory that the threads of a block write, 16 bytes at a time.
#[derive(Debug)]
#[must_use = "what was written is to be published"]
pub struct Outgoing<'b, T> {
    block: &'b Block,
    memory: Region,
    item: PhantomData<T>,
}

/// Shared memory that bulk copies can read.
#[derive(Debug)]
#[must_use = "what was published is to be sent"]
pub struct Published<'b, T> {
    block: &'b Block,
    memory: Region,
    item: PhantomData<T>,
}

/// Shared memory that a bulk copy reads.
#[derive(Debug)]
#[must_use = "a bulk copy is waited for before its memory is used again"]
pub struct Sending<'b, T> {
    block: &'b Block,
    memory: Region,
    item: PhantomData<T>,
}

impl<'b, T: Word> Outgoing<'b, T> {
    /// All of `memory`.
    #[inline(always)]
    pub fn new(block: &'b Block, memory: Region) -> Self {
        Self {
            block,
            memory,
            item: PhantomData,
        }
    }

    /// Writes this thread's vector number `piece`: the elements from (`piece` · threads + thread) · lanes on.
    ///
    /// Traps where the memory ends before.
    #[inline(always)]
    pub fn put(&mut self, piece: u32, values: T::Vector) {
        let place = u64::from(piece) * u64::from(self.block.threads().get())
            + u64::from(self.block.thread());
        if (place + 1) * 16 > u64::from(self.memory.bytes().get()) {
            ptx::trap();
        }
        // SAFETY: the place lies in the memory and belongs to this thread; nothing reads it before it is published.
        unsafe { values.store_shared(self.memory.address().get() + place as u32 * 16) };
    }

    /// Writes the 16 bytes from element `column` of line `line` on of a box, where its swizzle wants them.
    ///
    /// Traps where the box has no such line, the line no such 16 aligned bytes, or the memory no such box.
    ///
    /// # Safety
    /// - No other thread writes them.
    #[inline(always)]
    pub unsafe fn put_in_box<B: Boxes<Item = T>>(
        &mut self,
        line: u32,
        column: u32,
        values: T::Vector,
    ) {
        let () = B::LAWS;
        if B::BYTES > self.memory.bytes().get()
            || line >= B::BYTES / B::LINE
            || column >= B::EXTENTS[0]
            || !column.is_multiple_of(T::Vector::LANES)
        {
            ptx::trap();
        }
        let offset = line * B::LINE + column * size_of::<T>() as u32;
        let place = tensor::swizzled(self.memory.address().get() + offset, B::SWIZZLE);
        // SAFETY: the place lies in the memory and is this thread's alone by the caller's contract; nothing reads it before it is published.
        unsafe { values.store_shared(place) };
    }

    /// Ends the writing: what every thread wrote can be read by bulk copies.
    ///
    /// Collective.
    #[inline(always)]
    pub fn publish(self) -> Published<'b, T> {
        // SAFETY: the instruction has no requirement.
        unsafe { ptx::fence_proxy_async_shared_cta() };
        self.block.sync();
        Published {
            block: self.block,
            memory: self.memory,
            item: PhantomData,
        }
    }

    /// Waits until all that was sent is written, and gives the memory back.
    ///
    /// Collective.
    #[inline(always)]
    pub fn end(self) -> Region {
        Sending::<T>::all_written(self.block);
        self.memory
    }
}

macro_rules! reductions {
    ($($ty:ty { $($verb:ident = $instruction:ident, $what:literal;)+ })+) => {$(
        impl<'b> Published<'b, $ty> {$(
            #[doc = concat!("Starts to combine the first elements, as many as `room` has, with those there: ", $what, ".")]
            ///
            /// Collective.
            ///
            /// Traps where the memory has fewer elements, or where the room's size is no multiple of 16 bytes.
            #[inline(always)]
            pub fn $verb(self, room: Room<'_, $ty>) -> Sending<'b, $ty> {
                let bytes = self.bytes_for(&room);
                if !bytes.is_multiple_of(16) {
                    ptx::trap();
                }
                if self.block.thread() == 0 && bytes > 0 {
                    // SAFETY: the memory was published and nobody writes it until it was read; the room is this block's alone, and aligned.
                    unsafe {
                        ptx::$instruction(room.to.cast(), self.memory.address().get(), bytes);
                        ptx::cp_async_bulk_commit_group();
                    }
                }
                self.sent()
            }
        )+}
    )+};
}

reductions! {
    f32 { reduce_add = cp_reduce_async_bulk_add_f32, "the sum"; }
    f64 { reduce_add = cp_reduce_async_bulk_add_f64, "the sum"; }
    u32 {
        reduce_add = cp_reduce_async_bulk_add_u32, "the sum";
        reduce_min = cp_reduce_async_bulk_min_u32, "the smaller";
        reduce_max = cp_reduce_async_bulk_max_u32, "the larger";
    }
    i32 {
        reduce_add = cp_reduce_async_bulk_add_s32, "the sum";
        reduce_min = cp_reduce_async_bulk_min_s32, "the smaller";
        reduce_max = cp_reduce_async_bulk_max_s32, "the larger";
    }
}

impl<'b, T: Word> Published<'b, T> {
    /// Starts to copy the first elements, as many as `room` has, there.
    ///
    /// Where the last 16 bytes are not whole, one thread stores what there is of them.
    /// Collective.
    ///
    /// Traps where the memory has fewer elements.
    #[inline(always)]
    pub fn store(self, room: Room<'_, T>) -> Sending<'b, T> {
        let bytes = self.bytes_for(&room);
        let (from, whole) = (self.memory.address().get(), bytes & !15);
        if self.block.thread() == 0 {
            // SAFETY: the memory was published and nobody writes it until it was read; the room is this block's alone, and aligned.
            unsafe {
                if whole > 0 {
                    ptx::cp_async_bulk_s2g(room.to.cast(), from, whole);
                    ptx::cp_async_bulk_commit_group();
                }
                if whole < bytes {
                    let first = whole / size_of::<T>() as u32;
                    T::Vector::load_shared(from + whole).for_each(|lane, value| {
                        if first + lane < room.count {
                            room.to.add((first + lane) as usize).write(value);
                        }
                    });
                }
            }
        }
        self.sent()
    }

    /// Starts to copy the first elements, a box, to where `at` is in the tensor; what lies outside of it is left out.
    ///
    /// Collective.
    ///
    /// Traps where the memory is smaller than a box, or does not start at a multiple of 128.
    ///
    /// # Safety
    /// - The tensor is writable, and until the copy is finished nobody else accesses what the box covers of it.
    /// - No coordinate is negative, and the innermost is a multiple of 16 bytes.
    #[inline(always)]
    pub unsafe fn store_box<B: Boxes<Item = T>>(
        self,
        map: &TensorMap<B>,
        at: Uniform<B::At>,
    ) -> Sending<'b, T> {
        let from = self.memory.address().get();
        if B::BYTES > self.memory.bytes().get() || !from.is_multiple_of(128) {
            ptx::trap();
        }
        if self.block.thread() == 0 {
            // SAFETY: the memory was published and nobody writes it until it was read; the rest is the caller's contract.
            unsafe {
                B::store(map.as_raw(), at.get(), from);
                ptx::cp_async_bulk_commit_group();
            }
        }
        self.sent()
    }

    /// Bytes of a room, which the memory must have.
    #[inline(always)]
    fn bytes_for(&self, room: &Room<'_, T>) -> u32 {
        let bytes = room.count * size_of::<T>() as u32;
        if bytes > self.memory.bytes().get() {
            ptx::trap();
        }
        bytes
    }

    #[inline(always)]
    fn sent(self) -> Sending<'b, T> {
        Sending {
            block: self.block,
            memory: self.memory,
            item: PhantomData,
        }
    }
}

impl<'b, T: Word> Sending<'b, T> {
    /// Waits until the memory was read, so that it can be written again; the output may not be written yet.
    ///
    /// Collective.
    #[inline(always)]
    pub fn reuse(self) -> Outgoing<'b, T> {
        if self.block.thread() == 0 {
            // SAFETY: the instruction has no requirement.
            unsafe { ptx::cp_async_bulk_wait_group_read::<0>() };
        }
        self.block.sync();
        Outgoing::new(self.block, self.memory)
    }

    /// Waits until the output is written, and gives the memory back.
    ///
    /// Collective.
    #[inline(always)]
    pub fn finish(self) -> Region {
        Self::all_written(self.block);
        self.memory
    }

    /// The thread that sends waits for all of its copies, and the others for it.
    #[inline(always)]
    fn all_written(block: &Block) {
        if block.thread() == 0 {
            // SAFETY: the instruction has no requirement.
            unsafe { ptx::cp_async_bulk_wait_group::<0>() };
        }
        block.sync();
    }
}

/// The places of a share's tiles in an output, in the order of the share.
#[derive(Debug)]
pub struct Rooms<T> {
    base: *mut T,
    at: u64,
    stride: u64,
    tile: u32,
    ragged: u32,
    left: u32,
}

/// A tile's place in an output, which no other block has and nobody has twice.
#[derive(Debug)]
#[must_use = "a room is to be filled"]
pub struct Room<'o, T> {
    to: *mut T,
    count: u32,
    output: PhantomData<&'o mut T>,
}

impl<T: Word> Out<T> {
    /// Divides the output like the tiles of `share`, each of which this block writes as a whole.
    ///
    /// Traps where the output is shorter than the tiling, or where its first element is not aligned to 16 bytes.
    #[inline(always)]
    pub fn rooms<const PIECES: usize>(self, share: &Share<T, PIECES, GridStride>) -> Rooms<T> {
        if self.width().get() != Width::B16 || share.tiling.len().get() > self.len {
            ptx::trap();
        }
        Rooms {
            base: self.base,
            at: share.start(),
            stride: share.stride(),
            tile: share.tiling.tile().get(),
            ragged: share.ragged,
            left: share.steps().get(),
        }
    }
}

impl<T: Word> Rooms<T> {
    /// The next tile's place; none after the last.
    #[expect(
        clippy::should_implement_trait,
        reason = "every thread of the block takes every room, as no iterator's user would expect"
    )]
    #[inline(always)]
    pub fn next(&mut self) -> Option<Room<'_, T>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let count = if self.left == 0 && self.ragged != 0 {
            self.ragged
        } else {
            self.tile
        };
        let to = self.base.wrapping_add(self.at as usize);
        self.at += self.stride;
        Some(Room {
            to,
            count,
            output: PhantomData,
        })
    }
}

impl<T> Room<'_, T> {
    /// Elements that it has room for.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u32> {
        // SAFETY: a share is made of uniform values.
        unsafe { Uniform::assume(self.count) }
    }

    /// Whether it has room for none.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }
}
