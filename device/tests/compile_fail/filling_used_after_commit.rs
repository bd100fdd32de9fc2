//! A stage that was handed over is not filled any more.

use nstage::pipeline::Bulk;
use nstage::roles::{Fixed, Roles};
use nstage::shared::Region;
use nstage::stream::Tiles;
use nstage::view::{In, Tiling};
use nstage::{Block, Uniform};

fn law(block: &mut Block, memory: Region, x: In<f32>) {
    let roles = Roles::<Bulk, _>::new(block, Fixed::<4>, Uniform::<u32>::constant::<1>());
    let share = Tiling::<f32, 1>::for_crew(roles.consumers(), x.len()).grid_stride(roles.block());
    let tiles = Tiles::<_, 1, true, _>::new(x, share);
    let start = Uniform::<u64>::constant::<0>();
    let len = Uniform::<u32>::constant::<4>();
    let _ = roles.run(
        memory,
        tiles,
        |producer, mut tiles| {
            let mut slot = producer.acquire();
            slot.append::<16>(&x, start, len);
            slot.commit();
            slot.append::<16>(&x, start, len);
            producer.fill(&mut tiles);
        },
        |consumer, mut tiles| consumer.for_each(&mut tiles, |_tile| ()),
    );
}

fn main() {
    let law: fn(&mut Block, Region, In<f32>) = law;
    let _ = law;
}
