//! The two correct ways to run a ring through a loop.
//!
//! | | in flight | barriers a step | depths | a step |
//! |---|---|---|---|---|
//! | [`OneBarrier`] | depth − 1 tiles | 1 | 2 to 8 | wait, barrier, refill the stage used last, use the oldest |
//! | [`TwoBarrier`] | depth tiles | 2 | 1 to 8 | barrier, refill, wait, barrier, use the oldest |
//!
//! Neither is always faster: at equal depth two barriers keep one tile more in flight, at equal bytes in flight one barrier costs less.

use super::ring::{Engine, Ring, Stage};
use crate::catalogue;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::OneBarrier {}
    impl Sealed for super::TwoBarrier {}
}

/// A way to run a ring through a loop: [`OneBarrier`] or [`TwoBarrier`].
pub trait Schedule: sealed::Sealed {
    /// Its name in the catalogue.
    const NAME: catalogue::Schedule;

    /// One step: refills a stage through `refill` and returns the stage to read.
    fn turn<E: Engine, const STAGES: usize>(
        ring: &mut Ring<E, STAGES>,
        refill: impl FnOnce(Stage),
    ) -> Stage;
}

/// One barrier a step, depth − 1 tiles in flight.
#[derive(Clone, Copy, Debug)]
pub enum OneBarrier {}

/// Two barriers a step, depth tiles in flight.
#[derive(Clone, Copy, Debug)]
pub enum TwoBarrier {}

impl Schedule for OneBarrier {
    const NAME: catalogue::Schedule = catalogue::Schedule::OneBarrier;

    #[inline(always)]
    fn turn<E: Engine, const STAGES: usize>(
        ring: &mut Ring<E, STAGES>,
        refill: impl FnOnce(Stage),
    ) -> Stage {
        let (fill, read) = ring.step();
        refill(fill);
        ring.commit();
        read
    }
}

impl Schedule for TwoBarrier {
    const NAME: catalogue::Schedule = catalogue::Schedule::TwoBarrier;

    #[inline(always)]
    fn turn<E: Engine, const STAGES: usize>(
        ring: &mut Ring<E, STAGES>,
        refill: impl FnOnce(Stage),
    ) -> Stage {
        let fill = ring.acquire();
        refill(fill);
        ring.commit();
        ring.wait()
    }
}
