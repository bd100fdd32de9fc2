//! One access as the shadow memory remembers it: which bytes of a 128-byte line, which lane touched which of them, and when.
//!
//! A warp that reads or writes consecutive elements leaves one record a line; irregular accesses leave a table.

use crate::event::{Pc, Scope};

use super::clock::Tick;
use super::copies::BatchId;
use super::quick::Prior;

/// Bytes of a line of shadow memory, a power of two.
pub(crate) const LINE: u64 = 128;

/// A set of bytes of one line; bit b is byte b.
pub(crate) type Bytes = u128;

/// The bytes `from..from + count` of a line.
#[inline]
pub(crate) fn span(from: u32, count: u32) -> Bytes {
    debug_assert!(u64::from(from + count) <= LINE, "a span stays in its line");
    if count == 0 {
        0
    } else {
        (Bytes::MAX >> (LINE as u32 - count)) << from
    }
}

/// Which lanes touched a byte of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Every byte was touched by all of these.
    All(u32),
    /// Byte b was touched by lane `first + (b >> shift)`.
    Affine { first: i8, shift: u8 },
    /// Word w (four bytes) was touched by these.
    Words(Box<[u32; 32]>),
    /// Byte b was touched by these.
    Each(Box<[u32; 128]>),
}

impl Lanes {
    /// The lanes that touched `byte`.
    #[inline]
    pub(crate) fn at(&self, byte: u32) -> u32 {
        match self {
            Self::All(lanes) => *lanes,
            Self::Affine { first, shift } => 1u32
                .checked_shl((i32::from(*first) + (byte >> shift) as i32) as u32)
                .unwrap_or(0),
            Self::Words(table) => table[byte as usize / 4],
            Self::Each(table) => table[byte as usize],
        }
    }
}

/// What a warp touched in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// Who touched which.
    pub(crate) lanes: Lanes,
    /// All lanes that touched any.
    pub(crate) mask: u32,
}

impl Footprint {
    /// `count` bytes from `from` by one lane.
    pub(crate) fn single(lane: u32, from: u32, count: u32) -> Self {
        Self {
            bytes: span(from, count),
            lanes: Lanes::All(1 << lane),
            mask: 1 << lane,
        }
    }

    /// `size` bytes at each of the lanes' offsets; `offsets` are positions in the line.
    pub(crate) fn gather(offsets: &[u8; 32], mask: u32, size: u32) -> Self {
        debug_assert!(mask != 0, "a footprint has lanes");
        if let Some(lanes) = Self::one_offset(offsets, mask) {
            let from = u32::from(offsets[mask.trailing_zeros() as usize]);
            return Self {
                bytes: span(from, size),
                lanes,
                mask,
            };
        }
        if let Some(lanes) = Self::affine(offsets, mask, size) {
            let bytes = self::lanes(mask).fold(0, |bytes, lane| {
                bytes | span(u32::from(offsets[lane as usize]), size)
            });
            return Self { bytes, lanes, mask };
        }
        let (lanes, bytes) = Self::table(offsets, mask, size);
        Self { bytes, lanes, mask }
    }

    fn one_offset(offsets: &[u8; 32], mask: u32) -> Option<Lanes> {
        let first = offsets[mask.trailing_zeros() as usize];
        lanes(mask)
            .all(|lane| offsets[lane as usize] == first)
            .then_some(Lanes::All(mask))
    }

    /// Lanes at a power-of-two stride, each inside a chunk of its own.
    fn affine(offsets: &[u8; 32], mask: u32, size: u32) -> Option<Lanes> {
        let a = mask.trailing_zeros();
        let b = (mask & (mask - 1)).trailing_zeros();
        let step = i32::from(offsets[b as usize]) - i32::from(offsets[a as usize]);
        if step <= 0 || !(step as u32).is_multiple_of(b - a) {
            return None;
        }
        let stride = step as u32 / (b - a);
        if !stride.is_power_of_two() {
            return None;
        }
        let shift = stride.trailing_zeros();
        let first = a as i32 - i32::from(offsets[a as usize] >> shift);
        lanes(mask)
            .all(|lane| {
                let offset = u32::from(offsets[lane as usize]);
                first + (offset >> shift) as i32 == lane as i32
                    && (offset & (stride - 1)) + size <= stride
            })
            .then_some(Lanes::Affine {
                first: first as i8,
                shift: shift as u8,
            })
    }

