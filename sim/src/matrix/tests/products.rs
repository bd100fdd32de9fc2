//! Products of fragments against products of whole matrices.

use crate::matrix::Row;
use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::{Fragment, Place, Shape};
use crate::matrix::mma::Mma;
use crate::matrix::quad::{self, Order, Orders};

/// A small integer that differs from element to element, as bits of the type.
fn small(element: Element, place: Place, salt: usize) -> (f64, u32) {
    let number = ((place.row * 7 + place.column * 13 + salt * 5) % 9) as f32 - 4.0;
    let number = if element == Element::U8 {
        number + 4.0
    } else {
        number
    };
    let bits = match element {
        Element::F16 => half::f16::from_f32(number).to_bits().into(),
        Element::Bf16 => half::bf16::from_f32(number).to_bits().into(),
        Element::Tf32 => number.to_bits() | 0x1abc,
        Element::S8 | Element::U8 => u32::from(number as i32 as u8),
        Element::E4m3 => {
            [0xc8, 0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44, 0x48][(number + 4.0) as usize]
        }
        Element::E5m2 => {
            [0xc4, 0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42, 0x44][(number + 4.0) as usize]
        }
    };
    (number.into(), bits)
}

fn small_sum(accumulator: Accumulator, place: Place) -> (f64, u32) {
    let number = ((place.row * 5 + place.column * 3) % 101) as f32 - 50.0;
    let bits = match accumulator {
        Accumulator::F32 => number.to_bits(),
        Accumulator::F16 => half::f16::from_f32(number).to_bits().into(),
        Accumulator::S32 { .. } => number as i32 as u32,
    };
    (number.into(), bits)
}

/// The registers of a fragment, from the bits of its elements.
fn pack(elements: usize, bits: usize, at: impl Fn(usize, usize) -> u32) -> Vec<Row> {
    let per_register = 32 / bits;
    let mut registers = vec![[0; 32]; elements / per_register];
    for (lane, element) in
        (0..32).flat_map(|lane| (0..elements).map(move |element| (lane, element)))
    {
        registers[element / per_register][lane] |=
            at(lane, element) << (bits * (element % per_register));
    }
    registers
}

fn refer(rows: &[Row]) -> Vec<&Row> {
    rows.iter().collect()
}

