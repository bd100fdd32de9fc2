//! Only one stage is filled at a time: a second slot would be filled into the first one's group.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();
    let mut ring = Pipeline::<f32, 3>::new(block, memory, len);
    let first = ring.producer_acquire();
    let second = ring.producer_acquire();
    first.commit();
    second.commit();
    let _ = (x, start, len);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
