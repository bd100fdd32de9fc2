//! One step of heat in a plane, the 5-point stencil: each row is staged once and used by three rows of results.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::math::fma;
use nstage::pipeline::{
    Arrivals, BlockScope, Bulk, Direct, Groups, Mechanism, Pipeline, TwoBarrier,
};
use nstage::shared::Region;
use nstage::stream::{Rows, Stream};
use nstage::view::{In, Out, OutPlane, Patch, Plane, Width};
use nstage::{Block, Entry, GlobalMut, GlobalPtr, Launch, Uniform};

/// Rows above and below a result, and columns left and right of it.
const REACH: u32 = 1;

/// Rows of results in a patch: more means fewer rows read twice, fewer means more blocks at work.
pub const ROWS: u32 = 64;

/// What each of these kernels takes.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    y: GlobalMut<f32>,
    x: GlobalPtr<f32>,
    width: u32,
    height: u32,
    center: f32,
    side: f32,
}

macro_rules! same_parameters {
    ($($kernel:ident),+ $(,)?) => {$(
        impl From<crate::$kernel::Args> for Parameters {
            #[inline(always)]
            fn from(crate::$kernel::Args { y, x, width, height, center, side }: crate::$kernel::Args) -> Self {
                Self { y, x, width, height, center, side }
            }
        }
    )+};
}

same_parameters! { heat_2d, heat_2d_mbarrier, heat_2d_bulk }

/// The kernel for a ring of `STAGES` stages over mechanism `M`.
pub(crate) struct Heat<M, const STAGES: usize>(PhantomData<M>);

/// Row after row, each waited for before the next is copied, by plain loads and stores.
pub(crate) type Synchronous = Heat<Direct, 1>;

/// `STAGES` rows at a time.
pub(crate) type Ring<const STAGES: usize> = Heat<Groups, STAGES>;

/// `STAGES` rows at a time, each with a barrier.
pub(crate) type Arrive<const STAGES: usize> = Heat<Arrivals, STAGES>;

/// `STAGES` rows at a time, each by one bulk copy.
pub(crate) type InBulk<const STAGES: usize> = Heat<Bulk, STAGES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<A: Copy + Into<Parameters>, M: Mechanism, const STAGES: usize> Entry<A>
    for Heat<M, STAGES>
{
    const SHAPE: Shape = Shape::new()
        .ring(
            if M::ASYNCHRONOUS { STAGES } else { 0 },
            nstage::catalogue::Schedule::TwoBarrier,
        )
        .requires(M::REQUIRES)
        .threads(32, 1024, 128)
        // A patch of rows is long enough a stream.
        .tiles_a_block(1)
        .tile(Plane::<f32, ROWS>::columns)
        .shared(|threads| {
            Pipeline::<f32, STAGES, BlockScope, M>::shared_bytes(
                Rows::<f32, REACH, true>::stage_len_of(threads),
            )
        });

    fn run(launch: Launch, args: Uniform<A>) {
        let Launch { block, shared, .. } = launch;
        let args = args.map(A::into);
        let plane = Plane::new(
            &block,
            args.map(|args| args.width),
            args.map(|args| args.height),
        );
        // SAFETY: the launch contract: both buffers hold `width` · `height` elements and do not overlap; every thread divides `y` as below.
        let (x, y) = unsafe {
            (
                In::new(args.map(|args| args.x), plane.len()),
                Out::new(args.map(|args| args.y), plane.len()),
            )
        };
        let Parameters { center, side, .. } = args.get();
        let weights = Weights { center, side };
        if plane.access(x.width().min(y.width())).get() == Width::B16 {
            heat::<M, STAGES, true>(&block, shared, x, y, plane, weights);
        } else {
            heat::<M::Unaligned, STAGES, false>(&block, shared, x, y, plane, weights);
        }
    }
}

/// The weight of a place and of each of its four neighbours.
#[derive(Clone, Copy)]
struct Weights {
    center: f32,
    side: f32,
}

/// All patches of this block, for rows that are all aligned to 16 bytes or for any.
#[inline(always)]
fn heat<M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    mut shared: Region,
    x: In<f32>,
    y: Out<f32>,
    plane: Plane<f32, ROWS>,
    weights: Weights,
) {
    let mut y = y.plane::<ROWS, ALIGNED>(plane);
    for patch in plane.patches(block) {
        let taps = Taps::new(block, &plane, &patch, weights);
        shared = heat_patch::<M, STAGES, ALIGNED>(block, shared, x, &mut y, &patch, taps);
    }
}

