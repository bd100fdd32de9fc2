//! What makes a measurement doubtful, as values that are tested.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::stats::{Summary, median};

/// How much longer the first run may be than the median: what comes on top is loading, page tables and a clock that rises.
const FIRST_RUN: f64 = 1.5;

/// Change of the clock that is told, relative.
const CLOCK_CHANGE: f64 = 0.02;

/// Steps of the timer that a time must be, so that one step more or less is one percent.
const STEPS: f64 = 100.0;

/// Something that a reader of the number must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
pub enum Warning {
    /// The first run took much longer than the others.
    FirstRunSlow {
        /// Its time.
        first_ms: f64,
        /// The median of the timed ones.
        median_ms: f64,
    },
    /// Samples far from the median.
    Outliers {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
        /// The longest time.
        most_ms: f64,
    },
    /// The multiprocessors' clock was not the same before and after.
    ClockChanged {
        /// Before.
        from_mhz: u32,
        /// After.
        to_mhz: u32,
    },
    /// All that the rotation touches fits into the L2 cache.
    FitsInL2 {
        /// Bytes of all buffer sets.
        bytes: u64,
        /// The cache's size.
        l2_bytes: u64,
    },
    /// The time is so short that the timer's steps show.
    ShorterThanResolution {
        /// The median.
        median_ms: f64,
        /// One step of the timer.
        resolution_ms: f64,
    },
    /// The result was not compared, or is wrong.
    NotVerified,
    /// More bytes a second than the memory can move.
    FasterThanLimit {
        /// The rate.
        gigabytes_per_second: f64,
        /// The memory's rate by its data sheet.
        limit_gigabytes_per_second: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstRunSlow {
                first_ms,
                median_ms,
            } => write!(
                f,
                "first run slow: {first_ms:.4} ms against {median_ms:.4} ms; it is not counted"
            ),
            Self::Outliers { count, of, most_ms } => write!(
                f,
                "outliers: {count} of {of} samples, the longest {most_ms:.4} ms; is something else running?"
            ),
            Self::ClockChanged { from_mhz, to_mhz } => write!(
                f,
                "clock changed: {from_mhz} MHz before, {to_mhz} MHz after; take more warm-up or fix the clock"
            ),
            Self::FitsInL2 { bytes, l2_bytes } => write!(
                f,
                "fits in L2: {bytes} B of {l2_bytes} B; this is the cache's rate, take more elements"
            ),
            Self::ShorterThanResolution {
                median_ms,
                resolution_ms,
            } => write!(
                f,
                "short: {median_ms:.4} ms is less than {STEPS} steps of the timer ({resolution_ms} ms); take more elements"
            ),
            Self::NotVerified => f.write_str("not verified: the number means nothing"),
            Self::FasterThanLimit {
                gigabytes_per_second,
                limit_gigabytes_per_second,
            } => write!(
                f,
                "faster than the physical limit: {gigabytes_per_second:.0} GB/s of {limit_gigabytes_per_second:.0} GB/s; did you synchronise?"
            ),
        }
    }
}

/// What was seen of one configuration.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Times before the clock counts.
    pub warm_up_ms: &'a [f64],
    /// Times that count.
    pub samples_ms: &'a [f64],
    /// The clock before and after, where it can be read.
    pub clock_mhz: (Option<u32>, Option<u32>),
    /// Bytes that one run must move.
    pub bytes: u64,
    /// Bytes of all buffer sets together.
    pub rotation_bytes: u64,
    /// The L2 cache's size; 0 where it is not known.
    pub l2_bytes: u64,
    /// One step of the timer.
    pub resolution_ms: f64,
    /// Gigabytes a second by the data sheet, where it is known.
    pub limit: Option<f64>,
    /// Whether the result was compared and is right.
    pub verified: bool,
}

