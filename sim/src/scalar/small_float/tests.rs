//! Every pattern of every format, against [`exact`](crate::scalar::exact), which is itself held against rustc's own arithmetic.

use proptest::prelude::*;

use super::half::{Clamp, Half, pair2, pair3};
use super::*;
use crate::scalar::exact::{self, Format};

const MODES: [Rounding; 5] = [
    Rounding::Nearest,
    Rounding::NearestAway,
    Rounding::Zero,
    Rounding::Down,
    Rounding::Up,
];

/// All patterns of a format, as what they stand for.
fn patterns<F: SmallFloat>() -> impl Iterator<Item = u32> {
    0..2 * F::SIGN
}

fn every_pattern_widens_exactly<F: SmallFloat>(format: &Format) {
    for bits in patterns::<F>() {
        let wanted = exact::convert(format, &exact::F32, bits.into(), Rounding::Nearest) as u32;
        let ours = widen::<F>(bits);
        if ours.is_nan() {
            assert_eq!(wanted, NAN32.to_bits(), "{bits:#x}");
        } else {
            assert_eq!(ours.to_bits(), wanted, "{bits:#x}");
        }
    }
}

#[test]
fn widening() {
    every_pattern_widens_exactly::<F16>(&exact::F16);
    every_pattern_widens_exactly::<Bf16>(&exact::BF16);
    every_pattern_widens_exactly::<Tf32>(&exact::TF32);
    every_pattern_widens_exactly::<E4m3>(&exact::E4M3);
    every_pattern_widens_exactly::<E5m2>(&exact::E5M2);
}

/// Rounds the number, and its nearest f32 on both sides, in every mode.
fn rounds_as_exact<F: SmallFloat>(format: &Format, value: f32) {
    for value in [value.next_down(), value, value.next_up()] {
        for mode in MODES {
            let ours = narrow::<F>(value.into(), mode, Overflow::Infinity);
            let wanted = exact::convert(&exact::F32, format, value.to_bits().into(), mode);
            assert_eq!(u64::from(ours), wanted, "{value:e} {mode:?}");
        }
    }
}

/// Every number of the format, every midpoint of two neighbours, and the f32 on both sides of each.
fn every_boundary_rounds_right<F: SmallFloat>(format: &Format) {
    for bits in patterns::<F>() {
        let value = widen::<F>(bits);
        let next = widen::<F>(bits + 1);
        rounds_as_exact::<F>(format, value);
        rounds_as_exact::<F>(format, value + (next - value) / 2.0);
    }
    // The tie between the largest number and what would follow it.
    let largest = widen::<F>(F::MAX_FINITE);
    let beyond = largest + (largest - widen::<F>(F::MAX_FINITE - 1)) / 2.0;
    for value in [
        beyond,
        -beyond,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        -0.0,
    ] {
        rounds_as_exact::<F>(format, value);
    }
}

#[test]
fn rounding_f16() {
    every_boundary_rounds_right::<F16>(&exact::F16);
}

#[test]
fn rounding_bf16() {
    every_boundary_rounds_right::<Bf16>(&exact::BF16);
}

#[test]
fn rounding_tf32() {
    every_boundary_rounds_right::<Tf32>(&exact::TF32);
}

#[test]
fn rounding_bytes() {
    every_boundary_rounds_right::<E5m2>(&exact::E5M2);
    every_boundary_rounds_right::<E4m3>(&exact::E4M3);
}

#[test]
fn saturation_and_clamping() {
    // Value; f16 and e4m3 with `.satfinite`; f16 clamped to what is not negative.
    let table: [(f32, u32, u32, u32); 9] = [
        (f32::INFINITY, 0x7bff, 0x7e, 0x7c00),
        (f32::NEG_INFINITY, 0xfbff, 0xfe, 0),
        (f32::NAN, 0x7fff, 0x7f, 0x7fff),
        (-f32::NAN, 0x7fff, 0x7f, 0x7fff),
        (65520.0, 0x7bff, 0x7e, 0x7c00),
        (-65520.0, 0xfbff, 0xfe, 0),
        (-0.0, 0x8000, 0x80, 0),
        (-1.5, 0xbe00, 0xbc, 0),
        (449.0, 0x5f04, 0x7e, 0x5f04),
    ];
    for (value, half, byte, clamped) in table {
        let wide = f64::from(value);
        assert_eq!(
            narrow::<F16>(wide, Rounding::Nearest, Overflow::Largest),
            half,
            "{value}"
        );
        assert_eq!(
            narrow::<E4m3>(wide, Rounding::Nearest, Overflow::Largest),
            byte,
            "{value}"
        );
        assert_eq!(
            relu::<F16>(narrow::<F16>(wide, Rounding::Nearest, Overflow::Infinity)),
            clamped,
            "{value}"
        );
    }
}