/// One patch, row by row; gives the shared memory back.
#[inline(always)]
fn heat_patch<M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    shared: Region,
    x: In<f32>,
    y: &mut OutPlane<f32, ROWS, ALIGNED>,
    patch: &Patch<f32, ROWS>,
    mut taps: Taps,
) -> Region {
    let rows = Rows::<_, REACH, ALIGNED>::new(x, patch);
    let (lane, rows_of_patch) = (patch.lane(block), patch.rows().get());
    let mut step = |row: u32, own: [f32; 4], left: f32, right: f32| {
        let results = taps.push(row, own, left, right);
        // One comparison that holds from the third row to the last; `row >= 2` would have the first two rows peeled off the loop.
        let result = row.wrapping_sub(2 * REACH);
        if result < rows_of_patch {
            y.put(&lane, result, results);
        }
    };
    // Where this thread's columns and their neighbours are is the same in all rows.
    let (left, right) = (rows.column(block, -1), rows.column(block, 4));
    if ALIGNED {
        let [_, own, _] = rows.neighbours(block);
        let mut rows = Stream::<_, TwoBarrier, STAGES, M>::new(block, shared, rows);
        rows.for_each(|row| {
            step(
                row.index().get(),
                row.vector(own),
                row.element(left),
                row.element(right),
            )
        });
        rows.drain()
    } else {
        let own: [_; 4] = core::array::from_fn(|column| rows.column(block, column as i32));
        let mut rows = Stream::<_, TwoBarrier, STAGES, M>::new(block, shared, rows);
        rows.for_each(|row| {
            step(
                row.index().get(),
                own.map(|place| row.element(place)),
                row.element(left),
                row.element(right),
            )
        });
        rows.drain()
    }
}

/// The last two rows, and where on the border of the plane this thread's columns are.
struct Taps {
    weights: Weights,
    above: [f32; 4],
    middle: [f32; 4],
    left: f32,
    right: f32,
    /// Whether each column is the plane's first or last.
    border: [bool; 4],
    /// The patch's first row, and the plane's last.
    first: u32,
    last: u32,
}

impl Taps {
    #[inline(always)]
    fn new(
        block: &Block,
        plane: &Plane<f32, ROWS>,
        patch: &Patch<f32, ROWS>,
        weights: Weights,
    ) -> Self {
        let column = patch.column().get() + 4 * block.thread();
        let width = plane.width().get();
        let border = [0, 1, 2, 3].map(|at| column + at == 0 || column + at + 1 == width);
        Self {
            weights,
            above: [0.0; 4],
            middle: [0.0; 4],
            left: 0.0,
            right: 0.0,
            border,
            first: patch.row().get(),
            last: plane.height().get() - 1,
        }
    }

    /// Takes in row `row`, counted from the one above the patch, with its neighbours to the left and to the right, and returns the results in the row before it.
    #[inline(always)]
    fn push(&mut self, row: u32, below: [f32; 4], left: f32, right: f32) -> [f32; 4] {
        let Weights { center, side } = self.weights;
        let ([a0, a1, a2, a3], [m0, m1, m2, m3]) = (self.above, self.middle);
        let ([b0, b1, b2, b3], [e0, e1, e2, e3]) = (below, self.border);
        let (l, r) = (self.left, self.right);
        // The row of the results is one less than that of `row`, which is itself one more than in the plane.
        let place = (self.first + row).wrapping_sub(2 * REACH);
        let edge = place == 0 || place == self.last;
        let result = |above: f32, below: f32, left: f32, right: f32, middle: f32, border: bool| {
            let sides = (above + below) + (left + right);
            if edge || border {
                middle
            } else {
                fma(center, middle, side * sides)
            }
        };
        let results = [
            result(a0, b0, l, m1, m0, e0),
            result(a1, b1, m0, m2, m1, e1),
            result(a2, b2, m1, m3, m2, e2),
            result(a3, b3, m2, r, m3, e3),
        ];
        self.above = self.middle;
        self.middle = below;
        self.left = left;
        self.right = right;
        results
    }
}
