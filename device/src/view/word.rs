//! Element types that move in 16-byte pieces.

use crate::param::Element;
use crate::ptx;

/// An element type of 4 or 8 bytes, 16 bytes of which are a piece.
///
/// Every bit pattern is a value of such a type.
pub trait Word: Element + sealed::Sealed {
    /// 16 bytes of elements.
    type Vector: Vector<Item = Self>;

    /// Loads one element from shared memory.
    ///
    /// # Safety
    /// As for [`ptx::ld_shared_u32`].
    unsafe fn load_shared(address: u32) -> Self;
}

/// 16 bytes of elements, as an array.
pub trait Vector: Copy + sealed::Sealed {
    /// The element.
    type Item;

    /// Elements of the vector.
    const LANES: u32;

    /// All lanes zero.
    const ZERO: Self;

    /// Each lane by `f` of its number, in order.
    fn from_fn(f: impl FnMut(u32) -> Self::Item) -> Self;

    /// All lanes `value`.
    fn splat(value: Self::Item) -> Self;

    /// Each lane through `f`.
    fn map(self, f: impl FnMut(Self::Item) -> Self::Item) -> Self;

    /// Each lane together with that of `other` through `f`.
    fn zip(self, other: Self, f: impl FnMut(Self::Item, Self::Item) -> Self::Item) -> Self;

    /// The lanes in order.
    fn for_each(self, f: impl FnMut(u32, Self::Item));

    /// Loads the vector from global memory, past the first cache.
    ///
    /// # Safety
    /// As for [`ptx::ld_global_nc_no_allocate_v4_u32`].
    unsafe fn load_global(address: *const Self::Item) -> Self;

    /// Loads the vector from shared memory.
    ///
    /// # Safety
    /// As for [`ptx::ld_shared_v4_u32`].
    unsafe fn load_shared(address: u32) -> Self;

    /// Stores the vector to shared memory.
    ///
    /// # Safety
    /// As for [`ptx::st_shared_v4_u32`].
    unsafe fn store_shared(self, address: u32);

