//! A stage that was handed out by a step is read before the next step, which lets it be filled again.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 3>::new(block, memory, len);
    let (write, read) = ring.step();
    write.commit();
    let (write, _) = ring.step();
    write.commit();
    let _ = (read.get(0), x, start, len);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
