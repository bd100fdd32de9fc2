//! `wgmma`: descriptors, operands in shared memory, accumulator layouts.

use std::collections::{HashMap, HashSet};

use crate::matrix::Row;
use crate::matrix::descriptor::{CHUNK, Descriptor, Major};
use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::{Place, Shape};
use crate::matrix::swizzle::Swizzle;
use crate::matrix::wgmma::{Left, Right, Wgmma};

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

/// A layout without gaps or overlaps for so many lines.
fn packed(swizzle: Swizzle, major: Major, lines: u32, start: u32) -> Descriptor {
    let (leading, stride) = match (major, swizzle) {
        // Core matrices one after the other along k, then the next eight lines.
        (Major::K, Swizzle::None) => (128, 256),
        (Major::K, _) => (0, 8 * swizzle.span()),
        // Core matrices one after the other along the lines, then the next eight k.
        (Major::Mn, Swizzle::None) => (16 * lines, 128),
        (Major::Mn, _) => (
            8 * swizzle.span(),
            8 * lines.next_multiple_of(swizzle.span() / 2) * 2,
        ),
    };
    Descriptor {
        start,
        leading,
        stride,
        base: 0,
        swizzle,
    }
}

#[test]
fn descriptors_come_back() {
    let bits = 0x4000_0040_0001_2340;
    let descriptor = Descriptor::decode(bits);
    assert_eq!(
        descriptor,
        Descriptor {
            start: 0x2_3400,
            leading: 0x10,
            stride: 0x400,
            base: 0,
            swizzle: Swizzle::B128
        }
    );
    for swizzle in SWIZZLES {
        for base in 0..8 {
            let descriptor = Descriptor {
                start: 0x3_fff0,
                leading: 0x1_0010,
                stride: 0x20,
                base,
                swizzle,
            };
            assert_eq!(Descriptor::decode(descriptor.encode()), descriptor);
        }
    }
}

#[test]
fn swizzles_permute_the_chunks_of_their_period() {
    for swizzle in SWIZZLES {
        let mut seen = HashSet::new();
        for address in (0..4096).step_by(16) {
            let there = swizzle.apply(address);
            assert_eq!(swizzle.apply(there), address);
            assert_eq!(
                there / swizzle.span(),
                address / swizzle.span(),
                "chunks stay in their row"
            );
            assert!(seen.insert(there));
            assert_eq!(swizzle.apply(address + 9), there + 9, "a chunk stays whole");
            assert_eq!(
                swizzle.apply(address + swizzle.period()),
                there + swizzle.period()
            );
        }
    }
    assert_eq!(
        [0, 128, 256, 896].map(|row| Swizzle::B128.apply(row)),
        [0, 144, 288, 1008]
    );
    assert_eq!(
        [0, 128, 256, 384].map(|row| Swizzle::B64.apply(row)),
        [0, 144, 288, 432]
    );
    assert_eq!(
        [0, 128, 256].map(|row| Swizzle::B32.apply(row)),
        [0, 144, 256]
    );
}

#[test]
fn every_element_of_a_factor_has_its_own_bytes() {
    for swizzle in SWIZZLES {
        for major in [Major::K, Major::Mn] {
            for size in [1, 2, 4] {
                for lines in (8..=256).step_by(8) {
                    if major == Major::Mn && size != 2 {
                        continue;
                    }
                    let descriptor = packed(swizzle, major, lines, 2048);
                    let mut bytes = HashSet::new();
                    let mut elements = HashSet::new();
                    for chunk in descriptor.chunks(major, lines as usize, size) {
                        assert!(chunk.address >= 2048 && chunk.address % 16 == 0);
                        assert!(bytes.insert(chunk.address), "{descriptor:?} {chunk:?}");
                        for index in 0..CHUNK / size {
                            let (line, k) = match major {
                                Major::K => (chunk.line, chunk.k + index),
                                Major::Mn => (chunk.line + index, chunk.k),
                            };
                            assert!(line < lines as usize && k < 32 / size);
                            assert!(elements.insert((line, k)));
                        }
                    }
                    assert_eq!(elements.len(), lines as usize * 32 / size, "{descriptor:?}");
                }
            }
        }
    }
}

