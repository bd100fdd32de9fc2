//! `mma.sync`: d = a × b + c on the registers of one warp.

use super::Row;
use super::element::{Accumulator, Element};
use super::fragment::{Fragment, Shape};
use super::quad;

/// Most rows, columns and k of a shape.
const MOST: Shape = Shape::new(16, 8, 32);

/// An `mma.sync` with its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mma {
    shape: Shape,
    a: Element,
    b: Element,
    c: Accumulator,
    d: Accumulator,
    /// Where the elements of an 8 × 8 × 4 product stand; the other shapes have one order only.
    orders: quad::Orders,
}

impl Mma {
    /// The instruction with this shape and these types; `None` where PTX has no such.
    ///
    /// `orders` are the `.row` and `.col` of a and b, free in m8n8k4 only.
    #[must_use]
    pub fn new(
        shape: Shape,
        [a, b]: [Element; 2],
        [c, d]: [Accumulator; 2],
        orders: quad::Orders,
    ) -> Option<Self> {
        use Element::{Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
        let (m, n, k) = (shape.m, shape.n, shape.k);
        let shapes: &[(usize, usize, usize)] = match (a, b) {
            (F16, F16) => &[(8, 8, 4), (16, 8, 8), (16, 8, 16)],
            (Bf16, Bf16) => &[(16, 8, 8), (16, 8, 16)],
            (Tf32, Tf32) => &[(16, 8, 4), (16, 8, 8)],
            (S8 | U8, S8 | U8) => &[(8, 8, 16), (16, 8, 16), (16, 8, 32)],
            (E4m3 | E5m2, E4m3 | E5m2) => &[(16, 8, 16), (16, 8, 32)],
            _ => return None,
        };
        let quads = (m, n, k) == (8, 8, 4);
        let accumulators = match (c, d) {
            (Accumulator::S32 { saturate: x }, Accumulator::S32 { saturate: y }) => {
                x == y && a.is_integer()
            }
            (Accumulator::F32, Accumulator::F32) => !a.is_integer(),
            (Accumulator::F16, Accumulator::F16) => matches!(a, F16 | E4m3 | E5m2),
            (Accumulator::F16, Accumulator::F32) | (Accumulator::F32, Accumulator::F16) => quads,
            _ => false,
        };
        let allowed = shapes.contains(&(m, n, k))
            && accumulators
            && (quads || orders == quad::Orders::ROW_COLUMN);
        allowed.then_some(Self {
            shape,
            a,
            b,
            c,
            d,
            orders,
        })
    }

    /// How many registers a, b, c and d have.
    #[must_use]
    pub const fn registers(&self) -> [usize; 4] {
        let (a, b, c) = if self.is_quads() {
            (
                quad::FACTOR_ELEMENTS,
                quad::FACTOR_ELEMENTS,
                quad::SUM_ELEMENTS,
            )
        } else {
            (
                Fragment::a(self.shape, self.a).elements(),
                Fragment::b(self.shape, self.b).elements(),
                Fragment::c(self.shape).elements(),
            )
        };
        [
            a / self.a.per_register(),
            b / self.b.per_register(),
            c / self.c.per_register(),
            c / self.d.per_register(),
        ]
    }

    const fn is_quads(&self) -> bool {
        self.shape.k == 4 && self.shape.m == 8
    }

    /// The product of the registers, into `d`; missing registers count as zero.
    pub fn multiply(&self, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut [Row]) {
        if self.is_quads() {
            return quad::multiply(self.orders, [a, b, c], [self.c, self.d], d);
        }
        let mut left = [[0.0; MOST.k]; MOST.m];
        spread(
            Fragment::a(self.shape, self.a),
            a,
            self.a.per_register(),
            |place, register, inside| {
                left[place.row][place.column] = self.a.value_in(register, inside);
            },
        );
        let mut right = [[0.0; MOST.n]; MOST.k];
        spread(
            Fragment::b(self.shape, self.b),
            b,
            self.b.per_register(),
            |place, register, inside| {
                right[place.row][place.column] = self.b.value_in(register, inside);
            },
        );
        let mut sums = [[0.0; MOST.n]; MOST.m];
        let fragment = Fragment::c(self.shape);
        spread(
            fragment,
            c,
            self.c.per_register(),
            |place, register, inside| {
                sums[place.row][place.column] = self.c.value_in(register, inside);
            },
        );
        for (sums, left) in sums.iter_mut().zip(&left).take(self.shape.m) {
            add_products(sums, &left[..self.shape.k], right.as_flattened());
        }
        let per_register = self.d.per_register();
        for element in 0..fragment.elements() {
            let Some(row) = d.get_mut(element / per_register) else {
                return;
            };
            for (lane, register) in row.iter_mut().enumerate() {
                let place = fragment.place(lane, element);
                *register = self.d.put(
                    *register,
                    element % per_register,
                    sums[place.row][place.column],
                );
            }
        }
    }
}

/// Calls `each` with every element's place, its register's bits and which element in that register it is.
#[inline(always)]
fn spread(
    fragment: Fragment,
    registers: &[&Row],
    per_register: usize,
    mut each: impl FnMut(super::fragment::Place, u32, usize),
) {
    for element in 0..fragment.elements() {
        let Some(row) = registers.get(element / per_register) else {
            return;
        };
        for (lane, register) in row.iter().enumerate() {
            each(
                fragment.place(lane, element),
                *register,
                element % per_register,
            );
        }
    }
}

/// Adds one row of the product to its sums, in order of k; `right` has a row of `sums.len()` columns for each k.
#[inline(always)]
pub(super) fn add_products(sums: &mut [f64], left: &[f64], right: &[f64]) {
    for (factor, right) in left.iter().zip(right.chunks_exact(sums.len())) {
        for (sum, other) in sums.iter_mut().zip(right) {
            *sum += factor * other;
        }
    }
}
