//! A barrier is not ended while somebody is to wait for it.

use nstage::Block;
use nstage::barrier::Barrier;
use nstage::shared::Region;

fn law(block: &Block, memory: Region) {
    let barrier = Barrier::new(block, memory);
    let arrived = barrier.arrive();
    let _ = arrived.end(block);
}

fn main() {
    let law: fn(&Block, Region) = law;
    let _ = law;
}
