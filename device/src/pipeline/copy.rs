//! Copies into one stage.

use super::mechanism::Mechanism;
use super::outside;
use crate::crew::Crew;
use crate::law::law;
use crate::tensor::{Boxes, TensorMap};
use crate::view::{In, Word};
use crate::{Block, Uniform, ptx};
use core::marker::PhantomData;

/// What a [`memcpy_async`](Copier::memcpy_async) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    at: u32,
    head: u32,
    body: u32,
    tail: u32,
    path: Path,
}

/// How most bytes of a copy went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// In one bulk copy.
    Bulk,
    /// By asynchronous copies of 16 bytes.
    Pieces,
    /// By loads and stores of 16 bytes.
    Direct,
    /// An element at a time: there are no 16 aligned bytes.
    Elements,
}

impl Copied {
    /// The element of the stage at which the copied ones start.
    #[inline(always)]
    pub fn at(&self) -> Uniform<u32> {
        // SAFETY: made of uniform values.
        unsafe { Uniform::assume(self.at) }
    }

    /// How most bytes went.
    #[inline(always)]
    pub fn path(&self) -> Uniform<Path> {
        // SAFETY: made of uniform values.
        unsafe { Uniform::assume(self.path) }
    }

    /// Bytes before the first 16 aligned ones, those in them, and those behind.
    #[inline(always)]
    pub fn bytes(&self) -> Uniform<[u32; 3]> {
        // SAFETY: made of uniform values.
        unsafe { Uniform::assume([self.head, self.body, self.tail]) }
    }
}

/// This thread copies `bytes` bytes, a multiple of 4 below 16, by loads and stores.
///
/// # Safety
/// - Both addresses are multiples of 4, with as many readable and writable bytes behind them.
#[inline(always)]
unsafe fn carry(to: u32, src: *const u8, bytes: u32) {
    let mut offset = 0;
    while offset < bytes {
        // SAFETY: the caller's contract.
        unsafe {
            let word = src.wrapping_add(offset as usize).cast::<u32>().read();
            ptx::st_shared_u32(to + offset, [word]);
        }
        offset += 4;
    }
}

/// Who receives a bulk copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast {
    /// Blocks that receive every copy; 1 without multicast.
    blocks: u32,
    /// This block among them.
    rank: u32,
}

impl Cast {
    /// This block alone.
    pub(crate) const ALONE: Self = Self { blocks: 1, rank: 0 };

    /// All `blocks` blocks of the cluster, of which this one is `rank`.
    #[inline(always)]
    pub(crate) fn cluster(blocks: u32, rank: u32) -> Self {
        Self { blocks, rank }
    }

    /// Blocks that receive.
    #[inline(always)]
    pub(crate) fn blocks(self) -> u32 {
        self.blocks
    }

    /// Starts the copy of `bytes` bytes; with multicast, of this block's share of them to all, who copy the other shares.
    ///
    /// # Safety
    /// - As for [`ptx::cp_async_bulk_g2s`], in every block that receives; there the barrier expects all `bytes` bytes.
    #[inline(always)]
    unsafe fn copy(self, to: u32, src: *const u8, bytes: u32, barrier: u32) {
        if self.blocks == 1 {
            // SAFETY: the caller's contract.
            return unsafe { ptx::cp_async_bulk_g2s(to, src, bytes, barrier) };
        }
        let share = (bytes / 16).div_ceil(self.blocks) * 16;
        let start = (self.rank * share).min(bytes);
        let size = share.min(bytes - start);
        if size > 0 {
            let all = ((1_u32 << self.blocks) - 1) as u16;
            // SAFETY: the caller's contract; the shares lie behind one another in the span.
            unsafe {
                ptx::cp_async_bulk_g2s_multicast(
                    to + start,
                    src.wrapping_add(start as usize),
                    size,
                    barrier,
                    all,
                )
            }
        }
    }
}

/// The right to fill one stage.
///
/// Spans are appended behind one another, so no two copies meet.
#[derive(Debug)]
pub struct Copier<'s, M> {
    address: u32,
    bytes: u32,
    used: u32,
    /// The stage's barrier, where the mechanism has barriers.
    barrier: u32,
    cast: Cast,
    stage: PhantomData<(&'s mut (), M)>,
}

