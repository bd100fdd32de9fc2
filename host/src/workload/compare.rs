//! Every element of an output against its reference, and what the wrong ones have in common.

use std::fmt;

use rayon::prelude::*;

use crate::device::POISON;

/// Elements that one task compares.
const CHUNK: usize = 1 << 16;

/// What an element should be, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The reference, computed in `f64`.
    pub value: f64,
    /// The largest error that the kernel's arithmetic can make; infinite where it may overflow on the way, so that nothing can be said.
    pub bound: f64,
}

/// Where an element is made: which tile of which block, in which stage, by which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Tile of the output, in order.
    pub tile: u64,
    /// Block that makes the tile.
    pub block: u64,
    /// Stage that holds the tile; `None` for a kernel without stages.
    pub stage: Option<u32>,
    /// Thread of the block; `None` where no single thread makes the element.
    pub thread: Option<u32>,
}

/// How a kernel divides its output.
pub trait Layout: Sync {
    /// Elements of each whole tile.
    fn tile_elements(&self) -> usize;
    /// Where element `index` is made.
    fn place(&self, index: usize) -> Place;
    /// Elements that tile `tile` has; fewer than [`tile_elements`](Self::tile_elements) for a ragged one.
    fn elements_of(&self, tile: u64) -> usize;
    /// Tiles.
    fn tiles(&self) -> u64;
    /// Blocks of the grid.
    fn blocks(&self) -> u64;
    /// Depth of the ring; 0 without one.
    fn stages(&self) -> u32;
    /// Whether some block went through more than one stage, so that a stage can be told from the others.
    fn several_stages(&self) -> bool {
        self.stages() > 1 && self.tiles() > self.blocks()
    }
    /// What an element is, for messages.
    fn elements_are(&self) -> &'static str {
        "elements"
    }
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Largest |got − reference| over elements where both are finite.
    pub max_abs_error: f64,
    /// Largest |got − reference| / |reference| over elements where both are finite and the reference is not zero.
    pub max_rel_error: f64,
    /// Set when at least one element is wrong.
    pub mismatch: Option<Mismatch>,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Wrong elements.
    pub count: usize,
    /// Elements compared.
    pub of: usize,
    /// What an element is.
    pub elements_are: &'static str,
    /// The first wrong one.
    pub index: usize,
    /// What it is.
    pub got: f32,
    /// What it should be.
    pub expected: Expected,
    /// Where it was made.
    pub place: Place,
    /// Depth of the ring; 0 without one.
    pub stages: u32,
    /// What the wrong elements have in common.
    pub pattern: Pattern,
}

/// What the wrong elements have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// All elements are wrong.
    pub everything: bool,
    /// Tiles are wrong as a whole or not at all.
    pub whole_tiles: bool,
    /// Only tiles that were in this stage are wrong, although others ran.
    pub stage: Option<u32>,
    /// Only tiles of this block are wrong, although others ran.
    pub block: Option<u64>,
    /// Only elements of this thread of each block are wrong, although others ran.
    pub thread: Option<u32>,
    /// Only tiles that are not whole, at the end of the data, are wrong.
    pub tail: bool,
    /// The wrong elements still hold the poison: nobody wrote them.
    pub unwritten: bool,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts = Vec::new();
        if self.everything {
            facts.push("every element".to_owned());
        } else if self.tail {
            facts.push("only ragged tiles (tail)".to_owned());
        } else if self.whole_tiles {
            facts.push("whole tiles".to_owned());
        }
        if let Some(stage) = self.stage {
            facts.push(format!("all in stage {stage}"));
        }
        if let Some(block) = self.block {
            facts.push(format!("all in block {block}"));
        }
        if let Some(thread) = self.thread {
            facts.push(format!("all of thread {thread}"));
        }
        if facts.is_empty() {
            facts.push("scattered".to_owned());
        }
        if self.unwritten {
            facts.push("never written".to_owned());
        }
        f.write_str(&facts.join(", "))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            of,
            elements_are,
            index,
            got,
            expected,
            place,
            stages,
            pattern,
        } = self;
        write!(
            f,
            "{count} of {of} {elements_are} wrong; first at index {index}: got {got:e}, expected {:.8e} ± {:.1e}; tile {}, block {}",
            expected.value, expected.bound, place.tile, place.block
        )?;
        if let Some(stage) = place.stage {
            write!(f, ", stage {stage} of {stages}")?;
        }
        if let Some(thread) = place.thread {
            write!(f, ", thread {thread}")?;
        }
        write!(f, "; pattern: {pattern}")
    }
}

