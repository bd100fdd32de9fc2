//! The kernels of nstage.
//!
//! Compiled for `nvptx64`, the crate is the PTX; compiled for the host, it is the [`CATALOGUE`] of what that PTX holds.

#![no_std]

mod scale;

nstage::panic_handler!();

use nstage::{GlobalMut, GlobalPtr};

nstage::kernels! {
    /// Every kernel of this crate.
    pub static CATALOGUE;

    /// y = a·x, each tile staged through shared memory synchronously: load, store to shared, barrier, use.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; any grid size gives the same result.
    pub kernel kernel_sync(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "kernel_sync" => scale::Synchronous,
    }
}
