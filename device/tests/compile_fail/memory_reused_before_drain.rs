//! Shared memory that a ring was given is not used otherwise until the ring gives it back.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, mut memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let ring = Pipeline::<f32, 2>::new(block, memory, len);
    let scratch = memory.take(len);
    let memory = ring.drain();
    let _ = (scratch, memory, x);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
