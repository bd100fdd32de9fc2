//! `wmma`: whole matrices between memory and fragments whose layout is nobody's business.
//!
//! The ISA promises only that what `wmma.load` puts in registers is what `wmma.mma` and `wmma.store` take out.
//! Ours is the plainest layout there is: lane after lane, each with a run of the row-major matrix. Where PTX gives a fragment
//! more registers than that needs, as for f16 factors, the lanes go round again and hold copies.

use super::Row;
use super::element::{Accumulator, Element};
use super::fragment::{Place, Shape};
use super::mma::add_products;
use super::quad::Order;

/// Most elements of a factor and of an accumulator.
const MOST: (usize, usize) = (512, 256);
/// Elements of an f16 factor that a lane holds, whatever the shape.
const F16_ELEMENTS: usize = 16;

/// Which of the matrices of `d = a × b + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the letters of the instruction")]
pub enum Part {
    A(Element),
    B(Element),
    C(Accumulator),
}

/// A matrix spread over the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    rows: usize,
    columns: usize,
    elements: usize,
    per_register: usize,
    element_bytes: usize,
}

impl Fragment {
    /// The fragment of a part of a product; `None` where PTX has no such shape or type.
    #[must_use]
    pub fn new(shape: Shape, part: Part) -> Option<Self> {
        let Shape { m, n, k } = shape;
        let wide = matches!((m, n, k), (16, 16, 16) | (32, 8, 16) | (8, 32, 16));
        let (rows, columns, per_register, element_bytes) = match part {
            Part::A(element) => (m, k, element.per_register(), element.bytes()),
            Part::B(element) => (k, n, element.per_register(), element.bytes()),
            Part::C(sum) => (m, n, sum.per_register(), 4 / sum.per_register()),
        };
        let allowed = match part {
            Part::A(Element::Tf32) | Part::B(Element::Tf32) => (m, n, k) == (16, 16, 8),
            Part::A(Element::E4m3 | Element::E5m2) | Part::B(Element::E4m3 | Element::E5m2) => {
                false
            }
            Part::C(Accumulator::F32) => wide || (m, n, k) == (16, 16, 8),
            Part::A(_) | Part::B(_) | Part::C(_) => wide,
        };
        let elements = match part {
            Part::A(Element::F16) | Part::B(Element::F16) => F16_ELEMENTS,
            _ => rows * columns / 32,
        };
        allowed.then_some(Self {
            rows,
            columns,
            elements,
            per_register,
            element_bytes,
        })
    }

    /// Rows and columns of the matrix.
    #[must_use]
    pub const fn extent(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Elements that each lane holds.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.elements
    }

    /// Elements in one register.
    #[must_use]
    pub const fn per_register(&self) -> usize {
        self.per_register
    }

    /// Registers that the fragment has.
    #[must_use]
    pub const fn registers(&self) -> usize {
        self.elements / self.per_register
    }

    /// Bytes of one element in memory.
    #[must_use]
    pub const fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Where the lane's `element`-th element stands.
    #[inline(always)]
    #[must_use]
    pub const fn place(&self, lane: usize, element: usize) -> Place {
        let at = (lane * self.elements + element) % (self.rows * self.columns);
        Place {
            row: at / self.columns,
            column: at % self.columns,
        }
    }

    /// How many bytes into the matrix in memory that element is, when lines are `stride` elements apart.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self, order: Order, stride: u64, lane: usize, element: usize) -> u64 {
        let Place { row, column } = self.place(lane, element);
        let (line, inside) = match order {
            Order::Row => (row, column),
            Order::Column => (column, row),
        };
        (line as u64)
            .wrapping_mul(stride)
            .wrapping_add(inside as u64)
            .wrapping_mul(self.element_bytes as u64)
    }

    /// The value of every element, row by row; missing registers count as zero.
    fn unpack(&self, registers: &[&Row], value: impl Fn(u32, usize) -> f64, into: &mut [f64]) {
        for (register, row) in registers.iter().enumerate().take(self.registers()) {
            for (lane, bits) in row.iter().enumerate() {
                for inside in 0..self.per_register {
                    let Place { row, column } =
                        self.place(lane, register * self.per_register + inside);
                    into[row * self.columns + column] = value(*bits, inside);
                }
            }
        }
    }
}

/// A `wmma.mma` with its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wmma {
    factors: Element2,
    sums: Sum2,
    k: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Element2 {
    a: (Element, Fragment),
    b: (Element, Fragment),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum2 {
    c: (Accumulator, Fragment),
    d: (Accumulator, Fragment),
}

impl Wmma {
    /// The instruction with this shape and these types; `None` where PTX has no such.
    #[must_use]
    pub fn new(shape: Shape, [a, b]: [Element; 2], [c, d]: [Accumulator; 2]) -> Option<Self> {
        let integers = [c, d].map(|sum| matches!(sum, Accumulator::S32 { .. }));
        let halves = [c, d].contains(&Accumulator::F16);
        let fits = if a.is_integer() {
            b.is_integer() && integers == [true; 2]
        } else {
            a == b && integers == [false; 2]
        };
        if !fits || (halves && a != Element::F16) {
            return None;
        }
        Some(Self {
            factors: Element2 {
                a: (a, Fragment::new(shape, Part::A(a))?),
                b: (b, Fragment::new(shape, Part::B(b))?),
            },
            sums: Sum2 {
                c: (c, Fragment::new(shape, Part::C(c))?),
                d: (d, Fragment::new(shape, Part::C(d))?),
            },
            k: shape.k,
        })
    }

    /// How many registers a, b, c and d have.
    #[must_use]
    pub const fn registers(&self) -> [usize; 4] {
        [
            self.factors.a.1.registers(),
            self.factors.b.1.registers(),
            self.sums.c.1.registers(),
            self.sums.d.1.registers(),
        ]
    }

    /// The product of the registers, into `d`; missing registers count as zero.
    pub fn multiply(&self, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut [Row]) {
        let (mut left, mut right, mut sums) = ([0.0; MOST.0], [0.0; MOST.0], [0.0; MOST.1]);
        let (element, fragment) = self.factors.a;
        fragment.unpack(a, |bits, inside| element.value_in(bits, inside), &mut left);
        let (element, fragment) = self.factors.b;
        fragment.unpack(b, |bits, inside| element.value_in(bits, inside), &mut right);
        let (sum, fragment) = self.sums.c;
        fragment.unpack(c, |bits, inside| sum.value_in(bits, inside), &mut sums);
        let (sum, fragment) = self.sums.d;
        let columns = fragment.columns;
        for (sums, left) in sums
            .chunks_exact_mut(columns)
            .zip(left.chunks_exact(self.k))
            .take(fragment.rows)
        {
            add_products(sums, left, &right[..self.k * columns]);
        }
        for (register, row) in d.iter_mut().enumerate().take(fragment.registers()) {
            for (lane, bits) in row.iter_mut().enumerate() {
                for inside in 0..fragment.per_register {
                    let place = fragment.place(lane, register * fragment.per_register + inside);
                    *bits = sum.put(*bits, inside, sums[place.row * columns + place.column]);
                }
            }
        }
    }
}
