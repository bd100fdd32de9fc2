//! An outer product by clusters: a tile of `x` is fetched once and handed to every block of the cluster.

use nstage::catalogue::{Requires, Schedule, Shape};
use nstage::pipeline::{Arrivals, Bulk, Mechanism};
use nstage::roles::{Fixed, Roles};
use nstage::shared::Region;
use nstage::stream::Tiles;
use nstage::view::{Any, In, Piece, Tiling, Vector, Width};
use nstage::{Block, Entry, GlobalMut, Launch, Uniform};

/// Threads that fetch: one warp.
const PRODUCERS: u32 = 32;

/// Threads that multiply in a block of `threads` threads.
const fn consumers(threads: u32) -> u32 {
    threads.saturating_sub(PRODUCERS)
}

/// The kernel for clusters of `BLOCKS` blocks and rings of `STAGES` stages.
pub(crate) struct Outer<const BLOCKS: u32, const STAGES: u32>;

/// The rows that one block computes.
#[derive(Clone, Copy)]
struct Rows {
    y: *mut f32,
    a: In<f32>,
    /// Columns.
    n: u64,
    first: u32,
    step: u32,
}

// SAFETY: every branch around a collective call depends on uniform values alone, and those around calls of the cluster on values that its blocks share.
unsafe impl<const BLOCKS: u32, const STAGES: u32> Entry<crate::outer::Args>
    for Outer<BLOCKS, STAGES>
{
    const SHAPE: Shape = Shape::new()
        .requires(Requires::SM_90)
        .cluster(BLOCKS)
        .ring(STAGES as usize, Schedule::Roles)
        .pieces(1)
        .threads(64, 1024, 256 + PRODUCERS)
        .tile(|threads| Tiling::<f32, 1>::elements(consumers(threads)))
        .shared(|threads| {
            let tile = Tiling::<f32, 1>::elements(consumers(threads));
            Roles::<Bulk, Fixed<STAGES>>::shared_bytes::<f32>(tile, STAGES)
        });

    fn run(launch: Launch, args: Uniform<crate::outer::Args>) {
        let Launch {
            mut block, shared, ..
        } = launch;
        let n = args.map(|args| args.n);
        // SAFETY: the launch contract: `x` holds `n` elements and `a` one for each row, apart from `y`; all threads of the cluster come here.
        let (x, a, cluster) = unsafe {
            (
                In::new(args.map(|args| args.x), n),
                In::new(args.map(|args| args.a), args.map(|args| args.rows).into()),
                block.cluster(),
            )
        };
        let (first, index, clusters) = (cluster.rank(), cluster.index(), cluster.clusters());
        let args = args.get();
        let rows = Rows {
            y: GlobalMut::as_raw(args.y),
            a,
            n: args.n,
            first: first.get(),
            step: BLOCKS,
        };
        let aligned = x.width().get() == Width::B16
            && args.y.address().is_multiple_of(16)
            && args.n.is_multiple_of(4);
        let at = (index, clusters);
        if aligned {
            outer::<Bulk, BLOCKS, STAGES, true>(&mut block, shared, x, rows, at);
        } else {
            outer::<Arrivals, BLOCKS, STAGES, false>(&mut block, shared, x, rows, at);
        }
    }
}

/// All tiles of this cluster; `ALIGNED` ones are fetched together.
#[inline(always)]
fn outer<M: Mechanism, const BLOCKS: u32, const STAGES: u32, const ALIGNED: bool>(
    block: &mut Block,
    shared: Region,
    x: In<f32>,
    rows: Rows,
    (index, clusters): (Uniform<u32>, Uniform<u32>),
) {
    let roles = Roles::<M, _>::new(block, Fixed::<STAGES>, Uniform::<u32>::constant::<1>());
    let tiling = Tiling::<f32, 1>::for_crew(roles.consumers(), x.len());
    let tiles = Tiles::<_, 1, ALIGNED, _>::new(x, tiling.strided(index, clusters));
    // SAFETY: the launch has clusters of so many blocks (the entry's shape), which all take the same tiles.
    let roles = unsafe { roles.multicast_if::<BLOCKS, ALIGNED>() };
    let _ = roles.run(
        shared,
        tiles,
        |producer, mut tiles| producer.fill(&mut tiles),
        |consumer, mut tiles| {
            consumer.for_each(&mut tiles, |tile| {
                tile.each(|piece| rows.put::<_, ALIGNED>(&piece));
            });
        },
    );
}

impl Rows {
    /// Writes a piece times each row's factor.
    #[inline(always)]
    fn put<L, const ALIGNED: bool>(&self, piece: &Piece<f32, 1, Any, L>) {
        let mut row = u64::from(self.first);
        while let Some(a) = self.a.get(row) {
            let products = piece.values().map(|x| a * x);
            let to = self.y.wrapping_add((row * self.n + piece.at()) as usize);
            // SAFETY: the launch contract: `y` holds `n` elements for each row. A row belongs to the blocks of one rank, a tile to one cluster, and a piece to one thread;
            // of aligned rows every piece starts at a multiple of 16 bytes.
            unsafe {
                if ALIGNED && piece.count() == 4 {
                    products.store_global::<16>(to);
                } else {
                    products.for_each(|lane, value| {
                        if lane < piece.count() {
                            to.add(lane as usize).write(value);
                        }
                    });
                }
            }
            row += u64::from(self.step);
        }
    }
}
