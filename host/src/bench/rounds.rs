//! The protocol: warm up, then rounds in which everything is timed once.
//!
//! All things that are to be compared take turns, the copy that is the ceiling among them, so that a drift of clock or temperature meets them alike.
//! Each round begins one further on, so that nothing always runs after the same neighbour,
//! and each run, whosever it is, takes the next of the buffer sets, so that no run finds its data in the cache.

use super::work::{Timer, Work};
use crate::device::DeviceError;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Runs of each before its time counts.
    pub warm_up: usize,
    /// Runs of each whose time counts.
    pub samples: usize,
}

impl Counts {
    /// The fewest samples that a published number has.
    pub const LEAST_SAMPLES: usize = 20;
}

/// The times of one thing, in milliseconds and in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Before the clock counts.
    pub warm_up_ms: Vec<f64>,
    /// One a round.
    pub samples_ms: Vec<f64>,
    /// The clock before the first round and after the last.
    pub clock_mhz: (Option<u32>, Option<u32>),
}

/// Times each of `things`, which has one piece of work for each buffer set.
///
/// The order is fixed: warm-up thing by thing, then round `r` from thing `r mod n` on, over the end to the beginning; run `k` of all takes set `k mod sets`.
pub fn measure(
    timer: &mut (impl Timer + ?Sized),
    things: &[Vec<Work>],
    counts: Counts,
) -> Result<Vec<Times>, DeviceError> {
    let mut times = vec![Times::default(); things.len()];
    let mut turn = 0;
    let mut next = |thing: usize| {
        let sets = &things[thing];
        turn += 1;
        &sets[(turn - 1) % sets.len()]
    };
    for (thing, times) in times.iter_mut().enumerate() {
        for _ in 0..counts.warm_up {
            times.warm_up_ms.push(timer.sample(next(thing))?);
        }
    }
    let before = timer.clock_mhz();
    for round in 0..counts.samples {
        for step in 0..things.len() {
            let thing = (round + step) % things.len();
            let time = timer.sample(next(thing))?;
            times[thing].samples_ms.push(time);
        }
    }
    let after = timer.clock_mhz();
    for times in &mut times {
        times.clock_mhz = (before, after);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::work::{Foreign, Function};

    /// A timer that writes down what it is asked and answers with the number of the call.
    #[derive(Default)]
    struct Log {
        calls: Vec<String>,
        clocks: Vec<u32>,
    }

    impl Timer for Log {
        fn sample(&mut self, work: &Work) -> Result<f64, DeviceError> {
            let Work::Foreign(launch) = work else {
                panic!("the test gives launches only")
            };
            self.calls.push(launch.entry.clone());
            Ok(self.calls.len() as f64)
        }

        fn resolution_ms(&self) -> f64 {
            0.5
        }

        fn clock_mhz(&mut self) -> Option<u32> {
            self.calls.push("clock".to_owned());
            self.clocks.pop()
        }
    }

    fn thing(name: &str, sets: usize) -> Vec<Work> {
        let work = |set: usize| {
            Work::Foreign(Foreign {
                function: Function(0),
                entry: format!("{name}{set}"),
                blocks: 1,
                threads: 32,
                dynamic_shared: 0,
                params: vec![],
            })
        };
        (0..sets).map(work).collect()
    }

    #[test]
    fn order_counts_and_rotation_are_exact() {
        let mut log = Log {
            clocks: vec![1500, 1980],
            ..Log::default()
        };
        let counts = Counts {
            warm_up: 2,
            samples: 3,
        };
        let things = [thing("a", 2), thing("b", 1), thing("c", 3)];
        let times = measure(&mut log, &things, counts).unwrap();
        assert_eq!(
            log.calls,
            [
                "a0", "a1", "b0", "b0", "c1", "c2", "clock", // Warm-up, then round by round.
                "a0", "b0", "c2", //
                "b0", "c1", "a1", //
                "c0", "a1", "b0", "clock",
            ]
        );
        assert_eq!(times[0].warm_up_ms, [1.0, 2.0]);
        // The clock was asked in between, which counts as a call here.
        assert_eq!(times[0].samples_ms, [8.0, 13.0, 15.0]);
        assert_eq!(times[1].samples_ms, [9.0, 11.0, 16.0]);
        assert_eq!(times[2].samples_ms, [10.0, 12.0, 14.0]);
        assert_eq!(times[2].clock_mhz, (Some(1980), Some(1500)));
    }

    #[test]
    fn nothing_to_time_takes_no_time() {
        let mut log = Log::default();
        let counts = Counts {
            warm_up: 1,
            samples: 1,
        };
        assert_eq!(measure(&mut log, &[], counts).unwrap(), []);
        assert_eq!(log.calls, ["clock", "clock"]);
    }
}