/// Single places that follow from CUTLASS's canonical layouts, in 16-byte chunks of eight 16-bit elements.
#[test]
fn chunks_are_where_the_canonical_layouts_put_them() {
    let (leading, stride) = (0x1000, 0x4000);
    let at = |swizzle, major, chunk, single| {
        Descriptor {
            start: 0,
            leading,
            stride,
            base: 0,
            swizzle,
        }
        .address(major, chunk, single)
    };
    // ((8,m),(T,2)):((1T,SBO),(1,LBO))
    assert_eq!(at(Swizzle::None, Major::K, 1, 9), leading + stride + 16);
    // Swizzle<3,4,3> o ((8,m),(T,2)):((8T,SBO),(1,T))
    assert_eq!(
        at(Swizzle::B128, Major::K, 1, 8 + 3),
        stride + 3 * 128 + (1 ^ 3) * 16
    );
    // Swizzle<2,4,3> o ((8,m),(T,2)):((4T,SBO),(1,T))
    assert_eq!(at(Swizzle::B64, Major::K, 1, 5), 5 * 64 + (1 ^ 2) * 16);
    // Swizzle<1,4,3> o ((8,m),(T,2)):((2T,SBO),(1,T))
    assert_eq!(at(Swizzle::B32, Major::K, 0, 4), 4 * 32 + 16);
    // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
    assert_eq!(
        at(Swizzle::None, Major::Mn, 3, 8 + 2),
        3 * stride + leading + 2 * 16
    );
    // Swizzle<3,4,3> o ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))
    assert_eq!(
        at(Swizzle::B128, Major::Mn, 8 + 5, 8 + 2),
        leading + stride + 2 * 128 + (5 ^ 2) * 16
    );
    // Swizzle<2,4,3> o ((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))
    assert_eq!(
        at(Swizzle::B64, Major::Mn, 4 + 3, 2),
        leading + 2 * 64 + (3 ^ 1) * 16
    );
    // Swizzle<1,4,3> o ((T,2,m),(8,k)):((1,T,LBO),(2T,SBO))
    assert_eq!(at(Swizzle::B32, Major::Mn, 2, 4), leading + 4 * 32 + 16);
}

#[test]
fn accumulators_cover_the_warps_rows() {
    for columns in (8..=256).step_by(8) {
        let mut seen = HashSet::new();
        for lane in 0..32 {
            for element in 0..columns / 2 {
                let place = Wgmma::place(lane, element);
                assert!(place.row < 16 && place.column < columns);
                assert!(seen.insert(place));
                // As the ISA writes it.
                let row = lane / 4 + 8 * (element / 2 % 2);
                assert_eq!(
                    place,
                    Place {
                        row,
                        column: element / 4 * 8 + lane % 4 * 2 + element % 2
                    }
                );
            }
        }
        assert_eq!(seen.len(), 16 * columns);
    }
}

fn number(line: usize, k: usize, salt: usize) -> i32 {
    ((line * 11 + k * 7 + salt) % 7) as i32 - 3
}

fn bits(element: Element, value: i32) -> u32 {
    match element {
        Element::F16 => half::f16::from_f32(value as f32).to_bits().into(),
        Element::Bf16 => half::bf16::from_f32(value as f32).to_bits().into(),
        Element::Tf32 => (value as f32).to_bits(),
        Element::E4m3 => [0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44][(value + 3) as usize],
        Element::E5m2 => [0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42][(value + 3) as usize],
        Element::S8 | Element::U8 => u32::from(value as u8),
    }
}

/// Shared memory that holds a factor.
fn place_in_memory(
    descriptor: Descriptor,
    major: Major,
    lines: usize,
    element: Element,
    salt: usize,
) -> HashMap<u32, [u8; 16]> {
    let size = element.bytes();
    descriptor
        .chunks(major, lines, size)
        .map(|chunk| {
            let mut bytes = [0; 16];
            for (index, field) in bytes.chunks_exact_mut(size).enumerate() {
                let (line, k) = match major {
                    Major::K => (chunk.line, chunk.k + index),
                    Major::Mn => (chunk.line + index, chunk.k),
                };
                field.copy_from_slice(&bits(element, number(line, k, salt)).to_le_bytes()[..size]);
            }
            (chunk.address, bytes)
        })
        .collect()
}

