//! y = x: the least that a kernel can do, and so the ceiling of those that stream.

use nstage::pipeline::{Arrivals, Bulk, Direct, Groups, TwoBarrier};

use crate::elementwise::{Function, Map, Parameters};

/// Nothing is changed.
#[derive(Clone, Copy)]
pub(crate) struct Same;

impl Function for Same {
    #[inline(always)]
    fn of(self, x: [f32; 4]) -> [f32; 4] {
        x
    }
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters<Same> {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, n }: crate::$kernel::Args) -> Self {
                Self { y, x, n, f: Same }
            }
        }
    )+};
}

same_parameters! { copy, copy_plain, copy_mbarrier, copy_bulk }

/// Without a stage between.
pub(crate) type Plain<const PIECES: usize> = crate::elementwise::Plain<Same, PIECES>;

/// Stage after stage by plain loads and stores.
pub(crate) type Synchronous = Map<Same, TwoBarrier, Direct, 1, 1>;

/// `STAGES` stages run by schedule `H`.
pub(crate) type Ring<H, const STAGES: usize, const PIECES: usize> =
    Map<Same, H, Groups, STAGES, PIECES>;

/// `STAGES` stages with a barrier each.
pub(crate) type Arrive<const STAGES: usize> = Map<Same, TwoBarrier, Arrivals, STAGES, 1>;

/// `STAGES` stages filled by bulk copies.
pub(crate) type InBulk<const STAGES: usize, const PIECES: usize> =
    Map<Same, TwoBarrier, Bulk, STAGES, PIECES>;
