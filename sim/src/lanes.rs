//! Registers of a warp and instructions that only touch them.
//!
//! A register is a row of 32 lanes. A register-only instruction is a function over rows, made from a scalar closure:
//! [`lane2`] turns `|a: i32, b: i32| a.wrapping_add(b)` into a loop that the compiler vectorises, once for the
//! baseline and once for AVX2 with FMA; [`LaneOp`] holds the one that this machine can run, so that nothing is decided a step.

use crate::program::op::{LaneFn, LaneOp, Reg};

/// Lanes in a warp.
pub(crate) const LANES: usize = 32;

/// The lanes of one register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row<T>(pub(crate) [T; LANES]);

/// The register file of one warp, a row a register.
///
/// Registers of 8, 16 and 32 bits live in `r32`, zero-extended; those of 64 bits in `r64`; one of 128 bits is two of `r64`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    pub(crate) r32: Vec<Row<u32>>,
    pub(crate) r64: Vec<Row<u64>>,
    pub(crate) pred: Vec<u32>,
}

impl Registers {
    /// The lanes of a 32-bit register.
    #[inline(always)]
    pub(crate) fn row32(&self, index: Reg) -> &[u32; LANES] {
        &self.r32[index as usize].0
    }

    /// The lanes of a 64-bit register.
    #[inline(always)]
    pub(crate) fn row64(&self, index: Reg) -> &[u64; LANES] {
        &self.r64[index as usize].0
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set32(&mut self, index: Reg, values: &[u32; LANES], mask: u32) {
        blend(&mut self.r32[index as usize].0, values, mask);
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set64(&mut self, index: Reg, values: &[u64; LANES], mask: u32) {
        blend(&mut self.r64[index as usize].0, values, mask);
    }

    /// Writes the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn set_pred(&mut self, index: Reg, values: u32, mask: u32) {
        let lanes = &mut self.pred[index as usize];
        *lanes = (*lanes & !mask) | (values & mask);
    }
}

#[inline(always)]
fn blend<T: Copy>(into: &mut [T; LANES], values: &[T; LANES], mask: u32) {
    if mask == u32::MAX {
        *into = *values;
    } else {
        for lane in 0..LANES {
            into[lane] = if mask >> lane & 1 != 0 {
                values[lane]
            } else {
                into[lane]
            };
        }
    }
}

/// The lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Which part of the register file a value lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum File {
    /// Up to 32 bits.
    R32,
    /// 64 bits.
    R64,
    /// One bit a lane.
    Pred,
}

/// A type that a lane can hold.
pub(crate) trait Lane: Copy {
    /// Where its registers are.
    const FILE: File;
    /// How the register holds it.
    type Bits: Copy + Default;
    /// A register opened for reading.
    type Source<'a>;
    /// Opens a register for reading.
    fn open(registers: &Registers, index: Reg) -> Self::Source<'_>;
    /// One lane of it.
    fn get(source: &Self::Source<'_>, lane: usize) -> Self;
    /// The value as the register holds it.
    fn bits(self) -> Self::Bits;
    /// Writes the lanes of `mask`.
    fn write_bits(registers: &mut Registers, index: Reg, values: &[Self::Bits; LANES], mask: u32);
    /// Writes the lanes of `mask`.
    #[inline(always)]
    fn write(registers: &mut Registers, index: Reg, values: &[Self; LANES], mask: u32) {
        Self::write_bits(registers, index, &values.map(Self::bits), mask);
    }
}

macro_rules! lane_types {
    ($($ty:ty: $file:ident $bits:ident $row:ident $set:ident, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            const FILE: File = File::$file;
            type Bits = $bits;
            type Source<'a> = &'a [$bits; LANES];
            #[inline(always)]
            fn open(registers: &Registers, index: Reg) -> Self::Source<'_> {
                registers.$row(index)
            }
            #[inline(always)]
            fn get(source: &Self::Source<'_>, lane: usize) -> Self {
                ($from)(source[lane])
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                ($to)(self)
            }
            #[inline(always)]
            fn write_bits(registers: &mut Registers, index: Reg, values: &[$bits; LANES], mask: u32) {
                registers.$set(index, values, mask);
            }
        }
    )*};
}

lane_types! {
    u8: R32 u32 row32 set32, |bits| bits as u8, u32::from;
    i8: R32 u32 row32 set32, |bits| bits as i8, |value| u32::from(value as u8);
    u16: R32 u32 row32 set32, |bits| bits as u16, u32::from;
    i16: R32 u32 row32 set32, |bits| bits as i16, |value| u32::from(value as u16);
    u32: R32 u32 row32 set32, |bits| bits, |value| value;
    i32: R32 u32 row32 set32, |bits| bits as i32, |value| value as u32;
    f32: R32 u32 row32 set32, f32::from_bits, f32::to_bits;
    u64: R64 u64 row64 set64, |bits| bits, |value| value;
    i64: R64 u64 row64 set64, |bits| bits as i64, |value| value as u64;
    f64: R64 u64 row64 set64, f64::from_bits, f64::to_bits;
}

