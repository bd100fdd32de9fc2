//! c = a·b, tile by tile, in the ways that a ring can be run.

use core::marker::PhantomData;
use nstage::catalogue::{self, Shape};
use nstage::pipeline::{
    Arrivals, Direct, Groups, Mechanism, OneBarrier, Pipeline, Schedule, TwoBarrier,
};
use nstage::roles::{Fixed, Roles};
use nstage::shared::Region;
use nstage::stream::panels::square;
use nstage::stream::{Matrix, Panels, Stream};
use nstage::view::{In, Items};
use nstage::{Block, Entry, GlobalMut, GlobalPtr, Launch, Uniform};

/// Rows and columns of a tile of the product, and how much of the sum a stage holds.
pub const TILE: u32 = 64;
const DEPTH: u32 = 16;

/// Threads that compute a tile.
const THREADS: u32 = Panels::<TILE, TILE, DEPTH, true>::THREADS;

/// Elements of a stage.
const STAGE: u32 = Panels::<TILE, TILE, DEPTH, true>::STAGE;

/// What each of these kernels takes.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    c: GlobalMut<f32>,
    a: GlobalPtr<f32>,
    b: GlobalPtr<f32>,
    m: u32,
    n: u32,
    k: u32,
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters {
            #[inline(always)]
            fn from(crate::$kernel::Args { c, a, b, m, n, k }: crate::$kernel::Args) -> Self {
                Self { c, a, b, m, n, k }
            }
        }
    )+};
}

same_parameters! { matmul_naive, matmul, matmul_mbarrier, matmul_roles }

/// A launch's matrices.
struct Product {
    a: Matrix,
    b: Matrix,
    c: *mut f32,
    rows: u32,
    columns: u32,
}

impl Product {
    /// The matrices, and the tiles of the product, row after row.
    #[inline(always)]
    fn new<A: Copy + Into<Parameters>>(args: Uniform<A>) -> (Self, Uniform<u32>, Uniform<u32>) {
        let args = args.map(A::into);
        let (m, n, k) = (
            args.map(|args| args.m),
            args.map(|args| args.n),
            args.map(|args| args.k),
        );
        let product =
            |a: Uniform<u32>, b: Uniform<u32>| a.zip(b, |a, b| u64::from(a) * u64::from(b));
        // SAFETY: the launch contract: `a` holds `m` · `k` elements, `b` holds `k` · `n`, and nobody writes them.
        let (a, b) = unsafe {
            (
                In::new(args.map(|args| args.a), product(m, k)),
                In::new(args.map(|args| args.b), product(k, n)),
            )
        };
        // At least one, so that dividing by it has no case for zero; without columns there is no tile.
        let across = n.map(|n| n.div_ceil(TILE).max(1));
        let tiles = m.map(|m| m.div_ceil(TILE)) * n.map(|n| n.div_ceil(TILE));
        let own = Self {
            a: Matrix::new(a, m, k),
            b: Matrix::new(b, k, n),
            c: args.get().c.as_raw(),
            rows: m.get(),
            columns: n.get(),
        };
        (own, tiles, across)
    }

    /// Whether 16 bytes can be copied at a time.
    #[inline(always)]
    fn is_wide(&self) -> bool {
        self.a.is_aligned().get() && self.b.is_aligned().get()
    }

    /// Writes the square of thread `thread` in the tile at (`row`, `column`), which belongs to this block.
    #[expect(
        clippy::needless_range_loop,
        reason = "an iterator over an array keeps it in local memory"
    )]
    #[inline(always)]
    fn put(&self, thread: u32, row: Uniform<u32>, column: Uniform<u32>, sums: [[f32; 4]; 4]) {
        let (down, across) = square::<TILE>(thread);
        let (row, column) = (row.get() + down, column.get() + across);
        for i in 0..4 {
            for j in 0..4 {
                let (row, column) = (row + i as u32, column + j as u32);
                if row < self.rows && column < self.columns {
                    let at = u64::from(row) * u64::from(self.columns) + u64::from(column);
                    // SAFETY: the launch contract: `c` holds `m` · `n` elements apart from `a` and `b`; a tile belongs to one block, and a square of it to one thread.
                    unsafe { self.c.wrapping_add(at as usize).write(sums[i][j]) };
                }
            }
        }
    }
}

/// All threads fetch and multiply: schedule `H`, mechanism `M`, `STAGES` stages; with `LARGE`, 16 bytes at a time where rows are aligned.
pub(crate) struct Together<H, M, const STAGES: usize, const LARGE: bool>(PhantomData<(H, M)>);

/// Elements one by one, by loads and stores.
pub(crate) type Naive = Together<TwoBarrier, Direct, 1, false>;