    fn table(offsets: &[u8; 32], mask: u32, size: u32) -> (Lanes, Bytes) {
        let crooked = lanes(mask).fold(size as u8, |all, lane| all | offsets[lane as usize]);
        if crooked % 4 == 0 {
            let mut table = Box::new([0u32; 32]);
            for lane in lanes(mask) {
                let from = u32::from(offsets[lane as usize]) / 4;
                for word in from..from + size / 4 {
                    table[word as usize % 32] |= 1 << lane;
                }
            }
            let bytes = table.iter().enumerate().fold(0, |bytes, (word, &lanes)| {
                bytes | (Bytes::from(lanes != 0) * 0xf) << (word * 4)
            });
            (Lanes::Words(table), bytes)
        } else {
            let mut table = Box::new([0u32; 128]);
            for lane in lanes(mask) {
                let from = u32::from(offsets[lane as usize]);
                for byte in from..from + size {
                    table[byte as usize % 128] |= 1 << lane;
                }
            }
            let bytes = table.iter().enumerate().fold(0, |bytes, (byte, &lanes)| {
                bytes | Bytes::from(lanes != 0) << byte
            });
            (Lanes::Each(table), bytes)
        }
    }

    /// Adds what the same warp touched at the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.lanes == other.lanes {
            // The same rule for lanes: only the bytes grow.
        } else if let (Lanes::Words(mine), Lanes::Words(theirs)) = (&mut self.lanes, &other.lanes) {
            for (mine, theirs) in mine.iter_mut().zip(theirs.iter()) {
                *mine |= theirs;
            }
        } else {
            let mut table = Box::new([0u32; 128]);
            for part in [&*self, other] {
                for byte in bits(part.bytes) {
                    table[byte as usize] |= part.lanes.at(byte);
                }
            }
            self.lanes = Self::narrowest(table);
        }
        self.bytes |= other.bytes;
        self.mask |= other.mask;
    }

    /// A word table where every word has one answer.
    fn narrowest(table: Box<[u32; 128]>) -> Lanes {
        if table
            .chunks_exact(4)
            .all(|word| word.iter().all(|&lanes| lanes == word[0]))
        {
            let mut words = Box::new([0u32; 32]);
            for (word, bytes) in words.iter_mut().zip(table.chunks_exact(4)) {
                *word = bytes[0];
            }
            Lanes::Words(words)
        } else {
            Lanes::Each(table)
        }
    }

    /// A byte that two lanes touched, with the two.
    pub(crate) fn shared_byte(&self) -> Option<(u32, u32, u32)> {
        match self.lanes {
            Lanes::Affine { .. } => return None,
            Lanes::All(lanes) if lanes.is_power_of_two() => return None,
            _ => {}
        }
        bits(self.bytes).find_map(|byte| {
            let lanes = self.lanes.at(byte);
            (lanes.count_ones() > 1).then(|| {
                (
                    byte,
                    lanes.trailing_zeros(),
                    (lanes & (lanes - 1)).trailing_zeros(),
                )
            })
        })
    }
}

/// Who made an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// The threads themselves.
    Thread,
    /// Asynchronous copies that they issued.
    Copy(BatchId),
}

/// How strong an access is; two strong accesses of the same bytes do not race where their scopes include each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strength {
    /// The scope of a strong access, `None` for a weak one.
    pub(crate) scope: Option<Scope>,
    /// Bytes a lane.
    pub(crate) size: u8,
}

