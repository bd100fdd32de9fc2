//! `matrices.cu`: products on tensor cores.

use half::{bf16, f16};

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

/// The product of the m × k matrix whose rows are in `a` and the k × n matrix that `b` has by row and column, plus `c`.
fn product(
    [m, n, k]: [usize; 3],
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
    c: impl Fn(usize) -> f64,
) -> Vec<f64> {
    (0..m * n)
        .map(|at| (0..k).map(|i| a(at / n, i) * b(i, at % n)).sum::<f64>() + c(at))
        .collect()
}

fn runs() -> Vec<Run> {
    let mut random = Random(11);
    // Small whole numbers: every type holds the products exactly.
    let mut whole = |count: usize| random.list(count, |random| f64::from(random.below(9)) - 4.0);
    let (a, b, c) = (whole(768), whole(768), whole(256));
    let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<_>>();
    let half = |values: &[f64]| values.iter().map(|v| f16::from_f64(*v)).collect::<Vec<_>>();
    let brain = |values: &[f64]| {
        values
            .iter()
            .map(|v| bf16::from_f64(*v))
            .collect::<Vec<_>>()
    };
    let bytes = |values: &[f64]| values.iter().map(|v| *v as i8).collect::<Vec<_>>();

    let long = product(
        [16, 16, 48],
        |r, i| a[r * 48 + i],
        |i, n| b[n * 48 + i],
        |at| c[at],
    );
    let halved: Vec<f32> = long.iter().map(|v| *v as f32 * 0.5).collect();
    let square = product(
        [16, 16, 16],
        |r, i| a[r * 16 + i],
        |i, n| b[i * 16 + n],
        |_| 0.0,
    );
    let turned: Vec<f16> = (0..256)
        .map(|at| f16::from_f64(square[at % 16 * 16 + at / 16]))
        .collect();
    let tf32 = product(
        [16, 16, 8],
        |r, i| a[r * 8 + i],
        |i, n| b[i * 16 + n],
        |_| 0.0,
    );
    let tall = product(
        [32, 8, 16],
        |r, i| a[r * 16 + i],
        |i, n| b[n * 16 + i],
        |_| 1.0,
    );
    let wide = product(
        [8, 32, 16],
        |r, i| a[r * 16 + i],
        |i, n| b[n * 16 + i],
        |_| 3.0,
    );
    let integers: Vec<i32> = wide.iter().map(|v| *v as i32).collect();
    let inline = product(
        [16, 8, 16],
        |r, i| a[r * 16 + i],
        |i, n| b[i * 16 + n],
        |_| 0.0,
    );
    vec![
        Run::new("matrix_half", 1, 32)
            .update(&single(&c), &halved)
            .buffer(&half(&a))
            .buffer(&half(&b))
            .scalar(48),
        Run::new("matrix_half_shared", 1, 32)
            .output(&turned)
            .buffer(&half(&a[..256]))
            .buffer(&half(&b[..256])),
        Run::new("matrix_tf32", 1, 32)
            .output(&single(&tf32))
            .buffer(&single(&a[..128]))
            .buffer(&single(&b[..128])),
        Run::new("matrix_bf16", 1, 32)
            .output(&single(&tall))
            .buffer(&brain(&a[..512]))
            .buffer(&brain(&b[..128])),
        Run::new("matrix_s8", 1, 32)
            .output(&integers)
            .buffer(&bytes(&a[..128]))
            .buffer(&bytes(&b[..512])),
        Run::new("matrix_inline", 1, 32)
            .output(&single(&inline))
            .buffer(&half(&a[..256]))
            .buffer(&half(&b[..256])),
    ]
}

#[test]
fn matrices() {
    check("matrices", BOTH, &[], &runs());
}

#[test]
fn matrices_for_the_debugger() {
    check("matrices", &["sm_80"], &["-G"], &runs());
}
