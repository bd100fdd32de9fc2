//! `nstage sweep`: every configuration of one job, and what to take.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::measure::sink::{Form, Printer, RawFile, Setup, save, slug, today, unwritable};
use super::measure::{self, How};
use super::out;
use super::progress::Progress;
use super::{Failure, notice};
use crate::advise;
use crate::bench::item::{Blocks, Item};
use crate::bench::plan::{self, Axes, JobPlan};
use crate::bench::raw::Raw;
use crate::bench::rounds::Counts;
use crate::bench::row::Row;
use crate::bench::session::{Event, Settings};
use crate::bench::supervise::Watched;
use crate::bench::write;
use crate::device::Request;
use crate::device::hardware::Hardware;
use crate::ptx::PtxSet;
use crate::workload::{DeviceKind, Workload};

/// The fastest configurations that the summary lists.
const SHOWN: usize = 12;

/// Measure every configuration of a job, and say which to take and why.
#[derive(Debug, Args)]
#[command(after_help = "Example: nstage sweep scale --elements 268435456")]
pub(super) struct Arguments {
    /// The job, or one of its kernels.
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    axes: AxesArguments,
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
    /// Runs whose time counts; no fewer than 20.
    #[arg(long, value_name = "N", default_value_t = Counts::LEAST_SAMPLES as u32, value_parser = clap::value_parser!(u32).range(Counts::LEAST_SAMPLES as i64..))]
    samples: u32,
    /// Runs before the clock counts.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    warm_up: u32,
    /// Seconds without a sign of life after which a kernel counts as hanging.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Folder of the results; results/DATE-GPU when left out. A sweep that was ended goes on where it was.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Measure and write events, for the parent that watches.
    #[arg(long, hide = true)]
    worker: bool,
}

/// The axes, for `sweep` and `advise`.
#[derive(Debug, Args)]
pub(super) struct AxesArguments {
    /// Depths of the ring; all when left out.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    stages: Vec<u32>,
    /// Threads of a block.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "128,256,512,1024"
    )]
    block: Vec<u32>,
    /// Blocks for each multiprocessor: numbers, fit for as many as are there at once, tiles or tiles:N for a block for each tile or N of them.
    #[arg(
        long,
        value_name = "N|fit|tiles,…",
        value_delimiter = ',',
        default_value = "1,2,4,fit,tiles,tiles:2,tiles:4"
    )]
    blocks_per_sm: Vec<Blocks>,
    /// Elements of a tile; all when left out.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    tile: Vec<u32>,
}

impl AxesArguments {
    /// Every configuration of a job along the axes; at least one.
    pub(super) fn items(&self, workload: &dyn Workload) -> Result<Vec<Item>, Failure> {
        let axes = Axes {
            blocks: self.block.clone(),
            grids: self.blocks_per_sm.clone(),
            stages: self.stages.clone(),
            tiles: self.tile.clone(),
        };
        let items = plan::of_axes(workload, &axes);
        if items.is_empty() {
            return Err(Failure::Usage(format!(
                "{}: no configuration has these depths, blocks and tiles; leave one of the axes out",
                workload.name()
            )));
        }
        Ok(items)
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let workload = plan::job(&arguments.job)?;
    let items = arguments.axes.items(workload)?;
    let plan = JobPlan {
        name: workload.name(),
        workload,
        elements: arguments
            .elements
            .unwrap_or(workload.default_elements(DeviceKind::Gpu)),
        reference: plan::reference(&items, None),
        items,
    };
    let name = measure::measurable(arguments.device)?;
    if arguments.worker {
        return measure::work(&[plan], arguments.how()?);
    }
    let folder = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from("results").join(format!("{}-{}", today(), slug(&name))));
    let mut sweep = Sweep::new(folder, &plan)?;
    let progress = Progress::new(plan.items.len() as u64);
    sweep.done.iter().for_each(|_| progress.step());
    let timeout = Duration::from_secs(arguments.timeout);
    measure::watch(sweep.done.clone(), timeout, |watched| match watched {
        Watched::Event(Event::Device { title, hardware }) => {
            progress.aside(|| sweep.begin(&title, hardware))
        }
        Watched::Event(Event::Doing { what, .. }) => {
            progress.doing(&what);
            Ok(())
        }
        Watched::Event(Event::Measured { raw, .. }) => {
            progress.step();
            sweep.add(*raw)
        }
        Watched::Event(Event::Unfit { .. }) => {
            progress.step();
            sweep.pruned += 1;
            Ok(())
        }
        Watched::Lost { item, reason } => {
            progress.step();
            sweep.add(Raw {
                spec: plan.items[item].outline(plan.name, plan.elements),
                trouble: Some(reason),
                ..Raw::default()
            })
        }
    })?;
    drop(progress);
    sweep.end()
}

/// A sweep and its folder.
struct Sweep<'a> {
    folder: PathBuf,
    plan: &'a JobPlan,
    open: Option<Open>,
    done: BTreeSet<usize>,
    raws: Vec<Raw>,
    pruned: usize,
}

/// What is known once the device has answered.
struct Open {
    file: RawFile,
    hardware: Hardware,
}

