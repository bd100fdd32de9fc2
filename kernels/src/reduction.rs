//! The sum of an array, in an order that nothing but the number of elements decides.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::pipeline::{Direct, Groups, Mechanism, Pipeline, TwoBarrier};
use nstage::shared::{Region, padded};
use nstage::stream::{Stream, Tiles};
use nstage::view::{Any, In, Items, Out, Share, Tiling, Vector, Width};
use nstage::{Block, Entry, Launch, Uniform};

/// Partial sums of an array: 8 blocks for each of an H200's 132 multiprocessors, on every device.
pub const PARTIALS: u32 = 1056;

/// Threads of a block, part of the order of additions.
const THREADS: u32 = 256;

/// 16-byte pieces a thread and tile, part of the order of additions as well.
const PIECES: usize = 2;

/// The first half, through a ring of `STAGES` stages over mechanism `M`.
pub(crate) struct Partial<M, const STAGES: usize>(PhantomData<M>);

/// The first half by plain loads and stores.
pub(crate) type Synchronous = Partial<Direct, 1>;

/// The first half through `STAGES` stages.
pub(crate) type Ring<const STAGES: usize> = Partial<Groups, STAGES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<M: Mechanism, const STAGES: usize> Entry<crate::sum::Args> for Partial<M, STAGES> {
    const SHAPE: Shape = Shape::new()
        .ring(
            if M::ASYNCHRONOUS { STAGES } else { 0 },
            nstage::catalogue::Schedule::TwoBarrier,
        )
        .pieces(PIECES)
        .threads(THREADS, THREADS, THREADS)
        .tile(Tiling::<f32, PIECES>::elements)
        .shared(|threads| {
            Pipeline::<f32, STAGES>::shared_bytes(Tiling::<f32, PIECES>::elements(threads))
                + padded(Block::sum_scratch_bytes())
        });

    fn run(launch: Launch, args: Uniform<crate::sum::Args>) {
        let Launch {
            block, mut shared, ..
        } = launch;
        let partials = Uniform::<u64>::constant::<{ PARTIALS as u64 }>();
        // SAFETY: the launch contract: `x` holds `n` elements and `partials` holds `PARTIALS`, apart from each other; every thread divides `partials` by items.
        let (x, partials) = unsafe {
            (
                In::<f32>::new(args.map(|args| args.x), args.map(|args| args.n)),
                Out::new(args.map(|args| args.partials), partials),
            )
        };
        let mut partials = partials.items();
        let mut scratch = shared.take(Uniform::<u32>::constant::<{ Block::sum_scratch_bytes() }>());
        let tiling = Tiling::<f32, PIECES>::new(&block, x.len());
        for item in Items::new(&block, Uniform::<u32>::constant::<PARTIALS>()) {
            let share = tiling.strided(item.index(), Uniform::<u32>::constant::<PARTIALS>());
            let lanes;
            (lanes, shared) = if x.width().get() == Width::B16 {
                add_tiles::<M, STAGES, true>(&block, shared, x, share)
            } else {
                add_tiles::<M, STAGES, false>(&block, shared, x, share)
            };
            let [a, b, c, d] = lanes;
            if let Some(sum) = block.sum((a + b) + (c + d), &mut scratch) {
                partials.put(&item, sum);
            }
        }
    }
}

/// The sums of this thread's lanes over the tiles of a share, and the shared memory back.
#[inline(always)]
fn add_tiles<M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    shared: Region,
    x: In<f32>,
    share: Share<f32, PIECES, Any>,
) -> ([f32; 4], Region) {
    let tiles = Tiles::<_, PIECES, ALIGNED, _>::new(x, share);
    let mut tiles = Stream::<_, TwoBarrier, STAGES, M>::new(block, shared, tiles);
    let mut lanes = [0.0; 4];
    if ALIGNED {
        tiles.for_each(|tile| {
            tile.each(|piece| lanes = lanes.zip(piece.values(), |sum, x| sum + x))
        });
    } else {
        while let Some(tile) = tiles.next() {
            tile.each(|piece| lanes = lanes.zip(piece.values(), |sum, x| sum + x));
        }
    }
    (lanes, tiles.drain())
}

/// The second half.
pub(crate) struct Finish;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl Entry<crate::sum_finish::Args> for Finish {
    const SHAPE: Shape = Shape::new()
        .threads(THREADS, THREADS, THREADS)
        .tile(|_| PARTIALS)
        .shared(|_| padded(Block::sum_scratch_bytes()));

    fn run(launch: Launch, args: Uniform<crate::sum_finish::Args>) {
        let Launch {
            block, mut shared, ..
        } = launch;
        let partials = Uniform::<u64>::constant::<{ PARTIALS as u64 }>();
        // SAFETY: the launch contract: `result` holds one element and `partials` holds `PARTIALS`, apart from each other; every thread divides `result` by items.
        let (partials, result) = unsafe {
            (
                In::new(args.map(|args| args.partials), partials),
                Out::new(
                    args.map(|args| args.result),
                    Uniform::<u64>::constant::<1>(),
                ),
            )
        };
        let mut result = result.items();
        for item in Items::new(&block, Uniform::<u32>::constant::<1>()) {
            let mut sum = 0.0;
            let mut index = u64::from(block.thread());
            while let Some(partial) = partials.get(index) {
                sum += partial;
                index += u64::from(THREADS);
            }
            if let Some(sum) = block.sum(sum, &mut shared) {
                result.put(&item, sum);
            }
        }
    }
}
