//! `atomics.cu`: atomics of every kind, locks, flags, the last block of a grid.

use half::f16;

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn kinds(x: &[u32]) -> Run {
    let (mut increment, mut decrement) = (0u32, 0u32);
    for _ in x {
        increment = if increment >= 12 { 0 } else { increment + 1 };
        decrement = if decrement == 0 || decrement > 20 {
            20
        } else {
            decrement - 1
        };
    }
    let sum: u32 = x.iter().sum();
    let count = x.len() as u32;
    let (least, most) = (
        *x.iter().min().expect("some"),
        *x.iter().max().expect("some"),
    );
    let before = [0, 0, u32::MAX, 0, u32::MAX, 0, 0, 0, 0, 0];
    let after = [
        sum,
        sum.wrapping_neg(),
        least,
        most,
        x.iter().fold(u32::MAX, |all, v| all & (v | 0xff)),
        x.iter().fold(0, |all, v| all | v & 0xf0f0),
        x.iter().fold(0, |all, v| all ^ v),
        increment,
        decrement,
        2 * count,
    ];
    let signed = [
        least as i32 - 500,
        most as i32 - 500,
        sum as i32 - 500 * count as i32,
    ];
    let wide = [
        u64::from(sum) << 20,
        u64::from(most) << 33,
        x.iter()
            .fold(0, |all, v| all ^ (u64::from(*v) * u64::from(*v))),
    ];
    Run::new("atomic_kinds", 2, 64)
        .update(&before, &after)
        .update(&[i32::MAX, i32::MIN, 0], &signed)
        .update(&[0u64; 3], &wide)
        .update(&[0f32], &[sum as f32])
        .update(&[0f64], &[f64::from(sum) / 2.0])
        .buffer(x)
        .scalar(count)
}

fn runs() -> Vec<Run> {
    let mut random = Random(7);
    let words = random.list(100, |random| random.below(1000));
    let bytes = random.list(1000, |random| random.bits() as u8);
    let mut bins = [0u32; 64];
    for byte in &bytes {
        bins[usize::from(byte & 63)] += 1;
    }
    let floats = random.list(1000, |random| random.below(100) as f32);
    let mut largest = [0f32; 3];
    for (i, float) in floats.iter().take(100).enumerate() {
        largest[i % 3] = largest[i % 3].max(*float);
    }
    let halves = random.list(128, |random| f16::from_f32(random.below(8) as f32));
    let sum =
        |odd: usize| f16::from_f32(halves.iter().skip(odd).step_by(2).map(|v| v.to_f32()).sum());
    let counter: i32 = 100 + (0..64).sum::<i32>();
    vec![
        kinds(&words),
        Run::new("atomic_histogram", 2, 64)
            .update(&[0; 64], &bins)
            .buffer(&bytes)
            .scalar(1000),
        Run::new("atomic_last_block", 4, 128)
            .output(&[floats.iter().sum::<f32>()])
            .scratch(16)
            .buffer(&floats)
            .scalar(1000),
        Run::new("atomic_cas", 2, 64)
            .update(&[0f32; 3], &largest)
            .buffer(&floats)
            .scalar(100),
        Run::new("atomic_lock", 4, 64)
            .update(&[0], &[0])
            .update(&[0], &[10]),
        Run::new("atomic_ref_flag", 2, 64)
            .scratch(256)
            .update(&[0], &[1])
            .output(&(0..64).map(|t| (63 - t) * 3).collect::<Vec<i32>>()),
        Run::new("atomic_block_counter", 1, 64)
            .output(&(0..64).map(|t| counter + t).collect::<Vec<_>>()),
        Run::new("atomic_half", 1, 64)
            .update(&[f16::ZERO; 2], &[sum(0), sum(1)])
            .buffer(&halves)
            .scalar(64),
    ]
}

#[test]
fn atomics() {
    check("atomics", BOTH, &[], &runs());
}

#[test]
fn atomics_for_the_debugger() {
    check("atomics", &["sm_80"], &["-G"], &runs());
}
