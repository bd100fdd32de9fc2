//! A tile is lent until the next one is taken, since its stage is filled again then.

use nstage::pipeline::TwoBarrier;
use nstage::shared::Region;
use nstage::stream::{Stream, Tiles};
use nstage::view::{In, Out, Tiling};
use nstage::Block;

fn law(block: &Block, memory: Region, x: In<f32>, y: Out<f32>) {
    let share = Tiling::<f32, 1>::new(block, x.len()).grid_stride(block);
    let mut tiles = Stream::<_, TwoBarrier, 4>::new(block, memory, Tiles::<_, 1, false, _>::new(x, share));
    let mut y = y.striped::<1>();
    let first = tiles.next();
    let second = tiles.next();
    for tile in [first, second].into_iter().flatten() {
        tile.each_striped(|piece| y.put(piece));
    }
}

fn main() {
    let law: fn(&Block, Region, In<f32>, Out<f32>) = law;
    let _ = law;
}
