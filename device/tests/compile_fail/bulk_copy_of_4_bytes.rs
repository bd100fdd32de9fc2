//! A bulk copy starts at a multiple of 16 bytes.

use nstage::pipeline::{BlockScope, Bulk, Pipeline};
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 2, BlockScope, Bulk>::new(block, memory, len);
    let mut slot = ring.producer_acquire();
    slot.append::<4>(&x, start, len);
    slot.commit();
    let _ = (x, start, len);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
