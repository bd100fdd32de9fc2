//! `warps.cu`: shuffles, votes, matches, scans, groups of lanes.

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn shuffles(x: &[i32]) -> Vec<i32> {
    let at = |t: usize, lane: usize| x[t / 32 * 32 + lane];
    (0..x.len())
        .map(|t| {
            let lane = t % 32;
            let up = |by: usize, width: usize| if lane % width >= by { lane - by } else { lane };
            let down = |by: usize, width: usize| {
                if lane % width + by < width {
                    lane + by
                } else {
                    lane
                }
            };
            let sum =
                at(t, 5) + 3 * at(t, up(2, 32)) + 5 * at(t, down(7, 32)) + 7 * at(t, lane ^ 9);
            let parts =
                11 * at(t, lane / 8 * 8 + 3) + 13 * at(t, up(1, 4)) + 17 * at(t, down(3, 16));
            sum + parts + at(t, lane ^ 16) + at(t, down(1, 32))
        })
        .collect()
}

fn halves(x: &[u32]) -> Vec<u32> {
    (0..x.len())
        .map(|t| {
            let warp = &x[t / 32 * 32..t / 32 * 32 + 32];
            let ballot = |of: &dyn Fn(u32) -> bool, lanes: std::ops::Range<usize>| {
                lanes
                    .filter(|lane| of(warp[*lane]))
                    .fold(0u32, |all, lane| all | 1 << lane)
            };
            let r = if t % 32 < 13 {
                ballot(&|v| v > 10, 0..13).wrapping_add(warp[12])
            } else {
                ballot(&|v| v & 2 != 0, 13..32).count_ones() * 1000 + warp[13]
            };
            let any = warp.contains(&77);
            let all = warp.iter().all(|v| *v < 1000);
            r.wrapping_add(u32::from(any) + 2 * u32::from(all))
        })
        .collect()
}

fn scan(x: &[i32], block: usize) -> Vec<i32> {
    let sums = |block: &[i32]| {
        let mut sum = 0;
        block
            .iter()
            .map(|v| {
                sum += v;
                sum
            })
            .collect::<Vec<_>>()
    };
    x.chunks(block).flat_map(sums).collect()
}

fn groups(x: &[i32]) -> Vec<i32> {
    (0..x.len())
        .map(|t| {
            let tile = &x[t / 8 * 8..t / 8 * 8 + 8];
            let warp = &x[t / 32 * 32..t / 32 * 32 + 32];
            let (sum, most): (i32, i32) = (tile.iter().sum(), *tile.iter().max().expect("eight"));
            let before: i32 = tile[..t % 8].iter().sum();
            let mut extra = 0;
            if x[t] % 3 == 0 {
                let here: Vec<usize> = (0..32).filter(|lane| warp[*lane] % 3 == 0).collect();
                let rank = here.iter().position(|lane| *lane == t % 32).expect("here");
                extra = here.len() as i32 * 100 + rank as i32 + warp[here[0]];
            }
            let alike = tile.iter().filter(|v| (*v & 1) == (x[t] & 1)).count() as i32;
            let any = i32::from(tile.iter().any(|v| *v > 90));
            sum + 3 * most + 5 * before + 7 * x[t ^ 1] + 11 * extra + 13 * alike + 17 * any
        })
        .collect()
}

fn matches(x: &[u32]) -> Vec<u32> {
    (0..x.len())
        .map(|t| {
            let warp: Vec<u32> = x[t / 32 * 32..t / 32 * 32 + 32]
                .iter()
                .map(|v| v / 16)
                .collect();
            let v = warp[t % 32];
            let any = (0..32)
                .filter(|lane| warp[*lane] == v)
                .fold(0u32, |all, lane| all | 1 << lane);
            let all = if warp.iter().all(|w| w / 100 == v / 100) {
                u32::MAX
            } else {
                0
            };
            let most = *warp.iter().max().expect("a warp");
            let or = warp.iter().fold(0, |all, w| all | w);
            let least = warp.iter().map(|w| *w as i32 - 5).min().expect("a warp") as u32;
            any.wrapping_add(all)
                .wrapping_add(most)
                .wrapping_add(or * 3)
                .wrapping_add(least)
                .wrapping_add(u32::MAX)
        })
        .collect()
}

fn runs() -> Vec<Run> {
    let mut random = Random(3);
    let small = random.list(64, |random| random.below(100) as i32);
    let unsigned: Vec<u32> = small.iter().map(|v| *v as u32).collect();
    let many = random.list(512, |random| random.below(1000) as i32 - 500);
    let ramp: Vec<i32> = (0..128).collect();
    let tiles = random.list(640, |random| random.below(100) as f32);
    let copied: Vec<f32> = (0..128)
        .map(|t| (0..5).map(|tile| tiles[tile * 128 + 127 - t]).sum())
        .collect();
    let positive = many.iter().filter(|v| **v > 0).count();
    vec![
        Run::new("warp_shuffles", 1, 64)
            .output(&shuffles(&small))
            .buffer(&small),
        Run::new("warp_halves", 1, 64)
            .output(&halves(&unsigned))
            .buffer(&unsigned),
        Run::new("warp_scan", 2, 256)
            .output(&scan(&many, 256))
            .buffer(&many),
        Run::new("warp_groups", 1, 64)
            .output(&groups(&small))
            .buffer(&small),
        Run::new("warp_filter", 2, 128)
            .scratch(4 * positive)
            .update(&[0], &[positive as i32])
            .buffer(&many)
            .scalar(512),
        Run::new("warp_tree", 1, 128)
            .output(
                &[0, 1, 2, 3].map(|warp| (0..32).map(|lane| ramp[warp * 32 + lane]).sum::<i32>()),
            )
            .buffer(&ramp),
        Run::new("group_copies", 1, 128)
            .output(&copied)
            .buffer(&tiles)
            .scalar(5),
        Run::new("warp_matches", 1, 64)
            .output(&matches(&unsigned))
            .buffer(&unsigned),
    ]
}

#[test]
fn warps() {
    check("warps", BOTH, &[], &runs());
}

#[test]
fn warps_for_the_debugger() {
    check("warps", &["sm_80"], &["-G"], &runs());
}
