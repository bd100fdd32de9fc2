//! What samples say: the middle, the spread, and how far the middle can be trusted.
//!
//! Times of a kernel are skewed and have outliers, so everything here is by rank.
//! The interval of a median is distribution-free: of `n` samples in order, the k-th smallest and the k-th largest enclose the true median
//! unless fewer than k samples fell on one side of it, which a binomial distribution with p = 1/2 gives the chance of
//! (David and Nagaraja, *Order Statistics*, 3rd edition, section 7.1).

use serde::{Deserialize, Serialize};

/// How sure an interval is.
const CONFIDENCE: f64 = 0.95;

/// The factor that makes a median of deviations a standard deviation where the samples are normal.
const MAD_TO_SIGMA: f64 = 1.4826;

/// A sample this many (robust) standard deviations off the median is an outlier.
const OUTLIER: f64 = 5.0;

/// Spread below which nothing is an outlier, relative to the median: a timer that reads the same number again and again has no spread at all.
const LEAST_SPREAD: f64 = 0.002;

/// A number and the interval that holds the true one with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// The median of samples with its interval; `None` without samples.
    ///
    /// Below six samples no interval reaches 95 %; then it is the whole range.
    pub fn median_of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let (&first, &last) = (sorted.first()?, sorted.last()?);
        let rank = interval_rank(sorted.len());
        let (low, high) = match rank {
            Some(rank) => (sorted[rank - 1], sorted[sorted.len() - rank]),
            None => (first, last),
        };
        Some(Self {
            value: quantile(&sorted, 0.5),
            low,
            high,
        })
    }

    /// The estimate of `numerator / x` for a positive `x`.
    pub fn over(&self, numerator: f64) -> Self {
        Self {
            value: numerator / self.value,
            low: numerator / self.high,
            high: numerator / self.low,
        }
    }

    /// Half the interval's width.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether the two intervals have nothing in common.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.low > other.high || other.low > self.high
    }
}

/// Ratios of samples taken in the same rounds: the drift that both saw cancels.
///
/// Both lists have one sample a round; the shorter one ends the list.
pub fn paired_ratio(numerators: &[f64], denominators: &[f64]) -> Option<Estimate> {
    let ratios: Vec<f64> = numerators
        .iter()
        .zip(denominators)
        .map(|(a, b)| a / b)
        .collect();
    Estimate::median_of(&ratios)
}

/// The rank of the interval's lower end, counted from one; `None` where the samples are too few.
fn interval_rank(samples: usize) -> Option<usize> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // The chance of at most `k` of `n` on one side, added up from k = 0.
    let mut term = 0.5_f64.powi(samples as i32);
    let mut below = 0.0;
    let mut rank = 0;
    while rank < samples {
        below += term;
        if below > tail {
            break;
        }
        term *= (samples - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The value below which the part `q` of the sorted samples lies, linear between two of them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * at.fract()
}

/// The middle one, or the mean of the two in the middle.
pub fn median(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| quantile(&sorted(samples), 0.5))
}

/// A sample list in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The median with its interval.
    pub median: Estimate,
    /// The smallest sample.
    pub least: f64,
    /// The largest sample.
    pub most: f64,
    /// The middle half's width over the median.
    pub spread: f64,
    /// Samples far from the median.
    pub outliers: usize,
}

impl Summary {
    /// Of samples; `None` without any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let median = Estimate::median_of(samples)?;
        let middle = median.value;
        let deviations: Vec<f64> = samples
            .iter()
            .map(|sample| (sample - middle).abs())
            .collect();
        let sigma = MAD_TO_SIGMA * quantile(&self::sorted(&deviations), 0.5);
        let allowed = OUTLIER * sigma.max(LEAST_SPREAD * middle);
        Some(Self {
            median,
            least: sorted[0],
            most: sorted[sorted.len() - 1],
            spread: (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / middle,
            outliers: deviations
                .iter()
                .filter(|&&deviation| deviation > allowed)
                .count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_sign_test() {
        // Tables of the two-sided sign test at 5 %.
        for (samples, expected) in [
            (1, None),
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (12, Some(3)),
            (20, Some(6)),
            (21, Some(6)),
            (25, Some(8)),
            (50, Some(18)),
            (100, Some(40)),
        ] {
            assert_eq!(interval_rank(samples), expected, "{samples}");
        }
    }

    #[test]
    fn medians_and_their_intervals() {
        let twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        for (samples, expected) in [
            (vec![], None),
            (vec![3.0], Some((3.0, 3.0, 3.0))),
            (vec![3.0, 1.0], Some((2.0, 1.0, 3.0))),
            (vec![9.0, 1.0, 2.0], Some((2.0, 1.0, 9.0))),
            (twenty, Some((10.5, 6.0, 15.0))),
        ] {
            let got = Estimate::median_of(&samples).map(|e| (e.value, e.low, e.high));
            assert_eq!(got, expected, "{samples:?}");
        }
    }

    #[test]
    fn a_rate_turns_the_interval_around() {
        let time = Estimate {
            value: 2.0,
            low: 1.0,
            high: 4.0,
        };
        let rate = time.over(8.0);
        assert_eq!((rate.value, rate.low, rate.high), (4.0, 2.0, 8.0));
        assert_eq!(rate.error(), 3.0);
    }

    #[test]
    fn drift_that_both_see_cancels_in_the_ratio() {
        let drift = [1.0, 1.5, 3.0, 2.0, 1.1, 1.7, 9.0];
        let a: Vec<f64> = drift.iter().map(|d| 3.0 * d).collect();
        let ratio = paired_ratio(&a, &drift).unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-12 && ratio.error() < 1e-12);
        assert_eq!(paired_ratio(&[], &drift), None);
    }

    #[test]
    fn outliers_are_far_from_the_rest() {
        let mut samples = vec![1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.0, 1.01, 0.99];
        assert_eq!(Summary::of(&samples).unwrap().outliers, 0);
        samples.push(1.5);
        samples.push(0.1);
        let summary = Summary::of(&samples).unwrap();
        assert_eq!(
            (summary.outliers, summary.least, summary.most),
            (2, 0.1, 1.5)
        );
        // A timer without any spread: what differs by less than its steps is none.
        let summary = Summary::of(&[2.0, 2.0, 2.0, 2.0, 2.01]).unwrap();
        assert_eq!((summary.outliers, summary.spread), (0, 0.0));
    }
}
