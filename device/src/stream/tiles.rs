//! One-dimensional tiles as the source of a stream.

use super::{Kind, Left, Source};
use crate::crew::Crew;
use crate::law::law;
use crate::pipeline::{BlockScope, Copier, Mechanism, ReadSlot};
use crate::view::{Assignment, In, Packed, Piece, Share, Striped, Tiling, Vector, Width, Word};
use crate::{Uniform, ptx};

/// The tiles of a share of an [`In`].
///
/// `ALIGNED` tiles are copied in pieces of 16 bytes, by the quickest code.
/// Others are copied as wide as the view's alignment allows, 16, 8 or 4 bytes at a time; [`width`](Tiles::width) says which.
#[derive(Clone, Debug)]
pub struct Tiles<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment> {
    share: Share<T, PIECES, A>,
    width: Width,
    /// Where the next tile to copy starts.
    source: *const u8,
    /// Element at which the next tile to hand out starts.
    start: u64,
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment>
    Tiles<T, PIECES, ALIGNED, A>
{
    /// The tiles of `share`, read from `from`.
    ///
    /// Traps where `from` is shorter than the tiling, or `ALIGNED` is claimed of a view that is not; ask [`In::width`] first.
    #[inline(always)]
    pub fn new(from: In<T>, share: Share<T, PIECES, A>) -> Self {
        let width = if ALIGNED {
            Width::B16
        } else {
            from.width().get()
        };
        if share.tiling.len().get() > from.len || (ALIGNED && from.width().get() != Width::B16) {
            ptx::trap();
        }
        let start = share.start();
        let source = from.base.wrapping_add(start as usize).cast();
        Self {
            share,
            width,
            source,
            start,
        }
    }

    /// The tiling.
    #[inline(always)]
    pub fn tiling(&self) -> Tiling<T, PIECES> {
        self.share.tiling
    }

    /// The copies that are made: the path that the alignment allows.
    #[inline(always)]
    pub fn width(&self) -> Uniform<Width> {
        // SAFETY: taken from a uniform view.
        unsafe { Uniform::assume(self.width) }
    }

    /// Steps at the end that are not whole tiles: one or none.
    #[inline(always)]
    fn ragged_steps(&self) -> u32 {
        u32::from(self.share.ragged != 0)
    }

    /// Copies this thread's part of a whole tile, 16 bytes at a time.
    #[inline(always)]
    fn copy_whole<M: Mechanism>(&self, crew: Crew, stage: &Copier<'_, M>) {
        for piece in 0..PIECES as u32 {
            let offset = (piece * crew.threads + crew.thread) * 16;
            // SAFETY: the tile lies in the view and the stage is as large as a tile; threads and pieces have different places;
            // only aligned views come here, and tiles and stages start at multiples of 16 bytes.
            unsafe {
                M::copy::<16>(
                    stage.address() + offset,
                    self.source.wrapping_add(offset as usize),
                );
            }
        }
    }

    /// Copies this thread's part of the first `bytes` bytes of a tile, `BYTES` at a time, and fills the rest of the stage with zeros.
    #[inline(always)]
    fn copy_prefix<M: Mechanism, const BYTES: usize>(
        &self,
        crew: Crew,
        stage: &Copier<'_, M>,
        bytes: u32,
    ) {
        let step = crew.threads * BYTES as u32;
        let end = crew.threads * (PIECES * 16) as u32;
        let mut offset = crew.thread * BYTES as u32;
        // The end test counts bytes, not rounds: the compiler cannot tell how often it holds, and so keeps the loop a loop.
        loop {
            for _ in 0..16 / BYTES {
                let size = bytes.saturating_sub(offset).min(BYTES as u32);
                // SAFETY: no byte behind those that exist is read, and the stage is as large as a tile; threads and rounds have different places;
                // the view's width is at least `BYTES`, and tiles and stages start at multiples of 16 bytes.
                unsafe {
                    M::copy_prefix::<BYTES>(
                        stage.address() + offset,
                        self.source.wrapping_add(offset as usize),
                        size,
                    );
                }
                offset += step;
            }
            if PIECES == 1 || offset >= end {
                break;
            }
        }
    }
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment>
    Tiles<T, PIECES, ALIGNED, A>
{
    /// As [`copy_prefix`](Tiles::copy_prefix), by a crew that the tiles were not made for.
    #[inline(always)]
    fn copy_by<M: Mechanism, const BYTES: usize>(
        &self,
        crew: Crew,
        stage: &Copier<'_, M>,
        bytes: u32,
    ) {
        let end = self.share.tiling.tile().get() * size_of::<T>() as u32;
        let mut offset = crew.thread * BYTES as u32;
        while offset < end {
            let size = bytes.saturating_sub(offset).min(BYTES as u32);
            // SAFETY: as for `copy_prefix`; the end of a tile is a multiple of 16 bytes.
            unsafe {
                M::copy_prefix::<BYTES>(
                    stage.address() + offset,
                    self.source.wrapping_add(offset as usize),
                    size,
                );
            }
            offset += crew.threads * BYTES as u32;
        }
    }
}

impl<T: Word, const PIECES: usize, const ALIGNED: bool, A: Assignment> Source
    for Tiles<T, PIECES, ALIGNED, A>
{
    type Item = T;
    type Tile<'s> = Tile<'s, T, PIECES, A>;

    #[inline(always)]
    fn stage_len(&self) -> Uniform<u32> {
        self.share.tiling.tile()
    }

    #[inline(always)]
    fn suits(&self, threads: u32) -> bool {
        self.share.tiling.tile().get() == Tiling::<T, PIECES>::elements(threads)
    }

    #[inline(always)]
    fn steps(&self) -> Uniform<u32> {
        self.share.steps()
    }

    #[inline(always)]
    fn irregular_steps(&self) -> Uniform<u32> {
        // SAFETY: a share is made of uniform values.
        unsafe { Uniform::assume(self.ragged_steps()) }
    }

    #[inline(always)]
    fn refill<M: Mechanism>(&mut self, crew: Crew, stage: Copier<'_, M>, left: Left) {
        const {
            law(
                ALIGNED || !M::BULK,
                "bulk copies start at multiples of 16 bytes: take `M::Unaligned` for other tiles",
            )
        };
        let whole = left.more_than(self.ragged_steps());
        if M::BULK && whole && left.steady() {
            let bytes = self.share.tiling.tile().get() * size_of::<T>() as u32;
            // SAFETY: as below; a whole tile is a number of 16-byte pieces.
            unsafe { stage.bulk_whole(crew, self.source, bytes) };
        } else if M::BULK {
            if !left.more_than(0) {
                return;
            }
            let elements = if whole {
                self.share.tiling.tile().get()
            } else {
                self.share.ragged
            };
            // SAFETY: the tile's elements lie in the view and the stage is as large as a tile; only aligned views come here, and tiles and stages start at multiples of 16 bytes.
            unsafe { stage.bulk(crew, 0, self.source, elements * size_of::<T>() as u32) };
        } else if !self.suits(crew.threads) {
            if !left.more_than(0) {
                return;
            }
            let elements = if whole {
                self.share.tiling.tile().get()
            } else {
                self.share.ragged
            };
            let bytes = elements * size_of::<T>() as u32;
            match self.width {
                Width::B16 => self.copy_by::<M, 16>(crew, &stage, bytes),
                Width::B8 => self.copy_by::<M, 8>(crew, &stage, bytes),
                Width::B4 => self.copy_by::<M, 4>(crew, &stage, bytes),
            }
        } else if ALIGNED && whole && left.steady() {
            self.copy_whole(crew, &stage);
        } else if left.more_than(0) {
            let elements = if whole {
                self.share.tiling.tile().get()
            } else {
                self.share.ragged
            };
            let bytes = elements * size_of::<T>() as u32;
            match self.width {
                Width::B16 => self.copy_prefix::<M, 16>(crew, &stage, bytes),
                Width::B8 => self.copy_prefix::<M, 8>(crew, &stage, bytes),
                Width::B4 => self.copy_prefix::<M, 4>(crew, &stage, bytes),
            }
        } else {
            return;
        }
        let stride = self.share.stride() * size_of::<T>() as u64;
        self.source = self.source.wrapping_add(stride as usize);
    }

    #[inline(always)]
    fn tile<'s>(
        &mut self,
        crew: Crew,
        slot: ReadSlot<'s, T, BlockScope>,
        left: u32,
        kind: Kind,
    ) -> Tile<'s, T, PIECES, A> {
        let share = self.share;
        let whole = share.tiling.tile().get();
        // The ragged tile is the end of all; told so, the loop over whole tiles need not count up to it.
        let (start, len) = match kind {
            Kind::Regular => (self.start, whole),
            Kind::Irregular => (share.end() - u64::from(share.ragged), share.ragged),
            Kind::Either if left > self.ragged_steps() => (self.start, whole),
            Kind::Either => (self.start, share.ragged),
        };
        self.start += share.stride();
        Tile {
            slot,
            share,
            start,
            len,
            whole: kind == Kind::Regular,
            thread: crew.thread,
            threads: crew.threads,
        }
    }
}

