//! Conversions and half-precision arithmetic as the device computed them.

use super::{digest, lines, words};
use crate::scalar::exact::Rounding;
use crate::scalar::small_float::half::{Clamp, Half};
use crate::scalar::small_float::{
    Bf16, E4m3, E5m2, F16, Overflow, SmallFloat, narrow, relu, to_tf32, widen,
};

const EDGES: [u32; 30] = [
    0, 1, 2, 0x7f, 0x80, 0x81, 0x1ff, 0x200, 0x3fe, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01,
    0x3f7f, 0x3f80, 0x3f81, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7f7f, 0x7f80, 0x7f81,
    0x7fc0, 0x7ff7, 0x7fff,
];

/// The operands of every execution, by the name of their set.
fn inputs(set: &str) -> Vec<[u32; 3]> {
    let single = || {
        const LOW: [u32; 9] = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1000, 0x0fff, 0x1001];
        (0..131_072u32)
            .map(|index| (index >> 1) << 16 | LOW[((index * 7 + (index >> 1)) % 9) as usize])
    };
    let alone = |a| [a, 0, 0];
    match set {
        "every" => (0..65536).map(|half| alone(half | half << 16)).collect(),
        "single" => single().map(alone).collect(),
        "number" => single()
            .filter(|bits| !f32::from_bits(*bits).is_nan())
            .map(alone)
            .collect(),
        _ => {
            let triple = [1, 2, 3].map(|seed| words(seed, 65536));
            let half = |raw: u32| match raw >> 30 {
                0 => raw & 0xffff,
                _ => EDGES[(raw >> 16) as usize % EDGES.len()] | raw & 0x8000,
            };
            (0..65536)
                .map(|index| [0, 1, 2].map(|operand| half(triple[operand][index])))
                .collect()
        }
    }
}

/// What a mnemonic says beside opcode and types.
#[derive(Clone, Copy)]
struct Manner {
    rounding: Rounding,
    overflow: Overflow,
    clamp: Clamp,
    ftz: bool,
    nan: bool,
    xorsign: bool,
}

impl Manner {
    fn new(mnemonic: &str) -> Self {
        let has = |word: &str| mnemonic.split('.').any(|part| part == word);
        Self {
            rounding: match () {
                () if has("rz") => Rounding::Zero,
                () if has("rm") => Rounding::Down,
                () if has("rp") => Rounding::Up,
                () if has("rna") => Rounding::NearestAway,
                () => Rounding::Nearest,
            },
            overflow: if has("satfinite") {
                Overflow::Largest
            } else {
                Overflow::Infinity
            },
            clamp: match () {
                () if has("sat") => Clamp::Unit,
                () if has("relu") => Clamp::Relu,
                () => Clamp::None,
            },
            ftz: has("ftz"),
            nan: has("NaN"),
            xorsign: has("xorsign"),
        }
    }

    /// A number in a small format.
    fn narrow<F: SmallFloat>(self, value: f32) -> u32 {
        let value = if self.ftz && value.is_subnormal() {
            0f32.copysign(value)
        } else {
            value
        };
        let bits = narrow::<F>(value.into(), self.rounding, self.overflow);
        if self.clamp == Clamp::Relu {
            relu::<F>(bits)
        } else {
            bits
        }
    }
}

fn half<F: Half>(opcode: &str, manner: Manner, [a, b, c]: [u32; 3]) -> u32 {
    let Manner {
        ftz,
        nan,
        xorsign,
        clamp,
        ..
    } = manner;
    let [a, b, c] = [a as u16, b as u16, c as u16];
    let bits = match opcode {
        "add" => F::add(a, b, ftz, clamp),
        "sub" => F::sub(a, b, ftz, clamp),
        "mul" => F::mul(a, b, ftz, clamp),
        "fma" => F::fma(a, b, c, ftz, clamp),
        "min" => F::min(a, b, ftz, nan, xorsign),
        "max" => F::max(a, b, ftz, nan, xorsign),
        "neg" => F::neg(a, ftz),
        "abs" => F::abs(a, ftz),
        _ => panic!("`{opcode}` has no replay"),
    };
    bits.into()
}

/// Two numbers in a byte format, the first in the upper byte.
fn bytes<F: SmallFloat>(manner: Manner, upper: f32, lower: f32) -> u32 {
    manner.narrow::<F>(upper) << 8 | manner.narrow::<F>(lower)
}

fn from_bytes<F: SmallFloat>(manner: Manner, pair: u32) -> u32 {
    manner.narrow::<F16>(widen::<F>(pair >> 8 & 0xff)) << 16
        | manner.narrow::<F16>(widen::<F>(pair & 0xff))
}

fn compute(mnemonic: &str, operands: [u32; 3]) -> u32 {
    let manner = Manner::new(mnemonic);
    let words: Vec<&str> = mnemonic.split('.').collect();
    let (opcode, to, from) = (words[0], words[words.len() - 2], words[words.len() - 1]);
    let a = operands[0];
    let single = f32::from_bits(a);
    let [lower, upper] = [a & 0xffff, a >> 16].map(widen::<F16>);
    let limit = |bits: u32| {
        if manner.clamp == Clamp::Unit {
            F16::add(bits as u16, 0, false, Clamp::Unit).into()
        } else {
            bits
        }
    };
    match (opcode, to, from) {
        ("cvt", "f32", "f16") => lower.to_bits(),
        ("cvt", "f32", "bf16") => widen::<Bf16>(a & 0xffff).to_bits(),
        ("cvt", "f16", "f16") => limit(a & 0xffff),
        ("cvt", "f16", "f32") => limit(manner.narrow::<F16>(single)),
        ("cvt", "bf16", "f32") => manner.narrow::<Bf16>(single),
        ("cvt", "tf32", _) => to_tf32(
            single,
            manner.rounding,
            manner.overflow,
            manner.clamp == Clamp::Relu,
        ),
        ("cvt", "e4m3x2", "f32") => bytes::<E4m3>(manner, 1.0, single),
        ("cvt", "e5m2x2", "f32") => bytes::<E5m2>(manner, 1.0, single),
        ("cvt", "e4m3x2", _) => bytes::<E4m3>(manner, upper, lower),
        ("cvt", "e5m2x2", _) => bytes::<E5m2>(manner, upper, lower),
        ("cvt", _, "e4m3x2") => from_bytes::<E4m3>(manner, a),
        ("cvt", _, "e5m2x2") => from_bytes::<E5m2>(manner, a),
        (_, _, "bf16") => half::<Bf16>(opcode, manner, operands),
        _ => half::<F16>(opcode, manner, operands),
    }
}

#[test]
fn small_floats_are_computed_as_recorded() {
    for line in lines("scalar") {
        let [mnemonic, set, wanted] = line[..] else {
            panic!("{line:?}")
        };
        let got = digest(
            inputs(set)
                .into_iter()
                .map(|operands| compute(mnemonic, operands)),
        );
        assert_eq!(got, wanted, "{mnemonic} on {set}");
    }
}
