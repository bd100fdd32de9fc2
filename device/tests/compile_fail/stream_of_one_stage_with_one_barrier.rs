//! A stream with one barrier a step has two stages at least.

use nstage::pipeline::OneBarrier;
use nstage::shared::Region;
use nstage::stream::{Stream, Tiles};
use nstage::view::{In, Out, Tiling};
use nstage::Block;

fn law(block: &Block, memory: Region, x: In<f32>, y: Out<f32>) {
    let share = Tiling::<f32, 1>::new(block, x.len()).grid_stride(block);
    let mut y = y.striped::<1>();
    let mut tiles = Stream::<_, OneBarrier, 1>::new(block, memory, Tiles::<_, 1, false, _>::new(x, share));
    tiles.for_each(|tile| tile.each_striped(|piece| y.put(piece)));
}

fn main() {
    let law: fn(&Block, Region, In<f32>, Out<f32>) = law;
    let _ = law;
}
