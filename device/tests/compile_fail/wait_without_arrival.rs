//! A thread waits for phases in which it has arrived.

use nstage::Block;
use nstage::barrier::Barrier;
use nstage::shared::Region;

fn law(block: &Block, memory: Region) {
    let barrier = Barrier::new(block, memory);
    let barrier = barrier.wait();
    let _ = barrier.end(block);
}

fn main() {
    let law: fn(&Block, Region) = law;
    let _ = law;
}
