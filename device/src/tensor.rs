//! Tensors by map: kernel parameters that describe a tensor of 1 to 5 dimensions, and the boxes of it that one copy moves.
//!
//! The box's extents and its swizzle are part of the map's type. So the host encodes what the kernel copies, a ring knows how many bytes a stage gets,
//! and its barrier expects as many: a whole box counts, also where part of it lies outside of the tensor and is filled with zeros.
//!
//! ```
//! use nstage::TensorMap;
//! use nstage::tensor::{Boxes, Tile2};
//!
//! /// 16 rows of 32 columns: 2048 bytes.
//! type Patch = Tile2<f32, 16, 32, 128>;
//! assert_eq!(<Patch as Boxes>::BYTES, 2048);
//!
//! /// A kernel that takes this as a parameter copies boxes of this kind.
//! type Input = TensorMap<Patch>;
//! # let _: Option<Input> = None;
//! ```

use crate::law::law;
use crate::param::{Element, KernelParam, ParamType};
use crate::{Uniform, ptx};
use core::fmt;
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// Dimensions that a tensor has at most.
pub const MOST_RANK: usize = 5;

/// Bytes of an encoded map.
pub const MAP_BYTES: usize = 128;

/// Bytes that a block's shared memory has at most on any GPU with tensor maps.
const MOST_SHARED: usize = 232_448;

/// A box of a tensor, as a type: [`Tile1`] to [`Tile5`].
pub trait Boxes: sealed::Sealed + Copy + 'static {
    /// Type of the elements.
    type Item: Element;
    /// Where a box starts: an element in each dimension, the innermost first. It may lie outside of the tensor.
    type At: Copy + fmt::Debug;

    /// Dimensions.
    const RANK: usize;
    /// Elements in each dimension, the innermost first; ones beyond the rank.
    const EXTENTS: [u32; MOST_RANK];
    /// Bytes of the row in which chunks of 16 are permuted; 0 without swizzle.
    const SWIZZLE: u32;
    /// Bytes of a line of the innermost dimension.
    const LINE: u32;
    /// Bytes of a box.
    const BYTES: u32;
    /// What holds of every box; asking for it makes sure.
    const LAWS: ();

    /// Starts the copy of a box to shared memory, for all blocks of the mask `blocks` if it is not 0.
    ///
    /// # Safety
    /// - `map` is a map of such boxes, readable by bulk copies.
    /// - `dst` is a multiple of 128 with a box of shared memory behind it, which nobody accesses until the phase of the barrier at `mbar`, which expects the box's bytes, is complete; so in every block of the mask.
    unsafe fn load(dst: u32, map: *const ptx::TensorMap, at: Self::At, mbar: u32, blocks: u16);

    /// Starts to copy a box out of shared memory, in the thread's running bulk group.
    ///
    /// # Safety
    /// - `map` is a map of such boxes, of a tensor that is writable and that nobody else accesses there.
    /// - `src` is a multiple of 128 with a box of shared memory behind it, published to bulk copies and not written until the group was waited for.
    unsafe fn store(map: *const ptx::TensorMap, at: Self::At, src: u32);

    /// `at`, moved on by `step` elements of dimension `dimension`.
    fn moved(at: Self::At, dimension: usize, step: u32) -> Self::At;
}

