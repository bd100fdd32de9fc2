//! The number of stages: part of the program, or of the launch.

use crate::law::law;
use crate::{Uniform, ptx};

/// Most stages of a ring between roles.
const MOST: u32 = 32;

mod sealed {
    pub trait Sealed {}
    impl<const STAGES: u32> Sealed for super::Fixed<STAGES> {}
    impl Sealed for super::AtRunTime {}
}

/// A number of stages: [`Fixed`] or [`AtRunTime`].
pub trait Depth: Copy + sealed::Sealed {
    /// The number.
    fn stages(self) -> u32;
}

/// `STAGES` stages.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<const STAGES: u32>;

impl<const STAGES: u32> Depth for Fixed<STAGES> {
    #[inline(always)]
    fn stages(self) -> u32 {
        const {
            law(
                STAGES >= 1 && STAGES <= MOST,
                "a ring between roles has 1 to 32 stages",
            )
        };
        STAGES
    }
}

/// As many stages as the launch says: one entry for all depths.
#[derive(Clone, Copy, Debug)]
pub struct AtRunTime(u32);

impl AtRunTime {
    /// `stages` stages.
    ///
    /// Traps for none, and for more than 32.
    #[inline(always)]
    pub fn new(stages: Uniform<u32>) -> Self {
        let stages = stages.get();
        if stages == 0 || stages > MOST {
            ptx::trap();
        }
        Self(stages)
    }
}

impl Depth for AtRunTime {
    #[inline(always)]
    fn stages(self) -> u32 {
        self.0
    }
}

/// A place in a ring, and how often the ring was gone around, modulo 2: the parity of the phases there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) stage: u32,
    pub(super) parity: u32,
}

impl Position {
    /// Goes on by one stage.
    #[inline(always)]
    pub(super) fn advance(&mut self, depth: impl Depth) {
        self.stage += 1;
        if self.stage == depth.stages() {
            self.stage = 0;
            self.parity ^= 1;
        }
    }

    /// The place `steps` steps before, at most one lap.
    #[inline(always)]
    pub(super) fn back(self, steps: u32, depth: impl Depth) -> Self {
        Self {
            stage: (self.stage + depth.stages() - steps) % depth.stages(),
            parity: self.parity ^ u32::from(steps > self.stage),
        }
    }

    /// The parity of the phase that says that the stage may be filled.
    ///
    /// In the first lap it is the phase before the first, which counts as complete: nobody has to release what nobody has filled.
    #[inline(always)]
    pub(super) fn free(self) -> u32 {
        self.parity ^ 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_the_remainder_and_the_parity_the_quotient() {
        fn check(depth: impl Depth) {
            let mut position = Position::default();
            for step in 0..100 {
                let expected = Position {
                    stage: step % depth.stages(),
                    parity: step / depth.stages() % 2,
                };
                assert_eq!(
                    position,
                    expected,
                    "step {step} of depth {}",
                    depth.stages()
                );
                position.advance(depth);
            }
        }
        check(Fixed::<1>);
        check(Fixed::<3>);
        check(Fixed::<8>);
        for stages in 1..=32 {
            // SAFETY: the test is one thread.
            check(AtRunTime::new(unsafe { Uniform::assume(stages) }));
        }
    }

    #[test]
    #[should_panic(expected = "trap")]
    fn no_stages_trap() {
        let _ = AtRunTime::new(Uniform::<u32>::constant::<0>());
    }
}
