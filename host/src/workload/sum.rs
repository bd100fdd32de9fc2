//! The sum of all elements: `sum`, whose two launches leave partial sums and add them.
//!
//! A kernel that adds along a tree whose longest path has K additions is off by at most K · ε · Σ|x| to first order, with ε half a unit in the last place;
//! the bound below takes one addition more, which covers the higher orders for any length that memory allows.
//! A partial sum adds each thread's lane over its tiles, the four lanes in two steps, and the 256 threads in eight;
//! the whole sum adds each thread's partials in order, and again the threads in eight steps.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};
use nstage_kernels::{SUM_PARTIALS, sum, sum_finish};
use rayon::prelude::*;

use super::compare::{self, Expected, Layout, OVERFLOW, Place};
use super::job::JobError;
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input, linear};
use crate::device::{Geometry, Grid, Limits, Prepared, Shaped};
use crate::io::Array;

/// Partial sums that the first launch leaves.
const PARTIALS: usize = SUM_PARTIALS as usize;

/// Additions on the longest path through the lanes of a thread and the threads of a block.
const LANES: u64 = 2;
const BLOCK: u64 = 8;

/// Half a unit in the last place, relative.
const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// The workload.
pub(super) struct Sum;

impl Workload for Sum {
    fn kernels(&self) -> &'static [&'static Kernel] {
        static KERNELS: &[&Kernel] = &[&sum::KERNEL];
        KERNELS
    }

    fn helpers(&self) -> &'static [&'static Kernel] {
        static HELPERS: &[&Kernel] = &[&sum_finish::KERNEL];
        HELPERS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            // Two or three tiles for each partial sum.
            DeviceKind::Simulator => 2_500_003,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        Box::new(Summing::new(Array::line(input::floats(
            elements as usize,
            seed,
        ))))
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        Ok(Box::new(Summing::new(array)))
    }

    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let lengths = linear::self_test_lengths(shape, thorough);
        let mut problems: Vec<Box<dyn Problem>> = lengths
            .iter()
            .map(|&length| self.generate(length as u64, length as u64))
            .collect();
        if thorough {
            // Every stage of every partial sum's ring is used twice.
            let rings = 2 * PARTIALS * (shape.tile() * shape.variant.stages().max(1)) as usize;
            problems.push(self.generate(rings as u64 + 1, 5));
        }
        let mut special = input::floats(3 * shape.tile() as usize + 5, 3);
        input::sprinkle(&mut special, 3);
        problems.push(Box::new(Summing::new(Array::line(special))));
        problems
    }
}

struct Summing {
    x: Array,
    partials: Vec<Expected>,
    whole: Expected,
}

/// A sum and the sum of magnitudes, of one part of the data.
#[derive(Clone, Copy, Default)]
struct Part {
    sum: f64,
    magnitude: f64,
}

impl Summing {
    fn new(x: Array) -> Self {
        let tile = tile_elements();
        let tiles = x.values.len().div_ceil(tile);
        let parts: Vec<Part> = (0..PARTIALS)
            .into_par_iter()
            .map(|partial| {
                let own = (partial..tiles).step_by(PARTIALS);
                own.fold(Part::default(), |part, index| {
                    let end = ((index + 1) * tile).min(x.values.len());
                    let values = x.values[index * tile..end].iter().copied().map(f64::from);
                    values.fold(part, |part, value| Part {
                        sum: part.sum + value,
                        magnitude: part.magnitude + value.abs(),
                    })
                })
            })
            .collect();
        let steps = tiles.div_ceil(PARTIALS) as u64;
        let expected = |part: &Part, additions: u64| Expected {
            value: part.sum,
            bound: if part.magnitude.is_finite() && part.magnitude >= OVERFLOW {
                f64::INFINITY
            } else {
                (additions + 1) as f64 * HALF_ULP * part.magnitude
            },
        };
        let path = steps + LANES + BLOCK;
        let partials = parts.iter().map(|part| expected(part, path)).collect();
        let whole = parts.iter().fold(Part::default(), |whole, part| Part {
            sum: whole.sum + part.sum,
            magnitude: whole.magnitude + part.magnitude,
        });
        let finish = PARTIALS as u64 / sum_finish_threads() + 1 + BLOCK;
        Self {
            whole: expected(&whole, path + finish),
            x,
            partials,
        }
    }
}

/// Elements of a tile: part of the order of additions, and so the same for every variant.
fn tile_elements() -> usize {
    let first = &sum::KERNEL.variants[0];
    first.tile(first.default_threads()).max(1) as usize
}

