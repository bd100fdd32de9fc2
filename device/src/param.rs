//! Kernel parameters: what may be passed to an entry, and its bytes as the driver wants them.

use core::fmt;
use core::marker::PhantomData;

/// Address of `T`s in global memory that a kernel only reads.
///
/// On `nvptx64` it is the pointer itself; on the host it is the 64-bit device address with the type that lives there.
/// It says nothing about the length: a kernel makes a view from it, under its launch contract.
#[repr(transparent)]
pub struct GlobalPtr<T> {
    #[cfg(target_arch = "nvptx64")]
    raw: *const T,
    #[cfg(not(target_arch = "nvptx64"))]
    raw: u64,
    item: PhantomData<*const T>,
}

/// Address of `T`s in global memory that a kernel writes.
///
/// See [`GlobalPtr`]; that the two are different types keeps an output from being passed where an input belongs.
#[repr(transparent)]
pub struct GlobalMut<T> {
    #[cfg(target_arch = "nvptx64")]
    raw: *mut T,
    #[cfg(not(target_arch = "nvptx64"))]
    raw: u64,
    item: PhantomData<*mut T>,
}

macro_rules! pointer {
    ($name:ident, $raw:ty) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        // SAFETY: the value is an address; what may be done with the memory there is the kernel's launch contract.
        unsafe impl<T> Send for $name<T> {}
        // SAFETY: as for `Send`.
        unsafe impl<T> Sync for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:#x})", stringify!($name), self.address())
            }
        }

        impl<T> $name<T> {
            /// The typed form of a device address.
            #[cfg(not(target_arch = "nvptx64"))]
            pub const fn new(address: u64) -> Self {
                Self {
                    raw: address,
                    item: PhantomData,
                }
            }

            /// The address as a number.
            #[inline(always)]
            pub fn address(self) -> u64 {
                self.raw as u64
            }

            /// The pointer, for the instructions of [`crate::ptx`].
            #[inline(always)]
            pub fn as_raw(self) -> $raw {
                self.raw as $raw
            }
        }
    };
}

pointer!(GlobalPtr, *const T);
pointer!(GlobalMut, *mut T);

/// What a parameter is, for tables, messages and generic callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// Address of elements that are read.
    In(Scalar),
    /// Address of elements that are written.
    Out(Scalar),
    /// A number by value.
    Value(Scalar),
    /// The map of a tensor of elements, by value.
    Map(Scalar),
}

impl ParamType {
    /// Bytes of the parameter.
    pub const fn bytes(self) -> usize {
        match self {
            Self::In(_) | Self::Out(_) => 8,
            Self::Value(scalar) => scalar.bytes(),
            Self::Map(_) => crate::tensor::MAP_BYTES,
        }
    }
}

/// Element types that parameters are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its Rust type")]
pub enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Scalar {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The type's Rust name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An element type of global memory.
pub trait Element: Copy + 'static {
    /// Which one.
    const SCALAR: Scalar;
}

/// A type that an entry can take as a parameter.
pub trait KernelParam: Copy + 'static {
    /// As the entry takes it.
    type Passed: Copy;

    /// What it is.
    const TYPE: ParamType;
    /// The alignment that the parameter is given; 0 where that of `Passed` will do.
    const ALIGN: u32 = 0;
    /// The value, from what the entry took and the generic address of the parameter.
    fn received(passed: Self::Passed, address: u64) -> Self;
    /// Hands its little-endian bytes to `visit`.
    fn with_bytes(&self, visit: &mut dyn FnMut(&[u8]));
}

macro_rules! scalars {
    ($($rust:ty => $scalar:ident),+ $(,)?) => {$(
        impl Element for $rust {
            const SCALAR: Scalar = Scalar::$scalar;
        }

        impl KernelParam for $rust {
            type Passed = Self;

            const TYPE: ParamType = ParamType::Value(Scalar::$scalar);

            #[inline(always)]
            fn received(passed: Self, _: u64) -> Self {
                passed
            }

            fn with_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
                visit(&self.to_le_bytes());
            }
        }
    )+};
}

scalars! {
    u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32,
    u64 => U64, i64 => I64, f32 => F32, f64 => F64,
}

impl<T: Element> KernelParam for GlobalPtr<T> {
    type Passed = Self;

    const TYPE: ParamType = ParamType::In(T::SCALAR);

    #[inline(always)]
    fn received(passed: Self, _: u64) -> Self {
        passed
    }

    fn with_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(&self.address().to_le_bytes());
    }
}

impl<T: Element> KernelParam for GlobalMut<T> {
    type Passed = Self;

    const TYPE: ParamType = ParamType::Out(T::SCALAR);

    #[inline(always)]
    fn received(passed: Self, _: u64) -> Self {
        passed
    }

    fn with_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(&self.address().to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_passed_as_their_address() {
        let mut seen = [0u8; 8];
        GlobalPtr::<f32>::new(0x0102_0304_0506_0708)
            .with_bytes(&mut |bytes| seen.copy_from_slice(bytes));
        assert_eq!(seen, [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(GlobalMut::<u16>::TYPE, ParamType::Out(Scalar::U16));
    }

    #[test]
    fn the_byte_count_is_the_size_of_the_blob() {
        fn check<P: KernelParam>(value: P) {
            let mut bytes = 0;
            value.with_bytes(&mut |blob| bytes = blob.len());
            assert_eq!(bytes, P::TYPE.bytes(), "{:?}", P::TYPE);
        }
        check(1u8);
        check(-1i16);
        check(1u32);
        check(1.5f32);
        check(1u64);
        check(-2.5f64);
        check(GlobalMut::<f32>::new(16));
    }
}
