//! Splits what a warp touches into lines of shadow memory.

use super::record::{Footprint, LINE, Lanes, lanes, span};

/// Calls `visit` with each line that `size` bytes at the lanes' addresses touch, and what they touch there.
pub(crate) fn each_line(
    addresses: &[u64; 32],
    mask: u32,
    size: u32,
    mut visit: impl FnMut(u64, Footprint),
) {
    if mask == 0 || size == 0 {
        return;
    }
    let first = mask.trailing_zeros();
    if is_run(addresses, mask, size) {
        run(addresses[first as usize], first, mask, size, visit);
        return;
    }
    let mut rest = mask;
    for lane in lanes(mask) {
        let from = addresses[lane as usize];
        if from % LINE + u64::from(size) > LINE {
            // Only an access that breaks its alignment crosses a line.
            each_line_of_run(lane, from, size, &mut visit);
            rest &= !(1 << lane);
        }
    }
    while rest != 0 {
        let line = addresses[rest.trailing_zeros() as usize] / LINE;
        let mut here = 0;
        let mut offsets = [0u8; 32];
        for lane in 0..32 {
            let address = addresses[lane];
            offsets[lane] = (address % LINE) as u8;
            here |= u32::from(address / LINE == line) << lane;
        }
        here &= rest;
        rest &= !here;
        visit(line, Footprint::gather(&offsets, here, size));
    }
}

/// Calls `visit` with each range of bytes that the lanes touch; neighbours in ascending order make one range.
pub(crate) fn each_range(
    addresses: &[u64; 32],
    mask: u32,
    size: u32,
    mut visit: impl FnMut(u64, u64),
) {
    if mask == 0 || size == 0 {
        return;
    }
    if is_run(addresses, mask, size) {
        let from = addresses[mask.trailing_zeros() as usize];
        visit(
            from,
            from.saturating_add(u64::from(mask.count_ones() * size)),
        );
        return;
    }
    let mut open: Option<(u64, u64)> = None;
    for lane in lanes(mask) {
        let from = addresses[lane as usize];
        let to = from.saturating_add(u64::from(size));
        match &mut open {
            Some((_, end)) if *end == from => *end = to,
            Some((start, end)) if *start <= from && to <= *end => {}
            _ => {
                if let Some((from, to)) = open.replace((from, to)) {
                    visit(from, to);
                }
            }
        }
    }
    if let Some((from, to)) = open {
        visit(from, to);
    }
}

/// Calls `visit` with each line of `bytes` consecutive bytes that one lane touches.
pub(crate) fn each_line_of_run(
    lane: u32,
    from: u64,
    bytes: u32,
    mut visit: impl FnMut(u64, Footprint),
) {
    let end = from.saturating_add(u64::from(bytes));
    let mut at = from;
    while at < end {
        let line = at / LINE;
        let stop = end.min((line + 1) * LINE);
        visit(
            line,
            Footprint::single(lane, (at % LINE) as u32, (stop - at) as u32),
        );
        at = stop;
    }
}

/// Whether the lanes are neighbours and touch neighbouring elements, aligned to their size.
#[inline(always)]
pub(crate) fn is_run(addresses: &[u64; 32], mask: u32, size: u32) -> bool {
    let first = mask.trailing_zeros();
    let from = addresses[first as usize];
    let neighbours = (u64::from(mask >> first) + 1).is_power_of_two();
    if !neighbours || !size.is_power_of_two() || !from.is_multiple_of(u64::from(size)) {
        return false;
    }
    let base = from.wrapping_sub(u64::from(first) * u64::from(size));
    let mut same = 0u32;
    for (lane, &address) in addresses.iter().enumerate() {
        let expected = base.wrapping_add(lane as u64 * u64::from(size));
        same |= u32::from(address == expected) << lane;
    }
    mask & !same == 0
}

