//! Matrix instructions: who holds which element, and what is computed.
//!
//! A warp or four warps hold a matrix in pieces, a *fragment* a lane. Each module says, as arithmetic and not as a table,
//! which row and column a lane's n-th element is, and every such map is proved a bijection by exhaustion in its tests.
//! Registers arrive as rows of 32 lanes, and nothing here allocates, reads memory or panics: the executor moves the bytes.
//!
//! | instruction | module |
//! |---|---|
//! | `mma.sync` | [`mma`], its layouts in [`fragment`], the oldest shape in [`quad`] |
//! | `wmma.load`, `wmma.store`, `wmma.mma` | [`wmma`] |
//! | `ldmatrix`, `stmatrix`, `movmatrix` | [`rows`] |
//! | `wgmma.mma_async` | [`wgmma`], its descriptors in [`descriptor`] |
//! | `cp.async.bulk.tensor` | [`tensor_map`], its boxes in [`tensor_box`], as text in [`tensor_text`] |
//!
//! # Precision
//! The ISA leaves open in which order products are added and how sums are rounded on the way. Here products are exact,
//! they are added in f64 to the accumulator in order of k, and the sum is rounded once, to nearest, into the type of the result.
//! Tensor cores are less exact: they align the addends of a step to the largest and cut off what is below its f32 unit or so.
//! [`tolerance`] bounds how far a device may be from what is computed here. Integer results are exact.

pub mod descriptor;
pub mod element;
pub mod fragment;
pub mod mma;
pub mod quad;
pub mod rows;
pub mod swizzle;
pub mod tensor_box;
pub mod tensor_map;
pub mod tensor_text;
pub mod wgmma;
pub mod wmma;

#[cfg(test)]
mod tests;

/// One 32-bit register of a warp, by lane.
pub type Row = [u32; 32];

/// How far a device's f32 result may be from ours, where `magnitude` is the sum of the absolute values of the products and the accumulator.
///
/// Each of the `k` products and the accumulator may lose up to one unit in the 23rd place of the largest intermediate value, which `magnitude` bounds.
#[must_use]
pub fn tolerance(k: usize, magnitude: f64) -> f64 {
    (k + 1) as f64 * magnitude / f64::from(1u32 << 23)
}
