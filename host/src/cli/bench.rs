//! `nstage bench`: kernels and their peers timed side by side, every one verified.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nstage::catalogue::{Kernel, Schedule};

use super::Failure;
use super::measure::sink::{Form, Printer, RawFile, Setup, save, unwritable};
use super::measure::{self, How};
use super::progress::Progress;
use super::values::{ScheduleName, Stages};
use crate::bench::item::{Blocks, Item};
use crate::bench::peer::Peers;
use crate::bench::plan::{self, JobPlan, Selection};
use crate::bench::raw::Raw;
use crate::bench::rounds::Counts;
use crate::bench::row::Row;
use crate::bench::session::{Event, Settings};
use crate::bench::supervise::Watched;
use crate::device::hardware::Hardware;
use crate::device::{GeometryError, Request, Wish};
use crate::ptx::PtxSet;
use crate::workload::{self, DeviceKind, Workload};

/// Time kernels against the device's copy, its data sheet, a reference and other people's kernels.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage bench kernel_sync kernel_async_pipeline --elements 268435456 --peers target/peers"
)]
pub(super) struct Arguments {
    /// Kernels to time; all of them when none is named.
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// Depth of the ring, or all depths that a kernel has.
    #[arg(long, value_name = "N|all", default_value = "all")]
    stages: Stages,
    /// Barriers an iteration of a block-wide ring; both when left out.
    #[arg(long, value_enum)]
    schedule: Option<ScheduleName>,
    /// Threads of a block.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    block: Option<u32>,
    /// Elements of a tile.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tile: Option<u32>,
    /// Blocks for each multiprocessor: a number, fit for as many as are there at once, tiles or tiles:N for a block for each tile or N of them, declared for the kernel's own choice; several with commas between.
    #[arg(
        long,
        value_name = "N|fit|tiles",
        value_delimiter = ',',
        default_value = "declared"
    )]
    blocks_per_sm: Vec<Blocks>,
    /// Elements of the generated input.
    #[arg(long, value_name = "N")]
    elements: Option<u64>,
    /// Seed of the generated input.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Operations on each element, of jobs that let it be chosen: intensity.
    #[arg(long, value_name = "R")]
    reuse: Option<u32>,
    /// Where to run: auto, cuda or cuda:INDEX.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Request,
    /// Folder of .ptx files to use instead of the built-in ones.
    #[arg(long, value_name = "DIR")]
    ptx: Option<PathBuf>,
    /// Folder of compiled peers, as bench/peers/build.py makes it; those of the same jobs are timed too.
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Only the peers whose entry contains this; may be given several times.
    #[arg(long, value_name = "TEXT", requires = "peers")]
    peer: Vec<String>,
    /// What else everything is compared with: an entry or a part of its name; the first synchronous kernel when left out.
    #[arg(long, value_name = "ENTRY")]
    reference: Option<String>,
    /// Runs whose time counts; no fewer than 20.
    #[arg(long, value_name = "N", default_value_t = Counts::LEAST_SAMPLES as u32, value_parser = clap::value_parser!(u32).range(Counts::LEAST_SAMPLES as i64..))]
    samples: u32,
    /// Runs before the clock counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    warm_up: u32,
    /// Buffer sets that take turns; as many as exceed the L2 cache when left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rotate: Option<u32>,
    /// Seconds without a sign of life after which a kernel counts as hanging.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Folder for the raw samples, the rows and the table.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Measure and write events, for the parent that watches.
    #[arg(long, hide = true)]
    worker: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let peers = arguments.peers.as_deref().map(Peers::read).transpose()?;
    let plans = arguments.plans(peers.as_ref())?;
    measure::measurable(arguments.device)?;
    if arguments.worker {
        return measure::work(&plans, arguments.how(peers)?);
    }
    if let Some(folder) = &arguments.save {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    let mut raw_file = match &arguments.save {
        Some(folder) => {
            let path = folder.join("bench.csv");
            // A benchmark is one run: what was there is of another.
            if path.exists() {
                std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
            }
            Some(RawFile::append(&path)?)
        }
        None => None,
    };
    let items: Vec<(&JobPlan, &Item)> = plans
        .iter()
        .flat_map(|plan| plan.items.iter().map(move |item| (plan, item)))
        .collect();
    let progress = Progress::new(items.len() as u64);
    let with_reference = plans.iter().any(|plan| plan.reference.is_some());
    let mut printer = Printer::new(arguments.format, with_reference);
    let mut hardware = Hardware::of_capability(80);
    let (mut wrong, mut lines) = (0, String::new());
    let timeout = Duration::from_secs(arguments.timeout);
    measure::watch(BTreeSet::new(), timeout, |watched| {
        let raw = match watched {
            Watched::Event(Event::Device {
                title,
                hardware: found,
            }) => {
                hardware = found;
                if let Some(folder) = &arguments.save {
                    let setup = Setup::now(title.clone(), hardware.clone());
                    let text = serde_json::to_string_pretty(&setup).unwrap_or_default();
                    save(folder, "bench-setup.json", &text)?;
                }
                // Once more after a child was ended; the table has one head.
                if lines.is_empty() {
                    progress.aside(|| printer.device(&title))?;
                }
                return Ok(());
            }
            Watched::Event(Event::Doing { what, .. }) => {
                progress.doing(&what);
                return Ok(());
            }
            Watched::Event(Event::Measured { raw, .. }) => *raw,
            Watched::Event(Event::Unfit { item, reason }) | Watched::Lost { item, reason } => {
                let (plan, item) = items[item];
                Raw {
                    spec: item.outline(plan.name, plan.elements),
                    trouble: Some(reason),
                    ..Raw::default()
                }
            }
        };
        let row = Row::of(&raw, &hardware);
        wrong += usize::from(!row.verified);
        lines += &serde_json::to_string(&row).unwrap_or_default();
        lines.push('\n');
        if let Some(file) = &mut raw_file {
            file.add(&raw)?;
        }
        progress.step();
        progress.aside(|| printer.row(&raw, &row))
    })?;
    drop(progress);
    printer.end()?;
    if let Some(folder) = &arguments.save {
        save(folder, "bench.jsonl", &lines)?;
        save(folder, "bench.md", &printer.markdown)?;
    }
    if wrong > 0 {
        return Err(Failure::Verdict);
    }
    Ok(())
}

