//! Bulk copies start at multiples of 16 bytes.

use nstage::pipeline::Bulk;
use nstage::roles::{Fixed, Roles};
use nstage::shared::Region;
use nstage::stream::Tiles;
use nstage::view::{In, Tiling};
use nstage::{Block, Uniform};

fn law(block: &mut Block, memory: Region, x: In<f32>) {
    let roles = Roles::<Bulk, _>::new(block, Fixed::<4>, Uniform::<u32>::constant::<1>());
    let share = Tiling::<f32, 1>::for_crew(roles.consumers(), x.len()).grid_stride(roles.block());
    let tiles = Tiles::<_, 1, false, _>::new(x, share);
    let _ = roles.run(
        memory,
        tiles,
        |producer, mut tiles| producer.fill(&mut tiles),
        |consumer, mut tiles| consumer.for_each(&mut tiles, |_tile| ()),
    );
}

fn main() {
    let law: fn(&mut Block, Region, In<f32>) = law;
    let _ = law;
}
