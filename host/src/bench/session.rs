//! All configurations of one job on one device: each is made ready and verified, then batch after batch takes turns.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bed::Bed;
use super::item::{Item, Job, Ready, Refusal};
use super::raw::{How, Raw};
use super::rounds::{self, Counts, Times};
use super::work::{Rig, Work};
use crate::device::DeviceError;
use crate::device::hardware::Hardware;
use crate::workload::job::JobError;

/// Configurations that take turns with each other; more would be far apart in time.
const BATCH: usize = 16;

/// What a session tells as it goes, one line each where it crosses a pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The device.
    Device {
        /// What it is called and why it was taken.
        title: String,
        /// What it can do at best.
        hardware: Hardware,
    },
    /// What is being done, so that whoever waits knows what hangs.
    Doing {
        /// In words.
        what: String,
        /// The configurations that are at work.
        items: Vec<usize>,
    },
    /// A configuration is measured, or its result is wrong.
    Measured {
        /// Which.
        item: usize,
        /// What was found.
        raw: Box<Raw>,
    },
    /// A configuration does not fit the device.
    Unfit {
        /// Which.
        item: usize,
        /// Why.
        reason: String,
    },
}

/// How a session goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Runs.
    pub counts: Counts,
    /// Buffer sets, where they are asked for.
    pub sets: Option<usize>,
    /// Configurations to leave out, by their index.
    pub leave_out: BTreeSet<usize>,
    /// Configurations to measure in a batch of their own.
    pub alone: BTreeSet<usize>,
}

/// Where events go. An error ends the session: nobody listens any more.
pub type Emit<'a> = dyn FnMut(Event) -> std::io::Result<()> + 'a;

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The device failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Nobody takes the events.
    #[error("the results cannot be handed over: {0}")]
    Emit(#[from] std::io::Error),
}

impl From<DeviceError> for SessionError {
    fn from(error: DeviceError) -> Self {
        Self::Job(error.into())
    }
}

/// A configuration that is ready and verified, or found wrong.
struct Checked {
    item: usize,
    ready: Ready,
    raw: Raw,
}

/// Measures `items`, whose indices begin at `first`; `reference` is one of them that all others are compared with.
pub fn measure(
    rig: &mut dyn Rig,
    job: &Job<'_>,
    items: &[Item],
    first: usize,
    reference: Option<usize>,
    settings: &Settings,
    emit: &mut Emit<'_>,
) -> Result<(), SessionError> {
    let left: Vec<usize> = (0..items.len())
        .filter(|index| !settings.leave_out.contains(&(first + index)))
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    emit(doing(format!("{}: inputs", job.workload), vec![]))?;
    let mut bed = Bed::new(rig, job.problem, settings.sets)?;
    prime(rig, &mut bed, job, emit)?;
    // A reference that was left out has hung or failed before.
    let reference = match reference.filter(|index| left.contains(index)) {
        Some(index) => check(rig, &mut bed, job, &items[index], first + index, emit)?,
        None => None,
    };
    let reference = reference.filter(|checked| checked.raw.verified.is_some());
    for batch in batches(&left, |index| settings.alone.contains(&(first + index))) {
        let mut checked = Vec::with_capacity(batch.len());
        for index in batch {
            checked.extend(check(
                rig,
                &mut bed,
                job,
                &items[index],
                first + index,
                emit,
            )?);
        }
        time(
            rig,
            &bed,
            reference.as_ref(),
            checked,
            settings.counts,
            emit,
        )?;
    }
    Ok(())
}

fn doing(what: String, items: Vec<usize>) -> Event {
    Event::Doing { what, items }
}

/// Runs of indices of at most [`BATCH`]; those that are to be alone are.
fn batches(left: &[usize], alone: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut open = false;
    for &index in left {
        match batches.last_mut() {
            Some(last) if open && !alone(index) && last.len() < BATCH => last.push(index),
            _ => batches.push(vec![index]),
        }
        open = !alone(index);
    }
    batches
}

