//! A piece is written to an output that is divided as it was: other tiles give the place to another thread.

use nstage::pipeline::TwoBarrier;
use nstage::shared::Region;
use nstage::stream::{Stream, Tiles};
use nstage::view::{In, Out, Tiling};
use nstage::Block;

fn law(block: &Block, memory: Region, x: In<f32>, y: Out<f32>) {
    let share = Tiling::<f32, 2>::new(block, x.len()).grid_stride(block);
    let mut y = y.striped::<1>();
    let mut tiles = Stream::<_, TwoBarrier, 4>::new(block, memory, Tiles::<_, 2, false, _>::new(x, share));
    tiles.for_each(|tile| tile.each_striped(|piece| y.put(piece)));
}

fn main() {
    let law: fn(&Block, Region, In<f32>, Out<f32>) = law;
    let _ = law;
}
