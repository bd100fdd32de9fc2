//! N-stage asynchronous-copy pipelines for CUDA kernels in pure Rust.
//!
//! The crate has three floors; each stands on the one below and none hides it.
//!
//! | floor | module | what it is | unsafe? |
//! |---|---|---|---|
//! | 1 | [`ptx`] | one function per instruction form, in PTX spelling | every function |
//! | 2 | [`shared`], [`pipeline`] | shared memory carved into arrays, the ring of stages with typed slots | making a [`Block`] |
//! | 3 | [`stream`], [`view`] | the whole loop over tiles, bounds-honest views of global memory | making a view |
//!
//! [`kernels!`] declares kernels: on `nvptx64` it makes one `.entry` per variant, on the host a typed argument list and a [`catalogue`].
//!
//! # Vocabulary
//! A *stage* is an element of the ring and the *depth* is the number of stages; a *slot* is a handle on a stage; a *group* is a PTX commit group;
//! a *tile* is what one stage holds; a *piece* is the 4, 8 or 16 bytes that one thread copies with one instruction.
//!
//! # On the host
//! The crate type-checks on the host too, where tests, documentation and lints run; an instruction called there panics with its name.

#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod block;
pub mod catalogue;
mod declare;
pub mod launch;
mod law;
pub mod math;
pub mod param;
pub mod pipeline;
pub mod ptx;
mod reduce;
pub mod shared;
pub mod stream;
pub mod uniform;
pub mod view;

pub use block::Block;
pub use catalogue::Entry;
pub use launch::Launch;
pub use param::{GlobalMut, GlobalPtr};
pub use uniform::Uniform;

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
