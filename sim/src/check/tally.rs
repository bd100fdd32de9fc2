//! Counts what the executions of one wait instruction have in common, for the advisories about waits.

use super::copies::WaitEffect;
use super::hazard::Suspect;

/// All executions of one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitTally {
    /// A thread that ran it.
    pub(crate) example: Suspect,
    runs: u64,
    /// Runs that could not wait for anything.
    useless: u64,
    /// Runs that completed a group.
    completing: u64,
    /// Runs that completed a group with no work of the warp since its copies were issued.
    immediate: u64,
    /// Whether one warp completed groups here repeatedly.
    repeated: bool,
}

impl WaitTally {
    /// A wait that did not run yet.
    pub(crate) fn new(example: Suspect) -> Self {
        Self {
            example,
            runs: 0,
            useless: 0,
            completing: 0,
            immediate: 0,
            repeated: false,
        }
    }

    /// Counts one run by a warp.
    pub(crate) fn count(&mut self, effect: &WaitEffect, immediate: bool, warp: u16) {
        self.runs += 1;
        self.useless += u64::from(effect.useless);
        if effect.newest.is_some() {
            self.repeated |= self.completing > 0 && warp == self.example.thread.warp;
            self.completing += 1;
            self.immediate += u64::from(immediate);
        }
    }

    /// Adds what another block saw.
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.useless += other.useless;
        self.completing += other.completing;
        self.immediate += other.immediate;
        self.repeated |= other.repeated;
    }

    /// How often it ran.
    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// Whether it never could wait for anything.
    pub(crate) fn is_vacuous(&self) -> bool {
        self.useless == self.runs
    }

    /// Whether it always completes what was issued just before, in a loop.
    pub(crate) fn has_no_overlap(&self) -> bool {
        self.repeated && self.immediate == self.completing
    }
}