impl<'a> Sweep<'a> {
    /// Takes up what the folder holds already.
    fn new(folder: PathBuf, plan: &'a JobPlan) -> Result<Self, Failure> {
        let mut sweep = Self {
            folder,
            plan,
            open: None,
            done: BTreeSet::new(),
            raws: Vec::new(),
            pruned: 0,
        };
        sweep.take_up()?;
        Ok(sweep)
    }

    fn take_up(&mut self) -> Result<(), Failure> {
        let path = self.folder.join(format!("sweep-{}.csv", self.plan.name));
        if !path.exists() {
            return Ok(());
        }
        self.raws = write::read(&path)?;
        let known: BTreeSet<String> = self.raws.iter().map(|raw| raw.spec.key()).collect();
        let plan = self.plan;
        let is_done = |item: &Item| known.contains(&item.outline(plan.name, plan.elements).key());
        let indices = (0..plan.items.len()).filter(|&index| is_done(&plan.items[index]));
        self.done = indices.collect();
        if !self.done.is_empty() {
            notice(&format!(
                "{} of {} configurations are in {} already",
                self.done.len(),
                plan.items.len(),
                path.display()
            ));
        }
        Ok(())
    }

    /// Opens the folder; results of another device or version in it are not mixed with these.
    fn begin(&mut self, title: &str, hardware: Hardware) -> Result<(), Failure> {
        if self.open.is_some() {
            return Ok(());
        }
        let setup = Setup::now(title.to_owned(), hardware.clone());
        let folder = &self.folder;
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let name = format!("sweep-{}-setup.json", self.plan.name);
        let path = folder.join(&name);
        let before: Option<Setup> = std::fs::read_to_string(&path)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        match before {
            Some(before) if before.hardware != hardware || before.nstage != setup.nstage => {
                return Err(Failure::Usage(format!(
                    "{}: was made on {} by nstage {}; pass another --output",
                    path.display(),
                    before.device,
                    before.nstage
                )));
            }
            Some(_) => {}
            None => {
                let text = serde_json::to_string_pretty(&setup).unwrap_or_default();
                save(folder, &name, &text)?;
            }
        }
        out::line(&format!("device  {title}"))?;
        out::line(&format!("folder  {}", folder.display()))?;
        let file = RawFile::append(&folder.join(format!("sweep-{}.csv", self.plan.name)))?;
        self.open = Some(Open { file, hardware });
        Ok(())
    }

    fn add(&mut self, raw: Raw) -> Result<(), Failure> {
        if let Some(open) = &mut self.open {
            open.file.add(&raw)?;
        }
        self.raws.push(raw);
        Ok(())
    }

    /// The summary and the advice.
    fn end(self) -> Result<(), Failure> {
        let Some(open) = self.open else {
            return Ok(());
        };
        // Results of other sizes may be in the file too.
        let elements = |raw: &&Raw| raw.spec.elements == self.plan.elements;
        let raws: Vec<Raw> = self.raws.iter().filter(elements).cloned().collect();
        let mut rows: Vec<(&Raw, Row)> = raws
            .iter()
            .map(|raw| (raw, Row::of(raw, &open.hardware)))
            .collect();
        let wrong = rows.iter().filter(|(_, row)| !row.verified).count();
        let rate = |row: &Row| row.gigabytes_per_second.unwrap_or(0.0);
        rows.sort_by(|(_, a), (_, b)| rate(b).total_cmp(&rate(a)));
        let mut printer = Printer::new(Form::Text, true);
        for (raw, row) in rows.iter().take(SHOWN) {
            printer.row(raw, row)?;
        }
        for (raw, row) in rows.iter().filter(|(_, row)| row.trouble.is_some()) {
            printer.row(raw, row)?;
        }
        printer.end()?;
        let mut text = printer.markdown;
        let counts = format!(
            "{} measured, {} left out because they do not fit or come to the same, {wrong} wrong.",
            rows.len(),
            self.pruned
        );
        let advice = advise::from_sweep(&raws, &open.hardware);
        let said = advice
            .as_ref()
            .map_or_else(Vec::new, advise::words::sentences);
        for line in [String::new(), counts, String::new()].iter().chain(&said) {
            out::line(line)?;
            text += line;
            text.push('\n');
        }
        save(
            &self.folder,
            &format!("sweep-{}.md", self.plan.name),
            text.trim_start(),
        )?;
        if let Some(advice) = advice {
            let json = serde_json::to_string_pretty(&advice).unwrap_or_default();
            save(
                &self.folder,
                &format!("advice-{}.json", self.plan.name),
                &json,
            )?;
        }
        if wrong > 0 {
            return Err(Failure::Verdict);
        }
        Ok(())
    }
}

impl Arguments {
    fn how(&self) -> Result<How, Failure> {
        Ok(How {
            device: self.device,
            ptx: match &self.ptx {
                Some(folder) => PtxSet::from_folder(folder)?,
                None => PtxSet::embedded()?,
            },
            peers: None,
            settings: Settings {
                counts: Counts {
                    warm_up: self.warm_up as usize,
                    samples: self.samples as usize,
                },
                sets: None,
                leave_out: BTreeSet::new(),
                alone: BTreeSet::new(),
            },
            distinct: true,
            seed: self.seed,
            reuse: self.reuse,
        })
    }
}
