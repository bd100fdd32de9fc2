//! The first barriers belong to the block and to roles.

use nstage::Block;

fn law(block: &Block) {
    // SAFETY: never run.
    unsafe { block.named::<1, 64>() }.sync();
}

fn main() {
    let law: fn(&Block) = law;
    let _ = law;
}
