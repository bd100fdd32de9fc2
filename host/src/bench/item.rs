//! One configuration to measure, and how it becomes launches on a bed.

use std::fmt;
use std::num::NonZeroU32;

use nstage::catalogue::{Schedule, Variant};

use super::bed::{Bed, Slot};
use super::peer::{Bound, Entry, Named, Peers};
use super::raw::Spec;
use super::work::{Foreign, Rig, Work};
use crate::device::{Geometry, Grid, Prepared, Shaped};
use crate::workload::Problem;
use crate::workload::job::JobError;

/// Who is measured in the words of the raw files.
pub const OWN: &str = "nstage";
/// Who compiled the kernels of `bench/peers/cuda`.
pub const NVCC: &str = "nvcc";

/// What decides the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// So many for each multiprocessor, all there at once.
    PerSm(u32),
    /// As many as are there at once.
    Fit,
    /// One for so many tiles.
    Tiles(NonZeroU32),
    /// What the kernel declares; a plan resolves it to one of the others.
    Declared,
}

impl Blocks {
    /// One block for each tile.
    pub const ONE_TILE: Self = Self::Tiles(NonZeroU32::MIN);

    /// What it comes to for a variant.
    #[must_use]
    pub fn of(self, variant: &Variant) -> Self {
        match self {
            Self::Declared => {
                NonZeroU32::new(variant.tiles_a_block()).map_or(Self::Fit, Self::Tiles)
            }
            other => other,
        }
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSm(blocks) => write!(f, "{blocks}"),
            Self::Fit => f.write_str("fit"),
            Self::Tiles(NonZeroU32::MIN) => f.write_str("tiles"),
            Self::Tiles(tiles) => write!(f, "tiles:{tiles}"),
            Self::Declared => f.write_str("declared"),
        }
    }
}

impl std::str::FromStr for Blocks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(tiles) = text.strip_prefix("tiles:").and_then(|n| n.parse().ok()) {
            return Ok(Self::Tiles(tiles));
        }
        match text {
            "fit" => Ok(Self::Fit),
            "tiles" => Ok(Self::ONE_TILE),
            "declared" => Ok(Self::Declared),
            _ => match text.parse() {
                Ok(blocks @ 1..) => Ok(Self::PerSm(blocks)),
                _ => Err("expected a number of blocks for each multiprocessor, fit for as many as are there at once, tiles or tiles:N for one block for each tile or N tiles, or declared".to_owned()),
            },
        }
    }
}

/// A configuration.
#[derive(Clone, Debug)]
pub enum Item {
    /// One of our own kernels.
    Own {
        /// Kernel, variant and block.
        shape: Shaped,
        /// The grid.
        blocks: Blocks,
    },
    /// A peer.
    Peer(Box<Entry>),
}

impl Item {
    /// What it is called while it runs.
    pub fn label(&self) -> String {
        match self {
            Self::Own { shape, blocks } => {
                format!("{} × {}, grid {blocks}", shape.variant.entry, shape.threads)
            }
            Self::Peer(entry) => entry.entry.clone(),
        }
    }

    /// What is known of it before it met a device.
    pub fn outline(&self, workload: &str, elements: u64) -> Spec {
        let known = Spec {
            workload: workload.to_owned(),
            entry: self.entry().to_owned(),
            elements,
            ..Spec::default()
        };
        match self {
            Self::Own { shape, blocks } => Spec {
                peer: OWN.to_owned(),
                kernel: shape.kernel.name.to_owned(),
                mechanism: mechanism(shape).to_owned(),
                stages: shape.variant.stages(),
                schedule: shape.variant.schedule().name().to_owned(),
                pieces: shape.variant.pieces(),
                tile: u64::from(shape.tile()),
                block: shape.threads,
                grid: blocks.to_string(),
                shared_bytes: shape.dynamic_shared(),
                ..known
            },
            Self::Peer(entry) => Spec {
                peer: NVCC.to_owned(),
                kernel: format!("{} {}", entry.workload, entry.variant),
                mechanism: entry.mechanism.clone(),
                stages: entry.stages,
                schedule: peer_schedule(entry).to_owned(),
                pieces: entry.pieces,
                block: entry.block,
                ..known
            },
        }
    }

