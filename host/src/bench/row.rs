//! What follows from a raw measurement: rates, ratios with their intervals, doubts. Computed anew from the raw samples wherever it is needed.

use serde::{Deserialize, Serialize};

use super::raw::{How, Raw, Spec};
use super::stats::{Estimate, Summary, paired_ratio};
use super::warning::{Seen, Warning, warnings};
use crate::device::hardware::Hardware;

/// One line of results; the fields are those of the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The configuration.
    #[serde(flatten)]
    pub spec: Spec,
    /// Whether the result is right.
    pub verified: bool,
    /// How that was found.
    pub verified_by: Option<How>,
    /// Largest error, where every element was compared.
    pub max_abs_error: Option<f64>,
    /// What is wrong or could not be done.
    pub trouble: Option<String>,
    /// Median time.
    pub median_ms: Option<f64>,
    /// The samples in a few numbers.
    pub time_ms: Option<Summary>,
    /// Bytes that must move over the median time.
    pub gigabytes_per_second: Option<f64>,
    /// The same with its interval.
    pub rate: Option<Estimate>,
    /// Over the memory's rate by its data sheet.
    pub of_data_sheet: Option<Estimate>,
    /// The copy in the same rounds.
    pub copy_gigabytes_per_second: Option<f64>,
    /// Over the copy, round by round.
    pub of_copy: Option<Estimate>,
    /// What else it is compared with.
    pub reference: Option<String>,
    /// Over the reference, round by round.
    pub of_reference: Option<Estimate>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
    /// Times that count.
    pub samples_ms: Vec<f64>,
    /// Times before, the verified run first.
    pub warm_up_ms: Vec<f64>,
}

/// Bytes over milliseconds, in gigabytes a second.
fn rate(bytes: u64, milliseconds: f64) -> f64 {
    bytes as f64 / (milliseconds * 1e6)
}

impl Row {
    /// Concludes from what was measured on this hardware.
    pub fn of(raw: &Raw, hardware: &Hardware) -> Self {
        let bytes = raw.spec.bytes;
        let limit = hardware.memory_gigabytes_per_second;
        let summary = Summary::of(&raw.samples_ms);
        let own_rate = summary.map(|summary| summary.median.over(bytes as f64 / 1e6));
        let copy = Estimate::median_of(&raw.copy_ms);
        // Rates, not times: what is compared may move other amounts.
        let against = |other_ms: &[f64], other_bytes: u64| {
            let ratio = paired_ratio(other_ms, &raw.samples_ms)?;
            let scale = bytes as f64 / other_bytes as f64;
            (other_bytes > 0).then_some(Estimate {
                value: ratio.value * scale,
                low: ratio.low * scale,
                high: ratio.high * scale,
            })
        };
        Self {
            spec: raw.spec.clone(),
            verified: raw.verified.is_some(),
            verified_by: raw.verified,
            max_abs_error: raw.max_abs_error,
            trouble: raw.trouble.clone(),
            median_ms: summary.map(|summary| summary.median.value),
            time_ms: summary,
            gigabytes_per_second: own_rate.map(|rate| rate.value),
            rate: own_rate,
            of_data_sheet: own_rate.zip(limit).map(|(rate, limit)| Estimate {
                value: rate.value / limit,
                low: rate.low / limit,
                high: rate.high / limit,
            }),
            copy_gigabytes_per_second: copy.map(|copy| rate(raw.copy_bytes, copy.value)),
            of_copy: against(&raw.copy_ms, raw.copy_bytes),
            reference: raw.reference.clone(),
            of_reference: against(&raw.reference_ms, raw.reference_bytes),
            warnings: warnings(&Seen {
                warm_up_ms: &raw.warm_up_ms,
                samples_ms: &raw.samples_ms,
                clock_mhz: raw.clock_mhz,
                bytes,
                rotation_bytes: raw.rotation_bytes,
                l2_bytes: hardware.l2_bytes,
                resolution_ms: raw.resolution_ms,
                limit,
                verified: raw.verified.is_some(),
            }),
            samples_ms: raw.samples_ms.clone(),
            warm_up_ms: raw.warm_up_ms.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_ratios_are_exact() {
        // 4 GB in 2 ms are 2000 GB/s; the copy moves 8 GB in 2 ms, the reference 1 GB in 2 ms.
        let raw = Raw {
            spec: Spec {
                bytes: 4_000_000_000,
                ..Spec::default()
            },
            verified: Some(How::Bits),
            samples_ms: vec![2.0; 20],
            copy_ms: vec![2.0; 20],
            copy_bytes: 8_000_000_000,
            reference: Some("other".to_owned()),
            reference_ms: vec![2.0; 20],
            reference_bytes: 1_000_000_000,
            rotation_bytes: 8_000_000_000,
            ..Raw::default()
        };
        let hardware = Hardware {
            memory_gigabytes_per_second: Some(8000.0),
            ..Hardware::of_capability(90)
        };
        let row = Row::of(&raw, &hardware);
        assert_eq!(row.median_ms, Some(2.0));
        assert_eq!(row.gigabytes_per_second, Some(2000.0));
        assert_eq!(row.copy_gigabytes_per_second, Some(4000.0));
        let value = |estimate: Option<Estimate>| estimate.map(|e| (e.value, e.error()));
        assert_eq!(value(row.of_copy), Some((0.5, 0.0)));
        assert_eq!(value(row.of_reference), Some((4.0, 0.0)));
        assert_eq!(value(row.of_data_sheet), Some((0.25, 0.0)));
        assert_eq!(row.warnings, []);
    }

    #[test]
    fn what_was_not_timed_has_no_numbers() {
        let raw = Raw {
            trouble: Some("wrong".to_owned()),
            ..Raw::default()
        };
        let row = Row::of(&raw, &Hardware::of_capability(90));
        assert_eq!(row.warnings, [Warning::NotVerified]);
        assert!(row.median_ms.is_none() && row.of_copy.is_none() && !row.verified);
    }
}