macro_rules! tiles {
    ($($name:ident, $rank:literal, $what:literal, [$($extent:ident)+], $load:ident, $multicast:ident, $store:ident;)+) => {$(
        #[doc = concat!("A box of ", $what, ", with the extents outermost first.")]
        ///
        /// `SWIZZLE` is 0, 32, 64 or 128: the bytes of the row in which chunks of 16 are permuted, so that columns of a box lie in different banks.
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T, $(const $extent: u32,)+ const SWIZZLE: u32 = 0>(PhantomData<T>);

        impl<T, $(const $extent: u32,)+ const SWIZZLE: u32> sealed::Sealed for $name<T, $($extent,)+ SWIZZLE> {}

        impl<T: Element, $(const $extent: u32,)+ const SWIZZLE: u32> Boxes for $name<T, $($extent,)+ SWIZZLE> {
            type Item = T;
            type At = [i32; $rank];

            const RANK: usize = $rank;
            const EXTENTS: [u32; MOST_RANK] = reversed(&[$($extent),+]);
            const SWIZZLE: u32 = SWIZZLE;
            const LINE: u32 = Self::EXTENTS[0] * size_of::<T>() as u32;
            const BYTES: u32 = size_of::<T>() as u32 $(* $extent)+;
            const LAWS: () = {
                $(law($extent >= 1 && $extent <= 256, "a box has 1 to 256 elements in each dimension");)+
                law(
                    SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128,
                    "a swizzle permutes chunks in rows of 32, 64 or 128 bytes; 0 is none",
                );
                law(
                    Self::LINE.is_multiple_of(16),
                    "a line of a box is a multiple of 16 bytes: make the innermost extent a multiple of 16 bytes",
                );
                law(
                    SWIZZLE == 0 || Self::LINE == SWIZZLE,
                    "a line of a swizzled box is as long as the swizzle's row: 32, 64 or 128 bytes",
                );
                law(
                    Self::BYTES.is_multiple_of(128),
                    "a box is a multiple of 128 bytes, so that the next starts where tensor copies may",
                );
            };

            #[inline(always)]
            unsafe fn load(dst: u32, map: *const ptx::TensorMap, at: Self::At, mbar: u32, blocks: u16) {
                let () = Self::LAWS;
                // SAFETY: the caller's contract.
                unsafe {
                    if blocks == 0 {
                        ptx::$load(dst, map, at, mbar)
                    } else {
                        ptx::$multicast(dst, map, at, mbar, blocks)
                    }
                }
            }

            #[inline(always)]
            unsafe fn store(map: *const ptx::TensorMap, at: Self::At, src: u32) {
                let () = Self::LAWS;
                // SAFETY: the caller's contract.
                unsafe { ptx::$store(map, at, src) }
            }

            #[inline(always)]
            fn moved(mut at: Self::At, dimension: usize, step: u32) -> Self::At {
                if let Some(coordinate) = at.get_mut(dimension) {
                    *coordinate = coordinate.wrapping_add(step as i32);
                }
                at
            }
        }
    )+};
}

const fn reversed(extents: &[u32]) -> [u32; MOST_RANK] {
    let mut innermost_first = [1; MOST_RANK];
    let mut at = 0;
    while at < extents.len() {
        innermost_first[extents.len() - 1 - at] = extents[at];
        at += 1;
    }
    innermost_first
}

tiles! {
    Tile1, 1, "a line", [COLUMNS], cp_async_bulk_tensor_1d_g2s, cp_async_bulk_tensor_1d_g2s_multicast, cp_async_bulk_tensor_1d_s2g;
    Tile2, 2, "rows and columns", [ROWS COLUMNS], cp_async_bulk_tensor_2d_g2s, cp_async_bulk_tensor_2d_g2s_multicast, cp_async_bulk_tensor_2d_s2g;
    Tile3, 3, "three dimensions", [PLANES ROWS COLUMNS], cp_async_bulk_tensor_3d_g2s, cp_async_bulk_tensor_3d_g2s_multicast, cp_async_bulk_tensor_3d_s2g;
    Tile4, 4, "four dimensions", [D3 D2 D1 D0], cp_async_bulk_tensor_4d_g2s, cp_async_bulk_tensor_4d_g2s_multicast, cp_async_bulk_tensor_4d_s2g;
    Tile5, 5, "five dimensions", [D4 D3 D2 D1 D0], cp_async_bulk_tensor_5d_g2s, cp_async_bulk_tensor_5d_g2s_multicast, cp_async_bulk_tensor_5d_s2g;
}

/// The address in shared memory where a swizzle of `span` bytes, 0 for none, has what belongs at `address`.
#[inline(always)]
pub(crate) const fn swizzled(address: u32, span: u32) -> u32 {
    if span == 0 {
        return address;
    }
    // The bits above the row's 128 bytes permute its chunks of 16.
    address ^ ((address >> 3) & (span - 1) & !15)
}

/// Whether a ring of `stages` boxes fits in a block's shared memory, barriers included.
pub(crate) const fn fits<B: Boxes>(stages: usize) -> bool {
    stages * (B::BYTES as usize + 8) <= MOST_SHARED
}

/// The map of a tensor that is copied in boxes `B`, by value.
///
/// On `nvptx64` it is the generic address of the parameter, which is aligned to 64 bytes; on the host it is the parameter's 128 bytes, as `nstage-host` makes them.
/// What may be done with the tensor is the kernel's launch contract.
#[repr(transparent)]
pub struct TensorMap<B> {
    #[cfg(target_arch = "nvptx64")]
    address: u64,
    #[cfg(not(target_arch = "nvptx64"))]
    words: Words,
    boxes: PhantomData<B>,
}

/// The bytes of a map, as an entry takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Words([u64; MAP_BYTES / 8]);

impl<B> Clone for TensorMap<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for TensorMap<B> {}

impl<B: Boxes> fmt::Debug for TensorMap<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorMap({:?}{:?})", B::Item::SCALAR, B::EXTENTS)
    }
}