/// An access to bytes of one line.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// What was touched by whom.
    pub(crate) print: Footprint,
    /// When: for copies, when they were issued.
    pub(crate) tick: Tick,
    /// The instruction.
    pub(crate) pc: Pc,
    /// How many times the warp had come to it.
    pub(crate) execution: u32,
    /// The warp.
    pub(crate) warp: u16,
    /// The threads or their copies.
    pub(crate) actor: Actor,
    /// Strong or weak.
    pub(crate) strength: Strength,
    /// Whether it is a read-modify-write.
    pub(crate) atomic: bool,
    /// For writes: what was there before.
    pub(crate) prior: Prior,
}

/// The lanes of a mask, lowest first.
#[inline]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            lane
        })
    })
}

/// The bytes of a set, lowest first.
#[inline]
pub(crate) fn bits(bytes: Bytes) -> impl Iterator<Item = u32> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let byte = rest.trailing_zeros();
            rest &= rest - 1;
            byte
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(offsets: &[u8; 32], mask: u32, size: u32) -> [u32; 128] {
        let mut table = [0; 128];
        for lane in lanes(mask) {
            for byte in 0..size {
                table[usize::from(offsets[lane as usize]) + byte as usize] |= 1 << lane;
            }
        }
        table
    }

    fn spelled(print: &Footprint) -> [u32; 128] {
        let mut table = [0; 128];
        for byte in bits(print.bytes) {
            table[byte as usize] = print.lanes.at(byte);
        }
        table
    }

    /// Offsets by lane, mask, size, and whether the compact form is expected.
    fn shapes() -> Vec<([u8; 32], u32, u32, bool)> {
        let by = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32) as u8);
        vec![
            (by(&|l| l * 4), !0, 4, true),
            (by(&|l| l * 4 % 128), 0xffff, 4, true),
            (by(&|l| l * 16 % 128), 0xff, 16, true),
            (by(&|l| l * 16 % 128), 0xff00, 16, true),
            (by(&|l| 20 + l * 4 % 100), 0x7f_ffe0, 4, true),
            (by(&|l| l * 8 % 128), 0xf, 4, true),
            (by(&|l| l), !0, 1, true),
            (by(&|_| 64), !0, 4, true),
            (by(&|_| 3), 1 << 17, 1, true),
            (by(&|l| (l % 16) * 4), !0, 4, false),
            (by(&|l| (l / 16) * 64), !0, 4, false),
            (by(&|l| 124 - l % 32 * 4), !0, 4, false),
            (by(&|l| l * 3 % 128), !0, 2, false),
            (by(&|l| l / 2 * 2), !0, 2, false),
        ]
    }

    #[test]
    fn every_footprint_says_which_lane_touched_which_byte() {
        for (offsets, mask, size, compact) in shapes() {
            let print = Footprint::gather(&offsets, mask, size);
            assert_eq!(
                spelled(&print),
                by_hand(&offsets, mask, size),
                "{offsets:?} {mask:#x}"
            );
            let is_compact = matches!(print.lanes, Lanes::All(_) | Lanes::Affine { .. });
            assert_eq!(
                is_compact, compact,
                "{offsets:?} {mask:#x} {size}: {:?}",
                print.lanes
            );
        }
    }

    #[test]
    fn merging_footprints_is_their_union() {
        let shapes = shapes();
        for (offsets, mask, size, _) in &shapes {
            for (others, other_mask, other_size, _) in &shapes {
                let mut merged = Footprint::gather(offsets, *mask, *size);
                merged.merge(&Footprint::gather(others, *other_mask, *other_size));
                let mut expected = by_hand(offsets, *mask, *size);
                for (lanes, more) in
                    expected
                        .iter_mut()
                        .zip(by_hand(others, *other_mask, *other_size))
                {
                    *lanes |= more;
                }
                assert_eq!(spelled(&merged), expected);
                assert_eq!(merged.mask, mask | other_mask);
            }
        }
    }

    #[test]
    fn spans_fill_and_stay_in_the_line() {
        assert_eq!(span(0, 0), 0);
        assert_eq!(span(0, 128), Bytes::MAX);
        assert_eq!(span(124, 4), 0xf << 124);
        assert_eq!(span(3, 1), 8);
    }
}