/// The smallest magnitude that rounds to an infinite `f32`: halfway between the largest one and 2¹²⁸.
pub const OVERFLOW: f64 = f32::MAX as f64 + (1_u128 << 103) as f64;

/// Whether `got` is what was expected: within the bound, the same infinity, or NaN for NaN.
pub fn matches(got: f32, expected: Expected) -> bool {
    let Expected { value, bound } = expected;
    if bound == f64::INFINITY {
        return true;
    }
    if value.is_nan() || got.is_nan() {
        return value.is_nan() && got.is_nan();
    }
    if value.is_infinite() {
        return f64::from(got) == value;
    }
    if got.is_infinite() {
        return value.abs() + bound >= OVERFLOW
            && value.is_sign_negative() == got.is_sign_negative();
    }
    (f64::from(got) - value).abs() <= bound
}

/// Compares every element.
pub fn compare(
    got: &[f32],
    expected: &(impl Fn(usize) -> Expected + Sync),
    layout: &dyn Layout,
) -> Comparison {
    let summary = got
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, values)| summarise(values, chunk * CHUNK, expected))
        .reduce(Summary::default, Summary::join);
    let mismatch = summary.first.map(|index| Mismatch {
        count: summary.wrong,
        of: got.len(),
        elements_are: layout.elements_are(),
        index,
        got: got[index],
        expected: expected(index),
        place: layout.place(index),
        stages: layout.stages(),
        pattern: pattern(got, expected, layout, summary.wrong),
    });
    Comparison {
        max_abs_error: summary.max_abs,
        max_rel_error: summary.max_rel,
        mismatch,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    wrong: usize,
    first: Option<usize>,
    max_abs: f64,
    max_rel: f64,
}

impl Summary {
    fn join(self, other: Self) -> Self {
        Self {
            wrong: self.wrong + other.wrong,
            first: match (self.first, other.first) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            max_abs: self.max_abs.max(other.max_abs),
            max_rel: self.max_rel.max(other.max_rel),
        }
    }
}

fn summarise(values: &[f32], start: usize, expected: &impl Fn(usize) -> Expected) -> Summary {
    let mut summary = Summary::default();
    for (offset, &got) in values.iter().enumerate() {
        let expected = expected(start + offset);
        let error = (f64::from(got) - expected.value).abs();
        if error.is_finite() {
            summary.max_abs = summary.max_abs.max(error);
            if expected.value != 0.0 {
                summary.max_rel = summary.max_rel.max(error / expected.value.abs());
            }
        }
        if !matches(got, expected) {
            summary.wrong += 1;
            summary.first.get_or_insert(start + offset);
        }
    }
    summary
}

/// One value as long as every one seen is the same.
#[derive(Clone, Copy)]
enum Common<T> {
    Nothing,
    One(T),
    Several,
}

impl<T: PartialEq + Copy> Common<T> {
    fn add(&mut self, value: Option<T>) {
        *self = match (&*self, value) {
            (Self::Nothing, Some(value)) => Self::One(value),
            (Self::One(seen), Some(value)) if *seen == value => Self::One(value),
            _ => Self::Several,
        };
    }

    fn one(self) -> Option<T> {
        match self {
            Self::One(value) => Some(value),
            _ => None,
        }
    }
}

