//! A uniform value is computed from uniform values alone.

use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn law(block: &Block, memory: Region, x: In<f32>) {
    let thread = block.thread();
    let len: Uniform<u32> = block.threads().map(|threads| threads + thread);
    let _ = (memory, x, len);
}

fn main() {
    let law: fn(&Block, Region, In<f32>) = law;
    let _ = law;
}
