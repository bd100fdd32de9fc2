//! Builds a Rust kernels crate to PTX with the stock compiler, and checks what came out.
//!
//! [`Builder`] finds a compiler that can build `core` for `nvptx64-nvidia-cuda`, compiles the crate once for each [`Target`], writes the entry directives that the crate declares but rustc does not, and refuses PTX that is certain to misbehave.
//! It works from a build script and from an xtask alike, changes nothing in the crate that it builds, and rebuilds nothing whose inputs are unchanged.
//!
//! ```no_run
//! # fn main() -> Result<(), nstage_builder::BuildError> {
//! use nstage_builder::{Builder, Target};
//!
//! let built = Builder::new("kernels").targets([Target::SM_80, Target::SM_90]).build()?;
//! built.emit_rerun(); // in a build script: rebuild when a kernel changes
//! built.embed("ptx.rs")?; // in a build script: a table for `include!`
//! # Ok(())
//! # }
//! ```
//!
//! What the crate must look like: `#![no_std]`, a panic handler on the device, entries as `extern "ptx-kernel"` functions with an `export_name`, and for each of them one declaration that reaches the PTX as a comment (see [`declaration`]).
//! It needs no profile, no feature lines and no crate type of its own; the builder gives them from outside.

mod builder;
mod built;
mod cache;
mod cargo;
pub mod checks;
pub mod compiler;
pub mod declaration;
mod error;
mod finish;
mod graph;
mod inputs;
mod session;
mod shim;
mod target;
mod versions;

pub use builder::{Builder, Progress, WORK_DIR_VARIABLE};
pub use built::{Built, BuiltPtx};
pub use error::{BuildError, Refusal};
pub use target::Target;