#[test]
fn products_of_memory_and_registers_agree_with_plain_loops() {
    use Element::{Bf16, E4m3, E5m2, F16, S8, Tf32};
    let exact = Accumulator::S32 { saturate: false };
    let table = [
        (8, F16, F16, Accumulator::F32, Major::K, Swizzle::B128),
        (64, F16, F16, Accumulator::F16, Major::Mn, Swizzle::B128),
        (256, Bf16, Bf16, Accumulator::F32, Major::K, Swizzle::B64),
        (96, Bf16, Bf16, Accumulator::F32, Major::Mn, Swizzle::None),
        (40, Tf32, Tf32, Accumulator::F32, Major::K, Swizzle::None),
        (24, S8, S8, exact, Major::K, Swizzle::B32),
        (16, E4m3, E5m2, Accumulator::F32, Major::K, Swizzle::B128),
    ];
    for (columns, a, b, sum, major, swizzle) in table {
        let k = 32 / a.bytes();
        let wgmma = Wgmma::new(Shape::new(64, columns, k), [a, b], sum).expect("PTX has this one");
        let along_k = major == Major::K;
        let (at_a, at_b) = (
            packed(swizzle, major, 64, 0),
            packed(swizzle, major, columns as u32, 0x1_0000),
        );
        let memory_a = place_in_memory(at_a, major, 64, a, 1);
        let memory_b = place_in_memory(at_b, major, columns, b, 2);
        let mut right = Box::new(Right::ZERO);
        for chunk in at_b.chunks(major, columns, b.bytes()) {
            wgmma.put_right(chunk, memory_b[&chunk.address], along_k, true, &mut right);
        }
        for warp in 0..4 {
            let mut left = Box::new(Left::ZERO);
            for chunk in at_a.chunks(major, 64, a.bytes()) {
                wgmma.put_left(
                    warp,
                    chunk,
                    memory_a[&chunk.address],
                    along_k,
                    false,
                    &mut left,
                );
            }
            let product = &|row: usize, column: usize| -> i32 {
                (0..k)
                    .map(|k| number(16 * warp + row, k, 1) * -number(column, k, 2))
                    .sum()
            };
            let mut d = vec![[0xffff_ffff; 32]; wgmma.registers()];
            wgmma.multiply(&left, &right, false, &mut d);
            check(&wgmma, sum, &d, product);
            wgmma.multiply(&left, &right, true, &mut d);
            check(&wgmma, sum, &d, |row, column| 2 * product(row, column));
        }
    }
}

fn check(wgmma: &Wgmma, sum: Accumulator, d: &[Row], wanted: impl Fn(usize, usize) -> i32) {
    let per_register = sum.per_register();
    for element in 0..wgmma.elements() {
        for (lane, bits) in d[element / per_register].iter().enumerate() {
            let place = Wgmma::place(lane, element);
            let got = sum.value_in(*bits, element % per_register);
            assert_eq!(
                got,
                f64::from(wanted(place.row, place.column)),
                "{wgmma:?} {place:?}"
            );
        }
    }
}

#[test]
fn the_left_factor_in_registers_is_that_of_mma() {
    let wgmma = Wgmma::new(Shape::new(64, 8, 16), [Element::F16; 2], Accumulator::F32)
        .expect("PTX has this one");
    let one = 0x3c00;
    for (register, lane, half, row, k) in [
        (0, 0, 0, 0, 0),
        (1, 5, 1, 9, 3),
        (2, 31, 0, 7, 14),
        (3, 4, 1, 9, 9),
    ] {
        let mut rows = [[0; 32]; 4];
        rows[register][lane] = one << (16 * half);
        let mut left = Left::ZERO;
        wgmma.left_from_registers(&rows.iter().collect::<Vec<_>>(), false, &mut left);
        let mut right = Box::new(Right::ZERO);
        let chunk = |line, k| crate::matrix::descriptor::Chunk {
            address: 0,
            line,
            k,
        };
        for column in 0..8 {
            for at in 0..16 {
                let mut bytes = [0; 16];
                let value = half::f16::from_f32((at * 8 + column) as f32)
                    .to_bits()
                    .to_le_bytes();
                bytes[2 * (at % 8)..2 * (at % 8) + 2].copy_from_slice(&value);
                if at % 8 == 0 {
                    for index in 1..8 {
                        let value = half::f16::from_f32(((at + index) * 8 + column) as f32)
                            .to_bits()
                            .to_le_bytes();
                        bytes[2 * index..2 * index + 2].copy_from_slice(&value);
                    }
                    wgmma.put_right(chunk(column, at), bytes, true, false, &mut right);
                }
            }
        }
        let mut d = [[0; 32]; 4];
        wgmma.multiply(&left, &right, false, &mut d);
        check(&wgmma, Accumulator::F32, &d, |r, column| {
            if r == row { (k * 8 + column) as i32 } else { 0 }
        });
    }
}

#[test]
fn what_ptx_has_not_is_refused() {
    let single = Accumulator::F32;
    let exact = Accumulator::S32 { saturate: true };
    for (n, k, types, sum) in [
        (0, 16, [Element::F16; 2], single),
        (12, 16, [Element::F16; 2], single),
        (264, 16, [Element::F16; 2], single),
        (8, 8, [Element::F16; 2], single),
        (8, 16, [Element::F16, Element::Bf16], single),
        (8, 16, [Element::Bf16; 2], Accumulator::F16),
        (40, 32, [Element::S8; 2], exact),
        (48, 32, [Element::S8; 2], single),
    ] {
        assert!(
            Wgmma::new(Shape::new(64, n, k), types, sum).is_none(),
            "{n} {k} {types:?}"
        );
    }
    assert!(Wgmma::new(Shape::new(64, 48, 32), [Element::S8, Element::U8], exact).is_some());
}
