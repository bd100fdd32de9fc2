//! Running a launch: values and progress.

mod access;
mod atomic;
mod barrier;
mod bulk;
mod checked;
mod cluster;
mod collective;
mod copies;
mod group;
mod machine;
mod matrix;
mod mbarrier;
mod pool;
mod product;
mod roll;
mod shared;
mod step;
mod stuck;
mod system;
mod tensor;
mod warp;

use std::time::Instant;

pub use checked::{run, run_with_policy};

use crate::event::{Monitor, Silent};
use crate::launch::{Incomplete, Launch, Options, Outcome};
use crate::memory::GlobalMemory;
use crate::program::Program;
use machine::Machine;

/// Makes the monitors of a launch and takes them back.
pub trait Watch: Sync {
    /// What watches one group of blocks: a cluster, or a block by itself.
    type Monitor: Monitor + Send;
    /// The monitor of a group; clusters, and in a launch without clusters blocks, are numbered x running fastest.
    fn begin(&self, group: u32) -> Self::Monitor;
    /// The group has ended, or the run has.
    fn end(&self, monitor: Self::Monitor);
}

/// Watches nothing.
impl Watch for Silent {
    type Monitor = Silent;
    fn begin(&self, _: u32) -> Silent {
        Silent
    }
    fn end(&self, _: Silent) {}
}

/// Runs a launch to its end under a watch of the caller's. What the watch finds stays with it.
///
/// Never panics: a launch that does not fit the program ends as incomplete.
pub fn run_watched<W: Watch>(
    program: &Program,
    memory: &mut GlobalMemory,
    launch: &Launch,
    options: &Options,
    watch: &W,
) -> Outcome {
    let begin = Instant::now();
    let mut outcome = match prepare(program, memory, launch, options) {
        Ok(machine) => pool::run(&machine, watch),
        Err(message) => Outcome {
            incomplete: Some(Incomplete {
                message,
                party: None,
            }),
            ..Outcome::default()
        },
    };
    outcome.seconds = begin.elapsed().as_secs_f64();
    outcome
}

fn prepare<'m>(
    program: &'m Program,
    memory: &'m mut GlobalMemory,
    launch: &Launch,
    options: &Options,
) -> Result<Machine<'m>, String> {
    launch.check(program).map_err(|error| error.to_string())?;
    Machine::new(program, memory, launch, *options).map_err(|error| error.to_string())
}
