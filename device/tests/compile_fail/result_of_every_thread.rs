//! A block's result is written by the one thread that holds it.

use nstage::Block;
use nstage::shared::Region;
use nstage::view::{In, Items, Out};

fn law(block: &Block, memory: Region, x: In<f32>, y: Out<f32>) {
    let mut y = y.items();
    for item in Items::new(block, block.blocks()) {
        y.put(&item, 1.0);
    }
    let _ = (memory, x);
}

fn main() {
    let law: fn(&Block, Region, In<f32>, Out<f32>) = law;
    let _ = law;
}
