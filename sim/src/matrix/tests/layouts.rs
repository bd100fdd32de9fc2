//! Every fragment layout covers its matrix exactly once, and known facts about them hold.

use std::collections::HashSet;

use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::{Fragment, Place, Shape};
use crate::matrix::quad::{self, Order};

const SHAPES: [(Shape, Element); 14] = [
    (Shape::new(16, 8, 8), Element::F16),
    (Shape::new(16, 8, 16), Element::F16),
    (Shape::new(16, 8, 8), Element::Bf16),
    (Shape::new(16, 8, 16), Element::Bf16),
    (Shape::new(16, 8, 4), Element::Tf32),
    (Shape::new(16, 8, 8), Element::Tf32),
    (Shape::new(8, 8, 16), Element::S8),
    (Shape::new(16, 8, 16), Element::S8),
    (Shape::new(16, 8, 32), Element::S8),
    (Shape::new(8, 8, 16), Element::U8),
    (Shape::new(16, 8, 16), Element::U8),
    (Shape::new(16, 8, 32), Element::U8),
    (Shape::new(16, 8, 32), Element::E4m3),
    (Shape::new(16, 8, 32), Element::E5m2),
];

#[test]
fn every_element_has_one_holder() {
    for (shape, element) in SHAPES {
        for fragment in [
            Fragment::a(shape, element),
            Fragment::b(shape, element),
            Fragment::c(shape),
        ] {
            let (rows, columns) = fragment.extent();
            let mut seen = HashSet::new();
            for lane in 0..32 {
                for index in 0..fragment.elements() {
                    let place = fragment.place(lane, index);
                    assert!(
                        place.row < rows && place.column < columns,
                        "{fragment:?} {lane} {index}: {place:?}"
                    );
                    assert!(
                        seen.insert(place),
                        "{fragment:?} {lane} {index}: {place:?} is held twice"
                    );
                }
            }
            assert_eq!(seen.len(), rows * columns, "{fragment:?}");
        }
    }
}

/// The formulas that the ISA states for single shapes, each in its own words.
#[test]
fn places_are_those_of_the_isa() {
    let place = |row, column| Place { row, column };
    for lane in 0..32 {
        let (group, thread) = (lane >> 2, lane % 4);
        for i in 0..4 {
            let c = Fragment::c(Shape::new(16, 8, 16)).place(lane, i);
            assert_eq!(
                c,
                place(if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
            );
            let b = Fragment::b(Shape::new(16, 8, 16), Element::F16).place(lane, i);
            assert_eq!(
                b,
                place(thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, group)
            );
            let a = Fragment::a(Shape::new(16, 8, 8), Element::Bf16).place(lane, i);
            assert_eq!(
                a,
                place(if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1))
            );
            let a = Fragment::a(Shape::new(16, 8, 8), Element::Tf32).place(lane, i);
            let row = if i == 0 || i == 2 { group } else { group + 8 };
            assert_eq!(a, place(row, if i < 2 { thread } else { thread + 4 }));
            let a = Fragment::a(Shape::new(8, 8, 16), Element::S8).place(lane, i);
            assert_eq!(a, place(group, thread * 4 + i));
        }
        for i in 0..8 {
            let a = Fragment::a(Shape::new(16, 8, 16), Element::F16).place(lane, i);
            let row = if i < 2 || (4..6).contains(&i) {
                group
            } else {
                group + 8
            };
            assert_eq!(
                a,
                place(row, thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
            );
            let a = Fragment::a(Shape::new(16, 8, 16), Element::U8).place(lane, i);
            assert_eq!(
                a,
                place(if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3))
            );
            let b = Fragment::b(Shape::new(16, 8, 32), Element::S8).place(lane, i);
            assert_eq!(
                b,
                place(thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, group)
            );
        }
        for i in 0..16 {
            let a = Fragment::a(Shape::new(16, 8, 32), Element::S8).place(lane, i);
            let row = if i < 4 || (8..12).contains(&i) {
                group
            } else {
                group + 8
            };
            assert_eq!(
                a,
                place(row, thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
            );
        }
    }
}

#[test]
fn quad_pairs_hold_every_element_once() {
    let f32 = Accumulator::F32;
    let f16 = Accumulator::F16;
    type Map = Box<dyn Fn(usize, usize) -> Place>;
    let maps: [(usize, usize, Map); 6] = [
        (8, 4, Box::new(|lane, i| quad::place_a(Order::Row, lane, i))),
        (
            8,
            4,
            Box::new(|lane, i| quad::place_a(Order::Column, lane, i)),
        ),
        (4, 8, Box::new(|lane, i| quad::place_b(Order::Row, lane, i))),
        (
            4,
            8,
            Box::new(|lane, i| quad::place_b(Order::Column, lane, i)),
        ),
        (8, 8, Box::new(move |lane, i| quad::place_c(f32, lane, i))),
        (8, 8, Box::new(move |lane, i| quad::place_c(f16, lane, i))),
    ];
    for (rows, columns, map) in maps {
        let mut seen = HashSet::new();
        for lane in 0..32 {
            for element in 0..rows * columns / 8 {
                let place = map(lane, element);
                assert!(place.row < rows && place.column < columns);
                assert!(seen.insert((quad::product(lane), place)));
            }
        }
        assert_eq!(seen.len(), 4 * rows * columns);
    }
}