#[test]
fn tf32_stands_at_the_top_of_its_register() {
    let table = [
        (1.0f32.to_bits(), 0x3f80_0000),
        (0x3f80_1000, 0x3f80_2000),
        (0x3f80_0fff, 0x3f80_0000),
        (0xbf80_1000, 0xbf80_2000),
        (0x7f7f_ffff, 0x7f80_0000),
    ];
    for (bits, wanted) in table {
        let ours = to_tf32(
            f32::from_bits(bits),
            Rounding::NearestAway,
            Overflow::Infinity,
            false,
        );
        assert_eq!(ours, wanted, "{bits:#x}");
    }
    assert_eq!(
        to_tf32(
            f32::INFINITY,
            Rounding::NearestAway,
            Overflow::Largest,
            false
        ),
        0x7f7f_e000
    );
    assert_eq!(
        to_tf32(-1.0, Rounding::Nearest, Overflow::Infinity, true),
        0
    );
    assert_eq!(from_tf32(0x3f80_1fff), 1.0);
}

/// Values where rounding is hard: zeros, the ends of the subnormal and the normal numbers, ones with few or all bits set.
fn edges<F: SmallFloat>() -> Vec<u16> {
    let one = narrow::<F>(1.0, Rounding::Nearest, Overflow::Infinity);
    let magnitudes = [
        0,
        1,
        2,
        3,
        F::MIN_NORMAL / 2,
        F::MIN_NORMAL - 1,
        F::MIN_NORMAL,
        F::MIN_NORMAL + 1,
        one - 1,
        one,
        one + 1,
        one + F::MIN_NORMAL - 1,
        one + 3 * F::MIN_NORMAL,
        F::MAX_FINITE - 1,
        F::MAX_FINITE,
        F::INFINITY,
        F::INFINITY + 1,
        F::NAN,
    ];
    magnitudes
        .iter()
        .flat_map(|m| [*m as u16, (*m | F::SIGN) as u16])
        .collect()
}

fn arithmetic_is_exact<F: Half>(format: &Format, a: u16, b: u16, c: u16) {
    let [x, y, z] = [a, b, c].map(u64::from);
    let mode = Rounding::Nearest;
    let none = Clamp::None;
    let minus = y ^ u64::from(F::SIGN);
    assert_eq!(
        u64::from(F::add(a, b, false, none)),
        exact::add(format, x, y, mode),
        "add {a:#x} {b:#x}"
    );
    assert_eq!(
        u64::from(F::sub(a, b, false, none)),
        exact::add(format, x, minus, mode),
        "sub {a:#x} {b:#x}"
    );
    assert_eq!(
        u64::from(F::mul(a, b, false, none)),
        exact::mul(format, x, y, mode),
        "mul {a:#x} {b:#x}"
    );
    let fused = exact::fma(format, x, y, z, mode);
    assert_eq!(
        u64::from(F::fma(a, b, c, false, none)),
        fused,
        "fma {a:#x} {b:#x} {c:#x}"
    );
}

#[test]
fn arithmetic_at_the_edges() {
    fn all<F: Half>(format: &Format) {
        let edges = edges::<F>();
        for &a in &edges {
            for &b in &edges {
                for &c in &edges {
                    arithmetic_is_exact::<F>(format, a, b, c);
                }
            }
        }
    }
    all::<F16>(&exact::F16);
    all::<Bf16>(&exact::BF16);
}

