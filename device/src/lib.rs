//! N-stage asynchronous-copy pipelines for CUDA kernels in pure Rust.
//!
//! The crate has three floors; each stands on the one below and none hides it.
//!
//! | floor | module | what it is | unsafe? |
//! |---|---|---|---|
//! | 1 | [`ptx`] | one function per instruction form, in PTX spelling | every function |
//! | 2 | [`shared`], [`pipeline`], [`roles`], [`warp`], [`matrix`] | shared memory carved into arrays, the ring of stages with typed slots, warps divided into roles, a warp's exchanges and products | making a [`Block`], sharing copies in a cluster |
//! | 3 | [`stream`], [`view`], [`tensor`] | the whole loop over tiles, bounds-honest views of global memory, tensors by map | making a view |
//!
//! [`kernels!`] declares kernels: on `nvptx64` it makes one `.entry` per variant, on the host a typed argument list and a [`catalogue`].
//!
//! # Vocabulary
//! A *stage* is an element of the ring and the *depth* is the number of stages; a *slot* is a handle on a stage; a *group* is a PTX commit group;
//! a *tile* is what one stage holds; a *piece* is the 4, 8 or 16 bytes that one thread copies with one instruction.
//!
//! # Safety model
//! Three parties promise, and each only what it can see.
//!
//! | who | promises | where |
//! |---|---|---|
//! | the host | block size, shared memory, clusters and parameters are what the kernel's shape and documentation say | the launch contract; `nstage-host` checks all but the buffers' contents |
//! | the kernel's author | every thread of the block (with roles: of the role, in a cluster: of the cluster, for a warp's calls: of the warp) makes the collective calls, in one order | `unsafe impl `[`Entry`] |
//! | the kernel's author | what lies behind a pointer: its length, and that nobody else writes or reads it | `unsafe` [`view::In::new`], [`view::Out::new`] |
//!
//! Everything made from these is safe: rings, roles, streams, split barriers, copies out.
//! What no order of calls may do does not compile:
//! a stage is not read before its copies were waited for, nor filled while it may be read, nor used after it was handed on; shared memory that a ring, a barrier or a bulk copy holds is not used otherwise;
//! a role has no way to the other's half, nor to the block's barrier; what threads wrote is published before a bulk copy reads it; no parity, wait depth or number of expected bytes is typed.
//! What types cannot see ends the launch by a trap instead of a hang or a race: memory that is too small, an address that is not aligned, a wait for a tile that was never committed.
//! Two things are left to the author's word: that roles go through equally many tiles, and that a slot is not forgotten by `mem::forget`; broken, they hang, and touch no memory.
//!
//! `unsafe` beyond that is [`ptx`], all of it: an instruction keeps no promise for its caller.
//!
//! # On the host
//! The crate type-checks on the host too, where tests, documentation and lints run; an instruction called there panics with its name.

#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod barrier;
pub mod block;
pub mod catalogue;
pub mod cluster;
pub mod crew;
mod declare;
pub mod launch;
mod law;
pub mod math;
pub mod matrix;
pub mod outgoing;
pub mod param;
pub mod pipeline;
pub mod ptx;
mod reduce;
pub mod roles;
pub mod shared;
pub mod stream;
pub mod tensor;
pub mod uniform;
pub mod view;
pub mod warp;

pub use block::Block;
pub use catalogue::Entry;
pub use cluster::Cluster;
pub use crew::Crew;
pub use launch::Launch;
pub use param::{GlobalMut, GlobalPtr};
pub use tensor::TensorMap;
pub use uniform::Uniform;
pub use warp::Warp;

/// The panic handler of a kernels crate: a panic becomes a `trap`, which ends the launch with an error.
///
/// Written once at the root of a kernels crate; it expands to nothing on the host.
/// Formatting is never reached, so no formatting code ends up in the PTX.
#[macro_export]
macro_rules! panic_handler {
    () => {
        #[cfg(target_arch = "nvptx64")]
        #[panic_handler]
        fn panic(_: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::ptx::trap()
        }
    };
}
