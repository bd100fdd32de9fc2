//! `headers.cu`: what CUDA's own headers bring along.

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn bytes() -> Run {
    let mut random = Random(3);
    let a: Vec<u32> = random.list(32, |random| random.bits() as u32);
    let b: Vec<u32> = random.list(32, |random| random.bits() as u32);
    let output: Vec<u32> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| {
            let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
            let unsigned = [0, 1, 2, 3].map(|i: usize| a[i].abs_diff(b[i]));
            let signed = [0, 1, 2, 3].map(|i: usize| (a[i] as i8).abs_diff(b[i] as i8));
            let sum: u32 = unsigned.iter().map(|part| u32::from(*part)).sum();
            u32::from_le_bytes(unsigned)
                .wrapping_add(3 * sum)
                .wrapping_add(u32::from_le_bytes(signed).wrapping_mul(5))
        })
        .collect();
    Run::new("headers_bytes", 1, 32)
        .output(&output)
        .buffer(&a)
        .buffer(&b)
}

fn cub() -> Run {
    let input: Vec<i32> = (0..1024).map(|i| (i * 7919) % 1009).collect();
    let (mut sums, mut scans, mut sorted) = (Vec::new(), Vec::new(), Vec::new());
    for block in input.chunks(512) {
        let mut sum = 0;
        scans.extend(block.iter().map(|v| {
            sum += v;
            sum
        }));
        sums.push(sum);
        let mut keys: Vec<u32> = block.iter().map(|v| *v as u32).collect();
        keys.sort_unstable();
        sorted.extend(keys);
    }
    Run::new("headers_cub", 2, 128)
        .output(&sums)
        .output(&scans)
        .output(&sorted)
        .buffer(&input)
}

fn halo() -> Run {
    let input: Vec<f32> = (0..640).map(|i| i as f32).collect();
    let output: Vec<f32> = (0..640i32)
        .map(|i| {
            (i - 4..=i + 4)
                .filter(|k| (0..640).contains(k))
                .sum::<i32>() as f32
        })
        .collect();
    Run::new("headers_halo", 1, 128)
        .output(&output)
        .buffer(&input)
        .scalar(640)
}

#[test]
fn headers() {
    check("headers", BOTH, &[], &[bytes(), cub(), halo()]);
}