    /// The entry's name.
    pub fn entry(&self) -> &str {
        match self {
            Self::Own { shape, .. } => shape.variant.entry,
            Self::Peer(entry) => &entry.entry,
        }
    }
}

/// A configuration with its launches.
pub struct Ready {
    /// What it is.
    pub spec: Spec,
    /// One piece of work for each buffer set.
    pub works: Vec<Work>,
    /// Where its results lie.
    pub slot: Slot,
    /// The outputs that it writes.
    pub written: Vec<usize>,
    /// The shape that the comparison is told of.
    pub geometry: Geometry,
}

/// Why there is nothing to measure: the device failed, or the configuration does not fit.
pub enum Refusal {
    /// It does not fit, in a sentence.
    Unfit(String),
    /// The device failed.
    Failed(JobError),
}

impl<E: Into<JobError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        match error.into() {
            JobError::Device(error @ crate::device::DeviceError::Load { .. }) => {
                Self::Unfit(error.to_string())
            }
            JobError::Geometry(error) => Self::Unfit(error.to_string()),
            error => Self::Failed(error),
        }
    }
}

/// What the configurations of a job have in common.
pub struct Job<'a> {
    /// The job's name.
    pub workload: &'a str,
    /// The problem.
    pub problem: &'a dyn Problem,
    /// The peers, where there are any.
    pub peers: Option<&'a Peers>,
    /// A shape of our own, whose parameters and outputs the peers are given.
    pub model: Shaped,
    /// Whether a grid that comes to the same as [`Blocks::Fit`] is left out.
    pub distinct: bool,
}

