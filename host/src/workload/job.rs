//! A problem on a device: memory, launch, comparison, timing.

use std::num::NonZeroU32;

use nstage_sim::{Outcome, Verdict};

use super::{Comparison, Problem};
use crate::device::{
    Buffer, Device, DeviceError, Geometry, GeometryError, Grid, OtherKernel, POISON, Prepared,
    Shaped,
};
use crate::tensor::TensorMapError;

/// Poison kept before and after an output, so that a write outside of it is seen.
const GUARD: u64 = 256;

/// How many blocks a launch has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Blocks {
    /// What the kernel declares, else as many as are on the device at once.
    ///
    /// The simulator takes the latter for every kernel: few blocks with many tiles each wrap a ring around, and cost it nothing.
    #[default]
    Declared,
    /// As many as are on the device at once.
    Resident,
    /// What somebody asked for.
    Asked(Grid),
}

/// Launches before the clock counts, and launches that it counts.
const WARM_UP: usize = 3;
const SAMPLES: usize = 11;

/// Why a job could not be done at all; a wrong result is no error.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The launch is not possible.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// There is no map of a tensor.
    #[error(transparent)]
    Tensor(#[from] TensorMapError),
    /// The arguments are another kernel's.
    #[error(transparent)]
    Kernel(#[from] OtherKernel),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// How far each view is from the alignment of its allocation, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misaligned {
    /// Of every input.
    pub input: u64,
    /// Of every output.
    pub output: u64,
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug)]
struct View {
    buffer: Buffer,
    offset: u64,
    bytes: u64,
}

impl View {
    fn address(&self) -> u64 {
        self.buffer.address() + self.offset
    }
}

/// What a job found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The launch's shape.
    pub geometry: Geometry,
    /// The comparison with the reference; not made when the run did not reach its end.
    pub comparison: Option<Comparison>,
    /// What is wrong, in a sentence; `None` when all is well.
    pub trouble: Option<String>,
    /// What the simulator saw.
    pub outcome: Option<Outcome>,
    /// The result where it is one number.
    pub result: Option<f64>,
    /// Seconds that the launches took.
    pub seconds: f64,
    /// Median time of the launches on a device whose time means something.
    pub median_ms: Option<f64>,
    /// The outputs, one a view.
    outputs: Vec<Vec<u8>>,
}

impl Report {
    /// Whether every element is right and no rule was broken.
    pub fn verified(&self) -> bool {
        self.trouble.is_none() && self.comparison.is_some()
    }

    /// Whether the run ended for the simulator's reasons, so that nothing is known of the kernel.
    pub fn incomplete(&self) -> bool {
        self.outcome
            .as_ref()
            .is_some_and(|outcome| outcome.verdict() == Verdict::Incomplete)
    }

    /// The outputs' bytes.
    pub fn outputs(&self) -> Vec<&[u8]> {
        self.outputs
            .iter()
            .map(|bytes| &bytes[GUARD as usize..bytes.len() - GUARD as usize])
            .collect()
    }
}

/// A problem whose inputs are on a device, ready to be run by one variant after the other.
pub struct Job<'a> {
    device: &'a mut dyn Device,
    problem: &'a dyn Problem,
    misaligned: Misaligned,
    inputs: Vec<View>,
    outputs: Vec<View>,
}

impl<'a> Job<'a> {
    /// Puts the problem's inputs on the device; what was there before is gone.
    pub fn new(
        device: &'a mut dyn Device,
        problem: &'a dyn Problem,
        misaligned: Misaligned,
    ) -> Result<Self, JobError> {
        device.release();
        let mut inputs = Vec::new();
        for bytes in problem.inputs() {
            // The allocation ends where the input does, so that reading on is seen.
            let (offset, bytes_in_view) = (misaligned.input, bytes.len() as u64);
            let buffer = device.allocate(offset + bytes_in_view)?;
            device.upload(&buffer, offset, bytes)?;
            inputs.push(View {
                buffer,
                offset,
                bytes: bytes_in_view,
            });
        }
        Ok(Self {
            device,
            problem,
            misaligned,
            inputs,
            outputs: Vec::new(),
        })
    }

