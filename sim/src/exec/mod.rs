//! Running a launch: values and progress.

mod access;
mod atomic;
mod barrier;
mod bulk;
mod cluster;
mod collective;
mod copies;
mod group;
mod machine;
mod mbarrier;
mod pool;
mod shared;
mod step;
mod stuck;
mod warp;

use std::time::Instant;

use crate::check::{Policy, Watcher};
use crate::event::{Monitor, Silent};
use crate::finding::Finding;
use crate::launch::{Incomplete, Launch, Options, Outcome};
use crate::memory::GlobalMemory;
use crate::program::Program;
use machine::Machine;

/// Makes the monitors of a launch and takes them back.
pub trait Watch: Sync {
    /// What watches one group of blocks.
    type Monitor: Monitor + Send;
    /// The monitor of the group (a cluster, or a block by itself) whose first block is this one, x running fastest.
    fn begin(&self, first_block: u64) -> Self::Monitor;
    /// The group has ended.
    fn end(&self, monitor: Self::Monitor);
    /// What was found in the whole launch.
    fn findings(self) -> Vec<Finding>;
}

/// Watches nothing.
impl Watch for Silent {
    type Monitor = Silent;
    fn begin(&self, _: u64) -> Silent {
        Silent
    }
    fn end(&self, _: Silent) {}
    fn findings(self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Runs a launch to its end and tells what came of it; the checker watches, with its default policy, unless the options say no.
///
/// Never panics: a launch that does not fit the program ends as incomplete.
pub fn run(
    program: &Program,
    memory: &mut GlobalMemory,
    launch: &Launch,
    options: &Options,
) -> Outcome {
    if options.check {
        let watcher = Watcher::new(program, launch, Policy::default());
        run_watched(program, memory, launch, options, watcher)
    } else {
        run_watched(program, memory, launch, options, Silent)
    }
}

/// Runs a launch under a watch of the caller's.
pub fn run_watched<W: Watch>(
    program: &Program,
    memory: &mut GlobalMemory,
    launch: &Launch,
    options: &Options,
    watch: W,
) -> Outcome {
    let begin = Instant::now();
    let refused = |message: String| Outcome {
        incomplete: Some(Incomplete {
            message,
            party: None,
        }),
        seconds: begin.elapsed().as_secs_f64(),
        ..Outcome::default()
    };
    if let Err(error) = launch.check(program) {
        return refused(error.to_string());
    }
    let machine = match Machine::new(program, memory, launch, *options) {
        Ok(machine) => machine,
        Err(error) => return refused(error.to_string()),
    };
    let mut outcome = pool::run(&machine, &watch);
    drop(machine);
    outcome.findings.extend(watch.findings());
    outcome.seconds = begin.elapsed().as_secs_f64();
    outcome
}