/// All that is doubtful, in the order of [`Warning`].
pub fn warnings(seen: &Seen<'_>) -> Vec<Warning> {
    let mut found = Vec::new();
    let Some(summary) = Summary::of(seen.samples_ms) else {
        return if seen.verified {
            found
        } else {
            vec![Warning::NotVerified]
        };
    };
    let middle = summary.median.value;
    if let Some(&first) = seen.warm_up_ms.first()
        && first > FIRST_RUN * middle
    {
        found.push(Warning::FirstRunSlow {
            first_ms: first,
            median_ms: middle,
        });
    }
    if summary.outliers > 0 {
        found.push(Warning::Outliers {
            count: summary.outliers,
            of: seen.samples_ms.len(),
            most_ms: summary.most,
        });
    }
    if let (Some(from), Some(to)) = seen.clock_mhz
        && f64::from(from.abs_diff(to)) > CLOCK_CHANGE * f64::from(from)
    {
        found.push(Warning::ClockChanged {
            from_mhz: from,
            to_mhz: to,
        });
    }
    let cached = seen.l2_bytes > 0 && seen.rotation_bytes <= seen.l2_bytes;
    if cached {
        found.push(Warning::FitsInL2 {
            bytes: seen.rotation_bytes,
            l2_bytes: seen.l2_bytes,
        });
    }
    if middle < STEPS * seen.resolution_ms {
        found.push(Warning::ShorterThanResolution {
            median_ms: middle,
            resolution_ms: seen.resolution_ms,
        });
    }
    if !seen.verified {
        found.push(Warning::NotVerified);
    }
    // What comes out of the cache may well be faster than memory.
    let rate = median(seen.samples_ms).map_or(0.0, |ms| seen.bytes as f64 / (ms * 1e6));
    if let Some(limit) = seen.limit
        && !cached
        && rate > limit
    {
        found.push(Warning::FasterThanLimit {
            gigabytes_per_second: rate,
            limit_gigabytes_per_second: limit,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: &[f64] = &[1.0, 1.01, 0.99, 1.0, 1.0, 1.0, 1.01, 0.99];

    /// A measurement with nothing to complain of: 4 GB in 1 ms of at most 4.8.
    fn good() -> Seen<'static> {
        Seen {
            warm_up_ms: &[1.4, 1.0, 1.0],
            samples_ms: STEADY,
            clock_mhz: (Some(1980), Some(1965)),
            bytes: 4_000_000_000,
            rotation_bytes: 8_000_000_000,
            l2_bytes: 60_000_000,
            resolution_ms: 0.0005,
            limit: Some(4800.0),
            verified: true,
        }
    }

    #[test]
    fn each_doubt_alone_gives_its_warning_alone() {
        let good = good();
        assert_eq!(warnings(&good), []);
        for (seen, expected) in [
            (
                Seen {
                    warm_up_ms: &[1.6, 1.0],
                    ..good
                },
                Warning::FirstRunSlow {
                    first_ms: 1.6,
                    median_ms: 1.0,
                },
            ),
            (
                Seen {
                    samples_ms: &[1.0, 1.01, 0.99, 1.0, 1.0, 1.0, 1.01, 3.0],
                    ..good
                },
                Warning::Outliers {
                    count: 1,
                    of: 8,
                    most_ms: 3.0,
                },
            ),
            (
                Seen {
                    clock_mhz: (Some(1980), Some(1900)),
                    ..good
                },
                Warning::ClockChanged {
                    from_mhz: 1980,
                    to_mhz: 1900,
                },
            ),
            (
                Seen {
                    rotation_bytes: 60_000_000,
                    ..good
                },
                Warning::FitsInL2 {
                    bytes: 60_000_000,
                    l2_bytes: 60_000_000,
                },
            ),
            (
                Seen {
                    resolution_ms: 0.011,
                    ..good
                },
                Warning::ShorterThanResolution {
                    median_ms: 1.0,
                    resolution_ms: 0.011,
                },
            ),
            (
                Seen {
                    verified: false,
                    ..good
                },
                Warning::NotVerified,
            ),
            (
                Seen {
                    bytes: 5_000_000_000,
                    ..good
                },
                Warning::FasterThanLimit {
                    gigabytes_per_second: 5000.0,
                    limit_gigabytes_per_second: 4800.0,
                },
            ),
        ] {
            assert_eq!(warnings(&seen), [expected]);
        }
    }

    #[test]
    fn what_is_not_known_warns_of_nothing() {
        let seen = Seen {
            warm_up_ms: &[],
            clock_mhz: (None, Some(1)),
            l2_bytes: 0,
            rotation_bytes: 0,
            limit: None,
            bytes: u64::MAX,
            ..good()
        };
        assert_eq!(warnings(&seen), []);
        let nothing = Seen {
            samples_ms: &[],
            verified: false,
            ..good()
        };
        assert_eq!(warnings(&nothing), [Warning::NotVerified]);
    }

    #[test]
    fn the_words() {
        for (warning, expected) in [
            (
                Warning::FirstRunSlow {
                    first_ms: 2.0,
                    median_ms: 1.0,
                },
                "first run slow: 2.0000 ms against 1.0000 ms; it is not counted",
            ),
            (
                Warning::FasterThanLimit {
                    gigabytes_per_second: 9000.0,
                    limit_gigabytes_per_second: 4800.0,
                },
                "faster than the physical limit: 9000 GB/s of 4800 GB/s; did you synchronise?",
            ),
            (
                Warning::ShorterThanResolution {
                    median_ms: 0.01,
                    resolution_ms: 0.0005,
                },
                "short: 0.0100 ms is less than 100 steps of the timer (0.0005 ms); take more elements",
            ),
        ] {
            assert_eq!(warning.to_string(), expected);
        }
    }
}
