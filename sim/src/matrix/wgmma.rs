//! `wgmma.mma_async`: d = a × b + d, 64 rows by up to 256 columns, by four warps.
//!
//! Each warp makes sixteen of the rows, from its own accumulators, its sixteen rows of a and all of b.
//! So nothing passes between the warps, and the instruction can be carried out a warp at a time.

use super::Row;
use super::descriptor::{CHUNK, Chunk};
use super::element::{Accumulator, Element};
use super::fragment::{Fragment, Place, Shape};
use super::mma::add_products;

/// Rows that a warp makes.
pub const WARP_ROWS: usize = 16;
/// Most columns of the product.
pub const MOST_COLUMNS: usize = 256;
/// Most elements along k.
const MOST_K: usize = 32;

/// A `wgmma.mma_async` with its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wgmma {
    columns: usize,
    a: Element,
    b: Element,
    sum: Accumulator,
}

/// The warp's rows of a, as values.
#[derive(Clone, Debug)]
pub struct Left([[f64; MOST_K]; WARP_ROWS]);

/// All of b, as values: a row of columns for each k.
#[derive(Clone, Debug)]
pub struct Right([[f64; MOST_COLUMNS]; MOST_K]);

impl Left {
    /// Zeros.
    pub const ZERO: Self = Self([[0.0; MOST_K]; WARP_ROWS]);
}

impl Right {
    /// Zeros.
    pub const ZERO: Self = Self([[0.0; MOST_COLUMNS]; MOST_K]);
}