/// Looks again at the wrong elements, this time for what they share; only a failure pays for it.
fn pattern(
    got: &[f32],
    expected: &impl Fn(usize) -> Expected,
    layout: &dyn Layout,
    wrong: usize,
) -> Pattern {
    let mut wrong_of_tile = vec![0_usize; usize::try_from(layout.tiles()).unwrap_or(0)];
    let (mut stage, mut block, mut thread) = (Common::Nothing, Common::Nothing, Common::Nothing);
    let mut unwritten = true;
    let poison = f32::from_le_bytes([POISON; 4]).to_bits();
    for (index, &value) in got.iter().enumerate() {
        if matches(value, expected(index)) {
            continue;
        }
        let place = layout.place(index);
        if let Some(count) = wrong_of_tile.get_mut(place.tile as usize) {
            *count += 1;
        }
        stage.add(place.stage);
        block.add(Some(place.block));
        thread.add(place.thread);
        unwritten &= value.to_bits() == poison;
    }
    let ragged = |tile| layout.elements_of(tile) < layout.tile_elements();
    let wrong_tiles = || {
        let tiles = wrong_of_tile.iter().zip(0_u64..);
        tiles.filter(|&(&count, _)| count > 0)
    };
    Pattern {
        everything: wrong == got.len(),
        whole_tiles: wrong_tiles().all(|(&count, tile)| count == layout.elements_of(tile)),
        stage: stage.one().filter(|_| layout.several_stages()),
        block: block.one().filter(|_| layout.blocks() > 1),
        thread: thread.one().filter(|_| wrong > 1),
        tail: wrong < got.len() && wrong_tiles().all(|(_, tile)| ragged(tile)),
        unwritten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tiles of eight elements, dealt to two blocks in turn, three stages, two elements a thread.
    struct Dealt(usize);

    impl Layout for Dealt {
        fn tile_elements(&self) -> usize {
            8
        }
        fn place(&self, index: usize) -> Place {
            let tile = (index / 8) as u64;
            Place {
                tile,
                block: tile % 2,
                stage: Some((tile / 2 % 3) as u32),
                thread: Some((index % 8 / 2) as u32),
            }
        }
        fn elements_of(&self, tile: u64) -> usize {
            8.min(self.0 - tile as usize * 8)
        }
        fn tiles(&self) -> u64 {
            self.0.div_ceil(8) as u64
        }
        fn blocks(&self) -> u64 {
            2
        }
        fn stages(&self) -> u32 {
            3
        }
    }

    fn exactly(value: f64) -> Expected {
        Expected { value, bound: 0.0 }
    }

    #[test]
    fn patterns_are_recognised() {
        const N: usize = 101;
        type Wrong = fn(usize) -> bool;
        let cases: &[(Wrong, &str)] = &[
            (|_| true, "every element"),
            (
                |i| i / 8 == 4,
                "whole tiles, all in stage 2, all in block 0",
            ),
            (|i| i / 16 % 3 == 1, "whole tiles, all in stage 1"),
            (
                |i| i >= 96,
                "only ragged tiles (tail), all in stage 0, all in block 0",
            ),
            (
                |i| i == 98,
                "only ragged tiles (tail), all in stage 0, all in block 0",
            ),
            (|i| i % 8 == 5, "all of thread 2"),
            (|i| i / 8 % 2 == 1, "whole tiles, all in block 1"),
            (|i| matches!(i, 3 | 24 | 55), "scattered"),
        ];
        for (wrong, expected) in cases {
            let got: Vec<f32> = (0..N)
                .map(|i| i as f32 + if wrong(i) { 0.5 } else { 0.0 })
                .collect();
            let comparison = compare(&got, &|i| exactly(i as f64), &Dealt(N));
            let mismatch = comparison.mismatch.expect("some element is wrong");
            assert_eq!(mismatch.pattern.to_string(), *expected);
            assert_eq!(
                mismatch.index,
                (0..N).find(|&i| wrong(i)).unwrap(),
                "{expected}"
            );
            assert_eq!(comparison.max_abs_error, 0.5);
        }
    }

    #[test]
    fn poison_that_is_left_was_never_written() {
        let mut got = vec![1.0; 32];
        got[8..16].fill(f32::from_le_bytes([POISON; 4]));
        let mismatch = compare(&got, &|_| exactly(1.0), &Dealt(32))
            .mismatch
            .unwrap();
        let text = mismatch.to_string();
        assert!(
            text.starts_with("8 of 32 elements wrong; first at index 8: got -2.87"),
            "{text}"
        );
        assert!(
            text.ends_with("tile 1, block 1, stage 0 of 3, thread 0; pattern: whole tiles, all in stage 0, all in block 1, never written"),
            "{text}"
        );
    }

    #[test]
    fn special_values_compare_as_such() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        for (got, value, bound, expected) in [
            (nan, f64::NAN, 0.0, true),
            (1.0, f64::NAN, 1e9, false),
            (nan, 1.0, 1e9, false),
            (inf, f64::INFINITY, 0.0, true),
            (-inf, f64::INFINITY, 0.0, false),
            (f32::MAX, f64::INFINITY, 1e300, false),
            (nan, 1.0, f64::INFINITY, true),
            (inf, 1e39, 0.0, true),
            (-inf, 1e39, 0.0, false),
            (inf, f64::from(f32::MAX), 0.0, false),
            (inf, f64::from(f32::MAX), 1e32, true),
            (-0.0, 0.0, 0.0, true),
            (1.0, 1.1, 0.2, true),
            (1.0, 1.1, 0.05, false),
        ] {
            assert_eq!(
                matches(got, Expected { value, bound }),
                expected,
                "{got} for {value} ± {bound}"
            );
        }
    }

    #[test]
    fn nothing_compares_equal_to_nothing() {
        assert_eq!(
            compare(&[], &|_| exactly(0.0), &Dealt(0)),
            Comparison::default()
        );
    }
}