fn run(from: u64, first: u32, mask: u32, size: u32, mut visit: impl FnMut(u64, Footprint)) {
    let shift = size.trailing_zeros();
    let end = from + u64::from(mask.count_ones() * size);
    let mut at = from;
    let mut lane = first;
    while at < end {
        let line = at / LINE;
        let stop = end.min((line + 1) * LINE);
        let offset = (at % LINE) as u32;
        let count = (stop - at) as u32 >> shift;
        visit(
            line,
            Footprint {
                bytes: span(offset, (stop - at) as u32),
                lanes: Lanes::Affine {
                    first: (lane as i32 - (offset >> shift) as i32) as i8,
                    shift: shift as u8,
                },
                mask: (u64::from(u32::MAX) >> (32 - count) << lane) as u32,
            },
        );
        lane += count;
        at = stop;
    }
}

/// The lanes of a mask by a number each has, one call for each number.
pub(crate) fn by_number(numbers: &[u32; 32], mask: u32, mut visit: impl FnMut(u32, u32)) {
    let mut rest = mask;
    if rest == u32::MAX && numbers.iter().all(|&number| number == numbers[0]) {
        visit(numbers[0], mask);
        return;
    }
    while rest != 0 {
        let number = numbers[rest.trailing_zeros() as usize];
        let mut same = 0;
        for (lane, &other) in numbers.iter().enumerate() {
            same |= u32::from(other == number) << lane;
        }
        visit(number, same & rest);
        rest &= !same;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Touched = BTreeMap<u64, u32>;

    fn touched(addresses: &[u64; 32], mask: u32, size: u32) -> Touched {
        let mut bytes = Touched::new();
        each_line(addresses, mask, size, |line, print| {
            let mut lanes_seen = 0;
            for byte in super::super::record::bits(print.bytes) {
                *bytes.entry(line * LINE + u64::from(byte)).or_default() |= print.lanes.at(byte);
                lanes_seen |= print.lanes.at(byte);
            }
            assert_eq!(
                print.mask, lanes_seen,
                "the mask names exactly the lanes in it"
            );
        });
        bytes
    }

    #[test]
    fn lines_hold_exactly_the_bytes_that_the_lanes_touch() {
        let strides = [0u64, 1, 2, 4, 8, 12, 16, 32, 64, 128, 132, 4096];
        let masks = [
            !0,
            1,
            1 << 31,
            0xffff,
            0xffff_0000,
            0x00ff_ff00,
            0x5555_5555,
            0x8000_0001,
        ];
        for size in [1u32, 2, 4, 8, 16] {
            for stride in strides
                .into_iter()
                .filter(|stride| stride % u64::from(size) == 0)
            {
                for base in [0u64, 8, 16, 112, 1024] {
                    let addresses = std::array::from_fn(|lane| base + stride * lane as u64);
                    for mask in masks {
                        let mut expected = Touched::new();
                        for lane in lanes(mask) {
                            for byte in 0..u64::from(size) {
                                *expected.entry(addresses[lane as usize] + byte).or_default() |=
                                    1 << lane;
                            }
                        }
                        assert_eq!(
                            touched(&addresses, mask, size),
                            expected,
                            "{size} {stride} {base} {mask:#x}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_run_of_one_lane_covers_its_bytes_once() {
        for (from, bytes) in [(0, 0), (0, 1), (120, 16), (0, 128), (64, 4096), (5, 300)] {
            let mut at = from;
            each_line_of_run(3, from, bytes, |line, print| {
                assert_eq!(line, at / LINE);
                assert_eq!(print.bytes.trailing_zeros(), (at % LINE) as u32);
                assert_eq!(print.mask, 8);
                at += u64::from(print.bytes.count_ones());
            });
            assert_eq!(at, from + u64::from(bytes));
        }
    }

    #[test]
    fn numbers_split_a_mask_into_its_classes() {
        let numbers = std::array::from_fn(|lane| lane as u32 / 8 % 2);
        let mut seen = Vec::new();
        by_number(&numbers, 0x0fff_fff0, |number, lanes| {
            seen.push((number, lanes))
        });
        assert_eq!(seen, [(0, 0x00ff_00f0), (1, 0x0f00_ff00)]);
    }
}
