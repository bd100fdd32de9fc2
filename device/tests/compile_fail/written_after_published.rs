//! What was published is not written until it was sent.

use nstage::outgoing::Outgoing;
use nstage::shared::Region;
use nstage::view::{GridStride, Out, Share};
use nstage::Block;

fn law(block: &Block, memory: Region, y: Out<f32>, share: Share<f32, 1, GridStride>) {
    let mut out = Outgoing::<f32>::new(block, memory);
    let mut rooms = y.rooms(&share);
    while let Some(room) = rooms.next() {
        out.put(0, [1.0; 4]);
        let mut ready = out.publish();
        ready.put(0, [2.0; 4]);
        out = ready.store(room).reuse();
    }
    let _ = out.end();
}

fn main() {
    let law: fn(&Block, Region, Out<f32>, Share<f32, 1, GridStride>) = law;
    let _ = law;
}
