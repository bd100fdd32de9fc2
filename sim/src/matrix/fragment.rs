//! Which element a lane holds in the fragments of `mma.sync` (and of `wgmma`, whose warps use the same pieces).
//!
//! One rule covers every shape with eight columns: a lane is in *group* `lane / 4`, as its *member* `lane % 4`.
//! A register holds neighbouring elements along k (or along n, for accumulators); members share a row, groups share nothing.

use super::element::Element;

/// Rows of d, columns of d, and the length of a row of a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the letters of `.m16n8k16`")]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// The shape with these letters.
    #[must_use]
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k }
    }
}

/// Where an element stands in its matrix, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the words say it")]
pub struct Place {
    pub row: usize,
    pub column: usize,
}

/// A matrix spread over the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// The left factor, `m` × `k`.
    A {
        /// Shape of the product.
        shape: Shape,
        /// Elements in one register.
        per_register: usize,
    },
    /// The right factor, `k` × `n`.
    B {
        /// Shape of the product.
        shape: Shape,
        /// Elements in one register.
        per_register: usize,
    },
    /// Accumulator and result, `m` × `n`; where an element stands does not depend on how many share a register.
    C {
        /// Shape of the product.
        shape: Shape,
    },
}

impl Fragment {
    /// The left factor.
    #[must_use]
    pub const fn a(shape: Shape, element: Element) -> Self {
        Self::A {
            shape,
            per_register: element.per_register(),
        }
    }

    /// The right factor.
    #[must_use]
    pub const fn b(shape: Shape, element: Element) -> Self {
        Self::B {
            shape,
            per_register: element.per_register(),
        }
    }

    /// The accumulator.
    #[must_use]
    pub const fn c(shape: Shape) -> Self {
        Self::C { shape }
    }

    /// Rows and columns of the matrix.
    #[must_use]
    pub const fn extent(self) -> (usize, usize) {
        match self {
            Self::A { shape, .. } => (shape.m, shape.k),
            Self::B { shape, .. } => (shape.k, shape.n),
            Self::C { shape } => (shape.m, shape.n),
        }
    }

    /// Elements that each lane holds.
    #[must_use]
    pub const fn elements(self) -> usize {
        let (rows, columns) = self.extent();
        rows * columns / 32
    }

    /// Where the lane's `element`-th element stands. Registers are filled from their low bits, one after the other.
    #[inline(always)]
    #[must_use]
    pub const fn place(self, lane: usize, element: usize) -> Place {
        let (group, member) = (lane / 4, lane % 4);
        match self {
            Self::A {
                shape,
                per_register,
            } => {
                let (register, inside) = (element / per_register, element % per_register);
                // Sixteen rows are two halves of eight, which take turns; eight rows are one.
                let halves = shape.m / 8;
                Place {
                    row: group + 8 * (register % halves),
                    column: (4 * (register / halves) + member) * per_register + inside,
                }
            }
            Self::B { per_register, .. } => {
                let (register, inside) = (element / per_register, element % per_register);
                Place {
                    row: (4 * register + member) * per_register + inside,
                    column: group,
                }
            }
            Self::C { .. } => Place {
                row: group + 8 * (element / 2),
                column: 2 * member + element % 2,
            },
        }
    }
}
