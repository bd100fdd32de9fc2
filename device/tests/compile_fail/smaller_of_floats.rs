//! Bulk copies know no minimum of floats.

use nstage::outgoing::Outgoing;
use nstage::shared::Region;
use nstage::view::{GridStride, Out, Share};
use nstage::Block;

fn law(block: &Block, memory: Region, y: Out<f32>, share: Share<f32, 1, GridStride>) {
    let mut out = Outgoing::<f32>::new(block, memory);
    let mut rooms = y.rooms(&share);
    while let Some(room) = rooms.next() {
        out.put(0, [1.0; 4]);
        out = out.publish().reduce_min(room).reuse();
    }
    let _ = out.end();
}

fn main() {
    let law: fn(&Block, Region, Out<f32>, Share<f32, 1, GridStride>) = law;
    let _ = law;
}
