//! The laws of a ring between roles, in every order in which the roles can go on and their copies can land.
//!
//! The places and parities are those of the code that runs on the device; the barriers are counted here, as the hardware counts them.

#![cfg(test)]

extern crate std;

use super::depth::{AtRunTime, Depth, Position};
use crate::Uniform;
use std::collections::HashSet;
use std::vec::Vec;

/// How far a launch has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    filled: u32,
    used: u32,
    /// Which of the last tiles that were filled have landed, the newest in the lowest bit.
    landed: u32,
}

/// What a wait for a phase of this parity says at a barrier of which so many phases are complete.
fn passes(complete: u32, parity: u32) -> bool {
    complete % 2 != parity
}

/// The place of step number `step`.
fn place(step: u32, depth: AtRunTime) -> Position {
    let mut at = Position::default();
    (0..step).for_each(|_| at.advance(depth));
    at
}

/// Steps below `step` that fall on this stage.
fn visits(step: u32, stage: u32, stages: u32) -> u32 {
    (step + stages - 1 - stage) / stages
}

#[derive(Debug)]
struct Ring {
    depth: AtRunTime,
    tiles: u32,
}

impl Ring {
    /// Phases of the stage's full barrier that are complete: fillings that have landed. A stage has at most one that has not.
    fn full(&self, state: State, stage: u32) -> u32 {
        let stages = self.depth.stages();
        let under_way = (0..stages.min(state.filled))
            .filter(|back| (state.filled - 1 - back) % stages == stage)
            .filter(|back| state.landed >> back & 1 == 0);
        visits(state.filled, stage, stages) - under_way.count() as u32
    }

    /// Where the launch can go from here, each move checked against what it must mean.
    fn next(&self, state: State) -> Vec<State> {
        let (stages, mut next) = (self.depth.stages(), Vec::new());
        if state.filled < self.tiles {
            let at = place(state.filled, self.depth);
            let free = passes(visits(state.used, at.stage, stages), at.free());
            assert_eq!(
                free,
                state.filled < state.used + stages,
                "{self:?}: a stage is filled when, and only when, it is not to be read any more"
            );
            if free {
                next.push(State {
                    filled: state.filled + 1,
                    landed: state.landed << 1 & ((1 << stages) - 1),
                    ..state
                });
            }
        }
        if state.used < self.tiles {
            let at = place(state.used, self.depth);
            let full = passes(self.full(state, at.stage), at.parity);
            let there = state.used < state.filled
                && state.landed >> (state.filled - 1 - state.used) & 1 == 1;
            assert_eq!(
                full, there,
                "{self:?}: a stage is read when, and only when, its tile has landed"
            );
            if full {
                next.push(State {
                    used: state.used + 1,
                    ..state
                });
            }
        }
        for back in 0..stages.min(state.filled) {
            if state.landed >> back & 1 == 0 {
                next.push(State {
                    landed: state.landed | 1 << back,
                    ..state
                });
            }
        }
        next
    }

    /// What the producers wait for at their end is that nothing is under way.
    fn check_end(&self, state: State) {
        let committed = state.filled.min(self.depth.stages());
        let mut at = place(state.filled, self.depth).back(committed, self.depth);
        let mut drained = true;
        for step in state.filled - committed..state.filled {
            assert_eq!(
                at,
                place(step, self.depth),
                "{self:?}: the last steps, in order"
            );
            drained &= passes(self.full(state, at.stage), at.parity);
            at.advance(self.depth);
        }
        let landed = (1_u32 << committed) - 1;
        assert_eq!(
            drained,
            state.landed & landed == landed,
            "{self:?}: the end is reached when, and only when, every copy has landed"
        );
    }
}

#[test]
fn roles_obey_the_laws_in_every_order() {
    for stages in 1..=8 {
        for tiles in 0..=3 * stages {
            // SAFETY: the test is one thread.
            let depth = AtRunTime::new(unsafe { Uniform::assume(stages) });
            let ring = Ring { depth, tiles };
            let start = State {
                filled: 0,
                used: 0,
                landed: 0,
            };
            let (mut seen, mut open) = (HashSet::from([start]), Vec::from([start]));
            let mut ended = false;
            while let Some(state) = open.pop() {
                ring.check_end(state);
                let next = ring.next(state);
                ended |= state.used == tiles;
                assert!(
                    !next.is_empty() || state.used == tiles,
                    "{ring:?}: nobody can go on"
                );
                open.extend(next.into_iter().filter(|state| seen.insert(*state)));
            }
            assert!(ended, "{ring:?}: no order comes to the end");
        }
    }
}
