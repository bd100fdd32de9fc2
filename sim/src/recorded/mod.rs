//! What an H200 computed, replayed: `recordings/h200.txt`, made by `recordings/record.py` on the same inputs.
//!
//! A line holds what to compute, the seed of its inputs, and a digest of the device's output. Where the ISA leaves the rounding
//! of sums open the line holds the sums themselves, and ours must be within [`tolerance`](crate::matrix::tolerance) of them.

mod products;
mod scalars;
mod tensors;

use crate::matrix::Row;

/// The lines that start with this word, without it, in fields.
fn lines(kind: &str) -> Vec<Vec<&'static str>> {
    let text = include_str!("../../recordings/h200.txt");
    let found: Vec<_> = text
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|fields| fields[0] == kind)
        .map(|fields| fields[1..].to_vec())
        .collect();
    assert!(!found.is_empty(), "no recording of `{kind}`");
    found
}

fn number<T: std::str::FromStr>(field: &str) -> T {
    field
        .parse()
        .unwrap_or_else(|_| panic!("`{field}` is not the number it should be"))
}

/// SplitMix64's finaliser.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The inputs of a seed.
fn words(seed: u64, count: usize) -> Vec<u32> {
    (0..count as u64)
        .map(|index| (mix(seed << 32 | index) >> 32) as u32)
        .collect()
}

/// What is recorded of an output.
fn digest(values: impl IntoIterator<Item = u32>) -> String {
    let sum = values
        .into_iter()
        .zip(0u64..)
        .fold(0u64, |sum, (value, index)| {
            sum.wrapping_add(mix(u64::from(value) | index << 32))
        });
    format!("{sum:016x}")
}

/// Words as registers of one warp.
fn rows(words: &[u32]) -> Vec<Row> {
    words.as_chunks().0.to_vec()
}

fn references(rows: &[Row]) -> Vec<&Row> {
    rows.iter().collect()
}
