//! The kernels of nstage.
//!
//! Compiled for `nvptx64`, the crate is the PTX; compiled for the host, it is the [`CATALOGUE`] of what that PTX holds.
//!
//! Every kernel takes any number of elements from none on, any alignment that its element type allows, and any grid size; the result does not depend on the grid.

#![no_std]

mod scale;

nstage::panic_handler!();

use nstage::{GlobalMut, GlobalPtr};

nstage::kernels! {
    /// Every kernel of this crate.
    pub static CATALOGUE;

    /// y = a·x, each tile staged through shared memory by plain loads and stores.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
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

    /// y = a·x, each tile staged by an asynchronous copy into one stage: copy, wait, barrier, use.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel simple_async(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "simple_async" => scale::OneStage,
    }

    /// y = a·x through a ring of stages: while a tile is used, the copies of the next ones run.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel kernel_async_pipeline(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "kernel_async_pipeline_s1_two_p1" => scale::Two<1, 1>,
        "kernel_async_pipeline_s1_two_p2" => scale::Two<1, 2>,
        "kernel_async_pipeline_s1_two_p4" => scale::Two<1, 4>,
        "kernel_async_pipeline_s2_one_p1" => scale::One<2, 1>,
        "kernel_async_pipeline_s2_one_p2" => scale::One<2, 2>,
        "kernel_async_pipeline_s2_one_p4" => scale::One<2, 4>,
        "kernel_async_pipeline_s2_two_p1" => scale::Two<2, 1>,
        "kernel_async_pipeline_s2_two_p2" => scale::Two<2, 2>,
        "kernel_async_pipeline_s2_two_p4" => scale::Two<2, 4>,
        "kernel_async_pipeline_s3_one_p1" => scale::One<3, 1>,
        "kernel_async_pipeline_s3_one_p2" => scale::One<3, 2>,
        "kernel_async_pipeline_s3_one_p4" => scale::One<3, 4>,
        "kernel_async_pipeline_s3_two_p1" => scale::Two<3, 1>,
        "kernel_async_pipeline_s3_two_p2" => scale::Two<3, 2>,
        "kernel_async_pipeline_s3_two_p4" => scale::Two<3, 4>,
        "kernel_async_pipeline_s4_one_p1" => scale::One<4, 1>,
        "kernel_async_pipeline_s4_one_p2" => scale::One<4, 2>,
        "kernel_async_pipeline_s4_one_p4" => scale::One<4, 4>,
        "kernel_async_pipeline_s4_two_p1" => scale::Two<4, 1>,
        "kernel_async_pipeline_s4_two_p2" => scale::Two<4, 2>,
        "kernel_async_pipeline_s4_two_p4" => scale::Two<4, 4>,
        "kernel_async_pipeline_s5_one_p1" => scale::One<5, 1>,
        "kernel_async_pipeline_s5_one_p2" => scale::One<5, 2>,
        "kernel_async_pipeline_s5_one_p4" => scale::One<5, 4>,
        "kernel_async_pipeline_s5_two_p1" => scale::Two<5, 1>,
        "kernel_async_pipeline_s5_two_p2" => scale::Two<5, 2>,
        "kernel_async_pipeline_s5_two_p4" => scale::Two<5, 4>,
        "kernel_async_pipeline_s6_one_p1" => scale::One<6, 1>,
        "kernel_async_pipeline_s6_one_p2" => scale::One<6, 2>,
        "kernel_async_pipeline_s6_one_p4" => scale::One<6, 4>,
        "kernel_async_pipeline_s6_two_p1" => scale::Two<6, 1>,
        "kernel_async_pipeline_s6_two_p2" => scale::Two<6, 2>,
        "kernel_async_pipeline_s6_two_p4" => scale::Two<6, 4>,
        "kernel_async_pipeline_s7_one_p1" => scale::One<7, 1>,
        "kernel_async_pipeline_s7_one_p2" => scale::One<7, 2>,
        "kernel_async_pipeline_s7_one_p4" => scale::One<7, 4>,
        "kernel_async_pipeline_s7_two_p1" => scale::Two<7, 1>,
        "kernel_async_pipeline_s7_two_p2" => scale::Two<7, 2>,
        "kernel_async_pipeline_s7_two_p4" => scale::Two<7, 4>,
        "kernel_async_pipeline_s8_one_p1" => scale::One<8, 1>,
        "kernel_async_pipeline_s8_one_p2" => scale::One<8, 2>,
        "kernel_async_pipeline_s8_one_p4" => scale::One<8, 4>,
        "kernel_async_pipeline_s8_two_p1" => scale::Two<8, 1>,
        "kernel_async_pipeline_s8_two_p2" => scale::Two<8, 2>,
        "kernel_async_pipeline_s8_two_p4" => scale::Two<8, 4>,
    }
}
