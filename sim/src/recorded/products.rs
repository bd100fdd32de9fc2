//! Matrix products as the device computed them.

use super::{digest, lines, number, references, rows, words};
use crate::matrix::Row;
use crate::matrix::descriptor::{Descriptor, Major};
use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::Shape;
use crate::matrix::mma::Mma;
use crate::matrix::quad::{Order, Orders};
use crate::matrix::wgmma::{Left, Right, Wgmma};
use crate::matrix::{rows as moves, tolerance};

/// Words of the memory that `wgmma` was recorded with.
const IMAGE: usize = 16384;

fn element(word: &str) -> Element {
    match word {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "s8" => Element::S8,
        _ => Element::U8,
    }
}

fn accumulator(word: &str, saturate: bool) -> Accumulator {
    match word {
        "f32" => Accumulator::F32,
        "f16" => Accumulator::F16,
        _ => Accumulator::S32 { saturate },
    }
}

/// Words packed with small integers of a type; integer types take any bits.
fn small(seed: u64, count: usize, kind: &str) -> Vec<u32> {
    let table: [u32; 8] = match kind {
        "f16" => [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0xbc00, 0xc000, 0xc200],
        "bf16" => [0, 0x3f80, 0x4000, 0x4040, 0x4080, 0xbf80, 0xc000, 0xc040],
        "f32" | "tf32" => [0.0f32, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0].map(f32::to_bits),
        "e4m3" => [0, 0x38, 0x40, 0x44, 0x48, 0xb8, 0xc0, 0xc4],
        "e5m2" => [0, 0x3c, 0x40, 0x42, 0x44, 0xbc, 0xc0, 0xc2],
        _ => return words(seed, count),
    };
    let bits = if kind == "f32" {
        32
    } else {
        element(kind).bits()
    };
    let pack = |raw: u32| {
        (0..32 / bits).fold(0, |word, at| {
            word | table[(raw >> (4 * at) & 7) as usize] << (bits * at)
        })
    };
    words(seed, count).into_iter().map(pack).collect()
}

/// Words packed with floats of any sign and fraction, over ten or twenty powers of two.
fn floats(seed: u64, count: usize, kind: &str) -> Vec<u32> {
    let pairs = words(seed, count).into_iter().zip(words(seed + 1, count));
    if matches!(kind, "f32" | "tf32") {
        return pairs
            .map(|(raw, other)| raw & 0x807f_ffff | (117 + other % 20) << 23)
            .collect();
    }
    let (fraction, bias) = if kind == "f16" { (10, 10) } else { (7, 122) };
    let half = |raw: u32, other: u32| {
        raw & 0xffff & (0x8000 | ((1 << fraction) - 1)) | (bias + (other & 0xffff) % 10) << fraction
    };
    pairs
        .map(|(raw, other)| half(raw, other) | half(raw >> 16, other >> 16) << 16)
        .collect()
}

/// An `mma.sync` as its line gives it, and the types of a, b and c.
fn mma(line: &[&'static str]) -> (Mma, [&'static str; 3]) {
    let order = |word: &str| {
        if word == "row" {
            Order::Row
        } else {
            Order::Column
        }
    };
    let saturate = line[9] == "satfinite";
    let mma = Mma::new(
        Shape::new(number(line[0]), number(line[1]), number(line[2])),
        [element(line[3]), element(line[4])],
        [
            accumulator(line[5], saturate),
            accumulator(line[6], saturate),
        ],
        Orders {
            a: order(line[7]),
            b: order(line[8]),
        },
    );
    (
        mma.unwrap_or_else(|| panic!("{line:?} is refused")),
        [line[3], line[4], line[5]],
    )
}

/// Its result on recorded inputs, with the registers of a, b and c.
fn product(mma: &Mma, inputs: &[Vec<Row>; 3]) -> Vec<Row> {
    let mut d = vec![[0; 32]; mma.registers()[3]];
    let [a, b, c] = [0, 1, 2].map(|part| references(&inputs[part]));
    mma.multiply(&a, &b, &c, &mut d);
    d
}

#[test]
fn products_of_small_integers_are_the_devices() {
    for line in lines("mma") {
        let (mma, kinds) = mma(&line);
        let seed: u64 = number(line[10]);
        let registers = mma.registers();
        let inputs = [0, 1, 2].map(|part| {
            rows(&small(
                seed * 8 + part as u64,
                32 * registers[part],
                kinds[part],
            ))
        });
        assert_eq!(
            digest(product(&mma, &inputs).into_iter().flatten()),
            line[11],
            "{line:?}"
        );
    }
}

#[test]
fn sums_of_any_floats_are_within_the_tolerance() {
    for line in lines("sum") {
        let (mma, kinds) = mma(&line);
        let seed: u64 = number(line[10]);
        let registers = mma.registers();
        let inputs = [0, 1, 2].map(|part| {
            rows(&floats(
                seed * 8 + 2 * part as u64,
                32 * registers[part],
                kinds[part],
            ))
        });
        // The same with all signs taken away gives the magnitude of every sum.
        let positive = [0, 1, 2].map(|part| {
            let mask = if matches!(kinds[part], "f16" | "bf16") {
                0x7fff_7fff
            } else {
                0x7fff_ffff
            };
            inputs[part]
                .iter()
                .map(|row| row.map(|word| word & mask))
                .collect()
        });
        let ours = product(&mma, &inputs).into_iter().flatten();
        let magnitudes = product(&mma, &positive).into_iter().flatten();
        let mut different = 0;
        for ((word, magnitude), theirs) in ours.zip(magnitudes).zip(&line[11..]) {
            let theirs = u32::from_str_radix(theirs, 16).expect("a word in hexadecimal");
            let [ours, theirs, magnitude] =
                [word, theirs, magnitude].map(|word| f64::from(f32::from_bits(word)));
            let allowed = tolerance(number(line[2]), magnitude);
            assert!(
                (ours - theirs).abs() <= allowed,
                "{line:?}: {ours:e}, {theirs:e} recorded, {allowed:e} allowed"
            );
            different += usize::from(ours != theirs);
        }
        // Were all the same, there would be no need for a tolerance.
        assert!(different > 0, "{line:?}");
    }
}

