//! One kernel: y = a·x, with tiles of x copied to shared memory two ahead of their use.
//!
//! Compiled for the GPU this is the kernel; compiled for the host it is the typed list of its arguments.

#![no_std]

use nstage::catalogue::Shape;
use nstage::pipeline::{Pipeline, Schedule, TwoBarrier};
use nstage::stream::{Stream, Tiles};
use nstage::view::{In, Out, Tiling};
use nstage::{Entry, GlobalMut, GlobalPtr, Launch, Uniform};

nstage::panic_handler!();

nstage::kernels! {
    /// The kernels of this crate.
    pub static CATALOGUE;

    /// y = a·x.
    ///
    /// `y` and `x` hold `n` elements and do not overlap.
    pub kernel scale(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// The factor.
        a: f32,
        /// Elements of each.
        n: u64,
    ) {
        "scale" => Scale,
    }
}

const STAGES: usize = 3;

struct Scale;

// SAFETY: every thread takes every tile, and the number of tiles depends on parameters and block indices alone.
unsafe impl Entry<scale::Args> for Scale {
    const SHAPE: Shape = Shape::new()
        .ring(STAGES, TwoBarrier::NAME)
        .pieces(1)
        .tile(Tiling::<f32, 1>::elements)
        .shared(|threads| {
            Pipeline::<f32, STAGES>::shared_bytes(Tiling::<f32, 1>::elements(threads))
        });

    fn run(launch: Launch, args: Uniform<scale::Args>) {
        let Launch { block, shared, .. } = launch;
        let len = args.map(|args| args.n);
        // SAFETY: the launch contract: both buffers hold `n` elements and do not overlap.
        let (x, y) = unsafe {
            (
                In::new(args.map(|args| args.x), len),
                Out::new(args.map(|args| args.y), len),
            )
        };
        let a = args.get().a;
        let share = Tiling::<f32, 1>::new(&block, len).grid_stride(&block);
        let mut y = y.striped::<1>();
        let tiles = Tiles::<_, 1, false, _>::new(x, share);
        let mut tiles = Stream::<_, TwoBarrier, STAGES>::new(&block, shared, tiles);
        while let Some(tile) = tiles.next() {
            tile.each_striped(|piece| y.put(piece.map(|x| a * x)));
        }
        let _shared = tiles.drain();
    }
}
