//! Which configuration to take, how much of the limit it reaches, and why.
//!
//! From a sweep the answer is measured; without a GPU it is the [`model`]'s, and says so.
//! Of all configurations that are as fast as the best, the cheapest is taken: fewest stages, then least shared memory.

pub mod model;
pub mod words;

use serde::Serialize;

use crate::bench::raw::{Raw, Spec};
use crate::bench::row::Row;
use crate::bench::stats::{Estimate, median};
use crate::device::hardware::Hardware;

/// How far below the best still counts as being as fast, relative; the measurement's own error if that is larger, up to [`MOST_TOLERANCE`].
const TOLERANCE: f64 = 0.005;
const MOST_TOLERANCE: f64 = 0.01;

/// By how much a ring must be faster than the synchronous kernel for staging to pay.
const GAIN: f64 = 0.01;

/// What the answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A sweep on the device.
    Measured,
    /// The model alone; nothing was run.
    Model,
}

/// A configuration and its rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The configuration.
    pub spec: Spec,
    /// Gigabytes a second.
    pub rate: Estimate,
    /// Over the copy of the same rounds.
    pub of_copy: Option<Estimate>,
}

/// One depth beside the others, all else the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Depth {
    /// The depth; 0 is synchronous.
    pub stages: u32,
    /// Gigabytes a second.
    pub rate: f64,
    /// Against the depth before, relative.
    pub change: Option<f64>,
    /// Shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks on a multiprocessor at once.
    pub resident: u32,
}

/// Whether a ring is worth it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Staging {
    /// The best configuration with a ring.
    pub ring: Candidate,
    /// The best one without.
    pub synchronous: Candidate,
    /// Ring over synchronous.
    pub gain: Estimate,
    /// Whether the gain is more than one percent and more than the error.
    pub pays: bool,
}

/// How far the model is off a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModelError {
    /// The median of |model / measured − 1|.
    pub median: f64,
    /// The largest.
    pub most: f64,
    /// What the model's own choice loses against the best, relative.
    pub choice_loss: f64,
    /// Configurations compared.
    pub configurations: usize,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The job.
    pub workload: String,
    /// The device.
    pub device: String,
    /// What it rests on.
    pub basis: Basis,
    /// What to take.
    pub choice: Candidate,
    /// The fastest, which the choice is as fast as.
    pub best: Candidate,
    /// The choice over the data sheet's rate.
    pub of_data_sheet: Option<f64>,
    /// Bytes that a multiprocessor must have on the way for the ceiling, by Little's law.
    pub needed_in_flight: Option<f64>,
    /// Blocks of the choice on a multiprocessor at once.
    pub at_once: u32,
    /// Their threads over those that a multiprocessor takes.
    pub occupancy: f64,
    /// Nanoseconds between the issue of a copy and its use, at the choice's rate.
    pub overlap_ns: f64,
    /// Other depths, all else as in the choice.
    pub depths: Vec<Depth>,
    /// Whether a ring is worth it; `None` where only one of the two is there.
    pub staging: Option<Staging>,
    /// How far the model is off; `None` for the model's own answer.
    pub model_error: Option<ModelError>,
}

/// The advice of a sweep; `None` where nothing was verified.
///
/// Peers are not candidates: the advice is about our own kernels.
pub fn from_sweep(all: &[Raw], hardware: &Hardware) -> Option<Advice> {
    let own = all
        .iter()
        .filter(|raw| raw.spec.peer == crate::bench::item::OWN && raw.verified.is_some());
    let candidates: Vec<Candidate> = own
        .filter_map(|raw| {
            let row = Row::of(raw, hardware);
            Some(Candidate {
                rate: row.rate?,
                of_copy: row.of_copy,
                spec: row.spec,
            })
        })
        .collect();
    let mut advice = advise(candidates.clone(), hardware, Basis::Measured)?;
    advice.model_error = model_error(&candidates, hardware);
    Some(advice)
}

/// The model's advice on configurations that nobody has run.
pub fn from_model(specs: Vec<Spec>, hardware: &Hardware) -> Option<Advice> {
    advise(modelled(specs, hardware)?, hardware, Basis::Model)
}

fn modelled(specs: Vec<Spec>, hardware: &Hardware) -> Option<Vec<Candidate>> {
    let candidates = specs.into_iter().map(|spec| {
        let ceiling = model::ceiling(hardware, model::read_share(&spec))?;
        let value = model::rate(hardware, &spec, ceiling);
        Some(Candidate {
            spec,
            rate: Estimate {
                value,
                low: value,
                high: value,
            },
            of_copy: None,
        })
    });
    candidates.collect()
}

fn fastest<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Option<&'a Candidate> {
    candidates.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value))
}