impl Arguments {
    fn how(&self, peers: Option<Peers>) -> Result<How, Failure> {
        Ok(How {
            device: self.device,
            ptx: match &self.ptx {
                Some(folder) => PtxSet::from_folder(folder)?,
                None => PtxSet::embedded()?,
            },
            peers,
            settings: Settings {
                counts: Counts {
                    warm_up: self.warm_up as usize,
                    samples: self.samples as usize,
                },
                sets: self.rotate.map(|sets| sets as usize),
                leave_out: BTreeSet::new(),
                alone: BTreeSet::new(),
            },
            distinct: false,
            seed: self.seed,
            reuse: self.reuse,
        })
    }

    /// The same for parent and child: nothing here depends on the device.
    fn plans(&self, peers: Option<&Peers>) -> Result<Vec<JobPlan>, Failure> {
        let named: Vec<&'static Kernel> = match self.kernels.as_slice() {
            [] => workload::kernels().collect(),
            names => names
                .iter()
                .map(|name| workload::kernel(name))
                .collect::<Result<_, _>>()?,
        };
        let selection = Selection {
            stages: self.stages.one(),
            schedule: self.schedule.map(Schedule::from),
            wish: Wish {
                block: self.block,
                tile: self.tile,
            },
            blocks: self.blocks_per_sm.clone(),
        };
        let mut plans = Vec::new();
        let mut refused: Option<GeometryError> = None;
        for &workload in workload::ALL {
            let mut items = Vec::new();
            for kernel in named.iter().filter(|kernel| is_of(workload, kernel)) {
                match plan::of_kernel(kernel, &selection) {
                    Ok(found) => items.extend(found),
                    // Of all kernels, those that have no such variant are left out.
                    Err(error) if self.kernels.is_empty() => {
                        refused.get_or_insert(error);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            if items.is_empty() {
                continue;
            }
            if let Some(peers) = peers {
                items.extend(plan::of_peers(peers, workload, &self.peer));
            }
            plans.push(JobPlan {
                name: workload.name(),
                workload,
                elements: self
                    .elements
                    .unwrap_or(workload.default_elements(DeviceKind::Gpu)),
                reference: plan::reference(&items, self.reference.as_deref()),
                items,
            });
        }
        match refused {
            Some(error) if plans.is_empty() => return Err(error.into()),
            _ => {}
        }
        if let (Some(word), true) = (
            &self.reference,
            plans.iter().all(|plan| plan.reference.is_none()),
        ) {
            return Err(Failure::Usage(format!(
                "--reference {word}: nothing that is timed is called so; name one of the entries"
            )));
        }
        Ok(plans)
    }
}

fn is_of(workload: &dyn Workload, kernel: &Kernel) -> bool {
    let mut own = workload.kernels().iter();
    own.any(|own| own.name == kernel.name)
}
