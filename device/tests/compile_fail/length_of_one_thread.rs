//! What all threads must agree on is uniform: a thread's own number is not.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::Block;

fn law(block: &Block, memory: Region, x: In<f32>) {
    let ring = Pipeline::<f32, 2>::new(block, memory, block.thread());
    let _ = (ring.drain(), x);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
