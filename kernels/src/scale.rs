//! y = a·x.

use nstage::catalogue::Shape;
use nstage::{Block, Entry, Uniform};

/// The synchronous kernel.
pub(crate) struct Synchronous;

// SAFETY: no collective call is made; every access is below `n`, which the launch contract says both buffers hold.
unsafe impl Entry for Synchronous {
    type Args = crate::kernel_sync::Args;
    const SHAPE: Shape = Shape::new();

    fn run(block: Block, args: Uniform<Self::Args>) {
        let args = args.get();
        let step = u64::from(block.threads().get()) * u64::from(block.blocks().get());
        let mut i = block.global_thread();
        while i < args.n {
            // SAFETY: `i` is below `n`, and the launch contract says that both buffers hold `n` elements and are disjoint.
            unsafe { *args.y.as_raw().add(i as usize) = args.a * *args.x.as_raw().add(i as usize) };
            i += step;
        }
    }
}