/// The cheapest of those that are as fast as the best.
fn choose<'a>(candidates: &'a [Candidate], best: &Candidate) -> &'a Candidate {
    let error = best.rate.error() / best.rate.value;
    let least = best.rate.value * (1.0 - error.clamp(TOLERANCE, MOST_TOLERANCE));
    let cost = |spec: &Spec| (spec.stages, spec.shared_bytes, spec.pieces, spec.block);
    let as_fast = candidates
        .iter()
        .filter(|candidate| candidate.rate.value >= least);
    as_fast
        .min_by_key(|candidate| cost(&candidate.spec))
        .unwrap_or(&candidates[0])
}

fn advise(candidates: Vec<Candidate>, hardware: &Hardware, basis: Basis) -> Option<Advice> {
    let best = fastest(candidates.iter())?.clone();
    let choice = choose(&candidates, &best).clone();
    let spec = &choice.spec;
    let sheet = hardware.memory_gigabytes_per_second;
    let share = model::read_share(spec);
    Some(Advice {
        workload: spec.workload.clone(),
        device: hardware.name.clone(),
        basis,
        of_data_sheet: sheet.map(|sheet| choice.rate.value / sheet),
        needed_in_flight: model::ceiling(hardware, share)
            .map(|ceiling| model::needed_in_flight(hardware, ceiling * share)),
        at_once: at_once(spec, hardware),
        occupancy: f64::from(at_once(spec, hardware) * spec.block)
            / f64::from(hardware.threads_per_sm),
        overlap_ns: overlap_ns(&choice, hardware),
        depths: depths(&candidates, spec),
        staging: staging(&candidates),
        model_error: None,
        choice,
        best,
    })
}

/// Blocks on a multiprocessor at once: as many as fit, but no more than the grid has.
fn at_once(spec: &Spec, hardware: &Hardware) -> u32 {
    let each = spec
        .blocks
        .div_ceil(u64::from(hardware.multiprocessors.max(1)));
    u64::from(spec.resident).min(each) as u32
}

/// What is on the way ahead of its use, over the rate at which it is used up.
fn overlap_ns(candidate: &Candidate, hardware: &Hardware) -> f64 {
    let spec = &candidate.spec;
    let read = candidate.rate.value * model::read_share(spec);
    // Bytes over gigabytes a second are nanoseconds.
    spec.in_flight_per_sm as f64 * f64::from(hardware.multiprocessors) / read.max(f64::MIN_POSITIVE)
}

