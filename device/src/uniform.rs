//! Values that are the same in every thread of a block.

use crate::law::law;
use core::ops::{Add, Div, Mul, Rem, Sub};

/// A value that all threads of the block hold alike.
///
/// Collective calls take their arguments so: a barrier that half of a block meets in another iteration, or a copy whose threads disagree about its length, is a hang or a race that no single thread can see.
/// Uniform values come from kernel parameters, from block and grid numbers and from arithmetic on those; a thread's own number never becomes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform<T>(T);

impl<T> Uniform<T> {
    /// Declares `value` to be uniform.
    ///
    /// # Safety
    /// Every thread of the block that makes this call makes it with an equal value.
    #[inline(always)]
    pub const unsafe fn assume(value: T) -> Self {
        Self(value)
    }

    /// A uniform value computed from this one alone.
    ///
    /// The function may capture nothing, so that no thread's own value gets in: a closure that captures does not compile.
    #[inline(always)]
    pub fn map<U>(self, f: impl FnOnce(T) -> U + Copy) -> Uniform<U> {
        captures_nothing(&f);
        Uniform(f(self.0))
    }

    /// A uniform value computed from this one and another.
    ///
    /// The function may capture nothing; see [`map`](Uniform::map).
    #[inline(always)]
    pub fn zip<U, V>(self, other: Uniform<U>, f: impl FnOnce(T, U) -> V + Copy) -> Uniform<V> {
        captures_nothing(&f);
        Uniform(f(self.0, other.0))
    }
}

/// Refuses closures with captures at compile time.
#[inline(always)]
const fn captures_nothing<F>(_: &F) {
    const {
        law(
            size_of::<F>() == 0,
            "a uniform value is computed from uniform values alone: the closure captures something, pass that through `zip`",
        )
    }
}

impl<T: Copy> Uniform<T> {
    /// The value itself, no longer known to be uniform.
    #[inline(always)]
    pub const fn get(self) -> T {
        self.0
    }
}

macro_rules! constants {
    ($($ty:ty),+ $(,)?) => {$(
        impl Uniform<$ty> {
            /// The constant `VALUE`.
            #[inline(always)]
            pub const fn constant<const VALUE: $ty>() -> Self {
                Self(VALUE)
            }
        }
    )+};
}

constants! { u32, u64, usize, bool }

impl From<Uniform<u32>> for Uniform<u64> {
    #[inline(always)]
    fn from(value: Uniform<u32>) -> Self {
        Self(u64::from(value.0))
    }
}

macro_rules! arithmetic {
    ($($trait:ident :: $method:ident),+ $(,)?) => {$(
        impl<T: $trait<T, Output = T>> $trait for Uniform<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0))
            }
        }
    )+};
}

arithmetic! { Add::add, Sub::sub, Mul::mul, Div::div, Rem::rem }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stays_uniform() {
        let seven = Uniform::<u32>::constant::<7>();
        let two = Uniform::<u32>::constant::<2>();
        assert_eq!((seven + two).get(), 9);
        assert_eq!((seven / two).get(), 3);
        assert_eq!((seven % two).get(), 1);
        assert_eq!(seven.map(|v| v * 3).get(), 21);
        assert_eq!(seven.zip(two, |a, b| a << b).get(), 28);
        assert_eq!(Uniform::<u64>::from(seven).get(), 7);
    }
}