fn sum_finish_threads() -> u64 {
    u64::from(sum_finish::KERNEL.variants[0].default_threads())
}

impl Problem for Summing {
    fn elements(&self) -> u64 {
        self.x.values.len() as u64
    }

    fn title(&self) -> String {
        format!("n = {}", self.x.values.len())
    }

    fn tiles(&self, _: &Shaped) -> u64 {
        // The grid shares out partial sums, also those that have no element.
        PARTIALS as u64
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![bytemuck::cast_slice(&self.x.values)]
    }

    fn outputs(&self, _: &Geometry) -> Vec<u64> {
        vec![4 * PARTIALS as u64, 4]
    }

    fn launches(
        &self,
        geometry: &Geometry,
        limits: &Limits,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<Prepared>, JobError> {
        let first = sum::Args {
            partials: GlobalMut::new(outputs[0]),
            x: GlobalPtr::new(inputs[0]),
            n: self.elements(),
        };
        let second = sum_finish::Args {
            result: GlobalMut::new(outputs[1]),
            partials: GlobalPtr::new(outputs[0]),
        };
        let finish = Shaped::default_of(&sum_finish::KERNEL, &sum_finish::KERNEL.variants[0]);
        let finish = finish.geometry(limits, Grid::Blocks(1), 1)?;
        Ok(vec![
            Prepared::new(*geometry, &first)?,
            Prepared::new(finish, &second)?,
        ])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let (partials, whole) = (floats_of(outputs[0]), floats_of(outputs[1]));
        let parts = Parts {
            count: PARTIALS,
            blocks: geometry.blocks().into(),
            are: "partial sums",
        };
        let one = Parts {
            count: 1,
            blocks: 1,
            are: "sums",
        };
        let partials = compare::compare(&partials, &|index| self.partials[index], &parts);
        let whole = compare::compare(&whole, &|_| self.whole, &one);
        Comparison {
            // A wrong partial sum is where a wrong sum comes from.
            mismatch: partials.mismatch.or(whole.mismatch),
            ..whole
        }
    }

    fn result(&self, outputs: &[&[u8]]) -> Option<f64> {
        floats_of(outputs[1]).first().copied().map(f64::from)
    }

    fn output_shape(&self) -> Vec<usize> {
        vec![1]
    }

    fn output(&self, outputs: &[&[u8]]) -> Array {
        Array::line(floats_of(outputs[1]).into_owned())
    }

    fn traffic(&self) -> u64 {
        4 * self.elements()
    }
}

/// Sums, each made by one block.
struct Parts {
    count: usize,
    blocks: u64,
    are: &'static str,
}

impl Layout for Parts {
    fn tile_elements(&self) -> usize {
        1
    }

    fn place(&self, index: usize) -> Place {
        Place {
            tile: index as u64,
            block: index as u64 % self.blocks,
            stage: None,
            thread: None,
        }
    }

    fn elements_of(&self, _: u64) -> usize {
        1
    }

    fn tiles(&self) -> u64 {
        self.count as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        0
    }

    fn elements_are(&self) -> &'static str {
        self.are
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sums_take_every_tile_once() {
        let tile = tile_elements();
        let n = tile * (PARTIALS + 2) + 3;
        let summing = Summing::new(Array::line(vec![1.0; n]));
        assert_eq!(summing.whole.value, n as f64);
        assert_eq!(summing.partials[0].value, 2.0 * tile as f64);
        assert_eq!(summing.partials[2].value, tile as f64 + 3.0);
        assert_eq!(summing.partials[3].value, tile as f64);
    }

    #[test]
    fn the_bound_holds_for_the_plainest_order_and_is_not_idle() {
        let x = input::floats(5000, 1);
        let summing = Summing::new(Array::line(x.clone()));
        let exact: f64 = x.iter().copied().map(f64::from).sum();
        assert_eq!(summing.whole.value, exact);
        let magnitude: f64 = x.iter().map(|x| f64::from(x.abs())).sum();
        assert!(summing.whole.bound < 30.0 * HALF_ULP * magnitude);
    }

    #[test]
    fn a_sum_that_may_overflow_on_the_way_has_no_bound() {
        let summing = Summing::new(Array::line(vec![f32::MAX, f32::MAX, f32::MIN, f32::MIN]));
        assert_eq!(summing.whole.bound, f64::INFINITY);
        let infinite = Summing::new(Array::line(vec![f32::INFINITY, 1.0]));
        assert_eq!(infinite.whole.value, f64::INFINITY);
    }
}
