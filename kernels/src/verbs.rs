//! y = a·x by the verbs of a pipeline, with copies that choose their own width; and with results that leave by bulk copies as well.

use core::marker::PhantomData;
use nstage::catalogue::{Requires, Schedule, Shape};
use nstage::outgoing::Outgoing;
use nstage::pipeline::{Bulk, Mechanism, Pipeline, TwoBarrier};
use nstage::shared::{Region, padded};
use nstage::stream::{Stream, Tiles};
use nstage::view::{GridStride, In, Out, Share, Tiling, Width};
use nstage::{Block, Entry, Launch, Uniform};

use crate::elementwise::map;
use crate::scale::{Parameters, Times};

/// Elements that a thread scales in a tile.
const EACH: u32 = 4;

/// Elements more in a stage than in a tile: the first one may lie anywhere in 16 bytes.
const SKEW: u32 = 4;

/// The kernel by verbs, over mechanism `M` and `STAGES` stages.
pub(crate) struct Verbs<M, const STAGES: usize>(PhantomData<M>);

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, M, const STAGES: usize> Entry<A> for Verbs<M, STAGES>
where
    A: Copy + Into<Parameters>,
    M: Mechanism,
{
    const SHAPE: Shape = Shape::new()
        .requires(M::REQUIRES)
        .ring(STAGES, Schedule::TwoBarrier)
        .threads(32, 1024, 256)
        .tile(|threads| threads * EACH)
        .shared(|threads| {
            Pipeline::<f32, STAGES, nstage::pipeline::BlockScope, M>::shared_bytes(
                threads * EACH + SKEW,
            )
        });

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        let args = args.map(A::into);
        let n = args.map(|args| args.n);
        // SAFETY: the launch contract: `x` holds `n` elements, which nobody writes.
        let x = unsafe { In::new(args.map(|args| args.x), n) };
        let (Times(a), y) = (args.get().f, args.get().y.as_raw());
        let tile = block.threads() * Uniform::<u32>::constant::<EACH>();
        let tiles = n.zip(tile.into(), |n, tile: u64| n.div_ceil(tile));
        let of = |step: u64| {
            // Tile number `step` of this block: blocks take turns.
            let number = u64::from(block.index().get()) + step * u64::from(block.blocks().get());
            let start = number * u64::from(tile.get());
            let count = (n.get() - start).min(u64::from(tile.get())) as u32;
            (start, count)
        };
        let steps = tiles
            .zip(block.index().into(), |tiles, index: u64| {
                tiles.saturating_sub(index)
            })
            .zip(block.blocks().into(), |left, blocks: u64| {
                left.div_ceil(blocks)
            })
            .get();
        let mut ring = Pipeline::<f32, STAGES, _, M>::new(
            &block,
            shared,
            tile + Uniform::<u32>::constant::<SKEW>(),
        );
        let (mut filled, mut at) = (0, 0);
        for step in 0..steps {
            while filled < steps && filled < step + STAGES as u64 {
                let (start, count) = of(filled);
                let mut slot = ring.producer_acquire();
                // SAFETY: computed from values that the block's threads share.
                let (start, count) = unsafe { (Uniform::assume(start), Uniform::assume(count)) };
                // Every tile starts as far into 16 bytes as the first.
                at = slot.memcpy_async(&x, start, count).at().get();
                slot.commit();
                filled += 1;
            }
            let (start, count) = of(step);
            let slot = ring.consumer_wait();
            let mut element = block.thread();
            while element < count {
                let product = a * slot.get(at + element);
                // SAFETY: the launch contract: `y` holds `n` elements apart from `x`; a tile belongs to one block and an element of it to one thread.
                unsafe {
                    y.wrapping_add((start + u64::from(element)) as usize)
                        .write(product)
                };
                element += block.threads().get();
            }
            slot.release();
        }
        let _ = ring.drain();
    }
}

/// The kernel whose tiles come and go by bulk copies, with `STAGES` stages of `PIECES` 16-byte pieces a thread.
pub(crate) struct InAndOut<const STAGES: usize, const PIECES: usize>;

/// A ring of the kernel.
type Ring<const STAGES: usize> = Pipeline<'static, f32, STAGES, nstage::pipeline::BlockScope, Bulk>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, const STAGES: usize, const PIECES: usize> Entry<A> for InAndOut<STAGES, PIECES>
where
    A: Copy + Into<Parameters>,
{
    const SHAPE: Shape = Shape::new()
        .requires(Requires::SM_90)
        .ring(STAGES, Schedule::TwoBarrier)
        .pieces(PIECES)
        .threads(32, 1024, 256)
        .tile(Tiling::<f32, PIECES>::elements)
        .shared(|threads| {
            Ring::<STAGES>::shared_bytes(Tiling::<f32, PIECES>::elements(threads))
                + padded(Tiling::<f32, PIECES>::bytes(threads))
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
        let a = args.get().f;
        let share = Tiling::new(&block, len).grid_stride(&block);
        if x.width().min(y.width()).get() == Width::B16 {
            in_and_out::<STAGES, PIECES>(&block, shared, x, y, a.0, share);
        } else {
            map::<TwoBarrier, <Bulk as Mechanism>::Unaligned, STAGES, PIECES, false>(
                &block, shared, x, y, a, share,
            );
        }
    }
}

/// The loop for aligned views.
#[inline(always)]
fn in_and_out<const STAGES: usize, const PIECES: usize>(
    block: &Block,
    mut shared: Region,
    x: In<f32>,
    y: Out<f32>,
    a: f32,
    share: Share<f32, PIECES, GridStride>,
) {
    let bytes = block.threads().map(Tiling::<f32, PIECES>::bytes);
    let mut out = Outgoing::<f32>::new(block, shared.take(bytes));
    let mut rooms = y.rooms(&share);
    let tiles = Tiles::<_, PIECES, true, _>::new(x, share);
    let mut tiles = Stream::<_, TwoBarrier, STAGES, Bulk>::new(block, shared, tiles);
    while let (Some(tile), Some(room)) = (tiles.next(), rooms.next()) {
        let mut piece = 0;
        tile.each(|values| {
            out.put(piece, values.values().map(|x| a * x));
            piece += 1;
        });
        out = out.publish().store(room).reuse();
    }
    let _ = (tiles.drain(), out.end());
}