    /// The launch's shape for a variant.
    pub fn geometry(&mut self, shape: &Shaped, blocks: Blocks) -> Result<Geometry, JobError> {
        // Before the entry is loaded: a block that cannot be is refused with the reason, not by the driver.
        shape.fits(self.device.limits())?;
        let grid = match blocks {
            Blocks::Asked(grid) => grid,
            Blocks::Declared => match self.declared_grid(shape) {
                Some(grid) => grid,
                None => self.resident_grid(shape)?,
            },
            Blocks::Resident => self.resident_grid(shape)?,
        };
        let tiles = self.problem.tiles(shape);
        Ok(shape.geometry(self.device.limits(), grid, tiles)?)
    }

    /// The grid that the kernel declares for a GPU.
    fn declared_grid(&self, shape: &Shaped) -> Option<Grid> {
        if self.device.describe().is_simulator() {
            return None;
        }
        NonZeroU32::new(shape.variant.tiles_a_block()).map(Grid::TilesPerBlock)
    }

    /// As many blocks as the device holds at once.
    fn resident_grid(&mut self, shape: &Shaped) -> Result<Grid, JobError> {
        let (entry, shared) = (shape.variant.entry, shape.dynamic_shared());
        let resources = self.device.resources(entry, shape.threads, shared)?;
        Ok(Grid::PerMultiprocessor(resources.blocks_per_sm.max(1)))
    }

    /// Runs one variant and compares all that it wrote. `timed` adds timing where the device has it.
    pub fn run(&mut self, geometry: Geometry, timed: bool) -> Result<Report, JobError> {
        self.place_outputs(&geometry)?;
        let launches = self.launches(&geometry)?;
        let (mut seconds, mut trouble, mut outcome) = (0.0, None, None);
        for launch in &launches {
            let launched = self.device.launch(launch)?;
            seconds += launched.seconds;
            let ended = launched.outcome.as_ref().and_then(words_of_outcome);
            outcome = launched.outcome.or(outcome);
            if ended.is_some() {
                trouble = ended;
                break;
            }
        }
        let outputs = self.download()?;
        let mut report = Report {
            geometry,
            comparison: None,
            trouble,
            outcome,
            result: None,
            seconds,
            median_ms: None,
            outputs,
        };
        if report.trouble.is_none() {
            let outputs = report.outputs();
            let comparison = self.problem.verify(&geometry, &outputs);
            let mismatch = comparison.mismatch.as_ref().map(ToString::to_string);
            let trouble = mismatch.or_else(|| self.written_outside(&report.outputs));
            report.result = self.problem.result(&outputs);
            report.trouble = trouble;
            report.comparison = Some(comparison);
        }
        if timed && report.trouble.is_none() {
            let samples = self.device.time(&launches, WARM_UP, SAMPLES)?;
            report.median_ms = samples.and_then(|samples| samples.median());
        }
        Ok(report)
    }

    /// Gigabytes a second of a device-to-device copy as large as this problem's traffic, bytes read plus written.
    pub fn copy_rate(&mut self) -> Result<Option<f64>, JobError> {
        let bytes = (self.problem.traffic() / 2).max(1);
        let (to, from) = (self.device.allocate(bytes)?, self.device.allocate(bytes)?);
        let samples = self.device.time_copy(&to, &from, WARM_UP, SAMPLES)?;
        let median = samples.and_then(|samples| samples.median());
        Ok(median.map(|ms| gigabytes_per_second(2 * bytes, ms)))
    }

    fn launches(&self, geometry: &Geometry) -> Result<Vec<Prepared>, JobError> {
        let addresses = |views: &[View]| views.iter().map(View::address).collect::<Vec<_>>();
        let (inputs, outputs) = (addresses(&self.inputs), addresses(&self.outputs));
        let limits = self.device.limits();
        self.problem.launches(geometry, limits, &inputs, &outputs)
    }