/// Leaves a verified result of our own on the bed, for what others write only a part of.
fn prime(
    rig: &mut dyn Rig,
    bed: &mut Bed,
    job: &Job<'_>,
    emit: &mut Emit<'_>,
) -> Result<(), SessionError> {
    let item = Item::Own {
        shape: job.model,
        blocks: super::item::Blocks::Fit,
    };
    emit(doing(format!("{}: first result", job.workload), vec![]))?;
    match job.ready(rig, bed, &item) {
        Ok(ready) => {
            verify(rig, bed, job, &ready)?;
            Ok(())
        }
        Err(Refusal::Unfit(_)) => Ok(()),
        Err(Refusal::Failed(error)) => Err(error.into()),
    }
}

/// Makes a configuration ready and verifies its result; `None` where it does not fit, which is told.
fn check(
    rig: &mut dyn Rig,
    bed: &mut Bed,
    job: &Job<'_>,
    item: &Item,
    index: usize,
    emit: &mut Emit<'_>,
) -> Result<Option<Checked>, SessionError> {
    emit(doing(item.label(), vec![index]))?;
    let ready = match job.ready(rig, bed, item) {
        Ok(ready) => ready,
        Err(Refusal::Unfit(reason)) => {
            emit(Event::Unfit {
                item: index,
                reason,
            })?;
            return Ok(None);
        }
        Err(Refusal::Failed(error)) => return Err(error.into()),
    };
    let verdict = verify(rig, bed, job, &ready)?;
    let raw = Raw {
        spec: ready.spec.clone(),
        verified: verdict.how,
        max_abs_error: verdict.max_abs_error,
        trouble: verdict.trouble,
        warm_up_ms: vec![verdict.first_ms],
        rotation_bytes: bed.rotation_bytes(ready.slot),
        resolution_ms: rig.resolution_ms(),
        ..Raw::default()
    };
    Ok(Some(Checked {
        item: index,
        ready,
        raw,
    }))
}

/// What the first run of a configuration showed.
struct Verdict {
    how: Option<How>,
    max_abs_error: Option<f64>,
    trouble: Option<String>,
    first_ms: f64,
}

/// Runs a configuration once and compares what it wrote: bit by bit with a verified result, and where that differs, element by element with the reference.
fn verify(
    rig: &mut dyn Rig,
    bed: &mut Bed,
    job: &Job<'_>,
    ready: &Ready,
) -> Result<Verdict, DeviceError> {
    const SET: usize = 0;
    bed.poison(rig, ready.slot, SET)?;
    let mut verdict = Verdict {
        how: None,
        max_abs_error: None,
        trouble: None,
        first_ms: rig.sample(&ready.works[SET])?,
    };
    let same = bed.has_verified_bits(rig, ready.slot, SET, &ready.written)?;
    if same == Some(true) && !ready.written.is_empty() {
        verdict.how = Some(How::Bits);
        return Ok(verdict);
    }
    let outputs = match bed.download(rig, ready.slot, SET, &ready.written)? {
        Ok(outputs) => outputs,
        Err(outside) => {
            verdict.trouble = Some(outside);
            return Ok(verdict);
        }
    };
    let slices: Vec<&[u8]> = outputs.iter().map(Vec::as_slice).collect();
    let comparison = job.problem.verify(&ready.geometry, &slices);
    verdict.max_abs_error = Some(comparison.max_abs_error);
    match comparison.mismatch {
        Some(mismatch) => verdict.trouble = Some(mismatch.to_string()),
        None => {
            verdict.how = Some(How::Elements);
            if same.is_none() && ready.written.len() == outputs.len() {
                bed.keep_reference(rig, ready.slot, SET)?;
            }
        }
    }
    Ok(verdict)
}

