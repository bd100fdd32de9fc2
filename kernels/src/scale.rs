//! y = a·x: what a pipeline does for a kernel that uses each element once.

use nstage::pipeline::{Arrivals, Bulk, Direct, Groups, OneBarrier, TwoBarrier};

use crate::elementwise::{Function, Map};

/// The factor.
#[derive(Clone, Copy)]
pub(crate) struct Times(pub(crate) f32);

impl Function for Times {
    #[inline(always)]
    fn of(self, x: [f32; 4]) -> [f32; 4] {
        x.map(|x| self.0 * x)
    }
}

/// What each of these kernels takes.
pub(crate) type Parameters = crate::elementwise::Parameters<Times>;

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, a, n }: crate::$kernel::Args) -> Self {
                Self { y, x, n, f: Times(a) }
            }
        }
    )+};
}

same_parameters! { kernel_sync, simple_async, kernel_async_pipeline, kernel_async_pipeline_mbarrier, kernel_async_pipeline_bulk, scale_roles, scale_roles_mbarrier, scale_roles_run_time, scale_verbs, scale_verbs_bulk, scale_bulk_out }

/// Stage after stage, each waited for before the next is copied, by plain loads and stores.
pub(crate) type Synchronous = Map<Times, TwoBarrier, Direct, 1, 1>;

/// One stage: copy, wait, barrier, use.
pub(crate) type OneStage = Map<Times, TwoBarrier, Groups, 1, 1>;

/// `STAGES` stages, one barrier a step.
pub(crate) type One<const STAGES: usize, const PIECES: usize> =
    Map<Times, OneBarrier, Groups, STAGES, PIECES>;

/// `STAGES` stages, two barriers a step.
pub(crate) type Two<const STAGES: usize, const PIECES: usize> =
    Map<Times, TwoBarrier, Groups, STAGES, PIECES>;

/// `STAGES` stages with a barrier each, at which element copies arrive.
pub(crate) type Arrive<H, const STAGES: usize, const PIECES: usize> =
    Map<Times, H, Arrivals, STAGES, PIECES>;

/// `STAGES` stages filled by bulk copies.
pub(crate) type InBulk<H, const STAGES: usize, const PIECES: usize> =
    Map<Times, H, Bulk, STAGES, PIECES>;
