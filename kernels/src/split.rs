//! Warp specialisation: one warp fetches, the others compute.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::pipeline::{Arrivals, Bulk, Mechanism};
use nstage::roles::{AtRunTime, Depth, Fixed, Roles};
use nstage::shared::Region;
use nstage::stream::Tiles;
use nstage::view::{In, Out, Tiling, Width};
use nstage::{Block, Entry, Launch, Uniform};

use crate::scale::{Parameters, Times};

/// Threads that fetch: one warp.
const PRODUCERS: u32 = 32;

/// Threads that compute in a block of `threads` threads.
const fn consumers(threads: u32) -> u32 {
    threads.saturating_sub(PRODUCERS)
}

/// The kernel for mechanism `M`, `STAGES` stages, and `PIECES` 16-byte pieces a consumer and stage.
pub(crate) struct Split<M, const STAGES: u32, const PIECES: usize>(PhantomData<M>);

/// Filled by bulk copies.
pub(crate) type InBulk<const STAGES: u32, const PIECES: usize> = Split<Bulk, STAGES, PIECES>;

/// Filled by element copies.
pub(crate) type Arrive<const STAGES: u32, const PIECES: usize> = Split<Arrivals, STAGES, PIECES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, M, const STAGES: u32, const PIECES: usize> Entry<A> for Split<M, STAGES, PIECES>
where
    A: Copy + Into<Parameters>,
    M: Mechanism,
{
    const SHAPE: Shape = shape::<M, PIECES>()
        .ring(STAGES as usize, nstage::catalogue::Schedule::Roles)
        .shared(shared_bytes::<M, STAGES, PIECES>);

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch {
            mut block, shared, ..
        } = launch;
        scale::<A, M, _, PIECES>(&mut block, shared, args, Fixed::<STAGES>);
    }
}

/// The same with as many stages as the block's shared memory holds.
pub(crate) struct RunTime<M, const PIECES: usize>(PhantomData<M>);

/// Stages that a launch has room for where it goes by the shape.
const USUAL: u32 = 5;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, M, const PIECES: usize> Entry<A> for RunTime<M, PIECES>
where
    A: Copy + Into<Parameters>,
    M: Mechanism,
{
    const SHAPE: Shape = shape::<M, PIECES>()
        .ring(USUAL as usize, nstage::catalogue::Schedule::Roles)
        .shared(shared_bytes::<M, USUAL, PIECES>);

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch {
            mut block, shared, ..
        } = launch;
        // The barriers of up to 8 stages take one grain.
        let stage = block
            .threads()
            .map(|threads| Tiling::<f32, PIECES>::bytes(consumers(threads)));
        let stages = shared
            .bytes()
            .zip(stage, |bytes, stage| ((bytes - 128) / stage.max(1)).min(8));
        scale::<A, M, _, PIECES>(&mut block, shared, args, AtRunTime::new(stages));
    }
}

/// What all variants have in common.
const fn shape<M: Mechanism, const PIECES: usize>() -> Shape {
    Shape::new()
        .requires(M::REQUIRES)
        .pieces(PIECES)
        .threads(64, 1024, 256 + PRODUCERS)
        .tile(|threads| Tiling::<f32, PIECES>::elements(consumers(threads)))
}

fn shared_bytes<M: Mechanism, const STAGES: u32, const PIECES: usize>(threads: u32) -> u32 {
    let tile = Tiling::<f32, PIECES>::elements(consumers(threads));
    Roles::<M, Fixed<STAGES>>::shared_bytes::<f32>(tile, STAGES)
}

/// All tiles of this block, for views that are both aligned to 16 bytes or for any.
#[inline(always)]
fn scale<A, M, D, const PIECES: usize>(
    block: &mut Block,
    shared: Region,
    args: Uniform<A>,
    depth: D,
) where
    A: Copy + Into<Parameters>,
    M: Mechanism,
    D: Depth,
{
    let args = args.map(A::into);
    let len = args.map(|args| args.n);
    // SAFETY: the launch contract: both buffers hold `n` elements and do not overlap; every thread divides `y` as below.
    let (x, y) = unsafe {
        (
            In::new(args.map(|args| args.x), len),
            Out::new(args.map(|args| args.y), len),
        )
    };
    let Times(a) = args.get().f;
    if x.width().min(y.width()).get() == Width::B16 {
        split::<M, D, PIECES, true>(block, shared, x, y, a, depth);
    } else {
        split::<M::Unaligned, D, PIECES, false>(block, shared, x, y, a, depth);
    }
}

#[inline(always)]
fn split<M: Mechanism, D: Depth, const PIECES: usize, const ALIGNED: bool>(
    block: &mut Block,
    shared: Region,
    x: In<f32>,
    y: Out<f32>,
    a: f32,
    depth: D,
) {
    let roles = Roles::<M, D>::new(
        block,
        depth,
        Uniform::<u32>::constant::<{ PRODUCERS / 32 }>(),
    );
    let tiling = Tiling::<f32, PIECES>::for_crew(roles.consumers(), x.len());
    let share = tiling.grid_stride(roles.block());
    let tiles = Tiles::<_, PIECES, ALIGNED, _>::new(x, share);
    if ALIGNED {
        let mut y = y.packed::<PIECES>();
        let _ = roles.run(
            shared,
            tiles,
            |producer, mut tiles| producer.fill(&mut tiles),
            |consumer, mut tiles| {
                consumer.for_each(&mut tiles, |tile| {
                    tile.each(|piece| y.put(piece.map(|x| a * x)));
                });
            },
        );
    } else {
        let mut y = y.striped::<PIECES>();
        let _ = roles.run(
            shared,
            tiles,
            |producer, mut tiles| producer.fill(&mut tiles),
            |consumer, mut tiles| {
                consumer.for_each(&mut tiles, |tile| {
                    tile.each_striped(|piece| y.put(piece.map(|x| a * x)));
                });
            },
        );
    }
}
