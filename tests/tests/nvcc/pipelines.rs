//! `pipelines.cu`: `cuda::pipeline` with and without roles, `cuda::barrier` in its several uses.

use crate::harness::{BOTH, Run, check};

fn runs() -> Vec<Run> {
    let ramp: Vec<i32> = (0..1280).collect();
    let reals: Vec<f32> = ramp.iter().map(|i| *i as f32).collect();
    // Each tile of so many elements backwards.
    let backwards = |count: usize, tile: usize, of: &dyn Fn(i32) -> i32| -> Vec<i32> {
        ramp[..count]
            .chunks(tile)
            .flat_map(|chunk| chunk.iter().rev().map(|v| of(*v)))
            .collect()
    };
    let triples: Vec<i32> = (0..3)
        .flat_map(|tile| (0..64).map(move |t| 3 * (tile * 64 + 63 - t)))
        .map(|first| first + 10 * (first + 1) + 100 * (first + 2))
        .collect();
    let own = |t: i32| 7 * t + 127 - t;
    let split: Vec<i32> = (0..128).map(|t| own((t + 1) % 128)).collect();
    let dropped: Vec<i32> = (0..32).map(|t| 2 * (31 - t) + 32).collect();
    let full: Vec<f32> = reals[..640]
        .chunks(128)
        .flat_map(|tile| tile.iter().rev().map(|v| 2.0 * v))
        .collect();
    vec![
        Run::new("pipe_two_stages", 2, 128)
            .shared(1024)
            .output(&backwards(1280, 128, &|v| 2 * v))
            .buffer(&ramp)
            .scalar(5),
        Run::new("pipe_roles_by_parity", 1, 64)
            .output(&backwards(224, 32, &|v| v + 1))
            .buffer(&ramp[..224])
            .scalar(7),
        Run::new("pipe_partitioned_quit", 1, 96)
            .output(&backwards(448, 64, &|v| 3 * v))
            .buffer(&ramp[..448])
            .scalar(7),
        Run::new("pipe_triples", 1, 64)
            .output(&triples)
            .buffer(&ramp[..576])
            .scalar(3),
        Run::new("barrier_split", 1, 128)
            .output(&split)
            .buffer(&ramp[..128]),
        Run::new("barrier_drop", 1, 64)
            .output(&dropped)
            .buffer(&ramp[..64]),
        Run::new("barrier_full_empty", 1, 96)
            .output(&full)
            .buffer(&reals[..640])
            .scalar(5),
    ]
}

#[test]
fn pipelines() {
    check("pipelines", BOTH, &[], &runs());
}

#[test]
fn pipelines_for_the_debugger() {
    check("pipelines", BOTH, &["-G"], &runs());
}