    /// Stores the vector to global memory, `BYTES` at a time.
    ///
    /// # Safety
    /// As for [`ptx::st_global_v4_u32`], with an address that is a multiple of `BYTES`.
    unsafe fn store_global<const BYTES: usize>(self, address: *mut Self::Item);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($ty:ty, $lanes:tt, $global:ident, $load1:ident, $load:ident, $store:ident, $v4:ident, $v2:ident, $to:expr, $from:expr;)+) => {$(
        impl sealed::Sealed for $ty {}
        impl sealed::Sealed for [$ty; $lanes] {}

        impl Word for $ty {
            type Vector = [$ty; $lanes];

            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                // SAFETY: the caller's contract.
                let [value] = unsafe { ptx::$load1(address) }.map($from);
                value
            }
        }

        impl Vector for [$ty; $lanes] {
            type Item = $ty;

            const LANES: u32 = $lanes;

            const ZERO: Self = [0 as $ty; $lanes];

            words!(@lanes $lanes, $ty);

            #[inline(always)]
            unsafe fn load_global(address: *const $ty) -> Self {
                // SAFETY: the caller's contract.
                unsafe { ptx::$global(address.cast()) }.map($from)
            }

            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                // SAFETY: the caller's contract.
                unsafe { ptx::$load(address) }.map($from)
            }

            #[inline(always)]
            unsafe fn store_shared(self, address: u32) {
                let lanes: [_; $lanes] = words!(@raw $lanes, self, $to);
                // SAFETY: the caller's contract.
                unsafe { ptx::$store(address, lanes) };
            }

            #[inline(always)]
            unsafe fn store_global<const BYTES: usize>(self, address: *mut $ty) {
                words!(@store $lanes, self, address, $v4, $v2, $to);
            }
        }
    )+};
    // Written out lane by lane: a loop that is not unrolled in time would keep the array in local memory.
    (@lanes 4, $ty:ty) => {
        #[inline(always)]
        fn from_fn(mut f: impl FnMut(u32) -> $ty) -> Self {
            [f(0), f(1), f(2), f(3)]
        }

        #[inline(always)]
        fn splat(value: $ty) -> Self {
            [value; 4]
        }

        #[inline(always)]
        fn map(self, mut f: impl FnMut($ty) -> $ty) -> Self {
            let [a, b, c, d] = self;
            [f(a), f(b), f(c), f(d)]
        }

        #[inline(always)]
        fn zip(self, other: Self, mut f: impl FnMut($ty, $ty) -> $ty) -> Self {
            let ([a, b, c, d], [p, q, r, s]) = (self, other);
            [f(a, p), f(b, q), f(c, r), f(d, s)]
        }

        #[inline(always)]
        fn for_each(self, mut f: impl FnMut(u32, $ty)) {
            let [a, b, c, d] = self;
            f(0, a);
            f(1, b);
            f(2, c);
            f(3, d);
        }
    };
    (@lanes 2, $ty:ty) => {
        #[inline(always)]
        fn from_fn(mut f: impl FnMut(u32) -> $ty) -> Self {
            [f(0), f(1)]
        }

        #[inline(always)]
        fn splat(value: $ty) -> Self {
            [value; 2]
        }

        #[inline(always)]
        fn map(self, mut f: impl FnMut($ty) -> $ty) -> Self {
            let [a, b] = self;
            [f(a), f(b)]
        }

        #[inline(always)]
        fn zip(self, other: Self, mut f: impl FnMut($ty, $ty) -> $ty) -> Self {
            let ([a, b], [p, q]) = (self, other);
            [f(a, p), f(b, q)]
        }

        #[inline(always)]
        fn for_each(self, mut f: impl FnMut(u32, $ty)) {
            let [a, b] = self;
            f(0, a);
            f(1, b);
        }
    };
    (@raw 4, $self:ident, $to:expr) => {{
        let [a, b, c, d] = $self;
        [$to(a), $to(b), $to(c), $to(d)]
    }};
    (@raw 2, $self:ident, $to:expr) => {{
        let [a, b] = $self;
        [$to(a), $to(b)]
    }};
    (@store 4, $self:ident, $address:ident, $v4:ident, $v2:ident, $to:expr) => {
        let [a, b, c, d] = $self.map($to);
        // SAFETY: the caller's contract.
        unsafe {
            match BYTES {
                16 => ptx::$v4($address.cast(), [a, b, c, d]),
                8 => {
                    ptx::$v2($address.cast(), [a, b]);
                    ptx::$v2($address.add(2).cast(), [c, d]);
                }
                _ => Vector::for_each($self, |lane, value| $address.add(lane as usize).write(value)),
            }
        }
    };
    (@store 2, $self:ident, $address:ident, $v4:ident, $v2:ident, $to:expr) => {
        let values = $self.map($to);
        // SAFETY: the caller's contract.
        unsafe {
            match BYTES {
                16 => ptx::$v2($address.cast(), values),
                _ => Vector::for_each($self, |lane, value| $address.add(lane as usize).write(value)),
            }
        }
    };
}

words! {
    f32, 4, ld_global_nc_no_allocate_v4_f32, ld_shared_f32, ld_shared_v4_f32, st_shared_v4_f32, st_global_v4_f32, st_global_v2_f32, |value| value, |value| value;
    u32, 4, ld_global_nc_no_allocate_v4_u32, ld_shared_u32, ld_shared_v4_u32, st_shared_v4_u32, st_global_v4_u32, st_global_v2_u32, |value| value, |value| value;
    i32, 4, ld_global_nc_no_allocate_v4_u32, ld_shared_u32, ld_shared_v4_u32, st_shared_v4_u32, st_global_v4_u32, st_global_v2_u32, |value| value as u32, |value| value as i32;
    f64, 2, ld_global_nc_no_allocate_v2_f64, ld_shared_f64, ld_shared_v2_f64, st_shared_v2_f64, st_global_v2_f64, st_global_v2_f64, |value| value, |value| value;
}
