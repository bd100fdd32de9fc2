//! A 5 × 5 Gaussian blur: each row is staged once and used by five rows of results.

use core::marker::PhantomData;
use nstage::catalogue::Shape;
use nstage::math::fma;
use nstage::pipeline::{Direct, Groups, Mechanism, Pipeline, Schedule, Span, TwoBarrier};
use nstage::shared::Region;
use nstage::stream::{Row, Rows, Stream};
use nstage::view::{In, Out, OutPlane, Patch, Plane, Vector, Width};
use nstage::{Block, Entry, Launch, Uniform};

/// Rows above and below a result, and columns left and right of it.
pub(crate) const REACH: u32 = 2;

/// Rows of results in a patch: more means fewer rows read twice, fewer means more blocks at work.
pub const ROWS: u32 = 64;

/// The kernel for a ring of `STAGES` stages run by schedule `H` over mechanism `M`.
pub(crate) struct Blur<H, M, const STAGES: usize>(PhantomData<(H, M)>);

/// Row after row, each waited for before the next is copied, by plain loads and stores.
pub(crate) type Synchronous = Blur<TwoBarrier, Direct, 1>;

/// `STAGES` rows at a time.
pub(crate) type Ring<const STAGES: usize> = Blur<TwoBarrier, Groups, STAGES>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<H: Schedule, M: Mechanism, const STAGES: usize> Entry<crate::blur::Args>
    for Blur<H, M, STAGES>
{
    const SHAPE: Shape = Shape::new()
        .ring(if M::ASYNCHRONOUS { STAGES } else { 0 }, H::NAME)
        .threads(32, 1024, 128)
        // A patch of rows is long enough a stream.
        .tiles_a_block(1)
        .tile(Plane::<f32, ROWS>::columns)
        .shared(|threads| {
            Pipeline::<f32, STAGES>::shared_bytes(Rows::<f32, REACH, true>::stage_len_of(threads))
        });

    fn run(launch: Launch, args: Uniform<crate::blur::Args>) {
        let Launch { block, shared, .. } = launch;
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
        if plane.access(x.width().min(y.width())).get() == Width::B16 {
            blur::<H, M, STAGES, true>(&block, shared, x, y, plane);
        } else {
            blur::<H, M, STAGES, false>(&block, shared, x, y, plane);
        }
    }
}

/// All patches of this block, for rows that are all aligned to 16 bytes or for any.
#[inline(always)]
pub(crate) fn blur<H: Schedule, M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    mut shared: Region,
    x: In<f32>,
    y: Out<f32>,
    plane: Plane<f32, ROWS>,
) {
    let mut y = y.plane::<ROWS, ALIGNED>(plane);
    for patch in plane.patches(block) {
        shared = blur_patch::<H, M, STAGES, ALIGNED>(block, shared, x, &mut y, &patch);
    }
}

/// One patch, row by row; gives the shared memory back.
#[inline(always)]
fn blur_patch<H: Schedule, M: Mechanism, const STAGES: usize, const ALIGNED: bool>(
    block: &Block,
    shared: Region,
    x: In<f32>,
    y: &mut OutPlane<f32, ROWS, ALIGNED>,
    patch: &Patch<f32, ROWS>,
) -> Region {
    let rows = Rows::<_, REACH, ALIGNED>::new(x, patch);
    let lane = patch.lane(block);
    let mut taps = Taps::default();
    let mut filter = |row: u32, window: [f32; 8]| {
        let sums = taps.push(horizontal(window));
        if let Some(result) = row.checked_sub(2 * REACH) {
            y.put(&lane, result, sums.map(|sum| sum / 256.0));
        }
    };
    // Where this thread's columns and their neighbours are is the same in all rows.
    if ALIGNED {
        let places = rows.neighbours(block);
        let mut rows = Stream::<_, H, STAGES, M>::new(block, shared, rows);
        rows.for_each(|row| filter(row.index().get(), of_vectors(&row, places)));
        rows.drain()
    } else {
        let places =
            core::array::from_fn(|column| rows.column(block, column as i32 - REACH as i32));
        let mut rows = Stream::<_, H, STAGES, M>::new(block, shared, rows);
        rows.for_each(|row| filter(row.index().get(), places.map(|place| row.element(place))));
        rows.drain()
    }
}

/// The columns from two left of this thread's to two right of them, by three vector reads.
#[inline(always)]
fn of_vectors(row: &Row<'_, f32>, places: [Span<f32, 16>; 3]) -> [f32; 8] {
    let [left, own, right] = places;
    // At an edge of the plane the neighbour is this thread's own vector again.
    window(
        places.map(|place| row.vector(place)),
        left == own,
        right == own,
    )
}

/// The columns around the middle vector's, whose outermost column is repeated at an edge of the plane.
#[inline(always)]
pub(crate) fn window(vectors: [[f32; 4]; 3], at_left: bool, at_right: bool) -> [f32; 8] {
    let [[_, _, c0, c1], [c2, c3, c4, c5], [c6, c7, _, _]] = vectors;
    let (c0, c1) = if at_left { (c2, c2) } else { (c0, c1) };
    let (c6, c7) = if at_right { (c5, c5) } else { (c6, c7) };
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// The horizontal sums around the four middle columns, times 16.
#[inline(always)]
pub(crate) fn horizontal(window: [f32; 8]) -> [f32; 4] {
    core::array::from_fn(|column| {
        let [a, b, c, d, e] = core::array::from_fn(|tap| window[column + tap]);
        fma(6.0, c, fma(4.0, b + d, a + e))
    })
}

/// The vertical sums under way: those that have seen four rows, three, two and one.
#[derive(Default)]
pub(crate) struct Taps([[f32; 4]; 4]);

impl Taps {
    /// Takes in a row of horizontal sums, and returns the vertical sums that it completes, times 256; the first four rows complete none.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: [f32; 4]) -> [f32; 4] {
        let [four, three, two, one] = self.0;
        self.0 = [
            three.zip(row, |sum, x| fma(4.0, x, sum)),
            two.zip(row, |sum, x| fma(6.0, x, sum)),
            one.zip(row, |sum, x| fma(4.0, x, sum)),
            row,
        ];
        four.zip(row, |sum, x| sum + x)
    }
}
