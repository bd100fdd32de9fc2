//! Launches, verifies and measures nstage kernels on a CUDA device or the simulator.
//!
//! A [`Workload`](workload::Workload) makes the input and knows the right answer, a [`Device`](device::Device) runs a proven launch, [`check`] judges any PTX, and [`cli`] is the program `nstage` around them.
//!
//! # Feature `cuda`
//! On by default. It adds CUDA devices through `cust`, with the driver opened at run time: the program builds without a CUDA toolkit and starts without a driver.
//! `cust` insists on a CUDA folder when it is built. In this repository `.cargo/config.toml` points it to an empty one.
//! Elsewhere, on a machine without a toolkit, name any folder with a `lib64` in it, since nothing is linked from there: `CUDA_LIBRARY_PATH=/usr cargo install nstage-host`.
//! Without the feature (`--no-default-features`) nothing of this is needed, and everything but `--device cuda` works.

pub mod advise;
pub mod bench;
pub mod check;
pub mod cli;
pub mod device;
pub mod doctor;
#[cfg(feature = "cuda")]
pub mod driver;
pub mod io;
pub mod ptx;
pub mod tensor;
pub mod tools;
pub mod workload;
