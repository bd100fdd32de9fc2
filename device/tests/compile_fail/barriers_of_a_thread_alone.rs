//! A stage that one thread has for itself needs no barrier.

use nstage::pipeline::{Arrivals, Pipeline, ThreadScope};
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 2, ThreadScope, Arrivals>::new(block, memory, len);
    ring.producer_acquire().commit();
    let _ = (x, start, len);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
