//! Products of small matrices by one warp, in registers.
//!
//! A warp holds a matrix in pieces, a *fragment* in each lane; [`Warp::multiply_add`] multiplies a [`Left`] by a [`Right`] into [`Sums`].
//! Fragments are plain values of two or four registers. Arrays of them are indexed by constants: in a loop that the compiler does not unroll they would land in local memory, which the builder refuses.
//!
//! | elements | left | right | sums |
//! |---|---|---|---|
//! | [`Bf16`], [`F16`] | 16 × 16 | 16 × 8 | 16 × 8 of `f32` |
//! | [`Tf32`] | 16 × 8 | 8 × 8 | 16 × 8 of `f32` |
//!
//! Products of the elements are exact; the sum of a product's terms and the accumulator is cut off below about the 23rd place of its largest part,
//! in an order that the hardware does not tell.

use crate::ptx;
use crate::warp::Warp;
use core::marker::PhantomData;

/// A number of 8 bits of precision with the exponents of `f32`, as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// An IEEE half, as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// An `f32` of which a product looks at the upper 19 bits, as the bits of the `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tf32(pub u32);

impl Bf16 {
    /// The nearest number to `value`, ties to even.
    #[inline(always)]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            // Rounding might carry a NaN over into infinity.
            return Self((bits >> 16) as u16 | 0x40);
        }
        Self((bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16)
    }

    /// The same number as `f32`.
    #[inline(always)]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Bf16 {}
    impl Sealed for super::F16 {}
    impl Sealed for super::Tf32 {}
}

/// An element type of factors: [`Bf16`], [`F16`] or [`Tf32`].
pub trait Factor: Copy + sealed::Sealed {
    /// Columns of a left fragment, rows of a right one.
    const DEPTH: u32;

    /// The instruction.
    ///
    /// # Safety
    /// As for [`ptx::mma_m16n8k16_bf16`].
    #[doc(hidden)]
    unsafe fn multiply(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4];
}

macro_rules! factors {
    ($($ty:ty, $depth:literal, $instruction:ident;)+) => {$(
        impl Factor for $ty {
            const DEPTH: u32 = $depth;

            #[inline(always)]
            unsafe fn multiply(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
                // SAFETY: the caller's contract.
                unsafe { ptx::$instruction(a, b, c) }
            }
        }
    )+};
}

factors! {
    Bf16, 16, mma_m16n8k16_bf16;
    F16, 16, mma_m16n8k16_f16;
    Tf32, 8, mma_m16n8k8_tf32;
}

/// A lane's part of a left factor of 16 rows.
#[derive(Clone, Copy, Debug)]
pub struct Left<T> {
    registers: [u32; 4],
    item: PhantomData<T>,
}

/// A lane's part of a right factor of 8 columns.
#[derive(Clone, Copy, Debug)]
pub struct Right<T> {
    registers: [u32; 2],
    item: PhantomData<T>,
}

impl<T: Factor> Left<T> {
    /// The fragment of these registers.
    ///
    /// Lane `l` has the rows l / 4 (registers 0 and 2) and l / 4 + 8 (1 and 3). Of elements of 2 bytes a register holds the columns 2·(l mod 4) and the next,
    /// counted from 8 in the registers 2 and 3; of elements of 4 bytes it holds the column l mod 4, there counted from 4.
    #[inline(always)]
    pub const fn from_registers(registers: [u32; 4]) -> Self {
        Self {
            registers,
            item: PhantomData,
        }
    }
}

impl<T: Factor> Right<T> {
    /// The fragment of these registers.
    ///
    /// Lane `l` has the column l / 4; its rows are the columns of [`Left::from_registers`], in the register 0 and, counted from the middle on, 1.
    #[inline(always)]
    pub const fn from_registers(registers: [u32; 2]) -> Self {
        Self {
            registers,
            item: PhantomData,
        }
    }
}

/// A lane's part of 16 × 8 sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums([f32; 4]);

impl Sums {
    /// Zeros.
    pub const ZERO: Self = Self([0.0; 4]);

    /// The row of the lane's first two sums; the other two are 8 rows below.
    #[inline(always)]
    pub const fn row(lane: u32) -> u32 {
        lane / 4
    }

    /// The column of the lane's first sum of each row; the second stands beside it.
    #[inline(always)]
    pub const fn column(lane: u32) -> u32 {
        lane % 4 * 2
    }

    /// The sums of the upper row and of the lower one.
    #[inline(always)]
    pub const fn rows(self) -> [[f32; 2]; 2] {
        let [a, b, c, d] = self.0;
        [[a, b], [c, d]]
    }
}

impl Warp<'_> {
    /// Adds the product of `left` and `right` to `sums`.
    ///
    /// Collective.
    #[inline(always)]
    pub fn multiply_add<T: Factor>(&self, left: Left<T>, right: Right<T>, sums: &mut Sums) {
        // SAFETY: collective: the whole warp is here.
        sums.0 = unsafe { T::multiply(left.registers, right.registers, sums.0) };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rounding_goes_to_the_nearest_and_to_even() {
        for (value, bits) in [
            (1.0, 0x3f80),
            (-2.5, 0xc020),
            (f32::from_bits(0x3f80_8000), 0x3f80),
            (f32::from_bits(0x3f81_8000), 0x3f82),
            (f32::from_bits(0x3f80_8001), 0x3f81),
            (f32::MAX, 0x7f80),
            (f32::INFINITY, 0x7f80),
        ] {
            assert_eq!(Bf16::from_f32(value).0, bits, "{value}");
        }
        assert!(
            Bf16::from_f32(f32::from_bits(0x7fff_ffff))
                .to_f32()
                .is_nan()
        );
    }

    #[test]
    fn every_sum_has_one_lane() {
        let places: HashSet<(u32, u32)> = (0..32)
            .flat_map(|lane| {
                let (row, column) = (Sums::row(lane), Sums::column(lane));
                [
                    (row, column),
                    (row, column + 1),
                    (row + 8, column),
                    (row + 8, column + 1),
                ]
            })
            .collect();
        assert_eq!(places.len(), 16 * 8);
        assert!(places.iter().all(|&(row, column)| row < 16 && column < 8));
    }
}