impl<B: Boxes> TensorMap<B> {
    /// The map with this content.
    ///
    /// The bytes are those of a map of boxes `B`, or of what the device that runs the kernel takes for one.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn from_bytes(bytes: &[u8; MAP_BYTES]) -> Self {
        let () = B::LAWS;
        let mut words = [0; MAP_BYTES / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Self {
            words: Words(words),
            boxes: PhantomData,
        }
    }

    /// The map's address, for the instructions of [`crate::ptx`].
    #[inline(always)]
    pub fn as_raw(&self) -> *const ptx::TensorMap {
        #[cfg(target_arch = "nvptx64")]
        {
            self.address as *const ptx::TensorMap
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            (&raw const self.words).cast()
        }
    }

    /// Asks that the map be fetched, so that the first copy does not wait for it.
    #[inline(always)]
    pub fn prefetch(self) {
        // SAFETY: a map is a parameter, which is aligned and readable.
        unsafe { ptx::prefetch_tensormap(self.as_raw()) }
    }
}

impl<B: Boxes> KernelParam for TensorMap<B> {
    type Passed = Words;

    const TYPE: ParamType = ParamType::Map(B::Item::SCALAR);
    const ALIGN: u32 = 64;

    #[inline(always)]
    fn received(_: Words, _address: u64) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            Self {
                address: _address,
                boxes: PhantomData,
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        ptx::trap()
    }

    fn with_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = visit;
            ptx::trap()
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let mut bytes = [0; MAP_BYTES];
            for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.words.0) {
                *to = word.to_le_bytes();
            }
            visit(&bytes);
        }
    }
}

/// Where the next boxes of a row of boxes start.
#[derive(Clone, Copy, Debug)]
pub struct Walk<B: Boxes> {
    at: B::At,
    dimension: usize,
}

impl<B: Boxes> Walk<B> {
    /// Boxes side by side in dimension `dimension`, the first at `at`.
    #[inline(always)]
    pub fn new(at: Uniform<B::At>, dimension: usize) -> Self {
        Self {
            at: at.get(),
            dimension,
        }
    }

    /// Where the next box starts.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> B::At {
        let here = self.at;
        let extent = B::EXTENTS.get(self.dimension).copied().unwrap_or(1);
        self.at = B::moved(here, self.dimension, extent);
        here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Patch = Tile2<f32, 16, 32, 128>;

    #[test]
    fn extents_are_innermost_first_and_bytes_are_their_product() {
        assert_eq!(Patch::EXTENTS, [32, 16, 1, 1, 1]);
        assert_eq!((Patch::LINE, Patch::BYTES), (128, 2048));
        assert_eq!(Tile5::<u8, 2, 3, 4, 1, 16>::EXTENTS, [16, 1, 4, 3, 2]);
        let () = Patch::LAWS;
    }

    #[test]
    fn a_map_is_passed_as_its_bytes() {
        let bytes: [u8; MAP_BYTES] = core::array::from_fn(|at| at as u8);
        let map = TensorMap::<Patch>::from_bytes(&bytes);
        let mut seen = [0; MAP_BYTES];
        map.with_bytes(&mut |blob| seen.copy_from_slice(blob));
        assert_eq!(seen, bytes);
        assert_eq!(TensorMap::<Patch>::TYPE.bytes(), MAP_BYTES);
    }

    #[test]
    fn boxes_lie_side_by_side() {
        // SAFETY: the test is one thread.
        let mut walk = Walk::<Patch>::new(unsafe { Uniform::assume([-4, 8]) }, 1);
        assert_eq!(
            [walk.step(), walk.step(), walk.step()],
            [[-4, 8], [-4, 24], [-4, 40]]
        );
    }

    #[test]
    fn a_swizzle_permutes_the_chunks_of_a_row() {
        for span in [32, 64, 128] {
            for row in (0..4096).step_by(span) {
                let mut seen = 0_u32;
                for chunk in (0..span).step_by(16) {
                    let moved = swizzled((row + chunk) as u32, span as u32) as usize;
                    assert_eq!(moved / span, row / span);
                    seen |= 1 << (moved % span / 16);
                }
                assert_eq!(seen.count_ones() as usize, span / 16);
            }
        }
        // Chunk 1 of the second row of 128 bytes comes first there.
        assert_eq!(swizzled(128 + 16, 128), 128);
        assert_eq!(swizzled(144, 0), 144);
    }

    #[test]
    fn a_ring_of_boxes_fits_or_not() {
        assert!(fits::<Patch>(8));
        assert!(!fits::<Tile2<f32, 64, 256>>(4));
    }
}