#[test]
fn rows_move_as_recorded() {
    for line in lines("ldmatrix") {
        let matrices: usize = number(line[0]);
        let words: moves::Words = rows(&words(number(line[2]), 128))
            .try_into()
            .expect("four rows of words");
        let got = moves::load(&words, matrices, line[1] == "trans");
        assert_eq!(
            digest(got[..matrices].as_flattened().iter().copied()),
            line[3],
            "{line:?}"
        );
    }
    for line in lines("stmatrix") {
        let matrices: usize = number(line[0]);
        let registers = rows(&words(number(line[2]), 32 * matrices));
        let mut got = moves::store(&references(&registers), line[1] == "trans");
        // Nothing is stored where the other lanes point.
        for word in &mut got {
            word[moves::addressing_lanes(matrices)..].fill(0);
        }
        assert_eq!(digest(got.into_iter().flatten()), line[3], "{line:?}");
    }
    for line in lines("movmatrix") {
        let register = rows(&words(number(line[0]), 32))[0];
        assert_eq!(digest(moves::transpose(&register)), line[1]);
    }
}

/// A `wgmma` line: the instruction, its flags, and memory and registers of four warps.
struct Recorded {
    wgmma: Wgmma,
    majors: [Major; 2],
    negated: [bool; 2],
    a_in_registers: bool,
    accumulate: bool,
    image: Vec<u8>,
    a: Vec<u32>,
    c: Vec<u32>,
}

impl Recorded {
    fn new(line: &[&str]) -> Self {
        let types = [element(line[1]), element(line[2])];
        let shape = Shape::new(64, number(line[0]), 32 / types[0].bytes());
        let wgmma = Wgmma::new(shape, types, accumulator(line[3], false));
        let wgmma = wgmma.unwrap_or_else(|| panic!("{line:?} is refused"));
        let seed: u64 = 8 * number::<u64>(line[10]);
        Self {
            wgmma,
            majors: [line[4], line[5]].map(|word| if word == "1" { Major::Mn } else { Major::K }),
            negated: [line[7], line[8]].map(|word| word == "-1"),
            a_in_registers: line[6] == "1",
            accumulate: line[9] == "1",
            image: small(seed, IMAGE, line[1])
                .into_iter()
                .flat_map(u32::to_le_bytes)
                .collect(),
            a: small(seed + 1, 512, line[1]),
            c: small(seed + 2, 128 * wgmma.registers(), line[3]),
        }
    }

    fn read(&self, address: u32) -> [u8; 16] {
        *self.image[address as usize..]
            .first_chunk()
            .expect("recorded inside the memory")
    }

    /// One warp's part of registers that stand warp by warp.
    fn part(words: &[u32], warp: usize) -> Vec<Row> {
        words
            .as_chunks()
            .0
            .iter()
            .skip(warp)
            .step_by(4)
            .copied()
            .collect()
    }

    fn run(&self, descriptors: [Descriptor; 2]) -> Vec<u32> {
        let [a, b] = descriptors;
        let [type_a, type_b] = self.wgmma.factors();
        let along = |which: usize| self.majors[which] == Major::K;
        let mut right = Box::new(Right::ZERO);
        for chunk in b.chunks(self.majors[1], self.wgmma.columns(), type_b.bytes()) {
            self.wgmma.put_right(
                chunk,
                self.read(chunk.address),
                along(1),
                self.negated[1],
                &mut right,
            );
        }
        let warps = [0, 1, 2, 3].map(|warp| {
            let mut left = Box::new(Left::ZERO);
            if self.a_in_registers {
                let registers = Self::part(&self.a, warp);
                self.wgmma
                    .left_from_registers(&references(&registers), self.negated[0], &mut left);
            } else {
                for chunk in a.chunks(self.majors[0], 64, type_a.bytes()) {
                    self.wgmma.put_left(
                        warp,
                        chunk,
                        self.read(chunk.address),
                        along(0),
                        self.negated[0],
                        &mut left,
                    );
                }
            }
            let mut d = Self::part(&self.c, warp);
            self.wgmma.multiply(&left, &right, self.accumulate, &mut d);
            d
        });
        (0..self.wgmma.registers())
            .flat_map(|register| warps.iter().flat_map(move |d| d[register]))
            .collect()
    }
}

#[test]
fn descriptors_find_the_bytes_that_the_device_finds() {
    let mut last: Option<(&str, Recorded)> = None;
    for line in lines("wgmma") {
        // Lines with one seed have their inputs in common.
        let recorded = match last.take() {
            Some((seed, recorded)) if seed == line[10] => recorded,
            _ => Recorded::new(&line),
        };
        let descriptors = [line[11], line[12]].map(|word| {
            Descriptor::decode(u64::from_str_radix(word, 16).expect("a descriptor in hexadecimal"))
        });
        assert_eq!(
            digest(recorded.run(descriptors)),
            line[13],
            "{line:?}: {descriptors:?}"
        );
        last = Some((line[10], recorded));
    }
}