    /// Makes the outputs anew, or poisons those there are if their sizes are right.
    fn place_outputs(&mut self, geometry: &Geometry) -> Result<(), JobError> {
        let sizes = self.problem.outputs(geometry);
        if self
            .outputs
            .iter()
            .map(|view| view.bytes)
            .eq(sizes.iter().copied())
        {
            for view in &self.outputs {
                self.device.poison(&view.buffer)?;
            }
            return Ok(());
        }
        self.outputs.clear();
        for bytes in sizes {
            let offset = GUARD + self.misaligned.output;
            let buffer = self.device.allocate(offset + bytes + GUARD)?;
            self.outputs.push(View {
                buffer,
                offset,
                bytes,
            });
        }
        Ok(())
    }

    /// Each output with its guards.
    fn download(&mut self) -> Result<Vec<Vec<u8>>, JobError> {
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for view in &self.outputs {
            let mut bytes = vec![0; (view.offset + view.bytes + GUARD) as usize];
            self.device.download(&view.buffer, &mut bytes)?;
            // What misaligns the view goes; the guard before it stays.
            bytes.drain(..(view.offset - GUARD) as usize);
            outputs.push(bytes);
        }
        Ok(outputs)
    }

    /// A write before or after an output, from its guards.
    fn written_outside(&self, outputs: &[Vec<u8>]) -> Option<String> {
        let guard = GUARD as usize;
        outputs.iter().enumerate().find_map(|(output, bytes)| {
            let end = bytes.len() - guard;
            let touched = |range: std::ops::Range<usize>| {
                range
                    .clone()
                    .find(|&at| bytes[at] != POISON)
                    .map(|at| at as i64 - guard as i64)
            };
            let at = touched(0..guard).or_else(|| touched(end..bytes.len()))?;
            Some(format!(
                "output {output} of {} bytes was written outside, at byte {at}",
                end - guard
            ))
        })
    }
}

/// Bytes over milliseconds.
pub fn gigabytes_per_second(bytes: u64, milliseconds: f64) -> f64 {
    bytes as f64 / (milliseconds * 1e6)
}

