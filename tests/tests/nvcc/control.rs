//! `control.cu`: switches, calls, recursion, local arrays, early ends.

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn switch(x: &[i32], n: usize) -> Vec<i32> {
    (0..n)
        .map(|i| {
            let v = x[i];
            match v {
                0 => v + 17,
                1 => v * 3,
                2 => v ^ 85,
                3 => 35,
                4 | 5 => v - 1000,
                6 => x[(i + 1) % n],
                7 => -v,
                8 => v / 3 + x[0],
                9 => v % 7 - 3 * v,
                10 => 4242,
                _ => 99,
            }
        })
        .collect()
}

fn collatz(x: &[i32]) -> Vec<i32> {
    x.iter()
        .map(|v| {
            let (mut v, mut steps) = (*v as u32, 0);
            while v != 1 && steps <= 500 {
                v = if v % 2 == 0 { v / 2 } else { 3 * v + 1 };
                steps += 1;
            }
            steps
        })
        .collect()
}

/// A `Particle` of the source, 32 bytes.
fn particle([x, y, z]: [f32; 3], id: i32, mass: f64) -> Vec<u8> {
    let floats = [x, y, z].into_iter().flat_map(f32::to_le_bytes);
    floats
        .chain(id.to_le_bytes())
        .chain(mass.to_le_bytes())
        .collect()
}

fn byte_tiles(x: &[u8]) -> Vec<u8> {
    let mut tile = vec![0; 256];
    for t in 0..32 {
        let mut mine = [7 + t as u8; 24];
        mine[3..19].copy_from_slice(&x[t * 16..t * 16 + 16]);
        for i in 0..8 {
            tile[t * 8 + i] = mine[i * 3];
        }
    }
    tile.into_iter().rev().collect()
}

fn runs() -> Vec<Run> {
    let mut random = Random(5);
    let ramp: Vec<i32> = (0..128).collect();
    let words = random.list(64, |random| random.below(12) as i32);
    let thirteen: Vec<i32> = (0..64).map(|i| i % 13).collect();
    let unsorted = random.list(64 * 12, |random| random.below(1000) as i32 - 300);
    let sorted: Vec<i32> = unsorted
        .chunks(12)
        .flat_map(|chunk| {
            let mut chunk = chunk.to_vec();
            chunk.sort_unstable();
            chunk
        })
        .collect();
    let starts: Vec<i32> = (0..64).map(|i| [1, 2, 3, 4, 27, 97][i % 6]).collect();
    let floats = random.list(256, |random| random.below(64) as f32);
    let folded: Vec<f32> = (0..32)
        .map(|t| {
            (0..8).fold(0.0, |sum, i| {
                f32::mul_add(sum, 0.5, floats[t + 32 * (7 - i)])
            })
        })
        .collect();
    let hundred: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut arena: Vec<f32> = (0..100).map(|i| 2.0 * (99 - i) as f32).collect();
    arena.push(4950.0);
    let bytes = random.list(512, |random| random.bits() as u8);
    let particles: Vec<u8> = (0..50)
        .flat_map(|i| particle([i as f32, 2.0, 0.5], i, f64::from(i)))
        .collect();
    let moved: Vec<u8> = (0..50)
        .flat_map(|i| particle([i as f32 + 3.0, 6.0, 1.25], i ^ 3, f64::from(i) / 2.0))
        .collect();
    let early: Vec<i32> = (0..100)
        .map(|t| 99 - t + 1000 * 50 + 100_000 + 200_000)
        .collect();
    vec![
        Run::new("control_switch", 1, 64)
            .output(&switch(&thirteen, 50))
            .buffer(&thirteen)
            .scalar(50),
        Run::new("control_virtual", 1, 64)
            .output(
                &(0..64)
                    .map(|t| {
                        if words[t] & 1 == 1 {
                            (t * t) as i32
                        } else {
                            t as i32 * words[0]
                        }
                    })
                    .collect::<Vec<_>>(),
            )
            .buffer(&words),
        Run::new("control_pointers", 1, 64)
            .output(
                &(0..64)
                    .map(|t| [2 * t, t * t, t - 3][words[t as usize] as usize % 3])
                    .collect::<Vec<i32>>(),
            )
            .buffer(&words),
        Run::new("control_sort", 1, 64)
            .output(&sorted)
            .buffer(&unsorted),
        Run::new("control_structs", 1, 64)
            .output(&moved)
            .buffer(&particles)
            .aggregate(particle([3.0, 0.0, 0.75], 0, 0.0))
            .scalar(50),
        Run::new("control_early", 1, 128)
            .output(&early)
            .buffer(&ramp)
            .scalar(100),
        Run::new("control_collatz", 1, 64)
            .output(&collatz(&starts))
            .buffer(&starts),
        Run::new("control_arena", 1, 64)
            .shared(1024)
            .output(&arena)
            .buffer(&hundred)
            .scalar(100),
        Run::new("control_templates", 1, 32)
            .output(&folded)
            .buffer(&floats),
        Run::new("control_bytes", 1, 32)
            .output(&byte_tiles(&bytes))
            .buffer(&bytes),
    ]
}

#[test]
fn control() {
    check("control", BOTH, &[], &runs());
}

#[test]
fn control_for_the_debugger() {
    check("control", &["sm_90"], &["-G"], &runs());
}
