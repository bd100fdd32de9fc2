//! The kernels of nstage.
//!
//! Compiled for `nvptx64`, the crate is the PTX; compiled for the host, it is the [`CATALOGUE`] of what that PTX holds.
//!
//! Every kernel takes any number of elements from none on, any alignment that its element type allows, and any grid size; the result does not depend on the grid.

#![no_std]

mod reduction;
mod scale;
mod stencil;

pub use reduction::PARTIALS as SUM_PARTIALS;
pub use stencil::ROWS as BLUR_ROWS;

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

    /// Partial sums of x, for `sum_finish` to add: the first half of a sum whose value depends on nothing but the elements.
    ///
    /// There are always [`SUM_PARTIALS`] of them: partial `p` adds the tiles `p`, `p + SUM_PARTIALS`, … of 2048 elements, each thread its own four lanes in order,
    /// then the lanes as (0 + 1) + (2 + 3), then the threads of each warp and the warps as [`Block::sum`](nstage::Block::sum) says.
    /// So neither the grid, the depth of the ring, the alignment nor the device changes the result.
    /// Additions are plain: each is rounded once.
    ///
    /// `partials` holds [`SUM_PARTIALS`] elements, `x` holds `n`, and they do not overlap; more blocks than partials have nothing to do.
    pub kernel sum(
        /// The partial sums.
        partials: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements of the input.
        n: u64,
    ) {
        "sum_s0" => reduction::Synchronous,
        "sum_s1" => reduction::Ring<1>,
        "sum_s2" => reduction::Ring<2>,
        "sum_s3" => reduction::Ring<3>,
        "sum_s4" => reduction::Ring<4>,
        "sum_s5" => reduction::Ring<5>,
        "sum_s6" => reduction::Ring<6>,
        "sum_s7" => reduction::Ring<7>,
        "sum_s8" => reduction::Ring<8>,
    }

    /// The sum of the partial sums that `sum` left, in a fixed order: the second half.
    ///
    /// Thread `t` of 256 adds the partials `t`, `t + 256`, … in order, and then the threads are added as [`Block::sum`](nstage::Block::sum) says.
    ///
    /// `result` holds one element and `partials` holds [`SUM_PARTIALS`]; one block does the work, others have nothing to do.
    pub kernel sum_finish(
        /// The sum.
        result: GlobalMut<f32>,
        /// The partial sums.
        partials: GlobalPtr<f32>,
    ) {
        "sum_finish" => reduction::Finish,
    }

    /// y = x blurred by a 5 × 5 Gaussian, the outer product of [1 4 6 4 1] / 16 with itself; at the edges the nearest element stands in for missing ones.
    ///
    /// A stage holds a strip of one row with its neighbours; the five vertical taps stay in registers.
    /// For each row and column the horizontal sum is h = fma(6, x₀, fma(4, x₋₁ + x₁, x₋₂ + x₂)), rounded at each of its five operations;
    /// from the top row to the bottom one the vertical sum is v = h₋₂, v = fma(4, h₋₁, v), v = fma(6, h₀, v), v = fma(4, h₁, v), v = v + h₂;
    /// the result is v / 256, which is exact but for results below the normal range.
    ///
    /// `y` and `x` hold `width` · `height` elements, row after row, and do not overlap.
    pub kernel blur(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    ) {
        "blur_s0" => stencil::Synchronous,
        "blur_s2" => stencil::Ring<2>,
        "blur_s3" => stencil::Ring<3>,
        "blur_s4" => stencil::Ring<4>,
        "blur_s5" => stencil::Ring<5>,
        "blur_s6" => stencil::Ring<6>,
        "blur_s7" => stencil::Ring<7>,
        "blur_s8" => stencil::Ring<8>,
    }
}
