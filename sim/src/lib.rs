//! Runs PTX on the CPU and finds asynchronous-copy hazards.
//!
//! A [`GlobalMemory`] holds what the host allocates, a [`Launch`] says how to start, and an [`Outcome`] tells what came of it:
//! the values are in memory, the [`Finding`]s say which rule of PTX the kernel broke, where and by whom.

pub mod check;
pub mod event;
mod exec;
mod expect;
pub mod finding;
mod lanes;
pub mod launch;
pub mod matrix;
pub mod memory;
pub mod program;
#[cfg(test)]
mod recorded;
mod report;
mod scalar;

pub use exec::{Watch, run, run_watched, run_with_policy};
pub use expect::Expectation;
pub use finding::{Class, Finding, Party, Severity, Verdict};
pub use launch::{
    Dim3, Incomplete, Landing, Launch, LaunchError, MemoryLimit, Options, Outcome, Trap,
};
pub use memory::{DevicePointer, Fill, GlobalMemory, MemoryError};
pub use program::{CompileError, Program};
