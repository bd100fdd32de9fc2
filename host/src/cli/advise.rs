//! `nstage advise`: which configuration to take, from a sweep or from the model alone.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::measure::sink::Setup;
use super::out::{self, Format};
use super::sweep::AxesArguments;
use crate::advise::{self, Advice, model};
use crate::bench::item::{Blocks, Item, own_in_flight};
use crate::bench::plan;
use crate::bench::raw::{Raw, Spec};
use crate::bench::write;
use crate::device::hardware::{self, Hardware};
use crate::workload::{DeviceKind, Workload};

/// Say which configuration to take and why: from a sweep's folder, or without a GPU from the model alone.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage advise scale --gpu h200\nExample: nstage advise scale --from results/2026-11-29-h200"
)]
pub(super) struct Arguments {
    /// The job, or one of its kernels.
    #[arg(value_name = "JOB")]
    job: String,
    /// The folder of a sweep.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["gpu", "stages", "block", "blocks_per_sm", "tile"])]
    from: Option<PathBuf>,
    /// The device that the model is asked about.
    #[arg(long, value_name = "NAME", default_value = "h200")]
    gpu: String,
    #[command(flatten)]
    axes: AxesArguments,
    /// Elements of the input.
    #[arg(long, value_name = "N")]
    elements: Option<u64>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let workload = plan::job(&arguments.job)?;
    let all = match &arguments.from {
        Some(folder) => measured(arguments, workload, folder)?,
        None => vec![modelled(arguments, workload)?],
    };
    for (index, advice) in all.iter().enumerate() {
        match arguments.format {
            Format::Json => out::json(advice)?,
            Format::Text => {
                if index > 0 {
                    out::line("")?;
                }
                for sentence in advise::words::sentences(advice) {
                    out::line(&sentence)?;
                }
            }
        }
    }
    Ok(())
}

/// One piece of advice for each size that was swept.
fn measured(
    arguments: &Arguments,
    workload: &dyn Workload,
    folder: &std::path::Path,
) -> Result<Vec<Advice>, Failure> {
    let name = workload.name();
    let path = folder.join(format!("sweep-{name}-setup.json"));
    let setup: Setup = std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|reason| {
            Failure::Usage(format!(
                "{}: cannot be read: {reason}; nstage sweep {name} makes it",
                path.display()
            ))
        })?;
    let raws = write::read(&folder.join(format!("sweep-{name}.csv")))?;
    let mut sizes: Vec<u64> = raws.iter().map(|raw| raw.spec.elements).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|&size| arguments.elements.is_none_or(|wanted| wanted == size));
    let of_size = |size: u64| -> Vec<Raw> {
        let own = raws.iter().filter(|raw| raw.spec.elements == size);
        own.cloned().collect()
    };
    let advice: Vec<Advice> = sizes
        .into_iter()
        .filter_map(|size| advise::from_sweep(&of_size(size), &setup.hardware))
        .collect();
    if advice.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: no verified measurement of {name}{}; run nstage sweep {name} on the device",
            folder.display(),
            arguments
                .elements
                .map_or_else(String::new, |n| format!(" with {n} elements"))
        )));
    }
    Ok(advice)
}

fn modelled(arguments: &Arguments, workload: &dyn Workload) -> Result<Advice, Failure> {
    let hardware = Hardware::of_product(&arguments.gpu)?;
    // The traffic of a small problem tells the mix; tiles are counted in proportion.
    let elements = arguments
        .elements
        .unwrap_or(workload.default_elements(DeviceKind::Gpu));
    let problem = workload.generate(workload.default_elements(DeviceKind::Simulator), 1);
    let inputs: usize = problem.inputs().iter().map(|bytes| bytes.len()).sum();
    let scale = elements as f64 / problem.elements().max(1) as f64;
    let mut specs = Vec::new();
    for item in arguments.axes.items(workload)? {
        let Item::Own { shape, blocks } = &item else {
            continue;
        };
        let resident = hardware.occupancy(shape.threads, model::REGISTERS, shape.dynamic_shared());
        let at_once = match blocks {
            Blocks::PerSm(asked) if *asked >= resident => continue,
            Blocks::PerSm(asked) => *asked,
            _ if resident == 0 => continue,
            _ => resident,
        };
        let tiles = (problem.tiles(shape) as f64 * scale).ceil().max(1.0) as u64;
        let grid = match blocks {
            Blocks::Tiles(each) => tiles.div_ceil(u64::from(each.get())),
            _ => tiles.min(u64::from(at_once) * u64::from(hardware.multiprocessors)),
        };
        let used = grid
            .div_ceil(u64::from(hardware.multiprocessors))
            .min(u64::from(at_once));
        specs.push(Spec {
            blocks: grid,
            resident,
            in_flight_per_sm: used * own_in_flight(shape, tiles.div_ceil(grid)),
            bytes: problem.traffic(),
            read_bytes: (inputs as u64).min(problem.traffic()),
            ..item.outline(workload.name(), elements)
        });
    }
    advise::from_model(specs, &hardware).ok_or_else(|| {
        Failure::Usage(format!(
            "{}: no configuration fits {}; leave one of the axes out",
            workload.name(),
            hardware.name
        ))
    })
}

impl From<hardware::UnknownProduct> for Failure {
    fn from(error: hardware::UnknownProduct) -> Self {
        Self::Usage(error.to_string())
    }
}
