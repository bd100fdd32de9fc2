//! Runs PTX on the CPU and finds asynchronous-copy hazards.
//!
//! A [`GlobalMemory`] holds what the host allocates, a [`Launch`] says how to start, and an [`Outcome`] tells what came of it:
//! the values are in memory, the [`Finding`]s say which rule of PTX the kernel broke, where and by whom.

pub mod check;
pub mod event;
pub mod finding;
pub mod launch;
pub mod matrix;
pub mod memory;
mod scalar;

pub use finding::{Class, Finding, Party, Severity, Verdict};
pub use launch::{Dim3, Incomplete, Landing, Launch, Options, Outcome, Trap};
pub use memory::{DevicePointer, Fill, GlobalMemory, MemoryError};
