//! PTX that nvcc makes from ordinary CUDA C++: on the simulator it comes to the right result and is clean.
//!
//! The sources are in `tests/cuda`. Each is compiled for its targets by the nvcc that `cargo xtask test` installs; without one the
//! tests skip. Every kernel runs under every landing mode with the checker on, and its buffers are compared with a reference here.

mod arithmetic;
mod atomics;
mod bulk;
mod compile;
mod control;
mod copies;
mod harness;
mod headers;
mod matrices;
mod pipelines;
mod values;
mod warps;
