//! y = x + a·z: `triad` over each mechanism.
//!
//! The kernels round once, so an element may be off by half a unit in the last place of the exact result, of which the reference in `f64` is off by 2⁻⁵³.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::Expected;
use super::elementwise::{self, Elementwise, HALF_SUBNORMAL, HALF_ULP};
use crate::device::{Geometry, OtherKernel, Prepared};

/// The factor: one whose products need more digits than an `f32` has, so that a second rounding would show.
const FACTOR: f32 = 0.577_215_7;

/// What the reference's own rounding adds to the bound, in parts of it: 2⁻⁵³ of the result in 2⁻²⁴ of it.
const OF_REFERENCE: f64 = f32::EPSILON as f64;

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, z: GlobalPtr<f32>, a: f32, n: u64)
    triad, triad_plain, triad_mbarrier, triad_bulk,
}

/// The job.
#[derive(Clone, Copy)]
pub(super) struct Triad;

impl Elementwise for Triad {
    const NAME: &'static str = "triad";
    const INPUTS: usize = 2;

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
        let (x, z) = (GlobalPtr::new(inputs[0]), GlobalPtr::new(inputs[1]));
        prepare(geometry, GlobalMut::new(y), x, z, FACTOR, n)
    }

    fn expected(self, at: &[f32]) -> Expected {
        // The product is exact: 24 + 24 bits.
        let value = f64::from(FACTOR) * f64::from(at[1]) + f64::from(at[0]);
        Expected {
            value,
            bound: (value.abs() * HALF_ULP + HALF_SUBNORMAL) * (1.0 + OF_REFERENCE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::compare::matches;
    use crate::workload::input;

    #[test]
    fn one_rounding_is_within_the_bound_and_two_are_not() {
        let (x, z) = (input::floats(1000, 1), input::floats(1000, 2));
        let mut beyond = 0;
        for (&x, &z) in x.iter().zip(&z) {
            let expected = Triad.expected(&[x, z]);
            assert!(matches(FACTOR.mul_add(z, x), expected), "{x} + a·{z}");
            beyond += usize::from(!matches(FACTOR * z + x, expected));
        }
        assert!(beyond > 100, "{beyond}");
    }
}
