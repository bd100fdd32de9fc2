//! A box has at most 256 elements in each dimension.

use nstage::pipeline::{BlockScope, Bulk, Pipeline};
use nstage::tensor::Tile2;
use nstage::{TensorMap, Uniform};

type Box = Tile2<f32, 32, 300>;

fn law(
    ring: &mut Pipeline<'_, f32, 2, BlockScope, Bulk>,
    map: TensorMap<Box>,
    at: Uniform<[i32; 2]>,
) {
    let mut slot = ring.producer_acquire();
    slot.append_box(&map, at);
    slot.commit();
}

fn main() {
    let law: fn(&mut Pipeline<'_, f32, 2, BlockScope, Bulk>, TensorMap<Box>, Uniform<[i32; 2]>) = law;
    let _ = law;
}
