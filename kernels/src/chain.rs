//! r dependent multiply-adds on each element: how much work hides how much latency, and where a pipeline stops to pay.

use nstage::math::fma;
use nstage::pipeline::{Arrivals, Bulk, Direct, Groups, TwoBarrier};
use nstage::view::Vector;

use crate::elementwise::{Function, Map, Parameters};

/// Steps of the chain in one turn of its loop: the loop's own instructions are then few beside them.
const UNROLLED: u32 = 8;

/// v = a·v + b, `r` times.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    a: f32,
    b: f32,
    r: u32,
}

impl Chain {
    #[inline(always)]
    fn step(self, v: [f32; 4]) -> [f32; 4] {
        Vector::map(v, |v| fma(v, self.a, self.b))
    }
}

impl Function for Chain {
    /// The chains of the four elements go on side by side.
    #[inline(always)]
    fn of(self, x: [f32; 4]) -> [f32; 4] {
        let (mut v, mut left) = (x, self.r);
        while left >= UNROLLED {
            for _ in 0..UNROLLED {
                v = self.step(v);
            }
            left -= UNROLLED;
        }
        while left > 0 {
            v = self.step(v);
            left -= 1;
        }
        v
    }
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters<Chain> {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, a, b, r, n }: crate::$kernel::Args) -> Self {
                Self { y, x, n, f: Chain { a, b, r } }
            }
        }
    )+};
}

same_parameters! { intensity, intensity_plain, intensity_mbarrier, intensity_bulk }

/// Without a stage between.
pub(crate) type Plain<const PIECES: usize> = crate::elementwise::Plain<Chain, PIECES>;

/// Stage after stage by plain loads and stores.
pub(crate) type Synchronous = Map<Chain, TwoBarrier, Direct, 1, 1>;

/// `STAGES` stages run by schedule `H`.
pub(crate) type Ring<H, const STAGES: usize> = Map<Chain, H, Groups, STAGES, 1>;

/// `STAGES` stages with a barrier each.
pub(crate) type Arrive<const STAGES: usize> = Map<Chain, TwoBarrier, Arrivals, STAGES, 1>;

/// `STAGES` stages filled by bulk copies.
pub(crate) type InBulk<const STAGES: usize> = Map<Chain, TwoBarrier, Bulk, STAGES, 1>;