impl Job<'_> {
    /// Makes the launches of a configuration.
    pub fn ready(&self, rig: &mut dyn Rig, bed: &mut Bed, item: &Item) -> Result<Ready, Refusal> {
        match item {
            Item::Own { shape, blocks } => self.own(rig, bed, shape, *blocks),
            Item::Peer(entry) => self.peer(rig, bed, entry),
        }
    }

    fn own(
        &self,
        rig: &mut dyn Rig,
        bed: &mut Bed,
        shape: &Shaped,
        blocks: Blocks,
    ) -> Result<Ready, Refusal> {
        let entry = shape.variant.entry;
        shape.fits(rig.limits())?;
        let resources = rig.resources(entry, shape.threads, shape.dynamic_shared())?;
        let resident = resources.blocks_per_sm;
        let grid = match blocks {
            Blocks::PerSm(asked) if asked > resident => {
                return Err(Refusal::Unfit(format!(
                    "{entry}: {asked} blocks for each multiprocessor asked for, {resident} are there at once"
                )));
            }
            Blocks::PerSm(asked) if asked == resident && self.distinct => {
                return Err(Refusal::Unfit(format!(
                    "{entry}: {asked} blocks for each multiprocessor are all that fit; measured as such"
                )));
            }
            _ if resident == 0 => {
                return Err(Refusal::Unfit(format!(
                    "{entry}: no block of {} threads fits a multiprocessor",
                    shape.threads
                )));
            }
            Blocks::PerSm(asked) => Grid::PerMultiprocessor(asked),
            Blocks::Fit | Blocks::Declared => Grid::PerMultiprocessor(resident),
            Blocks::Tiles(tiles) => Grid::TilesPerBlock(tiles),
        };
        let limits = rig.limits().clone();
        let geometry = shape.geometry(&limits, grid, self.problem.tiles(shape))?;
        let slot = bed.slot(rig, &self.problem.outputs(&geometry))?;
        let mut works = Vec::with_capacity(bed.sets());
        for set in 0..bed.sets() {
            let (inputs, outputs) = (bed.input_addresses(set), bed.output_addresses(slot, set));
            let launches = self
                .problem
                .launches(&geometry, &limits, &inputs, &outputs)?;
            for launch in &launches {
                let own = launch.geometry();
                rig.resources(launch.entry(), own.threads(), own.dynamic_shared())?;
            }
            works.push(Work::Launches(launches));
        }
        let item = Item::Own {
            shape: *shape,
            blocks,
        };
        let spec = Spec {
            blocks: u64::from(geometry.blocks()),
            resident,
            shared_bytes: shape.dynamic_shared() + resources.static_shared,
            in_flight_per_sm: self.in_flight(rig, shape, resident, &geometry),
            bytes: self.problem.traffic(),
            read_bytes: self.read_bytes(),
            ..item.outline(self.workload, self.problem.elements())
        };
        let written = (0..self.problem.outputs(&geometry).len()).collect();
        Ok(Ready {
            spec,
            works,
            slot,
            written,
            geometry,
        })
    }

    /// Of the traffic, what is read: no more than the inputs.
    fn read_bytes(&self) -> u64 {
        let inputs: usize = self.problem.inputs().iter().map(|bytes| bytes.len()).sum();
        (inputs as u64).min(self.problem.traffic())
    }

    fn in_flight(&self, rig: &dyn Rig, shape: &Shaped, resident: u32, geometry: &Geometry) -> u64 {
        let blocks = u64::from(geometry.blocks());
        let each = blocks.div_ceil(u64::from(rig.limits().multiprocessors));
        let tiles = self.problem.tiles(shape).div_ceil(blocks);
        own_in_flight(shape, tiles) * each.min(u64::from(resident))
    }

    fn peer(&self, rig: &mut dyn Rig, bed: &mut Bed, entry: &Entry) -> Result<Ready, Refusal> {
        let unfit = |error: super::peer::PeerError| Refusal::Unfit(error.to_string());
        let peers = self
            .peers
            .ok_or_else(|| Refusal::Unfit(format!("{}: no peers were given", entry.entry)))?;
        let limits = rig.limits().clone();
        let model = self.model;
        let geometry = model.geometry(
            &limits,
            Grid::PerMultiprocessor(1),
            self.problem.tiles(&model),
        )?;
        let slot = bed.slot(rig, &self.problem.outputs(&geometry))?;
        let named = |bed: &Bed, set: usize| -> Result<(Named, Vec<u64>), Refusal> {
            let (inputs, outputs) = (bed.input_addresses(set), bed.output_addresses(slot, set));
            let launches = self
                .problem
                .launches(&geometry, &limits, &inputs, &outputs)?;
            Ok((parameters(&launches), outputs))
        };
        let (first, _) = named(bed, 0)?;
        let block = entry.block;
        let plan = peers.plan(entry, block, &first).map_err(unfit)?;
        let function = rig.load(&peers.file(entry), &entry.entry)?;
        let resources = rig.resources_of(function, block, plan.dynamic_shared)?;
        let resident = resources.blocks_per_sm;
        if resident == 0 {
            return Err(Refusal::Unfit(format!(
                "{}: no block of {block} threads fits a multiprocessor",
                entry.entry
            )));
        }
        let at_once = u64::from(limits.multiprocessors) * u64::from(resident);
        let blocks = if plan.persistent {
            plan.tiles.min(at_once)
        } else {
            plan.tiles
        };
        if blocks > u64::from(limits.grid_x) {
            return Err(Refusal::Unfit(format!(
                "{}: {blocks} blocks are over the device's limit of {}",
                entry.entry, limits.grid_x
            )));
        }
        let mut own_memory: Vec<Option<u64>> = Vec::new();
        let mut works = Vec::with_capacity(bed.sets());
        let mut written = Vec::new();
        for set in 0..bed.sets() {
            let (ours, outputs) = named(bed, set)?;
            let bound = peers.bind(entry, &ours, &outputs, blocks).map_err(unfit)?;
            own_memory.resize(bound.len(), None);
            let mut params = Vec::with_capacity(bound.len());
            for (bound, memory) in bound.into_iter().zip(&mut own_memory) {
                match bound {
                    Bound::Bytes {
                        bytes,
                        written: is_written,
                    } => {
                        if is_written {
                            let index = outputs.iter().position(|o| bytes == o.to_le_bytes());
                            written.extend(index);
                        }
                        params.push(bytes);
                    }
                    Bound::Memory { bytes } => {
                        let address = match *memory {
                            Some(address) => address,
                            None => bed.scratch(rig, bytes)?,
                        };
                        *memory = Some(address);
                        params.push(address.to_le_bytes().to_vec());
                    }
                }
            }
            works.push(Work::Foreign(Foreign {
                function,
                entry: entry.entry.clone(),
                blocks: blocks as u32,
                threads: block,
                dynamic_shared: plan.dynamic_shared,
                params,
            }));
        }
        written.sort_unstable();
        written.dedup();
        let per_sm = blocks
            .div_ceil(u64::from(limits.multiprocessors))
            .min(u64::from(resident));
        let spec = Spec {
            tile: plan.tile,
            blocks,
            grid: if plan.persistent { "fit" } else { "tiles" }.to_owned(),
            resident,
            shared_bytes: plan.dynamic_shared + resources.static_shared,
            in_flight_per_sm: per_sm * peer_in_flight(entry, plan.dynamic_shared),
            bytes: self.problem.traffic(),
            read_bytes: self.read_bytes(),
            ..Item::Peer(Box::new(entry.clone())).outline(self.workload, self.problem.elements())
        };
        Ok(Ready {
            spec,
            works,
            slot,
            written,
            geometry,
        })
    }
}