/// Lets the verified ones take turns with the copy and the reference, and tells what was found of all.
fn time(
    rig: &mut dyn Rig,
    bed: &Bed,
    reference: Option<&Checked>,
    checked: Vec<Checked>,
    counts: Counts,
    emit: &mut Emit<'_>,
) -> Result<(), SessionError> {
    let right = |checked: &&Checked| checked.raw.verified.is_some();
    let timed: Vec<&Checked> = checked.iter().filter(right).collect();
    let (copy, copy_bytes) = bed.copy();
    // A reference that is in the batch itself is not timed twice.
    let inside = reference.and_then(|reference| {
        timed
            .iter()
            .position(|checked| checked.item == reference.item)
    });
    let mut things: Vec<Vec<Work>> = vec![copy];
    things.extend(timed.iter().map(|checked| checked.ready.works.clone()));
    if let (Some(reference), None) = (reference, inside) {
        things.push(reference.ready.works.clone());
    }
    let mut times = Vec::new();
    if !timed.is_empty() {
        let items = timed.iter().map(|checked| checked.item).collect();
        emit(doing(
            format!("{} configurations in turns", timed.len()),
            items,
        ))?;
        times = rounds::measure(rig, &things, counts)?;
    }
    let compared = reference.map(|reference| {
        let at = inside.map_or(times.len().saturating_sub(1), |inside| inside + 1);
        (reference, times.get(at).cloned().unwrap_or_default())
    });
    let copied = times.first().cloned().unwrap_or_default();
    let mut own = times.iter().skip(1);
    for Checked { item, mut raw, .. } in checked {
        if raw.verified.is_some() {
            let Times {
                warm_up_ms,
                samples_ms,
                clock_mhz,
            } = own.next().cloned().unwrap_or_default();
            raw.warm_up_ms.extend(warm_up_ms);
            raw.samples_ms = samples_ms;
            raw.clock_mhz = clock_mhz;
            raw.copy_ms.clone_from(&copied.samples_ms);
            raw.copy_bytes = copy_bytes;
            if let Some((reference, times)) = &compared {
                raw.reference = Some(reference.ready.spec.entry.clone());
                raw.reference_ms.clone_from(&times.samples_ms);
                raw.reference_bytes = reference.ready.spec.bytes;
            }
        }
        emit(Event::Measured {
            item,
            raw: Box::new(raw),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::fake::FakeRig;
    use crate::bench::item::Blocks;
    use crate::bench::row::Row;
    use crate::bench::warning::Warning;
    use crate::device::fake::Memory;
    use crate::device::{Prepared, Shaped};
    use crate::workload;

    /// The address of parameter `index`.
    fn address(launch: &Prepared, index: usize) -> u64 {
        u64::from_le_bytes(launch.params()[index].as_slice().try_into().unwrap())
    }

    /// y = a·x as the kernels do it; the variant of three stages gets its last element wrong, the one of five writes behind it.
    fn scale(launch: &Prepared, memory: &mut Memory) {
        let a = f32::from_le_bytes(launch.params()[2].as_slice().try_into().unwrap());
        let n = address(launch, 3) as usize;
        let x: Vec<f32> = bytemuck::pod_collect_to_vec(&memory.at(address(launch, 1))[..4 * n]);
        let y: Vec<u8> = x.iter().flat_map(|x| (a * x).to_le_bytes()).collect();
        let out = memory.at(address(launch, 0));
        out[..4 * n].copy_from_slice(&y);
        match launch.variant().stages() {
            3 => out[4 * n - 1] ^= 0x40,
            5 => out[4 * n] = 0,
            _ => {}
        }
    }

    fn items() -> Vec<Item> {
        let own = |name: &str, stages, blocks| {
            let kernel = workload::kernel(name).unwrap();
            let variant = kernel.of_depth(stages).next().unwrap();
            Item::Own {
                shape: Shaped::default_of(kernel, variant),
                blocks,
            }
        };
        vec![
            own("kernel_sync", 0, Blocks::Fit),
            own("kernel_async_pipeline", 2, Blocks::PerSm(2)),
            own("kernel_async_pipeline", 3, Blocks::Fit),
            own("kernel_async_pipeline", 4, Blocks::PerSm(9)),
            own("kernel_async_pipeline", 5, Blocks::Fit),
        ]
    }

    fn session(rig: &mut FakeRig, reference: Option<usize>, leave_out: &[usize]) -> Vec<Event> {
        let items = items();
        let kernel = workload::kernel("kernel_sync").unwrap();
        let problem = workload::of(kernel).unwrap().generate(1000, 1);
        let job = Job {
            workload: "scale",
            problem: problem.as_ref(),
            peers: None,
            model: Shaped::default_of(kernel, &kernel.variants[0]),
            distinct: false,
        };
        let settings = Settings {
            counts: Counts {
                warm_up: 1,
                samples: 20,
            },
            sets: Some(3),
            leave_out: leave_out.iter().copied().collect(),
            alone: BTreeSet::new(),
        };
        let mut events = Vec::new();
        measure(rig, &job, &items, 0, reference, &settings, &mut |event| {
            events.push(event);
            Ok(())
        })
        .unwrap();
        events
    }

    fn measured(events: &[Event]) -> Vec<(usize, Raw)> {
        let measured = events.iter().filter_map(|event| match event {
            Event::Measured { item, raw } => Some((*item, (**raw).clone())),
            _ => None,
        });
        measured.collect()
    }

    #[test]
    fn every_configuration_is_verified_and_only_right_ones_are_timed() {
        let mut rig = FakeRig::new(scale, |name| if name == "copy" { 0.5 } else { 2.0 });
        rig.clocks = vec![1500, 1980];
        let events = session(&mut rig, None, &[]);
        let found = measured(&events);
        let verdicts: Vec<(usize, Option<How>, usize)> = found
            .iter()
            .map(|(item, raw)| (*item, raw.verified, raw.samples_ms.len()))
            .collect();
        assert_eq!(
            verdicts,
            [
                (0, Some(How::Bits), 20),
                (1, Some(How::Bits), 20),
                (2, None, 0),
                (4, None, 0)
            ]
        );
        let trouble = |index: usize| found[index].1.trouble.clone().unwrap_or_default();
        assert!(
            trouble(2).starts_with("1 of 1000 elements wrong"),
            "{}",
            trouble(2)
        );
        assert_eq!(
            trouble(3),
            "output 0 of 4000 bytes was written outside, at byte 4000"
        );
        let unfit = events.iter().find_map(|event| match event {
            Event::Unfit { item: 3, reason } => Some(reason.as_str()),
            _ => None,
        });
        assert_eq!(
            unfit,
            Some(
                "kernel_async_pipeline_s4_one_p1: 9 blocks for each multiprocessor asked for, 3 are there at once"
            )
        );

        // Priming and four verified runs, then warm-up and rounds of the copy and the two right ones.
        let (sync, ring) = ("kernel_sync", "kernel_async_pipeline_s2_one_p1");
        assert_eq!(rig.timed.len(), 1 + 4 + 3 * (1 + 20));
        assert_eq!(
            rig.timed[5..14],
            ["copy", sync, ring, "copy", sync, ring, sync, ring, "copy"]
        );

        let row = Row::of(&found[1].1, crate::bench::work::Rig::hardware(&rig));
        assert_eq!(row.gigabytes_per_second, Some(8000.0 / 2.0e6));
        assert_eq!(row.of_copy.map(|e| e.value), Some(0.25));
        assert_eq!(row.spec.blocks, 1);
        assert_eq!(
            row.warnings,
            [
                Warning::ClockChanged {
                    from_mhz: 1980,
                    to_mhz: 1500
                },
                Warning::FitsInL2 {
                    bytes: 24_000,
                    l2_bytes: 1 << 20
                },
            ]
        );
    }

    #[test]
    fn the_reference_takes_turns_with_every_batch() {
        let mut rig = FakeRig::new(scale, |name| if name == "kernel_sync" { 3.0 } else { 2.0 });
        let found = measured(&session(&mut rig, Some(0), &[]));
        let ratio = |raw: &Raw| Row::of(raw, &Hardware::of_capability(90)).of_reference;
        assert_eq!(ratio(&found[0].1).map(|e| e.value), Some(1.0));
        assert_eq!(ratio(&found[1].1).map(|e| e.value), Some(1.5));
        assert_eq!(found[1].1.reference.as_deref(), Some("kernel_sync"));
        // One that hung before is no reference any more, and nothing is measured twice.
        let found = measured(&session(&mut rig, Some(0), &[0, 2]));
        let items: Vec<usize> = found.iter().map(|(item, _)| *item).collect();
        assert_eq!(items, [1, 4]);
        assert_eq!(found[0].1.reference, None);
    }

    #[test]
    fn batches_are_bounded_and_suspects_are_alone() {
        let all: Vec<usize> = (0..20).collect();
        let sizes = |alone: &[usize]| -> Vec<usize> {
            let batches = batches(&all, |index| alone.contains(&index));
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&[]), [16, 4]);
        assert_eq!(sizes(&[0]), [1, 16, 3]);
        assert_eq!(sizes(&[3, 4]), [3, 1, 1, 15]);
        assert_eq!(batches(&[], |_| false), Vec::<Vec<usize>>::new());
    }
}