#[test]
fn products_of_small_integers_are_exact() {
    use Element::{Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
    let exact = Accumulator::S32 { saturate: false };
    let limited = Accumulator::S32 { saturate: true };
    let (single, half) = (Accumulator::F32, Accumulator::F16);
    let table = [
        (16, 8, 8, F16, F16, single),
        (16, 8, 8, F16, F16, half),
        (16, 8, 16, F16, F16, single),
        (16, 8, 16, F16, F16, half),
        (16, 8, 8, Bf16, Bf16, single),
        (16, 8, 16, Bf16, Bf16, single),
        (16, 8, 4, Tf32, Tf32, single),
        (16, 8, 8, Tf32, Tf32, single),
        (8, 8, 16, S8, U8, exact),
        (16, 8, 16, U8, S8, exact),
        (16, 8, 32, S8, S8, limited),
        (16, 8, 32, U8, U8, exact),
        (16, 8, 32, E4m3, E5m2, single),
        (16, 8, 32, E5m2, E4m3, half),
    ];
    for (m, n, k, a, b, sum) in table {
        let shape = Shape::new(m, n, k);
        let mma =
            Mma::new(shape, [a, b], [sum, sum], Orders::ROW_COLUMN).expect("PTX has this one");
        let (fa, fb, fc) = (
            Fragment::a(shape, a),
            Fragment::b(shape, b),
            Fragment::c(shape),
        );
        let ra = pack(fa.elements(), a.bits(), |lane, i| {
            small(a, fa.place(lane, i), 1).1
        });
        let rb = pack(fb.elements(), b.bits(), |lane, i| {
            small(b, fb.place(lane, i), 2).1
        });
        let rc = pack(fc.elements(), 32 / sum.per_register(), |lane, i| {
            small_sum(sum, fc.place(lane, i)).1
        });
        assert_eq!(mma.registers(), [ra.len(), rb.len(), rc.len(), rc.len()]);
        let mut d = vec![[0; 32]; rc.len()];
        mma.multiply(&refer(&ra), &refer(&rb), &refer(&rc), &mut d);
        for (lane, element) in
            (0..32).flat_map(|lane| (0..fc.elements()).map(move |element| (lane, element)))
        {
            let Place { row, column } = fc.place(lane, element);
            let wanted: f64 = (0..k)
                .map(|k| {
                    small(a, Place { row, column: k }, 1).0
                        * small(b, Place { row: k, column }, 2).0
                })
                .sum::<f64>()
                + small_sum(sum, Place { row, column }).0;
            let per_register = sum.per_register();
            let got = sum.value_in(d[element / per_register][lane], element % per_register);
            assert_eq!(
                got, wanted,
                "{a:?} {b:?} {sum:?} {shape:?} ({row}, {column})"
            );
        }
    }
}

#[test]
fn four_small_products_in_one() {
    for (order_a, order_b, from, into) in [
        (
            Order::Row,
            Order::Column,
            Accumulator::F32,
            Accumulator::F32,
        ),
        (
            Order::Column,
            Order::Row,
            Accumulator::F16,
            Accumulator::F16,
        ),
        (Order::Row, Order::Row, Accumulator::F16, Accumulator::F32),
        (
            Order::Column,
            Order::Column,
            Accumulator::F32,
            Accumulator::F16,
        ),
    ] {
        let orders = Orders {
            a: order_a,
            b: order_b,
        };
        let mma = Mma::new(Shape::new(8, 8, 4), [Element::F16; 2], [from, into], orders)
            .expect("PTX has this one");
        let ra = pack(4, 16, |lane, i| {
            small(
                Element::F16,
                quad::place_a(order_a, lane, i),
                quad::product(lane),
            )
            .1
        });
        let rb = pack(4, 16, |lane, i| {
            small(Element::F16, quad::place_b(order_b, lane, i), 3).1
        });
        let rc = pack(8, 32 / from.per_register(), |lane, i| {
            small_sum(from, quad::place_c(from, lane, i)).1
        });
        let mut d = vec![[0; 32]; 8 / into.per_register()];
        assert_eq!(mma.registers(), [2, 2, rc.len(), d.len()]);
        mma.multiply(&refer(&ra), &refer(&rb), &refer(&rc), &mut d);
        for (lane, element) in (0..32).flat_map(|lane| (0..8).map(move |element| (lane, element))) {
            let Place { row, column } = quad::place_c(into, lane, element);
            let wanted = (0..4)
                .map(|k| {
                    small(Element::F16, Place { row, column: k }, quad::product(lane)).0
                        * small(Element::F16, Place { row: k, column }, 3).0
                })
                .sum::<f64>()
                + small_sum(from, Place { row, column }).0;
            let got = into.value_in(
                d[element / into.per_register()][lane],
                element % into.per_register(),
            );
            assert_eq!(
                got, wanted,
                "{orders:?} {from:?} {into:?} lane {lane} element {element}"
            );
        }
    }
}

#[test]
fn sums_round_once_and_overflow_as_their_type_says() {
    // One row of a times one column of b, in element (0, 0).
    let one = |a: Element,
               left: &[(usize, u32)],
               right: &[(usize, u32)],
               sum: Accumulator,
               c: u32,
               shape: Shape| {
        let mma =
            Mma::new(shape, [a, a], [sum, sum], Orders::ROW_COLUMN).expect("PTX has this one");
        let pick = |list: &[(usize, u32)], k: usize| {
            list.iter()
                .find(|(at, _)| *at == k)
                .map_or(0, |(_, bits)| *bits)
        };
        let (fa, fb) = (Fragment::a(shape, a), Fragment::b(shape, a));
        let ra = pack(fa.elements(), a.bits(), |lane, i| {
            let place = fa.place(lane, i);
            if place.row == 0 {
                pick(left, place.column)
            } else {
                0
            }
        });
        let rb = pack(fb.elements(), a.bits(), |lane, i| {
            let place = fb.place(lane, i);
            if place.column == 0 {
                pick(right, place.row)
            } else {
                0
            }
        });
        let mut first = [0; 32];
        first[0] = c;
        let zero = [0; 32];
        let mut d = [[0; 32]; 4];
        mma.multiply(
            &refer(&ra),
            &refer(&rb),
            &[&first, &zero, &zero, &zero],
            &mut d,
        );
        d[0][0]
    };
    let byte = Shape::new(16, 8, 32);
    let wrap = Accumulator::S32 { saturate: false };
    let limit = Accumulator::S32 { saturate: true };
    assert_eq!(
        one(
            Element::S8,
            &[(3, 127)],
            &[(3, 127)],
            wrap,
            i32::MAX as u32,
            byte
        ),
        0x8000_3f00
    );
    assert_eq!(
        one(
            Element::S8,
            &[(3, 127)],
            &[(3, 127)],
            limit,
            i32::MAX as u32,
            byte
        ),
        i32::MAX as u32
    );
    assert_eq!(
        one(
            Element::S8,
            &[(9, 0x80)],
            &[(9, 127)],
            limit,
            i32::MIN as u32,
            byte
        ),
        i32::MIN as u32
    );
    let half = Shape::new(16, 8, 16);
    let single = Accumulator::F32;
    let f16 = |value: f32| u32::from(half::f16::from_f32(value).to_bits());
    // 1 + 2^-24 + 2^-24 is 1 + 2^-23 when it is rounded once.
    let tiny = f16(2f32.powi(-12));
    let sum = one(
        Element::F16,
        &[(0, tiny), (15, tiny)],
        &[(0, tiny), (15, tiny)],
        single,
        1f32.to_bits(),
        half,
    );
    assert_eq!(f32::from_bits(sum), 1.0 + f32::EPSILON);
    let infinite = one(
        Element::F16,
        &[(0, 0x7c00)],
        &[(0, f16(1.0))],
        single,
        0,
        half,
    );
    assert_eq!(f32::from_bits(infinite), f32::INFINITY);
    assert_eq!(
        one(
            Element::F16,
            &[(0, 0x7c00)],
            &[(1, f16(1.0))],
            single,
            0,
            half
        ),
        0x7fff_ffff
    );
    let overflow = one(
        Element::F16,
        &[(2, f16(300.0))],
        &[(2, f16(300.0))],
        Accumulator::F16,
        0,
        half,
    );
    assert_eq!(overflow & 0xffff, 0x7c00);
}

#[test]
fn what_ptx_has_not_is_refused() {
    let new =
        |m, n, k, a, sum| Mma::new(Shape::new(m, n, k), [a, a], [sum, sum], Orders::ROW_COLUMN);
    assert!(new(16, 8, 32, Element::F16, Accumulator::F32).is_none());
    assert!(new(16, 8, 16, Element::Bf16, Accumulator::F16).is_none());
    assert!(new(16, 8, 16, Element::S8, Accumulator::F32).is_none());
    assert!(new(16, 8, 4, Element::F16, Accumulator::F32).is_none());
    assert!(new(0, 0, 0, Element::F16, Accumulator::F32).is_none());
    let columns = Orders {
        a: Order::Column,
        b: Order::Column,
    };
    assert!(
        Mma::new(
            Shape::new(16, 8, 16),
            [Element::F16; 2],
            [Accumulator::F32; 2],
            columns
        )
        .is_none(),
        "only m8n8k4 has orders"
    );
}
