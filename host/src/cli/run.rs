//! `nstage run`: kernels on data, every element verified.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use nstage::catalogue::{Kernel, Schedule};

use super::out::Format;
use super::progress::Progress;
use super::table::{Row, Table};
use super::values::{BlocksPerSm, ScheduleName, Stages};
use super::{Failure, notice};
use crate::device::geometry::{grouped, shapes};
use crate::device::{self, Device, GeometryError, Request, Shaped, Wish};
use crate::io::{self, Array, Output};
use crate::ptx::PtxSet;
use crate::workload::job::{Blocks, Job, JobError, Misaligned};
use crate::workload::{self, DeviceKind, Problem};

/// Run kernels and verify every element of what they write.
#[derive(Debug, Args)]
#[command(after_help = "Example: nstage run kernel_async_pipeline --elements 4194304 --stages 4")]
pub(super) struct Arguments {
    /// Kernels to run; all of them when none is named.
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// Depth of the ring, or all depths that a kernel has.
    #[arg(
        long,
        value_name = "N|all",
        default_value = "all",
        allow_negative_numbers = true
    )]
    stages: Stages,
    /// Where to run: auto, cuda, cuda:INDEX or sim.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Request,
    /// Elements of the generated input.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "input",
        allow_negative_numbers = true
    )]
    elements: Option<u64>,
    /// Seed of the generated input.
    #[arg(
        long,
        value_name = "S",
        default_value_t = 1,
        conflicts_with = "input",
        allow_negative_numbers = true
    )]
    seed: u64,
    /// Operations on each element, of jobs that let it be chosen: intensity.
    #[arg(long, value_name = "R", conflicts_with = "input")]
    reuse: Option<u32>,
    /// Folder of .ptx files to use instead of the built-in ones.
    #[arg(long, value_name = "DIR")]
    ptx: Option<PathBuf>,
    /// Threads of a block.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    block: Option<u32>,
    /// Blocks for each multiprocessor, or fit for as many as it holds at once; the kernel's own choice when left out.
    #[arg(long, value_name = "N|fit", allow_negative_numbers = true)]
    blocks_per_sm: Option<BlocksPerSm>,
    /// Elements of a tile.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    tile: Option<u32>,
    /// Barriers an iteration of a block-wide ring; both when left out.
    #[arg(long, value_enum)]
    schedule: Option<ScheduleName>,
    /// Input data, instead of generated ones.
    #[arg(long, value_name = "FILE.npy|FILE.png")]
    input: Option<PathBuf>,
    /// Where to write the output of the first variant that is verified.
    #[arg(long, value_name = "FILE.npy|FILE.png")]
    output: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A problem and the kernels that solve it.
struct Group {
    problem: Box<dyn Problem>,
    shapes: Vec<Shaped>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let kernels = arguments.named_kernels()?;
    let chosen = arguments.shapes(&kernels)?;
    let mut output = arguments.claim_output(&kernels)?;
    let input = arguments.input.as_deref().map(io::read).transpose()?;
    let input = input.map(|loaded| {
        loaded.notices.iter().for_each(|text| notice(text));
        loaded.array
    });
    let ptx = match &arguments.ptx {
        Some(folder) => PtxSet::from_folder(folder)?,
        None => PtxSet::embedded()?,
    };
    let device::Chosen { mut device, reason } = device::choose(arguments.device, &Arc::new(ptx))?;
    let chosen = arguments.fitting(chosen, device.as_ref())?;
    let groups = arguments.groups(&chosen, input.as_ref(), device.as_ref())?;
    if let (Some(output), Some(group)) = (&output, groups.first()) {
        output.accept_dimensions(group.problem.output_shape().len())?;
    }

    let names = chosen.iter().map(|shape| shape.kernel.name.len()).max();
    let description = device.describe().clone();
    let mut table = Table::new(arguments.format, &description, names.unwrap_or(0));
    table.head(&reason)?;
    let progress = Progress::new(chosen.len() as u64);
    for group in &groups {
        let mut job = Job::new(
            device.as_mut(),
            group.problem.as_ref(),
            Misaligned::default(),
        )?;
        let copy_rate = job.copy_rate()?;
        progress.aside(|| table.begin(group.problem.as_ref(), copy_rate))?;
        for shape in &group.shapes {
            progress.doing(shape.variant.entry);
            let geometry = job.geometry(
                shape,
                arguments
                    .blocks_per_sm
                    .map_or(Blocks::Declared, Blocks::from),
            )?;
            let report = job.run(geometry, true)?;
            if report.verified()
                && let Some(output) = output.take()
            {
                output.write(&group.problem.output(&report.outputs()))?;
            }
            let row = Row::new(group.problem.as_ref(), &report, &description, copy_rate);
            progress.aside(|| table.row(&row))?;
            progress.step();
        }
    }
    drop(progress);
    table.end(begun.elapsed().as_secs_f64())?;
    if output.is_some() {
        notice("nothing was verified, so the output was not written");
    }
    table.verdict()
}