/// The configurations that differ from `spec` in their depth alone, and the synchronous one of the same block and grid.
fn depths(candidates: &[Candidate], spec: &Spec) -> Vec<Depth> {
    let ring = |own: &Spec| (own.kernel.clone(), own.schedule.clone(), own.pieces);
    let same = |own: &Spec| own.block == spec.block && own.grid == spec.grid;
    // A choice without a ring is put beside the commonest one.
    let wanted = if spec.stages > 0 {
        Some(ring(spec))
    } else {
        let rings = candidates
            .iter()
            .filter(|c| c.spec.stages > 0 && same(&c.spec));
        fastest(rings).map(|candidate| ring(&candidate.spec))
    };
    let mut found: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| {
            let own = &candidate.spec;
            same(own) && (own.stages == 0 || Some(ring(own)) == wanted)
        })
        .collect();
    found.sort_by(|a, b| {
        (a.spec.stages, b.rate.value)
            .partial_cmp(&(b.spec.stages, a.rate.value))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    found.dedup_by_key(|candidate| candidate.spec.stages);
    let mut before: Option<f64> = None;
    let depth = |candidate: &Candidate| {
        let rate = candidate.rate.value;
        let change = before.map(|before| rate / before - 1.0);
        before = Some(rate);
        Depth {
            stages: candidate.spec.stages,
            rate,
            change,
            shared_bytes: candidate.spec.shared_bytes,
            resident: candidate.spec.resident,
        }
    };
    found.into_iter().map(depth).collect()
}

fn staging(candidates: &[Candidate]) -> Option<Staging> {
    let of = |ring: bool| fastest(candidates.iter().filter(|c| (c.spec.stages > 0) == ring));
    let (ring, synchronous) = (of(true)?.clone(), of(false)?.clone());
    let gain = Estimate {
        value: ring.rate.value / synchronous.rate.value,
        low: ring.rate.low / synchronous.rate.high,
        high: ring.rate.high / synchronous.rate.low,
    };
    Some(Staging {
        pays: gain.low > 1.0 && gain.value > 1.0 + GAIN,
        ring,
        synchronous,
        gain,
    })
}

/// The model against what was measured, and what its own choice is worth.
fn model_error(measured: &[Candidate], hardware: &Hardware) -> Option<ModelError> {
    let specs = measured.iter().map(|candidate| candidate.spec.clone());
    let modelled = modelled(specs.collect(), hardware)?;
    let errors: Vec<f64> = modelled
        .iter()
        .zip(measured)
        .map(|(model, measured)| (model.rate.value / measured.rate.value - 1.0).abs())
        .collect();
    let best = fastest(measured.iter())?;
    let choice = choose(&modelled, fastest(modelled.iter())?);
    let chosen = measured
        .iter()
        .find(|candidate| candidate.spec == choice.spec)?;
    Some(ModelError {
        median: median(&errors)?,
        most: errors.iter().copied().fold(0.0, f64::max),
        choice_loss: 1.0 - chosen.rate.value / best.rate.value,
        configurations: errors.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::raw::How;

    /// A configuration of `stages` stages that took `ms` for 4 GB, each time.
    fn raw(stages: u32, block: u32, ms: f64) -> Raw {
        Raw {
            spec: Spec {
                workload: "scale".to_owned(),
                peer: "nstage".to_owned(),
                kernel: if stages == 0 { "sync" } else { "ring" }.to_owned(),
                entry: format!("e{stages}"),
                schedule: if stages == 0 { "none" } else { "two" }.to_owned(),
                stages,
                block,
                pieces: 1,
                grid: "1".to_owned(),
                resident: 8,
                blocks: 132,
                shared_bytes: stages.max(1) * 16 * block,
                in_flight_per_sm: u64::from(stages.max(1) * 16 * block),
                bytes: 4_000_000_000,
                read_bytes: 2_000_000_000,
                ..Spec::default()
            },
            verified: Some(How::Bits),
            samples_ms: vec![ms; 20],
            copy_ms: vec![1.0; 20],
            copy_bytes: 4_000_000_000,
            ..Raw::default()
        }
    }

    fn h200() -> Hardware {
        Hardware::of_product("h200").unwrap()
    }

    #[test]
    fn the_cheapest_of_the_fastest_is_chosen() {
        let all = [
            raw(0, 128, 4.0),
            raw(2, 128, 2.0),
            raw(4, 128, 1.004),
            raw(8, 128, 1.0),
        ];
        let advice = from_sweep(&all, &h200()).unwrap();
        assert_eq!(advice.choice.spec.stages, 4);
        // One block of 128 threads of 2048, although eight would fit.
        assert_eq!((advice.at_once, advice.occupancy), (1, 0.0625));
        assert_eq!(advice.best.spec.stages, 8);
        assert_eq!(advice.choice.of_copy.unwrap().value, 1.0 / 1.004);
        let staging = advice.staging.unwrap();
        assert!(staging.pays);
        assert_eq!(staging.gain.value, 4.0);
        let depths: Vec<(u32, Option<i64>)> = advice
            .depths
            .iter()
            .map(|depth| {
                (
                    depth.stages,
                    depth.change.map(|c| (1000.0 * c).round() as i64),
                )
            })
            .collect();
        assert_eq!(
            depths,
            [(0, None), (2, Some(1000)), (4, Some(992)), (8, Some(4))]
        );
    }

    #[test]
    fn when_staging_does_not_pay_it_says_so() {
        for (ring_ms, pays) in [(1.0, false), (0.995, false), (0.9, true), (1.2, false)] {
            let all = [raw(0, 256, 1.0), raw(4, 256, ring_ms)];
            let advice = from_sweep(&all, &h200()).unwrap();
            assert_eq!(advice.staging.unwrap().pays, pays, "{ring_ms}");
        }
    }

    #[test]
    fn wrong_results_and_peers_are_no_candidates() {
        let mut wrong = raw(2, 128, 0.1);
        wrong.verified = None;
        let mut peer = raw(3, 128, 0.1);
        peer.spec.peer = "nvcc".to_owned();
        let advice = from_sweep(&[wrong.clone(), peer, raw(4, 128, 1.0)], &h200()).unwrap();
        assert_eq!(advice.best.spec.stages, 4);
        assert_eq!(from_sweep(&[wrong], &h200()), None);
    }

    #[test]
    fn the_models_error_is_what_it_is_off() {
        let hardware = h200();
        let ceiling = model::ceiling(&hardware, 0.5).unwrap();
        let exact = |stages: u32| {
            let mut raw = raw(stages, 128, 1.0);
            let rate = model::rate(&hardware, &raw.spec, ceiling);
            raw.samples_ms = vec![4000.0 / rate; 20];
            raw
        };
        let mut all = vec![exact(0), exact(2), exact(8)];
        let error = from_sweep(&all, &hardware).unwrap().model_error.unwrap();
        assert!(error.most < 1e-9 && error.choice_loss < 1e-9, "{error:?}");
        // The deepest is really twice as slow: the model is off by 100 % there, and its choice loses against depth 2.
        let ms = 2.0 * all[2].samples_ms[0];
        all[2].samples_ms = vec![ms; 20];
        let error = from_sweep(&all, &hardware).unwrap().model_error.unwrap();
        assert!(
            (error.most - 1.0).abs() < 1e-9 && error.median < 1e-9,
            "{error:?}"
        );
        assert!(error.choice_loss > 0.0 || all[1].samples_ms[0] > ms);
    }
}