/// What stopped a simulated run, in a sentence; `None` when it came to its end clean.
fn words_of_outcome(outcome: &Outcome) -> Option<String> {
    let text = match outcome.verdict() {
        Verdict::Clean => return None,
        Verdict::Hazard => {
            let errors = || {
                outcome
                    .findings
                    .iter()
                    .filter(|f| f.severity == nstage_sim::Severity::Error)
            };
            let more = match errors().count() {
                0 | 1 => String::new(),
                several => format!(" (and {} more)", several - 1),
            };
            let first = errors().next()?;
            let line = first
                .parties
                .first()
                .map_or_else(String::new, |party| format!(" at PTX line {}", party.line));
            format!(
                "{}: {}{line}{more}; {}",
                first.class.name(),
                first.message,
                first.remedy
            )
        }
        Verdict::Trap => {
            let trap = outcome.trap.as_ref()?;
            format!(
                "trap: {} at PTX line {}, thread {:?} of block {:?}",
                trap.message, trap.party.line, trap.party.thread, trap.party.block
            )
        }
        Verdict::Incomplete => outcome.incomplete.as_ref()?.message.clone(),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake::{Fake, Memory};
    use crate::workload::{self, Workload};

    /// The address of parameter `index`.
    fn address(launch: &Prepared, index: usize) -> u64 {
        u64::from_le_bytes(launch.params()[index].as_slice().try_into().unwrap())
    }

    /// y = a·x as the kernels do it, on the fake device's memory.
    fn scale(launch: &Prepared, memory: &mut Memory) {
        let a = f32::from_le_bytes(launch.params()[2].as_slice().try_into().unwrap());
        let n = address(launch, 3) as usize;
        let x: Vec<f32> = bytemuck::pod_collect_to_vec(&memory.at(address(launch, 1))[..4 * n]);
        let y: Vec<u8> = x.iter().flat_map(|x| (a * x).to_le_bytes()).collect();
        memory.at(address(launch, 0))[..4 * n].copy_from_slice(&y);
    }

    fn run(elements: u64, misaligned: Misaligned, behaviour: fn(&Prepared, &mut Memory)) -> Report {
        let kernel = workload::kernel("kernel_async_pipeline").unwrap();
        let workload: &dyn Workload = workload::of(kernel).unwrap();
        let problem = workload.generate(elements, 1);
        let mut device = Fake::new(behaviour);
        let mut job = Job::new(&mut device, problem.as_ref(), misaligned).unwrap();
        let variant = kernel.of_depth(4).next().unwrap();
        let shape = Shaped::default_of(kernel, variant);
        let geometry = job.geometry(&shape, Blocks::Declared).unwrap();
        job.run(geometry, true).unwrap()
    }

    #[test]
    fn a_right_result_is_verified_and_timed() {
        for elements in [0, 1, 10_000] {
            let misaligned = Misaligned {
                input: 4,
                output: 8,
            };
            let report = run(elements, misaligned, scale);
            assert!(report.verified(), "{:?}", report.trouble);
            // Eleven samples, from one to eleven milliseconds.
            assert_eq!(report.median_ms, Some(6.0));
            assert_eq!(report.outputs()[0].len() as u64, 4 * elements);
        }
    }

    #[test]
    fn a_wrong_result_is_told_and_not_timed() {
        for (behaviour, expected) in [
            (
                (|_, _| ()) as fn(&Prepared, &mut Memory),
                "pattern: every element, never written",
            ),
            (
                |launch, memory| {
                    scale(launch, memory);
                    memory.at(address(launch, 0))[40..44].fill(0);
                },
                "1 of 10000 elements wrong; first at index 10: got 0e0",
            ),
            (
                |launch, memory| {
                    scale(launch, memory);
                    memory.at(address(launch, 0))[40_000] = 0;
                },
                "output 0 of 40000 bytes was written outside, at byte 40000",
            ),
            (
                |launch, memory| {
                    scale(launch, memory);
                    memory.at(address(launch, 0) - 4)[0] = 0;
                },
                "output 0 of 40000 bytes was written outside, at byte -4",
            ),
        ] {
            let report = run(10_000, Misaligned::default(), behaviour);
            let trouble = report.trouble.clone().unwrap_or_default();
            assert!(trouble.contains(expected), "{trouble}");
            assert!(!report.verified() && report.median_ms.is_none());
        }
    }

    #[test]
    fn the_grid_is_asked_for_or_declared_or_what_fits() {
        let blocks = |name, blocks| {
            let kernel = workload::kernel(name).unwrap();
            let problem = workload::of(kernel).unwrap().generate(1 << 20, 1);
            let shape = Shaped::default_of(kernel, &kernel.variants[0]);
            let mut device = Fake::new(|_, _| ());
            let mut job = Job::new(&mut device, problem.as_ref(), Misaligned::default()).unwrap();
            job.geometry(&shape, blocks).unwrap().blocks()
        };
        // 1,024 tiles of 1,024 elements on two multiprocessors that hold three blocks each.
        for (name, asked, expected) in [
            ("kernel_async_pipeline", Blocks::Declared, 512),
            ("kernel_async_pipeline", Blocks::Resident, 6),
            (
                "kernel_async_pipeline",
                Blocks::Asked(Grid::PerMultiprocessor(5)),
                10,
            ),
            ("kernel_async_pipeline", Blocks::Asked(Grid::Blocks(4)), 4),
            ("sum", Blocks::Declared, 6),
        ] {
            assert_eq!(blocks(name, asked), expected, "{name}");
        }
    }

    #[test]
    fn a_copy_of_the_same_traffic_is_timed() {
        let kernel = workload::kernel("kernel_async_pipeline").unwrap();
        let problem = workload::of(kernel).unwrap().generate(1 << 20, 1);
        let mut device = Fake::new(|_, _| ());
        let mut job = Job::new(&mut device, problem.as_ref(), Misaligned::default()).unwrap();
        assert_eq!(
            job.copy_rate().unwrap(),
            Some(8.0 * f64::from(1 << 20) / 0.5e6)
        );
    }
}