impl Arguments {
    fn named_kernels(&self) -> Result<Vec<&'static Kernel>, Failure> {
        if self.kernels.is_empty() {
            return Ok(workload::kernels().collect());
        }
        let kernels = self.kernels.iter().map(|name| workload::kernel(name));
        Ok(kernels.collect::<Result<_, _>>()?)
    }

    fn wish(&self) -> Wish {
        Wish {
            block: self.block,
            tile: self.tile,
        }
    }

    /// Every variant asked for. A kernel that was named must have one; of all kernels, those that have none are left out.
    fn shapes(&self, kernels: &[&'static Kernel]) -> Result<Vec<Shaped>, Failure> {
        let schedule = self.schedule.map(Schedule::from);
        let mut chosen = Vec::new();
        let mut refused = None;
        for kernel in kernels {
            match shapes(kernel, self.stages.one(), schedule, &self.wish()) {
                Ok(shapes) => chosen.extend(shapes),
                Err(error) if self.kernels.is_empty() => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        match refused {
            Some(error) if chosen.is_empty() => Err(error.into()),
            _ => Ok(chosen),
        }
    }

    fn claim_output(&self, kernels: &[&Kernel]) -> Result<Option<Output>, Failure> {
        let Some(path) = &self.output else {
            return Ok(None);
        };
        if let [_, _, ..] = kernels {
            return Err(Failure::Usage(format!(
                "--output takes the output of one kernel, {} would run; name the kernel",
                kernels.len()
            )));
        }
        Ok(Some(Output::claim(path)?))
    }

    /// The variants that the device can run. One that was asked for by its depth must be among them; of all depths, those that do not fit are left out with a notice.
    fn fitting(&self, chosen: Vec<Shaped>, device: &dyn Device) -> Result<Vec<Shaped>, Failure> {
        let mut fitting = Vec::with_capacity(chosen.len());
        let mut refused: Vec<GeometryError> = Vec::new();
        for shape in chosen {
            match shape.fits(device.limits()) {
                Ok(()) => fitting.push(shape),
                Err(error) if self.stages == Stages::All => refused.push(error),
                Err(error) => return Err(error.into()),
            }
        }
        match refused.into_iter().next_back() {
            Some(error) if fitting.is_empty() => return Err(error.into()),
            Some(error) => notice(&format!(
                "what does not fit the device is left out, the last being {error}"
            )),
            None => {}
        }
        Ok(fitting)
    }

    /// One problem for each workload, with the variants that solve it, in the order of the table.
    fn groups(
        &self,
        chosen: &[Shaped],
        input: Option<&Array>,
        device: &dyn Device,
    ) -> Result<Vec<Group>, Failure> {
        let mut groups: Vec<Group> = Vec::new();
        let mut unsuitable = None;
        for run in chosen.chunk_by(|a, b| same_workload(a.kernel, b.kernel)) {
            let Some(workload) = workload::of(run[0].kernel) else {
                continue;
            };
            let problem = match input {
                Some(array) => workload.take(array.clone()),
                None => {
                    let elements = self
                        .elements
                        .unwrap_or(workload.default_elements(kind(device)));
                    affordable(elements, device)?;
                    Ok(workload::generate(
                        workload, elements, self.seed, self.reuse,
                    )?)
                }
            };
            match problem {
                Ok(problem) => groups.push(Group {
                    problem,
                    shapes: run.to_vec(),
                }),
                Err(error) if self.kernels.is_empty() => {
                    notice(&format!("left out: {error}"));
                    unsuitable.get_or_insert(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        match unsuitable {
            Some(error) if groups.is_empty() => Err(error.into()),
            _ => Ok(groups),
        }
    }
}

fn same_workload(a: &Kernel, b: &Kernel) -> bool {
    let workload = workload::of(a);
    workload.is_some_and(|workload| workload.kernels().iter().any(|own| own.name == b.name))
}

fn kind(device: &dyn Device) -> DeviceKind {
    if device.describe().is_simulator() {
        DeviceKind::Simulator
    } else {
        DeviceKind::Gpu
    }
}

/// Refuses a size before memory is taken for it: input and output of four bytes an element, and on the simulator the same again for its own copies.
fn affordable(elements: u64, device: &dyn Device) -> Result<(), Failure> {
    let each = match kind(device) {
        DeviceKind::Simulator => 16,
        DeviceKind::Gpu => 8,
    };
    let (needed, memory) = (elements.saturating_mul(each), device.limits().memory);
    if needed > memory {
        return Err(Failure::Usage(format!(
            "--elements {elements}: {} B of memory needed, {} has {} B; ask for at most {} elements",
            grouped(needed),
            device.describe().id,
            grouped(memory),
            grouped(memory / each)
        )));
    }
    Ok(())
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Geometry(error) => error.into(),
            JobError::Kernel(error) => error.into(),
            JobError::Tensor(error) => Self::Fault(error.to_string()),
            JobError::Device(error) => error.into(),
        }
    }
}
