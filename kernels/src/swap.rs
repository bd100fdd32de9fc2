//! The transposition of a matrix, a tile of 64 × 64 elements at a time.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::pipeline::{Arrivals, BlockScope, Direct, Groups, Mechanism, Pipeline, TwoBarrier};
use nstage::shared::Region;
use nstage::stream::{Squares, Stream};
use nstage::view::{In, Vector, Width};
use nstage::{Block, Entry, GlobalMut, GlobalPtr, Launch, Uniform};

/// Rows and columns of a tile.
pub const SIDE: u32 = Squares::<true>::SIDE;

/// What each of these kernels takes.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    y: GlobalMut<f32>,
    x: GlobalPtr<f32>,
    rows: u32,
    columns: u32,
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, rows, columns }: crate::$kernel::Args) -> Self {
                Self { y, x, rows, columns }
            }
        }
    )+};
}

same_parameters! { transpose, transpose_mbarrier }

/// The kernel for a ring of `STAGES` tiles over mechanism `M`.
pub(crate) struct Transpose<M, const STAGES: usize>(PhantomData<M>);

/// Tile after tile by plain loads and stores.
pub(crate) type Synchronous = Transpose<Direct, 1>;

/// `STAGES` tiles at a time.
pub(crate) type Ring<const STAGES: usize> = Transpose<Groups, STAGES>;

/// `STAGES` tiles at a time, each with a barrier.
pub(crate) type Arrive<const STAGES: usize> = Transpose<Arrivals, STAGES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A: Copy + Into<Parameters>, M: Mechanism, const STAGES: usize> Entry<A>
    for Transpose<M, STAGES>
{
    const SHAPE: Shape = Shape::new()
        .ring(
            if M::ASYNCHRONOUS { STAGES } else { 0 },
            nstage::catalogue::Schedule::TwoBarrier,
        )
        .requires(M::REQUIRES)
        .threads(
            Squares::<true>::THREADS,
            Squares::<true>::THREADS,
            Squares::<true>::THREADS,
        )
        .tiles_a_block(2)
        .tile(|_| Squares::<true>::STAGE)
        .shared(|_| Pipeline::<f32, STAGES, BlockScope, M>::shared_bytes(Squares::<true>::STAGE));

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        let args = args.map(A::into);
        let len = args.map(|args| u64::from(args.rows) * u64::from(args.columns));
        // SAFETY: the launch contract: `x` holds `rows` · `columns` elements, which nobody writes.
        let x = unsafe { In::new(args.map(|args| args.x), len) };
        let Parameters {
            y, rows, columns, ..
        } = args.get();
        let aligned = x.width().get() == Width::B16
            && y.address().is_multiple_of(16)
            && rows.is_multiple_of(4)
            && columns.is_multiple_of(4);
        if aligned {
            transpose::<M, STAGES, true>(&block, shared, x, args);
        } else {
            transpose::<M, STAGES, false>(&block, shared, x, args);
        }
    }
}

/// All tiles of this block; of `ALIGNED` matrices the rows of both start at multiples of 16 bytes.
#[inline(always)]
fn transpose<M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    shared: Region,
    x: In<f32>,
    args: Uniform<Parameters>,
) {
    let squares = Squares::<ALIGNED>::new(
        block,
        x,
        args.map(|args| args.rows),
        args.map(|args| args.columns),
    );
    let Parameters {
        y, rows, columns, ..
    } = args.get();
    let mut squares = Stream::<_, TwoBarrier, STAGES, M>::new(block, shared, squares);
    squares.for_each(|square| {
        let (row, column) = square.at();
        let [a, b, c, d] = square.columns();
        let put = |offset: u32, values: [f32; 4]| {
            let column = column + offset;
            if row >= rows || column >= columns {
                return;
            }
            let at = u64::from(column) * u64::from(rows) + u64::from(row);
            let to = y.as_raw().wrapping_add(at as usize);
            // SAFETY: the launch contract: `y` holds `rows` · `columns` elements apart from `x`. A tile belongs to one block and a square of it to one thread;
            // aligned rows consist of whole vectors.
            unsafe {
                if ALIGNED {
                    values.store_global::<16>(to);
                } else {
                    values.for_each(|lane, value| {
                        if row + lane < rows {
                            to.add(lane as usize).write(value);
                        }
                    });
                }
            }
        };
        put(0, a);
        put(1, b);
        put(2, c);
        put(3, d);
    });
    let _ = squares.drain();
}
