//! Buffers as bytes and as numbers.

use half::{bf16, f16};

/// A number that buffers hold.
pub(crate) trait Number: Copy + PartialEq + std::fmt::Debug + 'static {
    /// Its bytes, lowest first.
    fn bytes(self) -> Vec<u8>;
    /// The number of such bytes.
    fn of(bytes: &[u8]) -> Self;
    /// For comparing with a tolerance.
    fn real(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ty, $real:expr;)*) => {$(
        impl Number for $ty {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
            fn real(self) -> f64 {
                ($real)(self)
            }
        }
    )*};
}

numbers! {
    u8, f64::from;
    i8, f64::from;
    i32, f64::from;
    u32, f64::from;
    u64, |value| value as f64;
    i64, |value| value as f64;
    f32, f64::from;
    f64, |value| value;
    f16, f64::from;
    bf16, f64::from;
}

/// All bytes of the numbers.
pub(crate) fn bytes<T: Number>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// Pseudo-random numbers, the same in every run (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// In [-1, 1).
    pub(crate) fn real(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (self.bits() % u64::from(end)) as u32
    }

    /// So many of what `draw` draws.
    pub(crate) fn list<T>(&mut self, count: usize, mut draw: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| draw(self)).collect()
    }
}
