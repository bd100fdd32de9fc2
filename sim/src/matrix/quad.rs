//! `mma.sync.m8n8k4`: four independent 8 × 8 × 4 products of f16, one for each *quad pair* of lanes.
//!
//! Lanes 4q to 4q + 3 and 16 + 4q to 16 + 4q + 3 work on product q; the upper four hold the lower rows.

use super::Row;
use super::element::{Accumulator, Element};
use super::fragment::Place;
use super::mma::add_products;

/// Elements of a factor that a lane holds.
pub(super) const FACTOR_ELEMENTS: usize = 4;
/// Elements of an accumulator that a lane holds.
pub(super) const SUM_ELEMENTS: usize = 8;

/// Which way a matrix runs through the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `.row`.
    Row,
    /// `.col`.
    Column,
}

/// The orders of a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the letters of the operands")]
pub struct Orders {
    pub a: Order,
    pub b: Order,
}

impl Orders {
    /// `.row.col`, what all other shapes have.
    pub const ROW_COLUMN: Self = Self {
        a: Order::Row,
        b: Order::Column,
    };
}

/// Which of the four products a lane works on.
#[must_use]
pub const fn product(lane: usize) -> usize {
    lane % 16 / 4
}

/// Where an element of a stands, which has 8 rows and 4 columns.
#[must_use]
pub const fn place_a(order: Order, lane: usize, element: usize) -> Place {
    let (member, half) = (lane % 4, lane / 16);
    match order {
        Order::Row => Place {
            row: member + 4 * half,
            column: element,
        },
        Order::Column => Place {
            row: element + 4 * half,
            column: member,
        },
    }
}

/// Where an element of b stands, which has 4 rows and 8 columns.
#[must_use]
pub const fn place_b(order: Order, lane: usize, element: usize) -> Place {
    let (member, half) = (lane % 4, lane / 16);
    match order {
        Order::Row => Place {
            row: member,
            column: element + 4 * half,
        },
        Order::Column => Place {
            row: element,
            column: member + 4 * half,
        },
    }
}

/// Where an element of c or d stands, which have 8 rows and 8 columns.
#[must_use]
pub const fn place_c(accumulator: Accumulator, lane: usize, element: usize) -> Place {
    let half = lane / 16;
    match accumulator {
        Accumulator::F16 => Place {
            row: lane % 4 + 4 * half,
            column: element,
        },
        Accumulator::F32 | Accumulator::S32 { .. } => Place {
            row: (lane & 1) + (element & 2) + 4 * half,
            column: (element & 4) + (lane & 2) + (element & 1),
        },
    }
}

pub(super) fn multiply(
    orders: Orders,
    [a, b, c]: [&[&Row]; 3],
    [from, into]: [Accumulator; 2],
    d: &mut [Row],
) {
    let mut left = [[[0.0; 4]; 8]; 4];
    let mut right = [[[0.0; 8]; 4]; 4];
    let mut sums = [[[0.0; 8]; 8]; 4];
    for lane in 0..32 {
        let which = product(lane);
        for element in 0..FACTOR_ELEMENTS {
            let value = |rows: &[&Row]| {
                rows.get(element / 2)
                    .map_or(0.0, |row| Element::F16.value_in(row[lane], element % 2))
            };
            let place = place_a(orders.a, lane, element);
            left[which][place.row][place.column] = value(a);
            let place = place_b(orders.b, lane, element);
            right[which][place.row][place.column] = value(b);
        }
        for element in 0..SUM_ELEMENTS {
            let place = place_c(from, lane, element);
            let per_register = from.per_register();
            sums[which][place.row][place.column] = c
                .get(element / per_register)
                .map_or(0.0, |row| from.value_in(row[lane], element % per_register));
        }
    }
    for which in 0..4 {
        for (sums, left) in sums[which].iter_mut().zip(&left[which]) {
            add_products(sums, left, right[which].as_flattened());
        }
    }
    let per_register = into.per_register();
    for element in 0..SUM_ELEMENTS {
        let Some(row) = d.get_mut(element / per_register) else {
            return;
        };
        for (lane, register) in row.iter_mut().enumerate() {
            let place = place_c(into, lane, element);
            *register = into.put(
                *register,
                element % per_register,
                sums[product(lane)][place.row][place.column],
            );
        }
    }
}
