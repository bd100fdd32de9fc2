//! A stage is read after a wait: a slot that is being filled has nothing to read.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 3>::new(block, memory, len);
    let slot = ring.producer_acquire();
    let first = slot.get(0);
    slot.commit();
    let _ = (x, start, len, first);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
