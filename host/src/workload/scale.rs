//! y = a·x: `kernel_sync`, `simple_async`, `kernel_async_pipeline` over each mechanism.
//!
//! The kernels multiply once and round once, so an element may be off by half a unit in the last place of the exact product, which `f64` holds (24 + 24 bits).

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::Expected;
use super::elementwise::{self, Elementwise, HALF_SUBNORMAL, HALF_ULP};
use crate::device::{Geometry, OtherKernel, Prepared};

/// The factor: not a power of two, so that the product is really rounded, and odd in its last bit.
const FACTOR: f32 = 2.718_281_7;

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, a: f32, n: u64)
    kernel_sync, simple_async, kernel_async_pipeline, kernel_async_pipeline_mbarrier, kernel_async_pipeline_bulk,
    scale_roles, scale_roles_mbarrier, scale_roles_run_time, scale_verbs, scale_verbs_bulk, scale_bulk_out,
}

/// The job.
#[derive(Clone, Copy)]
pub(super) struct Scale;

impl Elementwise for Scale {
    const NAME: &'static str = "scale";
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
        prepare(
            geometry,
            GlobalMut::new(y),
            GlobalPtr::new(inputs[0]),
            FACTOR,
            n,
        )
    }

    fn expected(self, at: &[f32]) -> Expected {
        let value = f64::from(FACTOR) * f64::from(at[0]);
        Expected {
            value,
            bound: value.abs() * HALF_ULP + HALF_SUBNORMAL,
        }
    }
}
