//! A stage is filled after it was released: a slot that is being read takes no copies.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 3>::new(block, memory, len);
    let mut tile = ring.consumer_wait();
    tile.append::<16>(&x, start, len);
    tile.release();
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
