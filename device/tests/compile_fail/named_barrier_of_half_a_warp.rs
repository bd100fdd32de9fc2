//! Named barriers are for whole warps.

use nstage::Block;

fn law(block: &Block) {
    // SAFETY: never run.
    unsafe { block.named::<3, 48>() }.sync();
}

fn main() {
    let law: fn(&Block) = law;
    let _ = law;
}
