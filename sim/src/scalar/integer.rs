//! Integer operations of one lane that the host has no operator for.

/// An integer type of an instruction.
pub(crate) trait Integer: Copy + Ord {
    /// Bits.
    const BITS: u32;
    /// Whether it has a sign.
    const SIGNED: bool;
    /// The value, widened.
    fn wide(self) -> i128;
    /// The low bits of a wide value.
    fn low(wide: i128) -> Self;
    /// The nearest value that there is.
    fn saturate(wide: i128) -> Self;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;
            const SIGNED: bool = <$ty>::MIN != 0;
            #[inline(always)]
            fn wide(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn low(wide: i128) -> Self {
                wide as Self
            }
            #[inline(always)]
            fn saturate(wide: i128) -> Self {
                wide.clamp(<$ty>::MIN as i128, <$ty>::MAX as i128) as Self
            }
        }
    )*};
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64);

/// The upper half of the product.
#[inline(always)]
pub(crate) fn mul_hi<T: Integer>(a: T, b: T) -> T {
    // Wraps for two large u64 only, and the bits that are kept are right all the same.
    T::low(a.wide().wrapping_mul(b.wide()) >> T::BITS)
}

/// Bits 16 to 47 (`high`) or 0 to 31 of the product of the low 24 bits.
#[inline(always)]
pub(crate) fn mul24<T: Integer>(a: T, b: T, high: bool) -> T {
    let low24 = |value: T| {
        if T::SIGNED {
            (value.wide() << 104) >> 104
        } else {
            value.wide() & 0xff_ffff
        }
    };
    let product = low24(a) * low24(b);
    T::low(if high { product >> 16 } else { product })
}

/// The quotient; a division by zero gives all ones, as on hardware.
#[inline(always)]
pub(crate) fn div<T: Integer>(a: T, b: T) -> T {
    let b = b.wide();
    T::low(if b == 0 { -1 } else { a.wide() / b })
}

/// The remainder; of a division by zero, the dividend.
#[inline(always)]
pub(crate) fn rem<T: Integer>(a: T, b: T) -> T {
    let b = b.wide();
    if b == 0 { a } else { T::low(a.wide() % b) }
}

/// Bits `start .. start + len` of a value, sign-extended for signed types.
#[inline(always)]
pub(crate) fn bit_field_extract<T: Integer>(a: T, start: u32, len: u32) -> T {
    let (bits, signed) = (T::BITS, T::SIGNED);
    let (start, len) = (start & 0xff, len & 0xff);
    let all = if bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    let a = a.wide() as u64 & all;
    let sign_at = if len == 0 {
        None
    } else {
        Some((start + len - 1).min(bits - 1))
    };
    let sign = signed && sign_at.is_some_and(|at| a >> at & 1 != 0);
    let field = if start >= bits { 0 } else { a >> start };
    let available = bits.saturating_sub(start).min(len);
    let low = if available >= 64 {
        u64::MAX
    } else {
        (1 << available) - 1
    };
    let value = field & low;
    T::low((if sign { value | !low } else { value }).into())
}

/// `b` with the low `len` bits of `a` put at `start`.
#[inline(always)]
pub(crate) fn bit_field_insert<T: Integer>(a: T, b: T, start: u32, len: u32) -> T {
    let (start, len) = (start & 0xff, len & 0xff);
    if start >= T::BITS || len == 0 {
        return b;
    }
    let (a, b) = (a.wide() as u64, b.wide() as u64);
    let field = if len >= 64 { u64::MAX } else { (1 << len) - 1 };
    let mask = field << start;
    T::low(((b & !mask) | ((a << start) & mask)).into())
}

/// The position of the highest bit that differs from the sign; all ones where there is none.
/// With `amount`, how far it is from the top.
#[inline(always)]
pub(crate) fn find_leading<T: Integer>(a: T, amount: bool) -> u32 {
    let wide = a.wide();
    let magnitude = (if wide < 0 { !wide } else { wide }) as u64;
    if magnitude == 0 {
        return u32::MAX;
    }
    let position = 63 - magnitude.leading_zeros();
    if amount {
        T::BITS - 1 - position
    } else {
        position
    }
}

/// The `offset`-th set bit from `base` on (downwards for a negative offset); all ones where there is none.
pub(crate) fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let base = base as i32;
    if offset == 0 {
        return if (0..32).contains(&base) && mask >> base & 1 != 0 {
            base as u32
        } else {
            u32::MAX
        };
    }
    let step = offset.signum();
    let mut left = offset.abs();
    let mut at = base;
    while (0..32).contains(&at) {
        if mask >> at & 1 != 0 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// Any function of three bits, on 32 of them at once; bit `4a + 2b + c` of the table is the result.
#[inline(always)]
pub(crate) fn logic3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let pick = |bit: u32| (table >> bit & 1).wrapping_neg();
    // For each combination of a and b, what c chooses.
    let choose = |base: u32| (pick(base) & !c) | (pick(base + 1) & c);
    let when_b_clear = (choose(0) & !a) | (choose(4) & a);
    let when_b_set = (choose(2) & !a) | (choose(6) & a);
    (when_b_clear & !b) | (when_b_set & b)
}

