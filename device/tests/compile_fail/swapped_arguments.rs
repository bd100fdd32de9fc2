//! An input is not passed where the kernel writes.

use nstage::catalogue::Shape;
use nstage::{Entry, GlobalMut, GlobalPtr, Launch, Uniform};

struct Twice;

// SAFETY: nothing is done.
unsafe impl Entry<twice::Args> for Twice {
    const SHAPE: Shape = Shape::new();
    fn run(_: Launch, _: Uniform<twice::Args>) {}
}

nstage::kernels! {
    /// All kernels.
    pub static CATALOGUE;

    /// y = 2x.
    pub kernel twice(
        /// The output.
        y: GlobalMut<f32>,
        /// The input.
        x: GlobalPtr<f32>,
        /// Elements.
        n: u64,
    ) {
        "twice" => Twice,
    }
}

fn main() {
    let (y, x) = (GlobalPtr::new(0), GlobalMut::new(0));
    let args = twice::Args { y, x, n: 0 };
    let _ = (args, CATALOGUE);
}
