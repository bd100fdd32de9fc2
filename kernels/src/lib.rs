//! The kernels of nstage.
//!
//! Compiled for `nvptx64`, the crate is the PTX; compiled for the host, it is the [`CATALOGUE`] of what that PTX holds.
//!
//! Every kernel takes any number of elements from none on, any alignment that its element type allows, and any grid size; the result does not depend on the grid.

#![no_std]

mod boxes;
mod chain;
mod elementwise;
mod gemm;
mod heat;
mod pairs;
mod product;
mod reduction;
mod same;
mod scale;
mod split;
mod stencil;
mod swap;
mod verbs;

pub use boxes::BlurBox;
pub use gemm::TILE as MATMUL_TILE;
pub use heat::ROWS as HEAT_ROWS;
pub use reduction::PARTIALS as SUM_PARTIALS;
pub use stencil::ROWS as BLUR_ROWS;
pub use swap::SIDE as TRANSPOSE_TILE;

nstage::panic_handler!();

use nstage::pipeline::{OneBarrier, TwoBarrier};
use nstage::{GlobalMut, GlobalPtr, TensorMap};

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

    /// y = a·x through a ring whose stages each have a barrier, at which the element copies of all threads arrive.
    ///
    /// One barrier of the block a step is less than with groups, where it must publish the copies as well.
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel kernel_async_pipeline_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "kernel_async_pipeline_mbarrier_s1_two_p1" => scale::Arrive<TwoBarrier, 1, 1>,
        "kernel_async_pipeline_mbarrier_s2_one_p1" => scale::Arrive<OneBarrier, 2, 1>,
        "kernel_async_pipeline_mbarrier_s2_two_p1" => scale::Arrive<TwoBarrier, 2, 1>,
        "kernel_async_pipeline_mbarrier_s3_one_p1" => scale::Arrive<OneBarrier, 3, 1>,
        "kernel_async_pipeline_mbarrier_s3_two_p1" => scale::Arrive<TwoBarrier, 3, 1>,
        "kernel_async_pipeline_mbarrier_s4_one_p1" => scale::Arrive<OneBarrier, 4, 1>,
        "kernel_async_pipeline_mbarrier_s4_two_p1" => scale::Arrive<TwoBarrier, 4, 1>,
        "kernel_async_pipeline_mbarrier_s5_one_p1" => scale::Arrive<OneBarrier, 5, 1>,
        "kernel_async_pipeline_mbarrier_s5_two_p1" => scale::Arrive<TwoBarrier, 5, 1>,
        "kernel_async_pipeline_mbarrier_s6_one_p1" => scale::Arrive<OneBarrier, 6, 1>,
        "kernel_async_pipeline_mbarrier_s6_two_p1" => scale::Arrive<TwoBarrier, 6, 1>,
        "kernel_async_pipeline_mbarrier_s7_one_p1" => scale::Arrive<OneBarrier, 7, 1>,
        "kernel_async_pipeline_mbarrier_s7_two_p1" => scale::Arrive<TwoBarrier, 7, 1>,
        "kernel_async_pipeline_mbarrier_s8_one_p1" => scale::Arrive<OneBarrier, 8, 1>,
        "kernel_async_pipeline_mbarrier_s8_two_p1" => scale::Arrive<TwoBarrier, 8, 1>,
    }

    /// y = a·x through a ring that bulk copies fill: one thread starts the copy of a whole tile, and the stage's barrier counts its bytes.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    /// Each result is rounded once.
    pub kernel kernel_async_pipeline_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "kernel_async_pipeline_bulk_s1_two_p1" => scale::InBulk<TwoBarrier, 1, 1>,
        "kernel_async_pipeline_bulk_s1_two_p4" => scale::InBulk<TwoBarrier, 1, 4>,
        "kernel_async_pipeline_bulk_s2_one_p1" => scale::InBulk<OneBarrier, 2, 1>,
        "kernel_async_pipeline_bulk_s2_one_p4" => scale::InBulk<OneBarrier, 2, 4>,
        "kernel_async_pipeline_bulk_s2_two_p1" => scale::InBulk<TwoBarrier, 2, 1>,
        "kernel_async_pipeline_bulk_s2_two_p4" => scale::InBulk<TwoBarrier, 2, 4>,
        "kernel_async_pipeline_bulk_s3_one_p1" => scale::InBulk<OneBarrier, 3, 1>,
        "kernel_async_pipeline_bulk_s3_one_p4" => scale::InBulk<OneBarrier, 3, 4>,
        "kernel_async_pipeline_bulk_s3_two_p1" => scale::InBulk<TwoBarrier, 3, 1>,
        "kernel_async_pipeline_bulk_s3_two_p4" => scale::InBulk<TwoBarrier, 3, 4>,
        "kernel_async_pipeline_bulk_s4_one_p1" => scale::InBulk<OneBarrier, 4, 1>,
        "kernel_async_pipeline_bulk_s4_one_p4" => scale::InBulk<OneBarrier, 4, 4>,
        "kernel_async_pipeline_bulk_s4_two_p1" => scale::InBulk<TwoBarrier, 4, 1>,
        "kernel_async_pipeline_bulk_s4_two_p4" => scale::InBulk<TwoBarrier, 4, 4>,
        "kernel_async_pipeline_bulk_s6_one_p1" => scale::InBulk<OneBarrier, 6, 1>,
        "kernel_async_pipeline_bulk_s6_one_p4" => scale::InBulk<OneBarrier, 6, 4>,
        "kernel_async_pipeline_bulk_s6_two_p1" => scale::InBulk<TwoBarrier, 6, 1>,
        "kernel_async_pipeline_bulk_s6_two_p4" => scale::InBulk<TwoBarrier, 6, 4>,
        "kernel_async_pipeline_bulk_s8_one_p1" => scale::InBulk<OneBarrier, 8, 1>,
        "kernel_async_pipeline_bulk_s8_one_p4" => scale::InBulk<OneBarrier, 8, 4>,
        "kernel_async_pipeline_bulk_s8_two_p1" => scale::InBulk<TwoBarrier, 8, 1>,
        "kernel_async_pipeline_bulk_s8_two_p4" => scale::InBulk<TwoBarrier, 8, 4>,
    }

    /// y = a·x by two roles: the first warp of a block fetches tiles by bulk copies, the others multiply.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    /// Each result is rounded once.
    pub kernel scale_roles(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_roles_s1_p1" => split::InBulk<1, 1>,
        "scale_roles_s1_p4" => split::InBulk<1, 4>,
        "scale_roles_s2_p1" => split::InBulk<2, 1>,
        "scale_roles_s2_p4" => split::InBulk<2, 4>,
        "scale_roles_s4_p1" => split::InBulk<4, 1>,
        "scale_roles_s4_p4" => split::InBulk<4, 4>,
        "scale_roles_s8_p1" => split::InBulk<8, 1>,
        "scale_roles_s8_p4" => split::InBulk<8, 4>,
    }

    /// y = a·x by two roles: the first warp of a block fetches tiles by element copies that arrive at the stage's barrier, the others multiply.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel scale_roles_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_roles_mbarrier_s2_p1" => split::Arrive<2, 1>,
        "scale_roles_mbarrier_s4_p1" => split::Arrive<4, 1>,
        "scale_roles_mbarrier_s8_p1" => split::Arrive<8, 1>,
    }

    /// y = a·x by two roles, with as many stages, up to 8, as the launch's shared memory holds: one entry for all depths.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    /// Each result is rounded once.
    pub kernel scale_roles_run_time(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_roles_run_time_p1" => split::RunTime<nstage::pipeline::Bulk, 1>,
        "scale_roles_run_time_p4" => split::RunTime<nstage::pipeline::Bulk, 4>,
    }

    /// y = a·x by the four verbs, with copies that go by 16 bytes whatever the alignment and carry the few bytes before and behind by themselves.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel scale_verbs(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_verbs_s4_two" => verbs::Verbs<nstage::pipeline::Groups, 4>,
    }

    /// The same with one bulk copy for all but the first and last few bytes of a tile, whatever the alignment.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each result is rounded once.
    pub kernel scale_verbs_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_verbs_bulk_s4_two" => verbs::Verbs<nstage::pipeline::Bulk, 4>,
    }

    /// y = a·x with tiles that come by bulk copies and go by bulk copies.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies and stores take the place of bulk copies.
    /// Each result is rounded once.
    pub kernel scale_bulk_out(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale_bulk_out_s2_two_p4" => verbs::InAndOut<2, 4>,
        "scale_bulk_out_s4_two_p1" => verbs::InAndOut<4, 1>,
        "scale_bulk_out_s4_two_p4" => verbs::InAndOut<4, 4>,
    }

    /// y = x, each tile staged through shared memory: by plain loads and stores, and through rings.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    pub kernel copy(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements of each.
        n: u64,
    ) {
        "copy_s0_p1" => same::Synchronous,
        "copy_s2_one_p1" => same::Ring<OneBarrier, 2, 1>,
        "copy_s2_two_p1" => same::Ring<TwoBarrier, 2, 1>,
        "copy_s2_two_p4" => same::Ring<TwoBarrier, 2, 4>,
        "copy_s4_two_p1" => same::Ring<TwoBarrier, 4, 1>,
        "copy_s8_two_p1" => same::Ring<TwoBarrier, 8, 1>,
    }

    /// y = x, each element through a register and nothing else.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    pub kernel copy_plain(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements of each.
        n: u64,
    ) {
        "copy_plain_p1" => same::Plain<1>,
        "copy_plain_p2" => same::Plain<2>,
        "copy_plain_p4" => same::Plain<4>,
    }

    /// y = x through a ring whose stages each have a barrier, at which the element copies of all threads arrive.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    pub kernel copy_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements of each.
        n: u64,
    ) {
        "copy_mbarrier_s2_two_p1" => same::Arrive<2>,
        "copy_mbarrier_s4_two_p1" => same::Arrive<4>,
    }

    /// y = x through a ring that bulk copies fill.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    pub kernel copy_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements of each.
        n: u64,
    ) {
        "copy_bulk_s2_two_p1" => same::InBulk<2, 1>,
        "copy_bulk_s2_two_p4" => same::InBulk<2, 4>,
        "copy_bulk_s4_two_p4" => same::InBulk<4, 4>,
    }

    /// y = x + a·z, a tile of each input staged through shared memory: by plain loads and stores, and through rings.
    ///
    /// `y`, `x` and `z` hold `n` elements, and `y` overlaps neither.
    /// Each result is rounded once.
    pub kernel triad(
        /// The output.
        y: GlobalMut<f32>,
        /// The first input.
        x: GlobalPtr<f32>,
        /// The second input.
        z: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "triad_s0_p1" => pairs::Synchronous,
        "triad_s2_two_p1" => pairs::Ring<2, 1>,
        "triad_s2_two_p2" => pairs::Ring<2, 2>,
        "triad_s4_two_p1" => pairs::Ring<4, 1>,
        "triad_s8_two_p1" => pairs::Ring<8, 1>,
    }

    /// y = x + a·z, each element through a register and nothing else.
    ///
    /// `y`, `x` and `z` hold `n` elements, and `y` overlaps neither.
    /// Each result is rounded once.
    pub kernel triad_plain(
        /// The output.
        y: GlobalMut<f32>,
        /// The first input.
        x: GlobalPtr<f32>,
        /// The second input.
        z: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "triad_plain_p1" => pairs::Plain<1>,
        "triad_plain_p2" => pairs::Plain<2>,
    }

    /// y = x + a·z through a ring whose stages each have a barrier, at which the element copies of all threads arrive.
    ///
    /// `y`, `x` and `z` hold `n` elements, and `y` overlaps neither.
    /// Each result is rounded once.
    pub kernel triad_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The first input.
        x: GlobalPtr<f32>,
        /// The second input.
        z: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "triad_mbarrier_s2_two_p1" => pairs::Arrive<2>,
        "triad_mbarrier_s4_two_p1" => pairs::Arrive<4>,
    }

    /// y = x + a·z through a ring that bulk copies fill.
    ///
    /// `y`, `x` and `z` hold `n` elements, and `y` overlaps neither; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    /// Each result is rounded once.
    pub kernel triad_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The first input.
        x: GlobalPtr<f32>,
        /// The second input.
        z: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "triad_bulk_s2_two_p1" => pairs::InBulk<2, 1>,
        "triad_bulk_s2_two_p4" => pairs::InBulk<2, 4>,
        "triad_bulk_s4_two_p2" => pairs::InBulk<4, 2>,
    }

    /// y = x after `r` steps v = a·v + b, each tile staged through shared memory: by plain loads and stores, and through rings.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each step is rounded once.
    pub kernel intensity(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// What each step adds.
        b: f32,
        /// Steps.
        r: u32,
        /// Elements of each.
        n: u64,
    ) {
        "intensity_s0" => chain::Synchronous,
        "intensity_s2_one" => chain::Ring<OneBarrier, 2>,
        "intensity_s2_two" => chain::Ring<TwoBarrier, 2>,
        "intensity_s4_two" => chain::Ring<TwoBarrier, 4>,
        "intensity_s8_two" => chain::Ring<TwoBarrier, 8>,
    }

    /// y = x after `r` steps v = a·v + b, each element in a register all the time.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each step is rounded once.
    pub kernel intensity_plain(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// What each step adds.
        b: f32,
        /// Steps.
        r: u32,
        /// Elements of each.
        n: u64,
    ) {
        "intensity_plain_p1" => chain::Plain<1>,
    }

    /// y = x after `r` steps v = a·v + b, through a ring whose stages each have a barrier, at which the element copies of all threads arrive.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    /// Each step is rounded once.
    pub kernel intensity_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// What each step adds.
        b: f32,
        /// Steps.
        r: u32,
        /// Elements of each.
        n: u64,
    ) {
        "intensity_mbarrier_s4_two" => chain::Arrive<4>,
    }

    /// y = x after `r` steps v = a·v + b, through a ring that bulk copies fill.
    ///
    /// `y` and `x` hold `n` elements and do not overlap; where one of them is not aligned to 16 bytes, element copies take the place of bulk copies.
    /// Each step is rounded once.
    pub kernel intensity_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// What each step adds.
        b: f32,
        /// Steps.
        r: u32,
        /// Elements of each.
        n: u64,
    ) {
        "intensity_bulk_s2_two" => chain::InBulk<2>,
        "intensity_bulk_s4_two" => chain::InBulk<4>,
    }

    /// c = a·b in tiles of 64 × 64, whose panels are staged an element at a time by plain loads and stores.
    ///
    /// Each element is a sum in the order of its terms, one `fma` for each, so that all variants give the same bits.
    /// The matrices lie row after row and do not overlap.
    pub kernel matmul_naive(
        /// The product, `m` rows of `n` elements.
        c: GlobalMut<f32>,
        /// The left factor, `m` rows of `k` elements.
        a: GlobalPtr<f32>,
        /// The right factor, `k` rows of `n` elements.
        b: GlobalPtr<f32>,
        /// Rows of the product.
        m: u32,
        /// Columns of the product.
        n: u32,
        /// Terms of each sum.
        k: u32,
    ) {
        "matmul_naive" => gemm::Naive,
    }

    /// c = a·b in tiles of 64 × 64, whose panels are staged 16 bytes at a time: by plain loads and stores, by copies into one stage, and through rings.
    ///
    /// Each element is a sum in the order of its terms, one `fma` for each, so that all variants give the same bits.
    /// The matrices lie row after row and do not overlap.
    pub kernel matmul(
        /// The product, `m` rows of `n` elements.
        c: GlobalMut<f32>,
        /// The left factor, `m` rows of `k` elements.
        a: GlobalPtr<f32>,
        /// The right factor, `k` rows of `n` elements.
        b: GlobalPtr<f32>,
        /// Rows of the product.
        m: u32,
        /// Columns of the product.
        n: u32,
        /// Terms of each sum.
        k: u32,
    ) {
        "matmul_s0" => gemm::Synchronous,
        "matmul_s1_two" => gemm::Two<1>,
        "matmul_s2_one" => gemm::One<2>,
        "matmul_s2_two" => gemm::Two<2>,
        "matmul_s3_one" => gemm::One<3>,
        "matmul_s3_two" => gemm::Two<3>,
        "matmul_s4_one" => gemm::One<4>,
        "matmul_s4_two" => gemm::Two<4>,
    }

    /// c = a·b in tiles of 64 × 64, through rings whose stages each have a barrier.
    ///
    /// Each element is a sum in the order of its terms, one `fma` for each, so that all variants give the same bits.
    /// The matrices lie row after row and do not overlap.
    pub kernel matmul_mbarrier(
        /// The product, `m` rows of `n` elements.
        c: GlobalMut<f32>,
        /// The left factor, `m` rows of `k` elements.
        a: GlobalPtr<f32>,
        /// The right factor, `k` rows of `n` elements.
        b: GlobalPtr<f32>,
        /// Rows of the product.
        m: u32,
        /// Columns of the product.
        n: u32,
        /// Terms of each sum.
        k: u32,
    ) {
        "matmul_mbarrier_s2_two" => gemm::Arrive<2>,
        "matmul_mbarrier_s4_two" => gemm::Arrive<4>,
    }

    /// c = a·b in tiles of 64 × 64 by two roles: two warps of a block fetch the panels, eight multiply.
    ///
    /// Each element is a sum in the order of its terms, one `fma` for each, so that all variants give the same bits.
    /// The matrices lie row after row and do not overlap.
    pub kernel matmul_roles(
        /// The product, `m` rows of `n` elements.
        c: GlobalMut<f32>,
        /// The left factor, `m` rows of `k` elements.
        a: GlobalPtr<f32>,
        /// The right factor, `k` rows of `n` elements.
        b: GlobalPtr<f32>,
        /// Rows of the product.
        m: u32,
        /// Columns of the product.
        n: u32,
        /// Terms of each sum.
        k: u32,
    ) {
        "matmul_roles_s2" => gemm::Split<2>,
        "matmul_roles_s4" => gemm::Split<4>,
    }

    /// y = a ⊗ x, row after row: y[r][i] = a[r]·x[i], by clusters whose blocks compute different rows of the same columns.
    ///
    /// Each tile of `x` is fetched once for all blocks of a cluster, each block fetching its share and handing it to the others.
    /// `x` holds `n` elements, `a` holds `rows`, `y` holds `rows` · `n`, and `y` overlaps neither; where columns are not aligned to 16 bytes, every block fetches for itself.
    /// Each result is rounded once.
    pub kernel outer(
        /// The output, a row for each element of `a`.
        y: GlobalMut<f32>,
        /// The elements of every row.
        x: GlobalPtr<f32>,
        /// The factor of each row.
        a: GlobalPtr<f32>,
        /// Elements of `x`.
        n: u64,
        /// Elements of `a`.
        rows: u32,
    ) {
        "outer_c2_s4_p1" => product::Outer<2, 4>,
        "outer_c4_s4_p1" => product::Outer<4, 4>,
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

    /// The transposed matrix, in tiles of 64 × 64 that are staged without a bank conflict: by plain loads and stores, and through rings.
    ///
    /// y[c][r] = x[r][c]; `y` and `x` hold `rows` · `columns` elements, row after row, and do not overlap.
    pub kernel transpose(
        /// The output, `columns` rows of `rows` elements.
        y: GlobalMut<f32>,
        /// The input, `rows` rows of `columns` elements.
        x: GlobalPtr<f32>,
        /// Rows of the input.
        rows: u32,
        /// Columns of the input.
        columns: u32,
    ) {
        "transpose_s0" => swap::Synchronous,
        "transpose_s2" => swap::Ring<2>,
        "transpose_s4" => swap::Ring<4>,
    }

    /// The transposed matrix, through a ring of tiles with a barrier each.
    ///
    /// y[c][r] = x[r][c]; `y` and `x` hold `rows` · `columns` elements, row after row, and do not overlap.
    pub kernel transpose_mbarrier(
        /// The output, `columns` rows of `rows` elements.
        y: GlobalMut<f32>,
        /// The input, `rows` rows of `columns` elements.
        x: GlobalPtr<f32>,
        /// Rows of the input.
        rows: u32,
        /// Columns of the input.
        columns: u32,
    ) {
        "transpose_mbarrier_s2" => swap::Arrive<2>,
        "transpose_mbarrier_s4" => swap::Arrive<4>,
    }

    /// One step of heat in a plane, by rows that are staged once each: by plain loads and stores, and through rings.
    ///
    /// y = center·x + side·((above + below) + (left + right)), the last addition fused with the first product; on the border of the plane y = x.
    ///
    /// `y` and `x` hold `width` · `height` elements, row after row, and do not overlap.
    pub kernel heat_2d(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
        /// The weight of the element itself.
        center: f32,
        /// The weight of each neighbour.
        side: f32,
    ) {
        "heat_2d_s0" => heat::Synchronous,
        "heat_2d_s2" => heat::Ring<2>,
        "heat_2d_s4" => heat::Ring<4>,
        "heat_2d_s8" => heat::Ring<8>,
    }

    /// One step of heat in a plane, through a ring of rows with a barrier each.
    ///
    /// y = center·x + side·((above + below) + (left + right)), the last addition fused with the first product; on the border of the plane y = x.
    ///
    /// `y` and `x` hold `width` · `height` elements, row after row, and do not overlap.
    pub kernel heat_2d_mbarrier(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
        /// The weight of the element itself.
        center: f32,
        /// The weight of each neighbour.
        side: f32,
    ) {
        "heat_2d_mbarrier_s4" => heat::Arrive<4>,
    }

    /// One step of heat in a plane, through a ring of rows that one bulk copy each brings.
    ///
    /// y = center·x + side·((above + below) + (left + right)), the last addition fused with the first product; on the border of the plane y = x.
    ///
    /// `y` and `x` hold `width` · `height` elements, row after row, and do not overlap; where a buffer or the rows are not aligned to 16 bytes, element copies take the place of bulk copies.
    pub kernel heat_2d_bulk(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
        /// The weight of the element itself.
        center: f32,
        /// The weight of each neighbour.
        side: f32,
    ) {
        "heat_2d_bulk_s4" => heat::InBulk<4>,
        "heat_2d_bulk_s8" => heat::InBulk<8>,
    }

    /// The same blur over boxes of 4 rows and 256 columns, each brought by one copy through a tensor map.
    ///
    /// The results are those of `blur`, bit for bit.
    /// `map` describes `x` in boxes of [`BlurBox`], with zeros outside; where a buffer or the rows are not aligned to 16 bytes it is not looked at, and element copies take the place of boxes.
    ///
    /// `y` and `x` hold `width` · `height` elements, row after row, and do not overlap.
    pub kernel blur_tensor(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The input as a tensor.
        map: TensorMap<BlurBox>,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    ) {
        "blur_tensor_s2" => boxes::Boxed<2>,
        "blur_tensor_s3" => boxes::Boxed<3>,
        "blur_tensor_s4" => boxes::Boxed<4>,
        "blur_tensor_s5" => boxes::Boxed<5>,
        "blur_tensor_s6" => boxes::Boxed<6>,
        "blur_tensor_s7" => boxes::Boxed<7>,
        "blur_tensor_s8" => boxes::Boxed<8>,
    }
}
