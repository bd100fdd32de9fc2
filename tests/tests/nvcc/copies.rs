//! `scale.cu`, `matmul.cu`, `sum.cu`: tiles through shared memory, in every way that CUDA C++ has of copying them.

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn scale_runs() -> Vec<Run> {
    let n = 16384;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let y: Vec<f32> = x.iter().map(|x| 2.5 * x).collect();
    let entries = [
        "cpp_scale_sync",
        "cpp_scale_primitives",
        "cpp_scale_pipeline_s2",
        "cpp_scale_pipeline_s4",
        "cpp_scale_thread_s3",
        "cpp_scale_barrier",
    ];
    let run = |entry| {
        Run::new(entry, 3, 256)
            .output(&y)
            .buffer(&x)
            .scalar(2.5f32)
            .scalar(n / 4)
    };
    entries.map(run).into()
}

#[test]
fn scale() {
    check("scale", BOTH, &[], &scale_runs());
}

#[test]
fn scale_with_line_numbers() {
    check("scale", &["sm_80"], &["-lineinfo"], &scale_runs());
}

#[test]
fn scale_for_the_debugger() {
    check("scale", &["sm_90"], &["-G"], &scale_runs());
}

fn matmul_runs() -> Vec<Run> {
    let (m, n, k) = (32, 48, 96);
    let mut random = Random(1);
    let a = random.list(m * k, Random::real);
    let b = random.list(k * n, Random::real);
    let mut c = vec![0.0f32; m * n];
    for row in 0..m {
        for column in 0..n {
            c[row * n + column] = (0..k).fold(0.0, |sum, i| {
                f32::mul_add(a[row * k + i], b[i * n + column], sum)
            });
        }
    }
    let entries = [
        ("mm_naive", 16),
        ("mm_naive_large_chunk", 16),
        ("mm_async_single_stage", 16),
        ("mm_async_large_chunk", 16),
        ("mm_async_large_chunk_barrier", 16),
        ("mm_async_multi_stage", 16),
        ("mm_async_multi_stage_large_chunk", 16),
        ("mm_async_shared_state_roles", 18),
    ];
    let run = |(entry, rows)| {
        Run::new(entry, (n as u32 / 16, m as u32 / 16), (16, rows))
            .output(&c)
            .buffer(&a)
            .buffer(&b)
            .scalar(n as u32)
            .scalar(k as u32)
    };
    entries.map(run).into()
}

#[test]
fn matmul() {
    check("matmul", BOTH, &[], &matmul_runs());
}

#[test]
fn matmul_for_the_debugger() {
    check("matmul", &["sm_80"], &["-G"], &matmul_runs());
}

/// The reference of the blur, in the kernel's order of operations.
fn blur(x: &[f32], width: usize, height: usize) -> Vec<f32> {
    let at = |row: isize, column: isize| {
        let row = row.clamp(0, height as isize - 1) as usize;
        let column = column.clamp(0, width as isize - 1) as usize;
        f64::from(x[row * width + column])
    };
    let taps = [1.0, 4.0, 6.0, 4.0, 1.0];
    (0..height * width)
        .map(|i| {
            let (row, column) = ((i / width) as isize, (i % width) as isize);
            let sum: f64 = (0..25)
                .map(|tap| {
                    let (dy, dx) = (tap / 5, tap % 5);
                    let weight = taps[dy] * taps[dx] / 256.0;
                    weight * at(row + dy as isize - 2, column + dx as isize - 2)
                })
                .sum();
            sum as f32
        })
        .collect()
}

#[test]
fn sum() {
    let n = 16384;
    let x = vec![0.5f32; n];
    let (width, height) = (200, 10);
    let image = Random(2).list(width * height, Random::real);
    let runs = [
        Run::new("cpp_sum_thread_s4", 2, 256)
            .output(&[n as f32 / 4.0; 2])
            .buffer(&x)
            .scalar(n as u32 / 4),
        Run::new("cpp_blur_rows_s3", 2, 128)
            .near(&blur(&image, width, height), 1e-6)
            .buffer(&image)
            .scalar(width as u32)
            .scalar(height as u32),
    ];
    check("sum", BOTH, &[], &runs);
}
