//! y = x + a·z: two inputs, side by side in each stage.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::math::fma;
use nstage::pipeline::{
    Arrivals, BlockScope, Bulk, Direct, Groups, Mechanism, Pipeline, TwoBarrier,
};
use nstage::shared::Region;
use nstage::stream::{Pairs, Stream};
use nstage::view::{GridStride, In, Out, Share, Tiling, Vector, Width};
use nstage::{Block, Entry, GlobalMut, GlobalPtr, Launch, Uniform};

/// What each of these kernels takes.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    y: GlobalMut<f32>,
    x: GlobalPtr<f32>,
    z: GlobalPtr<f32>,
    a: f32,
    n: u64,
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, z, a, n }: crate::$kernel::Args) -> Self {
                Self { y, x, z, a, n }
            }
        }
    )+};
}

same_parameters! { triad, triad_plain, triad_mbarrier, triad_bulk }

/// The views of the three buffers, and whether all are aligned to 16 bytes.
///
/// # Safety
/// - The launch contract: all buffers hold `n` elements and `y` overlaps none.
/// - Every thread of the grid divides `y` in the same way.
#[inline(always)]
unsafe fn views(args: Uniform<Parameters>) -> (In<f32>, In<f32>, Out<f32>, bool) {
    let len = args.map(|args| args.n);
    // SAFETY: the caller's contract.
    let (x, z, y) = unsafe {
        (
            In::new(args.map(|args| args.x), len),
            In::new(args.map(|args| args.z), len),
            Out::new(args.map(|args| args.y), len),
        )
    };
    let aligned = x.width().min(z.width()).min(y.width()).get() == Width::B16;
    (x, z, y, aligned)
}

/// x + a·z, each rounded once.
#[inline(always)]
fn sum(x: [f32; 4], a: f32, z: [f32; 4]) -> [f32; 4] {
    Vector::zip(x, z, |x, z| fma(a, z, x))
}

/// The kernel for a ring of `STAGES` stages over mechanism `M`, with `PIECES` 16-byte pieces of each input a thread and stage.
pub(crate) struct Triad<M, const STAGES: usize, const PIECES: usize>(PhantomData<M>);

/// Stage after stage by plain loads and stores.
pub(crate) type Synchronous = Triad<Direct, 1, 1>;

/// `STAGES` stages.
pub(crate) type Ring<const STAGES: usize, const PIECES: usize> = Triad<Groups, STAGES, PIECES>;

/// `STAGES` stages with a barrier each.
pub(crate) type Arrive<const STAGES: usize> = Triad<Arrivals, STAGES, 1>;

/// `STAGES` stages filled by bulk copies.
pub(crate) type InBulk<const STAGES: usize, const PIECES: usize> = Triad<Bulk, STAGES, PIECES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, M, const STAGES: usize, const PIECES: usize> Entry<A> for Triad<M, STAGES, PIECES>
where
    A: Copy + Into<Parameters>,
    M: Mechanism,
{
    const SHAPE: Shape = Shape::new()
        .ring(
            if M::ASYNCHRONOUS { STAGES } else { 0 },
            nstage::catalogue::Schedule::TwoBarrier,
        )
        .requires(M::REQUIRES)
        .pieces(PIECES)
        .threads(32, 1024, 256)
        // As for the kernels of one input.
        .tiles_a_block(2)
        .tile(Tiling::<f32, PIECES>::elements)
        .shared(|threads| {
            Pipeline::<f32, STAGES, BlockScope, M>::shared_bytes(Pairs::<
                f32,
                PIECES,
                true,
                GridStride,
            >::stage_len_of(
                threads
            ))
        });

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        // SAFETY: the launch contract; every thread divides `y` as below.
        let (x, z, y, aligned) = unsafe { views(args.map(A::into)) };
        let a = args.map(A::into).get().a;
        let share = Tiling::new(&block, x.len()).grid_stride(&block);
        if aligned {
            triad::<M, STAGES, PIECES, true>(&block, shared, (x, z), y, a, share);
        } else {
            triad::<M::Unaligned, STAGES, PIECES, false>(&block, shared, (x, z), y, a, share);
        }
    }
}

/// The loop, for views that are all aligned to 16 bytes or for any.
#[inline(always)]
fn triad<M: Mechanism, const STAGES: usize, const PIECES: usize, const ALIGNED: bool>(
    block: &Block,
    shared: Region,
    (x, z): (In<f32>, In<f32>),
    y: Out<f32>,
    a: f32,
    share: Share<f32, PIECES, GridStride>,
) {
    let pairs = Pairs::<_, PIECES, ALIGNED, _>::new(x, z, share);
    let mut pairs = Stream::<_, TwoBarrier, STAGES, M>::new(block, shared, pairs);
    if ALIGNED {
        let mut y = y.packed::<PIECES>();
        pairs.for_each(|pair| {
            pair.each(|piece, z| {
                let sums = sum(piece.values(), a, z);
                y.put(piece.with(sums));
            })
        });
    } else {
        let mut y = y.striped::<PIECES>();
        while let Some(pair) = pairs.next() {
            pair.each_striped(|piece, z| {
                let sums = sum(piece.values(), a, z);
                y.put(piece.with(sums));
            });
        }
    }
    let _ = pairs.drain();
}

/// The kernel without a stage between.
pub(crate) struct Plain<const PIECES: usize>;

// SAFETY: no collective call is made; the launch contract is the kernel's documentation.
unsafe impl<A: Copy + Into<Parameters>, const PIECES: usize> Entry<A> for Plain<PIECES> {
    const SHAPE: Shape = Shape::new()
        .pieces(PIECES)
        .threads(32, 1024, 256)
        .tiles_a_block(1)
        .tile(Tiling::<f32, PIECES>::elements);

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, .. } = launch;
        // SAFETY: the launch contract; every thread divides `y` as below.
        let (x, z, y, aligned) = unsafe { views(args.map(A::into)) };
        let a = args.map(A::into).get().a;
        let share = Tiling::<f32, PIECES>::new(&block, x.len()).grid_stride(&block);
        if aligned {
            let mut y = y.packed::<PIECES>();
            share.each_packed(&block, x, |piece| {
                let sums = sum(piece.values(), a, z.at(&piece));
                y.put(piece.with(sums));
            });
        } else {
            let mut y = y.striped::<PIECES>();
            share.each_striped(&block, x, |piece| {
                let sums = sum(piece.values(), a, z.at(&piece));
                y.put(piece.with(sums));
            });
        }
    }
}