/// The parameters of all launches by name; the first one of a name wins.
fn parameters(launches: &[Prepared]) -> Named {
    let mut named = Named::new();
    for launch in launches {
        let params = launch.geometry().shape().kernel.params;
        for (param, bytes) in params.iter().zip(launch.params()) {
            named.entry(param.name).or_insert_with(|| bytes.clone());
        }
    }
    named
}

/// How bytes come to shared memory.
pub fn mechanism(shape: &Shaped) -> &'static str {
    let name = shape.kernel.name;
    // The catalogue has no word for it; the kernels' names say what is not a commit group.
    if shape.variant.stages() == 0 {
        "loads"
    } else if name.contains("tensor") {
        "cp.async.bulk.tensor"
    } else if name.contains("bulk") {
        "cp.async.bulk"
    } else if name.contains("mbarrier") {
        "cp.async + mbarrier"
    } else {
        "cp.async"
    }
}

/// Bytes that a block with `tiles` tiles has on the way at most: every stage of its ring but the one that one barrier an iteration keeps for the reader,
/// and no more than its tiles.
pub fn own_in_flight(shape: &Shaped, tiles: u64) -> u64 {
    let shared = u64::from(shape.dynamic_shared());
    let stages = u64::from(shape.variant.stages());
    match (stages, shape.variant.schedule()) {
        (0, _) if shared > 0 => shared,
        (0, _) => u64::from(shape.threads) * 16 * u64::from(shape.variant.pieces().max(1)),
        (stages, Schedule::OneBarrier) => shared / stages * (stages - 1).min(tiles),
        (stages, _) => shared / stages * stages.min(tiles),
    }
}

fn peer_schedule(entry: &Entry) -> &'static str {
    match entry.variant.as_str() {
        variant if variant.starts_with("ring_one") => "one",
        variant if variant.starts_with("ring_two") => "two",
        _ => "none",
    }
}

fn peer_in_flight(entry: &Entry, shared: u32) -> u64 {
    let shared = u64::from(shared);
    match entry.stages {
        0 if shared == 0 => u64::from(entry.block) * 16 * u64::from(entry.pieces.max(1)),
        stages if peer_schedule(entry) == "one" => {
            shared / u64::from(stages.max(1)) * u64::from(stages - 1)
        }
        _ => shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    #[test]
    fn grids_are_written_as_they_are_read() {
        for text in ["1", "32", "fit", "tiles", "tiles:2", "declared"] {
            assert_eq!(text.parse::<Blocks>().unwrap().to_string(), text);
        }
        for text in ["0", "tiles:0", "-1", "all", ""] {
            let message = text.parse::<Blocks>().unwrap_err();
            assert!(message.starts_with("expected a number"), "{text}");
        }
    }

    #[test]
    fn bytes_on_the_way_are_stages_and_no_more_than_tiles() {
        let kernel = workload::kernel("kernel_async_pipeline").unwrap();
        let of = |schedule: Schedule, stages: u32, tiles: u64| {
            let variant = kernel
                .of_depth(stages)
                .find(|variant| variant.schedule() == schedule && variant.pieces() == 1)
                .unwrap();
            own_in_flight(&Shaped::default_of(kernel, variant), tiles)
        };
        // 256 threads of 16 bytes are 4 KiB a tile.
        for (schedule, stages, tiles, expected) in [
            (Schedule::TwoBarrier, 4, 100, 4),
            (Schedule::OneBarrier, 4, 100, 3),
            (Schedule::TwoBarrier, 8, 2, 2),
            (Schedule::OneBarrier, 2, 2, 1),
        ] {
            assert_eq!(of(schedule, stages, tiles), expected * 4096);
        }
    }
}
