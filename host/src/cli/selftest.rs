//! `nstage selftest`: every kernel, every variant, every awkward size, every alignment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use nstage::catalogue::Kernel;
use serde_json::json;

use super::Failure;
use super::out::{self, Format};
use super::progress::Progress;
use crate::device::{self, Device, Grid, Request, Shaped};
use crate::ptx::PtxSet;
use crate::workload::job::{Blocks, Job, JobError, Misaligned};
use crate::workload::{self, Problem};

/// How far inputs and outputs are from their allocation's alignment: every width of copy on either side.
const ALIGNMENTS: &[(u64, u64)] = &[(0, 0), (4, 4), (8, 8), (4, 0), (0, 8)];

/// Failures of one variant that are printed; the count says how many there are.
const FAILURES_SHOWN: usize = 3;

/// Verify every variant of every kernel on sizes and alignments where pipelines go wrong.
#[derive(Debug, Args)]
#[command(after_help = "Example: nstage selftest kernel_async_pipeline --device sim --quick")]
pub(super) struct Arguments {
    /// Kernels to test; all of them when none is named.
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// Where to run: auto, cuda, cuda:INDEX or sim.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Request,
    /// Folder of .ptx files to use instead of the built-in ones.
    #[arg(long, value_name = "DIR")]
    ptx: Option<PathBuf>,
    /// Aligned buffers only.
    #[arg(long)]
    quick: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Cases counted, of one variant or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    incomplete: usize,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let kernels: Vec<&'static Kernel> = match arguments.kernels.as_slice() {
        [] => workload::kernels().collect(),
        names => names
            .iter()
            .map(|name| workload::kernel(name))
            .collect::<Result<_, _>>()?,
    };
    let ptx = match &arguments.ptx {
        Some(folder) => PtxSet::from_folder(folder)?,
        None => PtxSet::embedded()?,
    };
    let device::Chosen { mut device, reason } = device::choose(arguments.device, &Arc::new(ptx))?;
    if arguments.format == Format::Text {
        out::line(&format!("device  {}: {reason}", device.describe()))?;
    }
    let shapes: Vec<Shaped> = kernels
        .iter()
        .flat_map(|&kernel| {
            kernel
                .variants
                .iter()
                .map(move |variant| Shaped::default_of(kernel, variant))
        })
        // What the device lacks the instructions for, or the room, cannot be tested there.
        .filter(|shape| shape.fits(device.limits()).is_ok())
        .collect();
    let progress = Progress::new(shapes.len() as u64);
    let mut total = Count::default();
    for shape in &shapes {
        progress.doing(shape.variant.entry);
        let count = variant(arguments, device.as_mut(), shape, &progress)?;
        total.passed += count.passed;
        total.failed += count.failed;
        total.incomplete += count.incomplete;
        progress.aside(|| print_variant(arguments.format, shape, count))?;
        progress.step();
    }
    drop(progress);
    print_total(arguments.format, total, begun.elapsed().as_secs_f64())?;
    match total {
        Count { failed: 1.., .. } => Err(Failure::Verdict),
        Count {
            incomplete: 1.., ..
        } => Err(Failure::Incomplete),
        _ => Ok(()),
    }
}

/// Every case of one variant.
fn variant(
    arguments: &Arguments,
    device: &mut dyn Device,
    shape: &Shaped,
    progress: &Progress,
) -> Result<Count, Failure> {
    let mut count = Count::default();
    let Some(workload) = workload::of(shape.kernel) else {
        return Ok(count);
    };
    let thorough = !device.describe().is_simulator();
    let alignments = if arguments.quick {
        &ALIGNMENTS[..1]
    } else {
        ALIGNMENTS
    };
    for problem in workload.self_test(shape, thorough) {
        for &(input, output) in alignments {
            let mut job = Job::new(device, problem.as_ref(), Misaligned { input, output })?;
            for grid in grids(problem.as_ref(), shape) {
                let geometry = job.geometry(shape, grid)?;
                let report = match job.run(geometry, false) {
                    Ok(report) => report,
                    // The device is of no use after a failed launch, and the case that did it is what to know.
                    Err(error @ JobError::Device(_)) => {
                        let case = title(problem.as_ref(), input, output, geometry.blocks());
                        return Err(Failure::Fault(format!("{case}: {error}")));
                    }
                    Err(error) => return Err(error.into()),
                };
                let case = title(problem.as_ref(), input, output, geometry.blocks());
                match (&report.trouble, report.incomplete()) {
                    (None, _) => count.passed += 1,
                    (Some(trouble), incomplete) => {
                        if incomplete {
                            count.incomplete += 1;
                        } else {
                            count.failed += 1;
                        }
                        if count.failed + count.incomplete <= FAILURES_SHOWN {
                            progress
                                .aside(|| print_failure(arguments.format, shape, &case, trouble))?;
                        }
                    }
                }
            }
        }
    }
    Ok(count)
}

/// One block, so that small inputs go through every stage of its ring; two, so that they share; or as many as fit.
fn grids(problem: &dyn Problem, shape: &Shaped) -> Vec<Blocks> {
    let ring = u64::from(shape.variant.stages().max(1));
    if problem.tiles(shape) <= 2 * ring {
        let most = if problem.tiles(shape) > 1 { 2 } else { 1 };
        (1..=most)
            .map(|blocks| Blocks::Asked(Grid::Blocks(blocks)))
            .collect()
    } else {
        vec![Blocks::Resident]
    }
}

fn title(problem: &dyn Problem, input: u64, output: u64, blocks: u32) -> String {
    let mut title = match blocks {
        1 => format!("{}, 1 block", problem.title()),
        several => format!("{}, {several} blocks", problem.title()),
    };
    if input > 0 {
        title += &format!(", input +{input} B");
    }
    if output > 0 {
        title += &format!(", output +{output} B");
    }
    title
}

fn print_failure(format: Format, shape: &Shaped, case: &str, trouble: &str) -> std::io::Result<()> {
    let entry = shape.variant.entry;
    match format {
        Format::Text => out::line(&format!("FAILED  {entry}, {case}: {trouble}")),
        Format::Json => out::json(&json!({ "entry": entry, "case": case, "trouble": trouble })),
    }
}

fn print_variant(format: Format, shape: &Shaped, count: Count) -> std::io::Result<()> {
    let Count {
        passed,
        failed,
        incomplete,
    } = count;
    let entry = shape.variant.entry;
    match format {
        Format::Text => {
            let word = if failed + incomplete == 0 {
                "ok"
            } else {
                "FAILED"
            };
            out::line(&format!(
                "{entry:<40} {passed:>4} of {:>4}  {word}",
                passed + failed + incomplete
            ))
        }
        Format::Json => out::json(&json!({
            "entry": entry, "passed": passed, "failed": failed, "incomplete": incomplete,
        })),
    }
}

fn print_total(format: Format, total: Count, seconds: f64) -> std::io::Result<()> {
    let Count {
        passed,
        failed,
        incomplete,
    } = total;
    match format {
        Format::Text => {
            let also = match incomplete {
                0 => String::new(),
                some => format!(", {some} incomplete"),
            };
            out::line(&format!(
                "\n{seconds:.1} s{also}: {passed} passed, {failed} failed"
            ))
        }
        Format::Json => out::json(&json!({
            "passed": passed, "failed": failed, "incomplete": incomplete, "seconds": seconds,
        })),
    }
}
