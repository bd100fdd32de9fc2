//! A stage holds elements of 4 or 8 bytes, which 16-byte pieces are made of.

use nstage::pipeline::Pipeline;
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let ring = Pipeline::<u8, 2>::new(block, memory, len);
    let _ = (ring.drain(), x);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
