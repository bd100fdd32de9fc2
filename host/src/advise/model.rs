//! How fast a configuration can be, from nothing but its shape and the device's data sheet.
//!
//! **Bytes in flight** (Little's law). A rate of B bytes a second over a latency of L seconds needs B · L bytes on the way at once
//! (J. D. C. Little, *A Proof for the Queuing Formula L = λW*, Operations Research 9, 1961; for GPUs V. Volkov, *Better Performance at Lower Occupancy*, GTC 2010).
//! Divided by the multiprocessors it says what each must keep on the way: [`needed_in_flight`].
//!
//! **Latency.** [`LATENCY_NS`] is what an idle H200 shows: the traffic of few bytes in flight divided by their number; other devices of the last three generations are near it.
//!
//! **Ceiling.** Memory turns around between reading and writing, so what can be reached falls with the share of writes.
//! Published measurements on A100, H100 and H200 give 0.95 to 0.97 of the data sheet for reading alone and 0.84 to 0.90 for as many writes as reads; [`ceiling`] is the line through 0.96 and 0.89.
//!
//! **Approach.** With few bytes on the way the rate is in flight over latency, with many it is the ceiling, and between the two requests queue.
//! [`rate`] joins both as 1/r² = 1/ceiling² + 1/linear²; the exponent is a fit of ours to measured curves of an H200, not a law, and `nstage sweep` reports how far it is off.

use crate::bench::raw::Spec;
use crate::device::hardware::Hardware;

/// The latency of a read that meets no other, in nanoseconds.
pub const LATENCY_NS: f64 = 640.0;

/// Of the data sheet's rate, what reading alone reaches, and what each unit of written share takes off.
const READING: f64 = 0.96;
const PER_WRITTEN_SHARE: f64 = 0.14;

/// Registers of a thread where nothing is known: what a kernel with full occupancy may have.
pub const REGISTERS: u32 = 32;

/// The part of the traffic that is read.
pub fn read_share(spec: &Spec) -> f64 {
    if spec.bytes == 0 {
        return 1.0;
    }
    (spec.read_bytes as f64 / spec.bytes as f64).clamp(0.01, 1.0)
}

/// Gigabytes a second that memory gives to this mix of reads and writes; `None` where the data sheet is not known.
pub fn ceiling(hardware: &Hardware, read_share: f64) -> Option<f64> {
    let sheet = hardware.memory_gigabytes_per_second?;
    Some(sheet * (READING - PER_WRITTEN_SHARE * (1.0 - read_share)))
}

/// Bytes that each multiprocessor must have on the way for a rate of `read` gigabytes a second.
pub fn needed_in_flight(hardware: &Hardware, read: f64) -> f64 {
    // Gigabytes a second times nanoseconds are bytes.
    read * LATENCY_NS / f64::from(hardware.multiprocessors.max(1))
}

/// Gigabytes a second, read plus written, of a configuration below a ceiling.
pub fn rate(hardware: &Hardware, spec: &Spec, ceiling: f64) -> f64 {
    let in_flight = spec.in_flight_per_sm as f64 * f64::from(hardware.multiprocessors);
    let linear = in_flight / LATENCY_NS / read_share(spec);
    if linear <= 0.0 || ceiling <= 0.0 {
        return 0.0;
    }
    (ceiling.powi(-2) + linear.powi(-2)).powf(-0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(in_flight_per_sm: u64) -> Spec {
        Spec {
            in_flight_per_sm,
            bytes: 8,
            read_bytes: 4,
            ..Spec::default()
        }
    }

    #[test]
    fn the_needed_bytes_are_littles_law() {
        let h200 = Hardware::of_product("h200").unwrap();
        // 4.8 TB/s over 640 ns are 3.07 MB, shared by 132.
        let needed = needed_in_flight(&h200, 4800.0);
        assert!((needed - 23_272.7).abs() < 0.1, "{needed}");
    }

    #[test]
    fn the_ceiling_falls_with_the_writes() {
        let h200 = Hardware::of_product("h200").unwrap();
        for (share, expected) in [(1.0, 4608.0), (0.5, 4272.0)] {
            let found = ceiling(&h200, share).unwrap();
            assert!((found - expected).abs() < 1e-6, "{share}: {found}");
        }
        assert_eq!(ceiling(&Hardware::of_capability(90), 1.0), None);
    }

    /// Measured on an H200: y = 2x by a ring of two barriers an iteration, one block of 128 threads for each multiprocessor, so 2 KiB a stage.
    #[test]
    fn the_model_meets_measured_rates_of_few_bytes_in_flight() {
        let h200 = Hardware::of_product("h200").unwrap();
        for (stages, measured) in [(2, 1606.0), (4, 2496.0), (8, 3328.0)] {
            let modelled = rate(&h200, &spec(stages * 2048), 4272.0);
            let error = (modelled / measured - 1.0).abs();
            assert!(error < 0.1, "{stages}: {modelled} against {measured}");
        }
    }

    #[test]
    fn more_in_flight_is_never_slower_and_never_over_the_ceiling() {
        let h200 = Hardware::of_product("h200").unwrap();
        let mut last = 0.0;
        for kibibytes in 0..200 {
            let found = rate(&h200, &spec(kibibytes << 10), 4272.0);
            assert!(found >= last && found < 4272.0);
            last = found;
        }
        assert!(last > 4200.0);
    }
}