/// A tile in its stage.
#[derive(Debug)]
pub struct Tile<'s, T: Word, const PIECES: usize, A: Assignment> {
    slot: ReadSlot<'s, T, BlockScope>,
    share: Share<T, PIECES, A>,
    start: u64,
    /// Elements that exist.
    len: u32,
    /// Whether the tile is known to be whole; a constant wherever it is asked.
    whole: bool,
    thread: u32,
    threads: u32,
}

impl<T: Word, const PIECES: usize, A: Assignment> Tile<'_, T, PIECES, A> {
    /// Calls `f` with each of this thread's packed pieces that holds an element, in order.
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(Piece<T, PIECES, A, Packed>)) {
        let lanes = T::Vector::LANES;
        if self.whole {
            let places: [u32; PIECES] =
                core::array::from_fn(|piece| piece as u32 * self.threads + self.thread);
            // All loads before the first use: the uses need not wait for one another.
            // SAFETY: a tile has `PIECES` vectors a thread.
            let values = places.map(|place| unsafe { self.slot.vector_at(place * 16) });
            for (place, values) in places.into_iter().zip(values) {
                let at = self.start + u64::from(place * lanes);
                f(self.share.piece(at, 1, lanes, values));
            }
        } else {
            let mut place = self.thread;
            loop {
                let count = self.len.saturating_sub(place * lanes).min(lanes);
                if count > 0 {
                    // SAFETY: a tile has `PIECES` vectors a thread; the copies filled a ragged one up with zeros.
                    let values = unsafe { self.slot.vector_at(place * 16) };
                    let at = self.start + u64::from(place * lanes);
                    f(self.share.piece(at, 1, count, values));
                }
                place += self.threads;
                // A loop that stays one, as in `copy_prefix`.
                if PIECES == 1 || place >= self.threads * PIECES as u32 {
                    break;
                }
            }
        }
    }

    /// Calls `f` with each of this thread's striped pieces that holds an element, in order.
    #[inline(always)]
    pub fn each_striped(self, mut f: impl FnMut(Piece<T, PIECES, A, Striped>)) {
        let lanes = T::Vector::LANES;
        let mut place = self.thread;
        loop {
            let first = place;
            let mut count = 0;
            let values = T::Vector::from_fn(|_| {
                count += u32::from(place < self.len);
                // SAFETY: a tile has `PIECES` · lanes elements a thread; the copies filled a ragged one up with zeros.
                let value = unsafe { self.slot.element_at(place * size_of::<T>() as u32) };
                place += self.threads;
                value
            });
            if count > 0 {
                let at = self.start + u64::from(first);
                f(self.share.piece(at, self.threads, count, values));
            }
            // A loop that stays one, as in `copy_prefix`.
            if PIECES == 1 || place >= self.threads * PIECES as u32 * lanes {
                break;
            }
        }
    }

    /// The elements at the places of a packed piece, which is one of this tile's thread and of a tile at the same place.
    #[inline(always)]
    pub(super) fn values_at(&self, piece: &Piece<T, PIECES, A, Packed>) -> T::Vector {
        let place = (piece.at() - self.start) as u32;
        // SAFETY: the piece lies in a tile as large as this one, at a multiple of 16 bytes; the copies filled a ragged one up with zeros.
        unsafe { self.slot.vector_at(place * size_of::<T>() as u32) }
    }

    /// The elements at the places of a striped piece, likewise.
    #[inline(always)]
    pub(super) fn striped_at(&self, piece: &Piece<T, PIECES, A, Striped>) -> T::Vector {
        let mut place = (piece.at() - self.start) as u32;
        T::Vector::from_fn(|_| {
            // SAFETY: as above; a piece has a place for each lane, with zeros where no element is.
            let value = unsafe { self.slot.element_at(place * size_of::<T>() as u32) };
            place += self.threads;
            value
        })
    }

    /// Elements of the tile.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u32> {
        // SAFETY: a tile is made of uniform values.
        unsafe { Uniform::assume(self.len) }
    }

    /// Whether the tile has no elements; none is handed out so.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }
}