#[test]
fn every_pattern_adds_and_multiplies_with_the_edges() {
    fn all<F: Half>(format: &Format) {
        for b in edges::<F>() {
            for a in 0..=u16::MAX {
                arithmetic_is_exact::<F>(format, a, b, b);
            }
        }
    }
    all::<F16>(&exact::F16);
    all::<Bf16>(&exact::BF16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn arithmetic_anywhere(a: u16, b: u16, c: u16) {
        arithmetic_is_exact::<F16>(&exact::F16, a, b, c);
        arithmetic_is_exact::<Bf16>(&exact::BF16, a, b, c);
    }

    /// A product that is a tie or nearly one, and an addend too small for f64 to see beside it.
    #[test]
    fn a_small_addend_breaks_a_tie(a in 0x3f80u16..0x4000, b in 0x3f80u16..0x4000, c in 0u16..0x2000, minus: bool) {
        let c = c | u16::from(minus) << 15;
        arithmetic_is_exact::<Bf16>(&exact::BF16, a, b, c);
        arithmetic_is_exact::<F16>(&exact::F16, a, b, c);
    }
}

#[test]
fn clamping_and_flushing() {
    const ONE: u16 = 0x3c00;
    const HALF: u16 = 0x3800;
    let table = [
        // a + b, `.ftz`, clamp, result
        (ONE, ONE, false, Clamp::Unit, ONE),
        (ONE, 0xbc01, false, Clamp::Unit, 0),
        (HALF, 0x0000, false, Clamp::Unit, HALF),
        (0x7fff, ONE, false, Clamp::Unit, 0),
        (0x8000, 0x8000, false, Clamp::Unit, 0),
        (0xfc00, ONE, false, Clamp::Relu, 0),
        (0xfc00, 0x7c00, false, Clamp::Relu, 0x7fff),
        (0x8000, 0x8000, false, Clamp::Relu, 0),
        (0x0001, 0x0001, false, Clamp::None, 0x0002),
        (0x0001, 0x0001, true, Clamp::None, 0),
        (0x8001, 0x8001, true, Clamp::None, 0x8000),
        // Two normal numbers whose difference is not.
        (0x0401, 0x8400, true, Clamp::None, 0),
        (0x0401, 0x8400, false, Clamp::None, 1),
    ];
    // A product just below the normal numbers is flushed, though it would round up to one.
    assert_eq!(F16::mul(0x3bff, 0x0400, true, Clamp::None), 0);
    assert_eq!(F16::mul(0x3bff, 0x0400, false, Clamp::None), 0x0400);
    assert_eq!(F16::fma(0x3bff, 0x8400, 0x0001, true, Clamp::None), 0x8000);
    // Nearer still, it rounds up at any exponent.
    assert_eq!(F16::fma(0x8400, 0x8400, 0x8400, true, Clamp::None), 0x8400);
    for (a, b, ftz, clamp, wanted) in table {
        assert_eq!(
            F16::add(a, b, ftz, clamp),
            wanted,
            "{a:#x} + {b:#x} {ftz} {clamp:?}"
        );
    }
}

#[test]
fn extremes() {
    const NAN: u16 = 0x7fff;
    let table = [
        // a, b, `.NaN`, `.xorsign.abs`, min, max
        (0x0000, 0x8000, false, false, 0x8000, 0x0000),
        (0x3c00, 0xbc00, false, false, 0xbc00, 0x3c00),
        (0xc000, 0xbc00, false, false, 0xc000, 0xbc00),
        (0x7e01, 0x3c00, false, false, 0x3c00, 0x3c00),
        (0x3c00, 0xfe01, false, false, 0x3c00, 0x3c00),
        (0x7e01, 0xfe01, false, false, NAN, NAN),
        (0x7e01, 0x3c00, true, false, NAN, NAN),
        (0xc000, 0x3c00, false, true, 0xbc00, 0xc000),
        (0xc000, 0xbc00, false, true, 0x3c00, 0x4000),
        (0x7c00, 0xfc00, false, false, 0xfc00, 0x7c00),
    ];
    for (a, b, nan, xorsign, min, max) in table {
        assert_eq!(
            F16::min(a, b, false, nan, xorsign),
            min,
            "min {a:#x} {b:#x}"
        );
        assert_eq!(
            F16::max(a, b, false, nan, xorsign),
            max,
            "max {a:#x} {b:#x}"
        );
        if !xorsign {
            assert_eq!(
                F16::min(b, a, false, nan, xorsign),
                min,
                "min {b:#x} {a:#x}"
            );
            assert_eq!(
                F16::max(b, a, false, nan, xorsign),
                max,
                "max {b:#x} {a:#x}"
            );
        }
    }
    // Every ordered pair of a coarse grid, against the host's order.
    for a in (0..=u16::MAX).step_by(97) {
        for b in (0..=u16::MAX).step_by(89) {
            let (x, y) = (Bf16::value(a), Bf16::value(b));
            if x < y {
                assert_eq!(
                    (
                        Bf16::min(a, b, false, false, false),
                        Bf16::max(a, b, false, false, false)
                    ),
                    (a, b)
                );
            }
        }
    }
    assert_eq!(F16::min(0x0001, 0x3c00, true, false, false), 0);
    assert_eq!(
        (
            F16::neg(0x3c00, false),
            F16::abs(0xbc00, false),
            F16::neg(0x0001, true)
        ),
        (0xbc00, 0x3c00, 0x8000)
    );
}

#[test]
fn pairs_keep_their_halves_apart() {
    let (a, b, c) = (0x3c00_4000, 0x4000_3c00, 0x0000_bc00);
    assert_eq!(
        pair2(a, b, |a, b| F16::sub(a, b, false, Clamp::None)),
        0xbc00_3c00
    );
    assert_eq!(
        pair3(a, b, c, |a, b, c| F16::fma(a, b, c, false, Clamp::None)),
        0x4000_3c00
    );
}
