//! Results that each depend on the element at their own place: staged through a ring, or straight from global memory.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::pipeline::{BlockScope, Mechanism, Pipeline, Schedule};
use nstage::shared::Region;
use nstage::stream::{Stream, Tiles};
use nstage::view::{GridStride, In, Out, Share, Tiling, Width};
use nstage::{Block, Entry, GlobalMut, GlobalPtr, Launch, Uniform};

/// What becomes of an element.
pub(crate) trait Function: Copy {
    /// The results of four elements.
    fn of(self, x: [f32; 4]) -> [f32; 4];
}

/// What each of these kernels takes.
#[derive(Clone, Copy)]
pub(crate) struct Parameters<F> {
    pub(crate) y: GlobalMut<f32>,
    pub(crate) x: GlobalPtr<f32>,
    pub(crate) n: u64,
    pub(crate) f: F,
}

/// The kernel for a ring of `STAGES` stages run by schedule `H` over mechanism `M`, with `PIECES` 16-byte pieces a thread and stage.
pub(crate) struct Map<F, H, M, const STAGES: usize, const PIECES: usize>(PhantomData<(F, H, M)>);

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, F, H, M, const STAGES: usize, const PIECES: usize> Entry<A>
    for Map<F, H, M, STAGES, PIECES>
where
    A: Copy + Into<Parameters<F>>,
    F: Function,
    H: Schedule,
    M: Mechanism,
{
    const SHAPE: Shape = Shape::new()
        .ring(if M::ASYNCHRONOUS { STAGES } else { 0 }, H::NAME)
        .requires(M::REQUIRES)
        .pieces(PIECES)
        .threads(32, 1024, 256)
        // Measured on an H200: 0.985 to 0.992 of a copy, against 0.92 to 0.95 with as many blocks as fit.
        .tiles_a_block(2)
        .tile(Tiling::<f32, PIECES>::elements)
        .shared(|threads| {
            Pipeline::<f32, STAGES, BlockScope, M>::shared_bytes(Tiling::<f32, PIECES>::elements(
                threads,
            ))
        });

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        let args = args.map(A::into);
        let len = args.map(|args| args.n);
        // SAFETY: the launch contract: both buffers hold `n` elements and do not overlap; every thread divides `y` as below.
        let (x, y) = unsafe {
            (
                In::new(args.map(|args| args.x), len),
                Out::new(args.map(|args| args.y), len),
            )
        };
        let f = args.get().f;
        let share = Tiling::new(&block, len).grid_stride(&block);
        if x.width().min(y.width()).get() == Width::B16 {
            map::<H, M, STAGES, PIECES, true>(&block, shared, x, y, f, share);
        } else {
            map::<H, M::Unaligned, STAGES, PIECES, false>(&block, shared, x, y, f, share);
        }
    }
}

/// The loop, for views that are both aligned to 16 bytes or for any.
#[inline(always)]
pub(crate) fn map<
    H: Schedule,
    M: Mechanism,
    const STAGES: usize,
    const PIECES: usize,
    const ALIGNED: bool,
>(
    block: &Block,
    shared: Region,
    x: In<f32>,
    y: Out<f32>,
    f: impl Function,
    share: Share<f32, PIECES, GridStride>,
) {
    let tiles = Tiles::<_, PIECES, ALIGNED, _>::new(x, share);
    let mut tiles = Stream::<_, H, STAGES, M>::new(block, shared, tiles);
    if ALIGNED {
        let mut y = y.packed::<PIECES>();
        tiles.for_each(|tile| {
            tile.each(|piece| {
                let results = f.of(piece.values());
                y.put(piece.with(results));
            })
        });
    } else {
        let mut y = y.striped::<PIECES>();
        while let Some(tile) = tiles.next() {
            tile.each_striped(|piece| {
                let results = f.of(piece.values());
                y.put(piece.with(results));
            });
        }
    }
    let _ = tiles.drain();
}

/// The kernel without a stage between: each thread loads `PIECES` 16-byte pieces of a tile, and the blocks that are there hide the latency.
pub(crate) struct Plain<F, const PIECES: usize>(PhantomData<F>);

// SAFETY: no collective call is made; the launch contract is the kernel's documentation.
unsafe impl<A, F, const PIECES: usize> Entry<A> for Plain<F, PIECES>
where
    A: Copy + Into<Parameters<F>>,
    F: Function,
{
    const SHAPE: Shape = Shape::new()
        .pieces(PIECES)
        .threads(32, 1024, 256)
        .tiles_a_block(1)
        .tile(Tiling::<f32, PIECES>::elements);

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, .. } = launch;
        let args = args.map(A::into);
        let len = args.map(|args| args.n);
        // SAFETY: the launch contract: both buffers hold `n` elements and do not overlap; every thread divides `y` as below.
        let (x, y) = unsafe {
            (
                In::new(args.map(|args| args.x), len),
                Out::new(args.map(|args| args.y), len),
            )
        };
        let f = args.get().f;
        let share = Tiling::<f32, PIECES>::new(&block, len).grid_stride(&block);
        if x.width().min(y.width()).get() == Width::B16 {
            let mut y = y.packed::<PIECES>();
            share.each_packed(&block, x, |piece| {
                let results = f.of(piece.values());
                y.put(piece.with(results));
            });
        } else {
            let mut y = y.striped::<PIECES>();
            share.each_striped(&block, x, |piece| {
                let results = f.of(piece.values());
                y.put(piece.with(results));
            });
        }
    }
}