/// 16 bytes at a time, by loads and stores.
pub(crate) type Synchronous = Together<TwoBarrier, Direct, 1, true>;

/// `STAGES` stages, one barrier a step.
pub(crate) type One<const STAGES: usize> = Together<OneBarrier, Groups, STAGES, true>;

/// `STAGES` stages, two barriers a step.
pub(crate) type Two<const STAGES: usize> = Together<TwoBarrier, Groups, STAGES, true>;

/// `STAGES` stages with a barrier each.
pub(crate) type Arrive<const STAGES: usize> = Together<TwoBarrier, Arrivals, STAGES, true>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A, H, M, const STAGES: usize, const LARGE: bool> Entry<A>
    for Together<H, M, STAGES, LARGE>
where
    A: Copy + Into<Parameters>,
    H: Schedule,
    M: Mechanism,
{
    const SHAPE: Shape = Shape::new()
        .requires(M::REQUIRES)
        .ring(if M::ASYNCHRONOUS { STAGES } else { 0 }, H::NAME)
        .threads(THREADS, THREADS, THREADS)
        .tile(|_| TILE * TILE)
        .shared(|_| Pipeline::<f32, STAGES, nstage::pipeline::BlockScope, M>::shared_bytes(STAGE));

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        let (product, tiles, across) = Product::new(args);
        if LARGE && product.is_wide() {
            together::<H, M, STAGES, true>(&block, shared, &product, tiles, across);
        } else {
            together::<H, M, STAGES, false>(&block, shared, &product, tiles, across);
        }
    }
}

/// The place of a tile.
#[inline(always)]
fn place(index: Uniform<u32>, across: Uniform<u32>) -> (Uniform<u32>, Uniform<u32>) {
    let side = Uniform::<u32>::constant::<TILE>();
    (index / across * side, index % across * side)
}

#[inline(always)]
fn together<H: Schedule, M: Mechanism, const STAGES: usize, const WIDE: bool>(
    block: &Block,
    mut shared: Region,
    product: &Product,
    tiles: Uniform<u32>,
    across: Uniform<u32>,
) {
    for item in Items::new(block, tiles) {
        let (row, column) = place(item.index(), across);
        let panels = Panels::<TILE, TILE, DEPTH, WIDE>::new(product.a, product.b, row, column);
        let mut panels = Stream::<_, H, STAGES, M>::new(block, shared, panels);
        let mut sums = [[0.0; 4]; 4];
        panels.for_each(|panel| panel.multiply(&mut sums));
        product.put(block.thread(), row, column, sums);
        shared = panels.drain();
    }
}

/// One warp fetches, the others multiply, through `STAGES` stages.
pub(crate) struct Split<const STAGES: u32>;

/// Threads that fetch: two warps.
const PRODUCERS: u32 = 64;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<const STAGES: u32> Entry<crate::matmul_roles::Args> for Split<STAGES> {
    const SHAPE: Shape = Shape::new()
        .requires(<Arrivals as Mechanism>::REQUIRES)
        .ring(STAGES as usize, catalogue::Schedule::Roles)
        .threads(
            THREADS + PRODUCERS,
            THREADS + PRODUCERS,
            THREADS + PRODUCERS,
        )
        .tile(|_| TILE * TILE)
        .shared(|_| Roles::<Arrivals, Fixed<STAGES>>::shared_bytes::<f32>(STAGE, STAGES));

    fn run(launch: Launch, args: Uniform<crate::matmul_roles::Args>) {
        let Launch {
            mut block, shared, ..
        } = launch;
        let (product, tiles, across) = Product::new(args);
        if product.is_wide() {
            split::<STAGES, true>(&mut block, shared, &product, tiles, across);
        } else {
            split::<STAGES, false>(&mut block, shared, &product, tiles, across);
        }
    }
}

#[inline(always)]
fn split<const STAGES: u32, const WIDE: bool>(
    block: &mut Block,
    mut shared: Region,
    product: &Product,
    tiles: Uniform<u32>,
    across: Uniform<u32>,
) {
    let warps = Uniform::<u32>::constant::<{ PRODUCERS / 32 }>();
    for item in Items::new(block, tiles) {
        let (row, column) = place(item.index(), across);
        let panels = Panels::<TILE, TILE, DEPTH, WIDE>::new(product.a, product.b, row, column);
        let roles = Roles::<Arrivals, _>::new(block, Fixed::<STAGES>, warps);
        shared = roles.run(
            shared,
            panels,
            |producer, mut panels| producer.fill(&mut panels),
            |consumer, mut panels| {
                let mut sums = [[0.0; 4]; 4];
                consumer.for_each(&mut panels, |panel| panel.multiply(&mut sums));
                product.put(consumer.crew().thread(), row, column, sums);
            },
        );
    }
}
