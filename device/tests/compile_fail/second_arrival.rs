//! A thread arrives once in a phase.

use nstage::Block;
use nstage::barrier::Barrier;
use nstage::shared::Region;

fn law(block: &Block, memory: Region) {
    let barrier = Barrier::new(block, memory);
    let first = barrier.arrive();
    let second = barrier.arrive();
    let _ = (first.wait(), second);
}

fn main() {
    let law: fn(&Block, Region) = law;
    let _ = law;
}
