//! y = x after r steps v = a·v + b: `intensity` over each mechanism.
//!
//! Each step rounds once and multiplies the error that is there already by a.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::Expected;
use super::elementwise::{self, Elementwise, HALF_SUBNORMAL, HALF_ULP};
use crate::device::{Geometry, OtherKernel, Prepared};

/// The factor and what is added: with them results stay in the range of the input.
const FACTOR: f32 = 0.99;
const ADDED: f32 = 0.01;

/// Steps where nothing is asked for.
const STEPS: u32 = 16;

/// A little more than the errors of the first order and the reference's own.
const HIGHER_ORDERS: f64 = 1.0 + 1e-4;

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, a: f32, b: f32, r: u32, n: u64)
    intensity, intensity_plain, intensity_mbarrier, intensity_bulk,
}

/// The job, with a number of steps.
#[derive(Clone, Copy)]
pub(super) struct Intensity {
    r: u32,
}

impl Intensity {
    /// With as many steps as nobody asked for.
    pub(super) const USUAL: Self = Self { r: STEPS };
}

impl Elementwise for Intensity {
    const NAME: &'static str = "intensity";
    const INPUTS: usize = 1;

    fn kernels() -> &'static [&'static Kernel] {
        KERNELS
    }

    fn prepare(
        self,
        geometry: &Geometry,
        y: u64,
        inputs: &[u64],
        n: u64,
    ) -> Result<Prepared, OtherKernel> {
        let (y, x) = (GlobalMut::new(y), GlobalPtr::new(inputs[0]));
        prepare(geometry, y, x, FACTOR, ADDED, self.r, n)
    }

    fn expected(self, at: &[f32]) -> Expected {
        let (a, b) = (f64::from(FACTOR), f64::from(ADDED));
        let (mut value, mut bound) = (f64::from(at[0]), 0.0);
        for _ in 0..self.r {
            value = a * value + b;
            bound = a * bound + (value.abs() + bound) * HALF_ULP + HALF_SUBNORMAL;
        }
        Expected {
            value,
            bound: bound * HIGHER_ORDERS,
        }
    }

    fn with_reuse(self, reuse: u32) -> Option<Self> {
        Some(Self { r: reuse })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::compare::matches;
    use crate::workload::input;

    #[test]
    fn fused_steps_are_within_the_bound_and_a_step_less_is_not() {
        for r in [1, 7, 16, 256] {
            let job = Intensity { r };
            for x in input::floats(200, 1) {
                // Far from 1, which no step changes.
                let x = -x.abs();
                let after = |steps| (0..steps).fold(x, |v: f32, _| v.mul_add(FACTOR, ADDED));
                let expected = job.expected(&[x]);
                assert!(matches(after(r), expected), "r = {r}, x = {x}");
                assert!(!matches(after(r - 1), expected), "r = {r}, x = {x}");
            }
        }
    }
}
