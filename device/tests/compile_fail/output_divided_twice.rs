//! An output is divided once: two divisions give one place to two threads.

use nstage::Block;
use nstage::shared::Region;
use nstage::view::{In, Out};

fn law(block: &Block, memory: Region, x: In<f32>, y: Out<f32>) {
    let one = y.striped::<1>();
    let two = y.striped::<2>();
    let _ = (one, two, block, memory, x);
}

fn main() {
    let law: fn(&Block, Region, In<f32>, Out<f32>) = law;
    let _ = law;
}
