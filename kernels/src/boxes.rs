//! The blur over boxes of a tensor: whole patches of rows and columns come by one copy each.

use nstage::catalogue::Shape;
use nstage::pipeline::{Arrivals, Bulk, Mechanism, Pipeline, TwoBarrier};
use nstage::shared::Region;
use nstage::stream::{BoxTile, Rows, Stream, TensorBoxes};
use nstage::tensor::{Boxes, Tile2};
use nstage::view::{In, Out, OutPlane, Patch, Plane, Vector, Width};
use nstage::{Block, Entry, Launch, TensorMap, Uniform};

use crate::stencil::{REACH, ROWS, Taps, blur, horizontal, window};

/// Rows of a box.
const HIGH: u32 = 4;
/// Columns of a box, as many as a box can have: those that are blurred, and a vector on either side.
const WIDE: u32 = 256;
/// Columns of a thread.
const LANES: u32 = <[f32; 4] as Vector>::LANES;
/// Threads of a block, a vector of the box for each.
const THREADS: u32 = WIDE / LANES;
/// Threads that have no columns of their own: their number is that of the vectors beside those that are blurred.
const IDLE: u32 = 2;

/// What one copy brings.
pub type BlurBox = Tile2<f32, HIGH, WIDE>;

/// The kernel for a ring of `STAGES` boxes.
pub(crate) struct Boxed<const STAGES: usize>;

/// The ring of rows that takes the place of boxes where there is no tensor map.
type Replacement<const STAGES: usize> =
    Pipeline<'static, f32, STAGES, nstage::pipeline::BlockScope, Arrivals>;
/// The ring of boxes.
type Ring<const STAGES: usize> = Pipeline<'static, f32, STAGES, nstage::pipeline::BlockScope, Bulk>;

// SAFETY: every branch around a collective call depends on uniform values alone.
unsafe impl<const STAGES: usize> Entry<crate::blur_tensor::Args> for Boxed<STAGES> {
    const SHAPE: Shape = Shape::new()
        .ring(STAGES, nstage::catalogue::Schedule::TwoBarrier)
        .requires(Bulk::REQUIRES)
        .threads(THREADS, THREADS, THREADS)
        // A patch of rows is long enough a stream.
        .tiles_a_block(1)
        .tile(|threads| Plane::<f32, ROWS>::columns(threads - IDLE))
        .shared(|threads| {
            let boxes = Ring::<STAGES>::shared_bytes(TensorBoxes::<BlurBox>::STAGE_LEN);
            let rows = Replacement::<STAGES>::shared_bytes(
                Rows::<f32, REACH, false>::stage_len_of(threads),
            );
            if boxes > rows { boxes } else { rows }
        });

    fn run(launch: Launch, args: Uniform<crate::blur_tensor::Args>) {
        let Launch { block, shared, .. } = launch;
        let (width, height) = (args.map(|args| args.width), args.map(|args| args.height));
        let plane = Plane::within(&block, width, height, IDLE);
        // SAFETY: the launch contract: both buffers hold `width` · `height` elements and do not overlap; every thread divides `y` as below.
        let (x, y) = unsafe {
            (
                In::new(args.map(|args| args.x), plane.len()),
                Out::new(args.map(|args| args.y), plane.len()),
            )
        };
        if plane.access(x.width().min(y.width())).get() == Width::B16 {
            boxed::<STAGES>(&block, shared, args.map(|args| args.map), y, plane);
        } else {
            let plane = Plane::new(&block, width, height);
            blur::<TwoBarrier, Arrivals, STAGES, false>(&block, shared, x, y, plane);
        }
    }
}

/// All patches of this block.
#[inline(always)]
fn boxed<const STAGES: usize>(
    block: &Block,
    mut shared: Region,
    map: Uniform<TensorMap<BlurBox>>,
    y: Out<f32>,
    plane: Plane<f32, ROWS>,
) {
    let map = map.get();
    let mut y = y.plane::<ROWS, true>(plane);
    for patch in plane.patches(block) {
        shared = boxed_patch::<STAGES>(block, shared, map, &mut y, &patch, plane);
    }
}

/// One patch, box by box; gives the shared memory back.
#[inline(always)]
fn boxed_patch<const STAGES: usize>(
    block: &Block,
    shared: Region,
    map: TensorMap<BlurBox>,
    y: &mut OutPlane<f32, ROWS, true>,
    patch: &Patch<f32, ROWS>,
    plane: Plane<f32, ROWS>,
) -> Region {
    let rows = patch.rows().get();
    let (column, row) = (patch.column().get(), patch.row().get());
    let corner = patch.column().zip(patch.row(), |column, row| {
        [column as i32 - LANES as i32, row as i32 - REACH as i32]
    });
    let steps = patch.rows().map(|rows| (rows + 2 * REACH).div_ceil(HIGH));
    let lane = patch.lane(block);
    // The box starts a vector left of the patch; threads without columns look at what others have.
    let own = (block.thread() + 1).min(THREADS - IDLE) * LANES;
    let first = column + own - LANES;
    let (at_left, at_right) = (first == 0, first + LANES >= plane.width().get());
    let last = plane.height().get() - 1;

    let mut taps = Taps::default();
    let mut sums = [0.0; 4];
    let boxes = TensorBoxes::new(map, corner, 1, steps);
    let mut boxes = Stream::<_, TwoBarrier, STAGES, Bulk>::new(block, shared, boxes);
    boxes.for_each(|tile: BoxTile<'_, BlurBox>| {
        let start = tile.index().get() * HIGH;
        for line in 0..HIGH {
            let taken = start + line;
            // Zeros stand outside of the plane. Above it, the first row is some lines further down in the first box; below it, the sums are those of the last row again.
            let above = REACH.saturating_sub(row + taken);
            if row + taken <= last + REACH {
                let line = line + above;
                let vectors = [own - LANES, own, own + LANES].map(|at| tile.vector(line, at));
                sums = horizontal(window(vectors, at_left, at_right));
            }
            let results = taps.push(sums);
            if let Some(result) = taken.checked_sub(2 * REACH)
                && result < rows
            {
                y.put(&lane, result, results.map(|sum| sum / 256.0));
            }
        }
    });
    boxes.drain()
}

const _: () = {
    // What the host encodes and what the threads expect.
    assert!(BlurBox::EXTENTS[0] == WIDE && BlurBox::EXTENTS[1] == HIGH);
};
