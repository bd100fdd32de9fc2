//! Running under the happens-before checker.

use std::sync::{Arc, Mutex};

use super::{Watch, run_watched};
use crate::check::{BlockMonitor, BlockReport, Checker, Level, Policy, merge};
use crate::event::Silent;
use crate::finding::{Finding, Severity};
use crate::launch::{Launch, Options, Outcome};
use crate::memory::GlobalMemory;
use crate::program::Program;

/// The checker as a watch.
struct Checked {
    checker: Arc<Checker>,
    reports: Mutex<Vec<BlockReport>>,
}

impl Watch for Checked {
    type Monitor = BlockMonitor;

    fn begin(&self, group: u32) -> BlockMonitor {
        self.checker.group(group)
    }

    fn end(&self, monitor: BlockMonitor) {
        let report = monitor.finish();
        self.reports
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(report);
    }
}

/// Runs a launch to its end and tells what came of it, under the default policy.
///
/// Never panics: a launch that does not fit the program ends as incomplete.
pub fn run(
    program: &Program,
    memory: &mut GlobalMemory,
    launch: &Launch,
    options: &Options,
) -> Outcome {
    run_with_policy(program, memory, launch, options, &Policy::default())
}

/// Runs a launch with the weight of each class of findings as the policy says.
pub fn run_with_policy(
    program: &Program,
    memory: &mut GlobalMemory,
    launch: &Launch,
    options: &Options,
    policy: &Policy,
) -> Outcome {
    if !options.check || launch.check(program).is_err() {
        let mut outcome = run_watched(program, memory, launch, options, &Silent);
        outcome
            .findings
            .retain_mut(|finding| weigh(finding, policy));
        return outcome;
    }
    let listing = program.listing(launch.dynamic_shared);
    let checker = Checker::new(
        listing,
        launch.grid,
        launch.block,
        launch.cluster,
        policy.clone(),
    );
    let watch = Checked {
        checker: Arc::new(checker),
        reports: Mutex::default(),
    };
    let mut outcome = run_watched(program, memory, launch, options, &watch);
    outcome
        .findings
        .retain_mut(|finding| weigh(finding, policy));
    let Checked { checker, reports } = watch;
    // The checker has weighed its own.
    outcome.findings = merge(
        outcome.findings,
        checker.findings(reports.into_inner().unwrap_or_default()),
    );
    outcome
}

/// Gives a finding the weight that the policy says; false if it is none.
fn weigh(finding: &mut Finding, policy: &Policy) -> bool {
    match policy.level(finding.class, None) {
        Level::Off => return false,
        Level::Advisory => finding.severity = Severity::Advisory,
        Level::Error => finding.severity = Severity::Error,
    }
    true
}
