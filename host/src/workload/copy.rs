//! y = x: `copy` over each mechanism. Every element is exact.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::Expected;
use super::elementwise::{self, Elementwise};
use crate::device::{Geometry, OtherKernel, Prepared};

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, n: u64)
    copy, copy_plain, copy_mbarrier, copy_bulk,
}

/// The job.
#[derive(Clone, Copy)]
pub(super) struct Copying;

impl Elementwise for Copying {
    const NAME: &'static str = "copy";
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
        prepare(geometry, GlobalMut::new(y), GlobalPtr::new(inputs[0]), n)
    }

    fn expected(self, at: &[f32]) -> Expected {
        Expected {
            value: f64::from(at[0]),
            bound: 0.0,
        }
    }
}
