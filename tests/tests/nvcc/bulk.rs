//! `bulk.cu`: bulk copies, expected bytes, clusters.

use crate::harness::{Run, check};
use crate::values::Random;

fn runs() -> Vec<Run> {
    let ramp: Vec<i32> = (0..2048).collect();
    let reals: Vec<f32> = ramp.iter().map(|i| *i as f32).collect();
    let backwards = |count: usize, tile: usize, of: &dyn Fn(f32) -> f32| -> Vec<f32> {
        reals[..count]
            .chunks(tile)
            .flat_map(|chunk| chunk.iter().rev().map(|v| of(*v)))
            .collect()
    };
    let next = |block: usize, t: usize| {
        ramp[(block / 4 * 4 + (block + 1) % 4) * 64 + 63 - t] + 1000 * (block as i32 % 4)
    };
    let neighbours: Vec<i32> = (0..512).map(|i| next(i / 64, i % 64)).collect();
    let words = Random(9).list(1000, |random| random.below(1 << 20));
    let mut bins = [0i32; 64];
    for word in &words {
        bins[*word as usize % 64] += 1;
    }
    let split: Vec<i32> = (0..128)
        .map(|i| ramp[i ^ 32] + 10 * (i as i32 % 32))
        .collect();
    let multicast: Vec<i32> = (0..512).map(|i| 255 - i % 256 + i / 256).collect();
    let stored: Vec<i32> = (0..128)
        .map(|i| ((i / 64) ^ 1) * 64 + 63 - i % 64)
        .collect();
    vec![
        Run::new("bulk_add_one", 2, 128)
            .update(&ramp, &ramp.iter().map(|v| v + 1).collect::<Vec<_>>())
            .scalar(0u64),
        Run::new("bulk_expect_tx", 1, 128)
            .output(&backwards(1792, 256, &|v| 2.0 * v))
            .buffer(&reals[..1792])
            .scalar(7),
        Run::new("bulk_ring_ptx", 1, 160)
            .output(&backwards(1280, 128, &|v| v + 1.0))
            .buffer(&reals[..1280])
            .scalar(10),
        Run::new("bulk_reduce", 3, 128)
            .update(
                &[0; 128],
                &(0..128).map(|t| 3 * t + 384).collect::<Vec<i32>>(),
            )
            .buffer(&ramp[..384]),
        Run::new("cluster_neighbour", 8, 64)
            .cluster(4)
            .output(&neighbours)
            .buffer(&ramp[..512]),
        Run::new("cluster_histogram", 2, 64)
            .cluster(2)
            .output(&bins)
            .buffer(&words)
            .scalar(1000),
        Run::new("cluster_split", 4, 32)
            .cluster(2)
            .output(&split)
            .buffer(&ramp[..128]),
        Run::new("cluster_multicast", 2, 64)
            .cluster(2)
            .output(&multicast)
            .buffer(&ramp[..256]),
        Run::new("cluster_store_async", 2, 64)
            .cluster(2)
            .output(&stored)
            .buffer(&ramp[..128]),
    ]
}

#[test]
fn bulk() {
    // libcu++ leaves multicast to targets with an `a`.
    check("bulk", &["sm_90a"], &[], &runs());
}

#[test]
fn bulk_for_the_debugger() {
    check("bulk", &["sm_90a"], &["-G"], &runs());
}
