//! Tensor copies are counted by barriers.

use nstage::pipeline::{BlockScope, Groups, Pipeline};
use nstage::tensor::Tile2;
use nstage::{TensorMap, Uniform};

type Box = Tile2<f32, 16, 32>;

fn law(
    ring: &mut Pipeline<'_, f32, 4, BlockScope, Groups>,
    map: TensorMap<Box>,
    at: Uniform<[i32; 2]>,
) {
    let mut slot = ring.producer_acquire();
    slot.append_box(&map, at);
    slot.commit();
}

fn main() {
    let law: fn(&mut Pipeline<'_, f32, 4, BlockScope, Groups>, TensorMap<Box>, Uniform<[i32; 2]>) = law;
    let _ = law;
}