/// The upper 32 bits of `high:low` shifted left.
#[inline(always)]
pub(crate) fn funnel_left(low: u32, high: u32, by: u32, clamp: bool) -> u32 {
    let by = if clamp { by.min(32) } else { by & 31 };
    ((u64::from(high) << 32 | u64::from(low)) << by >> 32) as u32
}

/// The lower 32 bits of `high:low` shifted right.
#[inline(always)]
pub(crate) fn funnel_right(low: u32, high: u32, by: u32, clamp: bool) -> u32 {
    let by = if clamp { by.min(32) } else { by & 31 };
    ((u64::from(high) << 32 | u64::from(low)) >> by) as u32
}

/// How `prmt` reads its selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permute {
    /// A nibble a byte; its top bit replicates the byte's sign.
    Generic,
    /// `.f4e`: four bytes upwards.
    ForwardFour,
    /// `.b4e`: four bytes downwards.
    BackwardFour,
    /// `.rc8`: one byte everywhere.
    ReplicateByte,
    /// `.ecl`: edge clamp to the left.
    EdgeLeft,
    /// `.ecr`: edge clamp to the right.
    EdgeRight,
    /// `.rc16`: one half everywhere.
    ReplicateHalf,
}

/// Four bytes chosen from the eight of `b:a`.
#[inline(always)]
pub(crate) fn permute(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let source = u64::from(b) << 32 | u64::from(a);
    let byte = |index: u32| (source >> (8 * (index & 7))) as u8;
    let s = selector & 3;
    let pick = |at: u32| match mode {
        Permute::Generic => {
            let nibble = selector >> (4 * at) & 0xf;
            let value = byte(nibble);
            if nibble & 8 != 0 {
                ((value as i8) >> 7) as u8
            } else {
                value
            }
        }
        Permute::ForwardFour => byte(s + at),
        Permute::BackwardFour => byte(s.wrapping_sub(at)),
        Permute::ReplicateByte => byte(s),
        Permute::EdgeLeft => byte(at.max(s)),
        Permute::EdgeRight => byte(at.min(s)),
        Permute::ReplicateHalf => byte((s & 1) * 2 + (at & 1)),
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

/// Byte `at` of a word, as an integer.
#[inline(always)]
fn byte_of(word: u32, at: u32, signed: bool) -> i32 {
    let byte = (word >> (8 * at)) as u8;
    if signed {
        i32::from(byte as i8)
    } else {
        i32::from(byte)
    }
}

/// Four products of bytes, summed onto `c`.
#[inline(always)]
pub(crate) fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, at| {
        sum.wrapping_add((byte_of(a, at, a_signed) * byte_of(b, at, b_signed)) as u32)
    })
}

/// The absolute differences of four bytes, the lowest first.
#[inline(always)]
pub(crate) fn absolute_differences(a: u32, b: u32, a_signed: bool, b_signed: bool) -> [u32; 4] {
    [0, 1, 2, 3].map(|at| byte_of(a, at, a_signed).abs_diff(byte_of(b, at, b_signed)))
}

/// Two products of a half of `a` with a byte of `b`, summed onto `c`.
#[inline(always)]
pub(crate) fn dot2(a: u32, b: u32, c: u32, signs: (bool, bool), high: bool) -> u32 {
    let half = |at: u32| {
        let half = (a >> (16 * at)) as u16;
        if signs.0 {
            i32::from(half as i16)
        } else {
            i32::from(half)
        }
    };
    let byte = |at: u32| {
        let byte = (b >> (8 * (at + 2 * u32::from(high)))) as u8;
        if signs.1 {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    };
    (0..2).fold(c, |sum, at| {
        sum.wrapping_add(half(at).wrapping_mul(byte(at)) as u32)
    })
}

/// `start .. start + len` ones; `clamp` cuts at 32, otherwise both wrap.
#[inline(always)]
pub(crate) fn bit_mask(start: u32, len: u32, clamp: bool) -> u32 {
    let (start, len) = if clamp {
        (start.min(32), len.min(32))
    } else {
        (start & 31, len & 31)
    };
    let ones = ((1u64 << len) - 1) as u32;
    if start > 31 { 0 } else { ones << start }
}

/// The low `bits` bits, extended.
#[inline(always)]
pub(crate) fn extend(a: u32, bits: u32, signed: bool, clamp: bool) -> u32 {
    let bits = if clamp { bits.min(32) } else { bits & 31 };
    match bits {
        0 => 0,
        32 => a,
        _ if signed => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
        _ => a & ((1 << bits) - 1),
    }
}
