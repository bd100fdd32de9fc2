//! Exact rounding against an independent soft-float library.

use proptest::prelude::*;
use rustc_apfloat::{Float, FloatConvert, Round, ieee};

use super::*;

const MODES: [(Rounding, Round); 5] = [
    (Rounding::Nearest, Round::NearestTiesToEven),
    (Rounding::NearestAway, Round::NearestTiesToAway),
    (Rounding::Zero, Round::TowardZero),
    (Rounding::Down, Round::TowardNegative),
    (Rounding::Up, Round::TowardPositive),
];

/// Bits of a float, biased to the places where rounding is hard: few significant bits, extreme and nearby exponents.
fn bits(width: u32) -> impl Strategy<Value = u64> {
    let mask = u64::MAX >> (64 - width);
    prop_oneof![
        any::<u64>().prop_map(move |b| b & mask),
        (any::<bool>(), 0..64u32, any::<u64>()).prop_map(move |(sign, keep, b)| {
            let cut = (b >> keep.min(63)) & mask & !(1 << (width - 1));
            cut | u64::from(sign) << (width - 1)
        }),
        prop::sample::select(vec![0u64, 1, 2, 3]).prop_map(move |b| b & mask),
    ]
}

fn same<F: Float>(format: &Format, ours: u64, theirs: F) -> bool {
    if theirs.is_nan() {
        ours == format.nan
    } else {
        u128::from(ours) == theirs.to_bits()
    }
}

fn against<F: Float>(format: &Format, a: u64, b: u64, c: u64) -> Result<(), TestCaseError> {
    let (x, y, z) = (
        F::from_bits(a.into()),
        F::from_bits(b.into()),
        F::from_bits(c.into()),
    );
    for (ours, theirs) in MODES {
        prop_assert!(
            same(format, add(format, a, b, ours), x.add_r(y, theirs).value),
            "add {a:#x} {b:#x} {ours:?}"
        );
        prop_assert!(
            same(format, mul(format, a, b, ours), x.mul_r(y, theirs).value),
            "mul {a:#x} {b:#x} {ours:?}"
        );
        prop_assert!(
            same(format, div(format, a, b, ours), x.div_r(y, theirs).value),
            "div {a:#x} {b:#x} {ours:?}"
        );
        let fused = x.mul_add_r(y, z, theirs).value;
        prop_assert!(
            same(format, fma(format, a, b, c, ours), fused),
            "fma {a:#x} {b:#x} {c:#x} {ours:?}: {:#x}, {:#x} wanted",
            fma(format, a, b, c, ours),
            fused.to_bits()
        );
        let integral = format.round(format.value(a).to_integral(ours), ours);
        prop_assert!(
            same(format, integral, x.round_to_integral(theirs).value),
            "integral {a:#x} {ours:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn half_is_exact(a in bits(16), b in bits(16), c in bits(16)) {
        against::<ieee::Half>(&F16, a, b, c)?;
    }

    #[test]
    fn bfloat_is_exact(a in bits(16), b in bits(16), c in bits(16)) {
        against::<ieee::BFloat>(&BF16, a, b, c)?;
    }

    #[test]
    fn single_is_exact(a in bits(32), b in bits(32), c in bits(32)) {
        against::<ieee::Single>(&F32, a, b, c)?;
    }

    #[test]
    fn double_is_exact(a in bits(64), b in bits(64), c in bits(64)) {
        against::<ieee::Double>(&F64, a, b, c)?;
    }

    #[test]
    fn small_formats_convert_exactly(a in bits(32)) {
        for (ours, theirs) in MODES {
            let x = ieee::Single::from_bits(a.into());
            let half: ieee::Half = x.convert_r(theirs, &mut false).value;
            prop_assert!(same(&F16, convert(&F32, &F16, a, ours), half));
            let small: ieee::Float8E5M2 = x.convert_r(theirs, &mut false).value;
            prop_assert!(same(&E5M2, convert(&F32, &E5M2, a, ours), small));
        }
    }

    #[test]
    fn the_square_root_agrees_with_the_host_and_brackets_the_value(a in bits(64)) {
        let x = f64::from_bits(a);
        let root = f64::from_bits(sqrt(&F64, a, Rounding::Nearest));
        prop_assert!(root == x.sqrt() || (root.is_nan() && x.sqrt().is_nan()));
        let (down, up) = (sqrt(&F64, a, Rounding::Down), sqrt(&F64, a, Rounding::Up));
        if x.is_finite() && x > 0.0 {
            prop_assert!(up - down <= 1 && f64::from_bits(down) <= root && root <= f64::from_bits(up));
        }
        let single = f32::from_bits(a as u32);
        let root = f32::from_bits(sqrt(&F32, a & 0xffff_ffff, Rounding::Nearest) as u32);
        prop_assert!(root == single.sqrt() || (root.is_nan() && single.sqrt().is_nan()));
    }

    #[test]
    fn integers_round_as_the_host_rounds(a in any::<i64>()) {
        prop_assert_eq!(F64.round(Value::integer(a.into()), Rounding::Nearest), (a as f64).to_bits());
        prop_assert_eq!(F32.round(Value::integer(a.into()), Rounding::Nearest), u64::from((a as f32).to_bits()));
        let x = f64::from_bits(a as u64);
        prop_assert_eq!(
            F64.value(a as u64).to_integer(Rounding::Zero).map_or(0, |i| i.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
            x as i64
        );
    }
}

#[test]
fn e4m3_has_no_infinity() {
    // 448 is the largest; 464 is the tie that rounds back to it, what is above overflows.
    for (value, bits) in [
        (448.0f32, 0x7e),
        (464.0, 0x7e),
        (465.0, 0x7f),
        (f32::INFINITY, 0x7f),
        (-448.0, 0xfe),
        (0.001_953_125, 1),
    ] {
        assert_eq!(
            convert(&F32, &E4M3, value.to_bits().into(), Rounding::Nearest),
            bits,
            "{value}"
        );
    }
}