impl Wgmma {
    /// The instruction with this shape and these types; `None` where PTX has no such.
    #[must_use]
    pub fn new(shape: Shape, [a, b]: [Element; 2], sum: Accumulator) -> Option<Self> {
        use Element::{Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
        let types = match (a, b) {
            (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => {
                matches!(sum, Accumulator::F16 | Accumulator::F32)
            }
            (Bf16, Bf16) | (Tf32, Tf32) => sum == Accumulator::F32,
            (S8 | U8, S8 | U8) => matches!(sum, Accumulator::S32 { .. }),
            _ => false,
        };
        let columns = shape.n;
        let step = if a.is_integer() && columns > 32 {
            16
        } else {
            8
        };
        let extent = shape.m == 64
            && shape.k == 32 / a.bytes()
            && (8..=MOST_COLUMNS).contains(&columns)
            && columns.is_multiple_of(step);
        (types && extent).then_some(Self { columns, a, b, sum })
    }

    /// Columns of b and of the result.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Types of the factors.
    #[must_use]
    pub const fn factors(&self) -> [Element; 2] {
        [self.a, self.b]
    }

    /// Elements along k.
    #[must_use]
    pub const fn k(&self) -> usize {
        32 / self.a.bytes()
    }

    /// Accumulator elements that a lane holds.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.columns / 2
    }

    /// Accumulator registers that a lane holds.
    #[must_use]
    pub const fn registers(&self) -> usize {
        self.elements() / self.sum.per_register()
    }

    /// Where the lane's `element`-th accumulator stands, its row counted from the warp's first.
    #[inline(always)]
    #[must_use]
    pub const fn place(lane: usize, element: usize) -> Place {
        // Pieces of eight columns, each laid out as the accumulator of `mma.m16n8`.
        let place = Fragment::c(Shape::new(WARP_ROWS, 8, 8)).place(lane, element % 4);
        Place {
            row: place.row,
            column: place.column + element / 4 * 8,
        }
    }

    /// The warp's rows of a from its registers, of which there are four, laid out as the left factor of `mma.m16n8`.
    pub fn left_from_registers(&self, registers: &[&Row], negate: bool, left: &mut Left) {
        let fragment = Fragment::a(Shape::new(WARP_ROWS, 8, self.k()), self.a);
        let per_register = self.a.per_register();
        for (register, row) in registers.iter().enumerate().take(4) {
            for (lane, bits) in row.iter().enumerate() {
                for inside in 0..per_register {
                    let Place { row, column } =
                        fragment.place(lane, register * per_register + inside);
                    left.0[row][column] = signed(self.a.value_in(*bits, inside), negate);
                }
            }
        }
    }

    /// Puts a chunk of a into the warp's rows; `chunk.line` counts from row zero of all 64.
    ///
    /// Chunks of other warps' rows are passed over. `along_k` says in which direction the chunk's elements are neighbours.
    pub fn put_left(
        &self,
        warp: usize,
        chunk: Chunk,
        bytes: [u8; CHUNK],
        along_k: bool,
        negate: bool,
        left: &mut Left,
    ) {
        for (index, bits) in split(bytes, self.a.bytes()) {
            let (line, k) = if along_k {
                (chunk.line, chunk.k + index)
            } else {
                (chunk.line + index, chunk.k)
            };
            let row = line.wrapping_sub(warp * WARP_ROWS);
            if let Some(value) = left.0.get_mut(row).and_then(|row| row.get_mut(k)) {
                *value = signed(self.a.value(bits), negate);
            }
        }
    }

    /// Puts a chunk of b, whose lines are columns.
    pub fn put_right(
        &self,
        chunk: Chunk,
        bytes: [u8; CHUNK],
        along_k: bool,
        negate: bool,
        right: &mut Right,
    ) {
        for (index, bits) in split(bytes, self.b.bytes()) {
            let (line, k) = if along_k {
                (chunk.line, chunk.k + index)
            } else {
                (chunk.line + index, chunk.k)
            };
            if let Some(value) = right.0.get_mut(k).and_then(|row| row.get_mut(line)) {
                *value = signed(self.b.value(bits), negate);
            }
        }
    }

    /// The warp's sixteen rows of the product, into its accumulators, which count as zero unless `accumulate`.
    pub fn multiply(&self, left: &Left, right: &Right, accumulate: bool, d: &mut [Row]) {
        let per_register = self.sum.per_register();
        let mut factors = [[0.0; MOST_COLUMNS]; MOST_K];
        let factors = &mut factors.as_flattened_mut()[..self.k() * self.columns];
        for (packed, row) in factors.chunks_exact_mut(self.columns).zip(&right.0) {
            packed.copy_from_slice(&row[..self.columns]);
        }
        for (row, left) in left.0.iter().enumerate() {
            let mut sums = [0.0; MOST_COLUMNS];
            let sums = &mut sums[..self.columns];
            // The four lanes of a group share a row; its elements are two of every four.
            let lanes = 4 * (row % 8)..4 * (row % 8) + 4;
            let elements =
                || (0..self.elements()).filter(move |element| element / 2 % 2 == row / 8);
            if accumulate {
                for (lane, element) in lanes
                    .clone()
                    .flat_map(|lane| elements().map(move |element| (lane, element)))
                {
                    if let Some(register) = d.get(element / per_register) {
                        let value = self.sum.value_in(register[lane], element % per_register);
                        sums[Self::place(lane, element).column] = value;
                    }
                }
            }
            add_products(sums, &left[..self.k()], factors);
            for (lane, element) in
                lanes.flat_map(|lane| elements().map(move |element| (lane, element)))
            {
                if let Some(register) = d.get_mut(element / per_register) {
                    let sum = sums[Self::place(lane, element).column];
                    register[lane] = self.sum.put(register[lane], element % per_register, sum);
                }
            }
        }
    }
}

fn signed(value: f64, negate: bool) -> f64 {
    if negate { -value } else { value }
}

/// The elements of a chunk, lowest address first.
fn split(bytes: [u8; CHUNK], size: usize) -> impl Iterator<Item = (usize, u32)> {
    let all = u128::from_le_bytes(bytes);
    (0..CHUNK / size).map(move |index| (index, (all >> (8 * size * index)) as u32))
}