impl Lane for bool {
    const FILE: File = File::Pred;
    type Bits = bool;
    type Source<'a> = u32;
    #[inline(always)]
    fn open(registers: &Registers, index: Reg) -> u32 {
        registers.pred[index as usize]
    }
    #[inline(always)]
    fn get(source: &u32, lane: usize) -> Self {
        source >> lane & 1 != 0
    }
    #[inline(always)]
    fn bits(self) -> bool {
        self
    }
    #[inline(always)]
    fn write_bits(registers: &mut Registers, index: Reg, values: &[bool; LANES], mask: u32) {
        registers.set_pred(index, pack(values), mask);
    }
}

/// One bit a lane.
#[inline(always)]
pub(crate) fn pack(values: &[bool; LANES]) -> u32 {
    let mut mask = 0;
    for group in 0..LANES / 8 {
        let mut bytes = [0; 8];
        for (lane, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from(values[group * 8 + lane]);
        }
        // The product moves byte k's low bit to bit 56 + k.
        let bits = u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (group * 8);
    }
    mask
}

/// Whether the variants for AVX2 and FMA can run here.
pub(crate) fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("avx2")
            && has!("fma")
            && has!("f16c")
            && has!("bmi1")
            && has!("bmi2")
            && has!("lzcnt")
            && has!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Defines a method twice from one body: for the baseline, and for AVX2 and its like, taken where the group's `wide` says that they are there.
///
/// Only what is inlined into the second is compiled for it, so the body calls functions that are always inlined, and no iterator adaptors.
macro_rules! twice {
    ($(#[$doc:meta])* $vis:vis fn $name:ident / $wide:ident / $body:ident (&mut $self:ident $(, $arg:ident: $ty:ty)*) -> $ret:ty $code:block) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "one method, written once and defined three times")]
        fn $body(&mut $self $(, $arg: $ty)*) -> $ret $code

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        #[allow(clippy::too_many_arguments, reason = "see above")]
        fn $wide(&mut $self $(, $arg: $ty)*) -> $ret {
            $self.$body($($arg),*)
        }

        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "see above")]
        $vis fn $name(&mut $self $(, $arg: $ty)*) -> $ret {
            #[cfg(target_arch = "x86_64")]
            if $self.wide {
                // SAFETY: `wide` says that this machine has the instructions.
                return unsafe { $self.$wide($($arg),*) };
            }
            $self.$body($($arg),*)
        }
    };
}
pub(crate) use twice;

/// The value of a closure type without captures.
#[inline(always)]
fn closure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a lane closure captures nothing") };
    // SAFETY: the type has no bytes, it is `Copy`, and a value of it was handed to the function that made this instance.
    unsafe { std::mem::zeroed() }
}

macro_rules! lane_arity {
    ($(#[$doc:meta])* $lane:ident, $body:ident, $base:ident, $avx2:ident, ($($ty:ident $value:ident $field:ident),+)) => {
        #[inline(always)]
        fn $body<D: Lane, $($ty: Lane,)+ F: Fn($($ty),+) -> D + Copy>(registers: &mut Registers, op: &LaneOp, mask: u32) {
            let f = closure::<F>();
            // A plain loop: what `array::from_fn` and `map` call is compiled for the baseline wherever it is not inlined.
            let mut results = [D::Bits::default(); LANES];
            {
                $(let $value = $ty::open(registers, op.$field);)+
                for (lane, result) in results.iter_mut().enumerate() {
                    *result = f($($ty::get(&$value, lane)),+).bits();
                }
            }
            D::write_bits(registers, op.d, &results, mask);
        }

        fn $base<D: Lane, $($ty: Lane,)+ F: Fn($($ty),+) -> D + Copy>(registers: &mut Registers, op: &LaneOp, mask: u32) {
            $body::<D, $($ty,)+ F>(registers, op, mask);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        fn $avx2<D: Lane, $($ty: Lane,)+ F: Fn($($ty),+) -> D + Copy>(registers: &mut Registers, op: &LaneOp, mask: u32) {
            $body::<D, $($ty,)+ F>(registers, op, mask);
        }

        $(#[$doc])*
        pub(crate) fn $lane<D: Lane, $($ty: Lane,)+ F: Fn($($ty),+) -> D + Copy>(_: F) -> LaneFn {
            #[cfg(target_arch = "x86_64")]
            if wide() {
                return $avx2::<D, $($ty,)+ F>;
            }
            $base::<D, $($ty,)+ F>
        }
    };
}

lane_arity!(
    /// `d = f(a)` in every lane.
    lane1, body1, base1, avx2_1, (A a a)
);
lane_arity!(
    /// `d = f(a, b)` in every lane.
    lane2, body2, base2, avx2_2, (A a a, B b b)
);
lane_arity!(
    /// `d = f(a, b, c)` in every lane.
    lane3, body3, base3, avx2_3, (A a a, B b b, C c c)
);
lane_arity!(
    /// `d = f(a, b, c, e)` in every lane.
    lane4, body4, base4, avx2_4, (A a a, B b b, C c c, E e e)
);
