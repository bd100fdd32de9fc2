//! `wmma`: loads, products and stores agree on one layout.

use std::collections::HashMap;

use crate::matrix::Row;
use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::Shape;
use crate::matrix::quad::Order;
use crate::matrix::wmma::{Fragment, Part, Wmma};

const SUM: Accumulator = Accumulator::S32 { saturate: false };

/// A line of [`TABLE`].
type Line = (Shape, [Element; 2], [Accumulator; 2], [usize; 4]);

/// Shape, factors, sums, and the registers of a, b, c and d that the ISA lists.
const TABLE: [Line; 13] = {
    use Accumulator::{F16 as H, F32 as S};
    use Element::{Bf16, F16, S8, Tf32, U8};
    const SQUARE: Shape = Shape::new(16, 16, 16);
    const TALL: Shape = Shape::new(32, 8, 16);
    const WIDE: Shape = Shape::new(8, 32, 16);
    [
        (SQUARE, [F16, F16], [S, S], [8, 8, 8, 8]),
        (SQUARE, [F16, F16], [H, H], [8, 8, 4, 4]),
        (TALL, [F16, F16], [S, H], [8, 8, 8, 4]),
        (WIDE, [F16, F16], [H, S], [8, 8, 4, 8]),
        (SQUARE, [Bf16, Bf16], [S, S], [4, 4, 8, 8]),
        (TALL, [Bf16, Bf16], [S, S], [8, 2, 8, 8]),
        (WIDE, [Bf16, Bf16], [S, S], [2, 8, 8, 8]),
        (Shape::new(16, 16, 8), [Tf32, Tf32], [S, S], [4, 4, 8, 8]),
        (SQUARE, [S8, S8], [SUM, SUM], [2, 2, 8, 8]),
        (SQUARE, [U8, S8], [SUM, SUM], [2, 2, 8, 8]),
        (TALL, [U8, U8], [SUM, SUM], [4, 1, 8, 8]),
        (WIDE, [S8, U8], [SUM, SUM], [1, 4, 8, 8]),
        (TALL, [S8, S8], [SUM, SUM], [4, 1, 8, 8]),
    ]
};

#[test]
fn every_element_is_held_and_every_lane_has_as_many() {
    for (shape, [a, b], [c, d], registers) in TABLE {
        let wmma = Wmma::new(shape, [a, b], [c, d]).expect("PTX has this one");
        assert_eq!(wmma.registers(), registers, "{shape:?} {a:?}");
        for part in [Part::A(a), Part::B(b), Part::C(c), Part::C(d)] {
            let fragment = Fragment::new(shape, part).expect("PTX has this one");
            let (rows, columns) = fragment.extent();
            let mut holders: HashMap<_, usize> = HashMap::new();
            for lane in 0..32 {
                for element in 0..fragment.elements() {
                    *holders.entry(fragment.place(lane, element)).or_default() += 1;
                }
            }
            assert_eq!(holders.len(), rows * columns);
            let copies = fragment.elements() * 32 / (rows * columns);
            assert!(
                holders.values().all(|count| *count == copies),
                "{part:?} {shape:?}"
            );
        }
    }
}

/// The registers of a fragment whose element is `value` of its row and column.
fn registers(fragment: Fragment, bits: impl Fn(usize, usize) -> u32) -> Vec<Row> {
    let mut rows = vec![[0; 32]; fragment.registers()];
    let width = 32 / fragment.per_register();
    for element in 0..fragment.elements() {
        for (lane, register) in rows[element / fragment.per_register()]
            .iter_mut()
            .enumerate()
        {
            let place = fragment.place(lane, element);
            *register |=
                bits(place.row, place.column) << (width * (element % fragment.per_register()));
        }
    }
    rows
}

#[test]
fn products_are_those_of_the_matrices() {
    let number = |row: usize, column: usize| ((row * 7 + column * 3) % 5) as u32;
    let f16 = |value: u32| u32::from(half::f16::from_f32(value as f32).to_bits());
    for (shape, [a, b], [c, d], _) in TABLE {
        let bits = |element: Element, value: u32| match element {
            Element::F16 => f16(value),
            Element::Bf16 => half::bf16::from_f32(value as f32).to_bits().into(),
            Element::Tf32 => (value as f32).to_bits(),
            _ => value,
        };
        let sum_bits = |sum: Accumulator, value: u32| match sum {
            Accumulator::F32 => (value as f32).to_bits(),
            Accumulator::F16 => f16(value),
            Accumulator::S32 { .. } => value,
        };
        let fragment = |part| Fragment::new(shape, part).expect("PTX has this one");
        let left = registers(fragment(Part::A(a)), |row, column| {
            bits(a, number(row, column))
        });
        let right = registers(fragment(Part::B(b)), |row, column| {
            bits(b, number(column + 1, row))
        });
        let start = registers(fragment(Part::C(c)), |row, column| {
            sum_bits(c, number(column, row + 2))
        });
        let wanted = registers(fragment(Part::C(d)), |row, column| {
            let products: u32 = (0..shape.k)
                .map(|k| number(row, k) * number(column + 1, k))
                .sum();
            sum_bits(d, products + number(column, row + 2))
        });
        let mut got = vec![[0; 32]; wanted.len()];
        let refer = |rows: &'static [Row]| rows.iter().collect::<Vec<_>>();
        let wmma = Wmma::new(shape, [a, b], [c, d]).expect("PTX has this one");
        wmma.multiply(
            &refer(left.leak()),
            &refer(right.leak()),
            &refer(start.leak()),
            &mut got,
        );
        assert_eq!(got, wanted, "{shape:?} {a:?} {b:?} {c:?} {d:?}");
    }
}

#[test]
fn memory_runs_along_rows_or_columns() {
    let fragment =
        Fragment::new(Shape::new(16, 16, 16), Part::A(Element::Bf16)).expect("PTX has this one");
    for lane in 0..32 {
        for element in 0..fragment.elements() {
            let place = fragment.place(lane, element);
            let (row, column) = (place.row as u64, place.column as u64);
            assert_eq!(
                fragment.offset(Order::Row, 24, lane, element),
                2 * (24 * row + column)
            );
            assert_eq!(
                fragment.offset(Order::Column, 24, lane, element),
                2 * (24 * column + row)
            );
        }
    }
}

#[test]
fn what_ptx_has_not_is_refused() {
    let square = Shape::new(16, 16, 16);
    let f32 = [Accumulator::F32; 2];
    assert!(Wmma::new(square, [Element::Tf32; 2], f32).is_none());
    assert!(Wmma::new(Shape::new(16, 8, 16), [Element::F16; 2], f32).is_none());
    assert!(Wmma::new(square, [Element::F16, Element::Bf16], f32).is_none());
    assert!(Wmma::new(square, [Element::Bf16; 2], [Accumulator::F16; 2]).is_none());
    assert!(Wmma::new(square, [Element::S8; 2], f32).is_none());
    assert!(Wmma::new(square, [Element::E4m3; 2], f32).is_none());
}