impl<M: Mechanism> Copier<'_, M> {
    #[inline(always)]
    pub(crate) fn new(address: u32, bytes: u32, barrier: u32, cast: Cast) -> Self {
        Self {
            address,
            bytes,
            used: 0,
            barrier,
            cast,
            stage: PhantomData,
        }
    }

    /// The rights to fill the first half of the stage and the second.
    #[inline(always)]
    pub(crate) fn halves(self) -> (Self, Self) {
        let bytes = self.bytes / 2;
        let half = |address| Self::new(address, bytes, self.barrier, self.cast);
        (half(self.address), half(self.address + bytes))
    }

    /// The stage's first byte in the `.shared` window.
    #[inline(always)]
    pub(crate) fn address(&self) -> u32 {
        self.address
    }

    /// The whole crew copies the elements `start..start + count` of `from` behind what the stage holds already, `BYTES` at a time.
    ///
    /// Returns the element of the stage at which they start; the next span starts at a multiple of 16 bytes again.
    /// Where the last piece is not whole, zeros follow the elements.
    /// Collective.
    ///
    /// Traps where the stage has no room, where `from` ends before `start + count`, or where the first element's address is no multiple of `BYTES`.
    #[inline(always)]
    pub fn append<T: Word, const BYTES: usize>(
        &mut self,
        crew: Crew,
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
        if M::BULK {
            const {
                law(
                    !M::BULK || BYTES == 16,
                    "a bulk copy starts at multiples of 16 bytes: append pieces of 16",
                )
            };
            // SAFETY: the source bytes lie in the view; the destination lies in the stage, in the part that no earlier span took; both addresses are multiples of 16.
            unsafe { self.bulk(crew, at, first, total) };
        }
        let step = crew.threads * BYTES as u32;
        let mut offset = crew.thread * BYTES as u32;
        while !M::BULK && offset < total {
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

    /// One thread of the crew starts the copy of the box of `map` that starts at `at`, behind what the stage holds already; the stage's barrier expects its bytes.
    ///
    /// With multicast, one block's copy is for all of the cluster, where every block asks for the same box.
    /// Collective.
    ///
    /// Traps where the stage has no room for the box, or where that does not start at a multiple of 128 bytes.
    #[inline(always)]
    pub fn append_box<B: Boxes>(&mut self, crew: Crew, map: &TensorMap<B>, at: Uniform<B::At>) {
        const {
            law(
                M::BULK,
                "a tensor copy is waited for at a stage's barrier that counts bytes: take a ring over `Bulk`",
            )
        };
        let () = B::LAWS;
        let to = self.address + self.used;
        if B::BYTES > self.bytes - self.used || !to.is_multiple_of(128) {
            outside();
        }
        self.used += B::BYTES;
        if crew.thread != 0 {
            return;
        }
        let blocks = match self.cast.blocks {
            1 => 0,
            blocks => ((1_u32 << blocks) - 1) as u16,
        };
        // SAFETY: the box fits the stage, in the part that nothing was appended to; the map is one of such boxes, which the kernel's launch contract allows to read;
        // the stage's barrier lives, and its phase cannot complete before this thread's own arrival.
        unsafe {
            ptx::mbarrier_expect_tx(self.barrier, B::BYTES);
            if self.cast.rank == 0 {
                B::load(to, map.as_raw(), at.get(), self.barrier, blocks);
            }
        }
    }

    /// The whole crew copies the elements `start..start + count` of `from`, whatever their alignment, by the widest copies there are.
    ///
    /// The elements go where their addresses are the same modulo 16 as in `from`, so that all but the first and last few bytes move 16 at a time, or in one bulk copy;
    /// [`Copied`] says where that is and how the bytes went there.
    /// Collective.
    ///
    /// Traps where the stage has no room, or where `from` ends before `start + count`.
    #[inline(always)]
    pub fn memcpy_async<T: Word>(
        &mut self,
        crew: Crew,
        from: &In<T>,
        start: Uniform<u64>,
        count: Uniform<u32>,
    ) -> Copied {
        let (start, count) = (start.get(), count.get());
        if start > from.len || u64::from(count) > from.len - start {
            outside();
        }
        let first = from.base.wrapping_add(start as usize).cast::<u8>();
        let skew = (first as u64 % 16) as u32;
        let at = self.used + skew;
        let size = size_of::<T>() as u32;
        if at > self.bytes || count > (self.bytes - at) / size {
            outside();
        }
        let total = count * size;
        let head = ((16 - skew) % 16).min(total);
        let body = (total - head) & !15;
        let tail = total - head - body;
        self.used = (at + total).next_multiple_of(16).min(self.bytes);
        let to = self.address + at;
        // SAFETY: the elements lie in the view and in the part of the stage that no earlier span took; head, body and tail do not meet;
        // source and destination are the same modulo 16, so the body's are multiples of 16, and all are multiples of the element's size.
        unsafe {
            if M::BULK {
                self.bulk(crew, at + head, first.wrapping_add(head as usize), body);
                if crew.thread == 0 {
                    carry(to, first, head);
                    carry(
                        to + head + body,
                        first.wrapping_add((head + body) as usize),
                        tail,
                    );
                }
            } else {
                let mut offset = head + crew.thread * 16;
                while offset < head + body {
                    M::copy::<16>(to + offset, first.wrapping_add(offset as usize));
                    offset += crew.threads * 16;
                }
                // The few bytes at both ends, an element a thread.
                let mut end = crew.thread * size;
                while end < head + tail {
                    let offset = if end < head { end } else { end + body };
                    let src = first.wrapping_add(offset as usize);
                    if size_of::<T>() == 8 {
                        M::copy::<8>(to + offset, src);
                    } else {
                        M::copy::<4>(to + offset, src);
                    }
                    end += crew.threads * size;
                }
            }
        }
        Copied {
            at: at / size,
            head,
            body,
            tail,
            path: match (body, M::BULK, M::ASYNCHRONOUS) {
                (0, ..) => Path::Elements,
                (_, true, _) => Path::Bulk,
                (_, _, true) => Path::Pieces,
                (_, _, false) => Path::Direct,
            },
        }
    }

    /// One thread starts the copy of `bytes` bytes to `offset` bytes behind the stage's start; where the last 16 bytes are not whole, it carries them itself, with zeros behind.
    ///
    /// The stage's barrier expects what the copy brings: both take the same number.
    ///
    /// # Safety
    /// - The mechanism is [`Bulk`](super::Bulk).
    /// - `src` and `offset` are multiples of 16, `bytes` is one of 4, and as many bytes of global memory and of the stage are behind them; the last 16 bytes of the stage are whole.
    /// - Nobody accesses the destination or writes the source until the stage was waited for.
    #[inline(always)]
    pub(crate) unsafe fn bulk(&self, crew: Crew, offset: u32, src: *const u8, bytes: u32) {
        if crew.thread != 0 {
            return;
        }
        let (to, whole) = (self.address + offset, bytes & !15);
        // SAFETY: the caller's contract; the stage's barrier lives and its phase cannot complete before this thread's own arrival.
        unsafe {
            if whole > 0 {
                ptx::mbarrier_expect_tx(self.barrier, whole);
                self.cast.copy(to, src, whole, self.barrier);
            }
            if whole < bytes {
                for word in 0..4 {
                    let at = whole + word * 4;
                    let value = if at < bytes {
                        src.wrapping_add(at as usize).cast::<u32>().read()
                    } else {
                        0
                    };
                    ptx::st_shared_u32(to + at, [value]);
                }
            }
        }
    }

    /// The same from the stage's start on, of a number of bytes that is a multiple of 16 and not zero: nothing is asked that cannot be otherwise.
    ///
    /// # Safety
    /// - As for [`bulk`](Copier::bulk).
    #[inline(always)]
    pub(crate) unsafe fn bulk_whole(&self, crew: Crew, src: *const u8, bytes: u32) {
        if crew.thread != 0 {
            return;
        }
        // SAFETY: the caller's contract; the stage's barrier lives and its phase cannot complete before this thread's own arrival.
        unsafe {
            ptx::mbarrier_expect_tx(self.barrier, bytes);
            self.cast.copy(self.address, src, bytes, self.barrier);
        }
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
