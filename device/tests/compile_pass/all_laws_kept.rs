//! A program that keeps every law: the verbs in both schedules, a drain, and the memory used again.

use nstage::pipeline::{Pipeline, ThreadScope};
use nstage::shared::Region;
use nstage::view::In;
use nstage::{Block, Uniform};

fn laws(block: &Block, memory: Region, x: In<f32>) {
    let len = Uniform::<u32>::constant::<128>();
    let start = Uniform::<u64>::constant::<0>();

    let mut two_barriers = Pipeline::<f32, 1>::new(block, memory, len);
    let mut slot = two_barriers.producer_acquire();
    slot.append::<16>(&x, start, len);
    slot.commit();
    let tile = two_barriers.consumer_wait();
    let first = tile.get(0);
    tile.release();
    let memory = two_barriers.drain();

    let mut one_barrier = Pipeline::<f32, 3>::new(block, memory, len);
    for _ in 0..2 {
        one_barrier.producer_acquire().commit();
    }
    let (write, read) = one_barrier.step();
    write.commit();
    let second = read.get(0);
    read.release();
    let memory = one_barrier.drain();

    let mut own = Pipeline::<f32, 2, ThreadScope>::new(block, memory, len);
    let mut slot = own.producer_acquire();
    slot.append::<4>(&x, u64::from(block.thread()) * 4);
    slot.commit();
    let tile = own.consumer_wait();
    let piece = tile.piece(block, 0);
    tile.release();
    let _ = (own.drain(), first, second, piece);
}

fn main() {
    let laws: fn(&Block, Region, In<f32>) = laws;
    let _ = laws;
}
