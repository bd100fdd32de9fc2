//! Which configurations there are: of a few kernels to compare, or all of one job to find the best.

use nstage::catalogue::Schedule;

use super::item::{Blocks, Item};
use super::peer::Peers;
use crate::device::geometry::shapes;
use crate::device::{GeometryError, Shaped, Wish};
use crate::workload::{self, Workload};

/// A job and what is measured of it.
pub struct JobPlan {
    /// The job's name.
    pub name: &'static str,
    /// What makes its input.
    pub workload: &'static dyn Workload,
    /// Elements of the input.
    pub elements: u64,
    /// The configurations.
    pub items: Vec<Item>,
    /// The one that others are compared with.
    pub reference: Option<usize>,
}

impl JobPlan {
    /// The shape whose parameters the peers are given: the first one of the job's first kernel.
    pub fn model(&self) -> Option<Shaped> {
        let kernel = self.workload.kernels().first()?;
        let variant = kernel.variants.first()?;
        Some(Shaped::default_of(kernel, variant))
    }
}

/// The kernels of a benchmark.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Depth of the ring.
    pub stages: Option<u32>,
    /// Barriers an iteration.
    pub schedule: Option<Schedule>,
    /// Block and tile.
    pub wish: Wish,
    /// Grids.
    pub blocks: Vec<Blocks>,
}

/// The configurations of one kernel that are asked for.
pub fn of_kernel(
    kernel: &'static nstage::catalogue::Kernel,
    selection: &Selection,
) -> Result<Vec<Item>, GeometryError> {
    let shapes = shapes(
        kernel,
        selection.stages,
        selection.schedule,
        &selection.wish,
    )?;
    let each = shapes.into_iter().flat_map(|shape| {
        let grids = selection.blocks.iter();
        grids.map(move |blocks| Item::Own {
            shape,
            blocks: blocks.of(shape.variant),
        })
    });
    Ok(each.collect())
}

/// The peers of a job: those of its name, and those whose entry contains one of the words if there are any.
pub fn of_peers(peers: &Peers, workload: &dyn Workload, words: &[String]) -> Vec<Item> {
    let name = workload.name();
    let wanted =
        |entry: &str| words.is_empty() || words.iter().any(|word| entry.contains(word.as_str()));
    let entries = peers.of(name).filter(|entry| wanted(&entry.entry));
    entries
        .map(|entry| Item::Peer(Box::new(entry.clone())))
        .collect()
}

/// The axes of a sweep.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Threads of a block.
    pub blocks: Vec<u32>,
    /// Grids.
    pub grids: Vec<Blocks>,
    /// Depths; all where empty.
    pub stages: Vec<u32>,
    /// Elements of a tile; all where empty.
    pub tiles: Vec<u32>,
}

/// Every configuration of a job's kernels along the axes.
pub fn of_axes(workload: &dyn Workload, axes: &Axes) -> Vec<Item> {
    let mut items = Vec::new();
    for kernel in workload.kernels() {
        let depths = |stages: u32| axes.stages.is_empty() || axes.stages.contains(&stages);
        // What has no ring is what the ring is compared with, whatever the depths.
        let variants = kernel
            .variants
            .iter()
            .filter(|variant| variant.stages() == 0 || depths(variant.stages()));
        for variant in variants {
            let mut threads: Vec<u32> = axes.blocks.clone();
            threads.retain(|&threads| variant.accepts(threads));
            if threads.is_empty() {
                threads.push(variant.default_threads());
            }
            for threads in threads {
                let shape = Shaped {
                    kernel,
                    variant,
                    threads,
                };
                if !axes.tiles.is_empty() && !axes.tiles.contains(&shape.tile()) {
                    continue;
                }
                let grids = axes.grids.iter();
                items.extend(grids.map(|blocks| Item::Own {
                    shape,
                    blocks: blocks.of(variant),
                }));
            }
        }
    }
    items
}

/// The item that others are compared with: the first whose entry is, or contains, the word; without a word the first synchronous one of ours.
pub fn reference(items: &[Item], word: Option<&str>) -> Option<usize> {
    match word {
        Some(word) => {
            let same = items.iter().position(|item| item.entry() == word);
            same.or_else(|| items.iter().position(|item| item.label().contains(word)))
        }
        None => items.iter().position(
            |item| matches!(item, Item::Own { shape, .. } if shape.variant.stages() == 0),
        ),
    }
}

/// The job of a kernel or of that name.
pub fn job(name: &str) -> Result<&'static dyn Workload, workload::UnknownKernel> {
    if let Some(&found) = workload::ALL.iter().find(|own| own.name() == name) {
        return Ok(found);
    }
    let kernel = workload::kernel(name)?;
    let own = |workload: &&&dyn Workload| {
        let mut kernels = workload.kernels().iter();
        kernels.any(|own| own.name == kernel.name)
    };
    // Kernels come from the workloads' own lists, so one of them has it.
    Ok(*workload::ALL.iter().find(own).unwrap_or(&workload::ALL[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_has_every_combination_once() {
        let axes = Axes {
            blocks: vec![128, 256, 2048],
            grids: vec![Blocks::PerSm(1), Blocks::Fit],
            stages: vec![2, 4],
            tiles: vec![],
        };
        let items = of_axes(job("scale").unwrap(), &axes);
        let labels: std::collections::BTreeSet<String> = items.iter().map(Item::label).collect();
        assert_eq!(labels.len(), items.len());
        // The synchronous kernel, and of the guide's ring two depths with two schedules and three pieces: two blocks and two grids each.
        for (kernel, variants) in [("kernel_sync", 1), ("kernel_async_pipeline", 2 * 2 * 3)] {
            let own = |item: &&Item| matches!(item, Item::Own { shape, .. } if shape.kernel.name == kernel);
            assert_eq!(
                items.iter().filter(own).count(),
                variants * 2 * 2,
                "{kernel}"
            );
        }
        let narrow = Axes {
            tiles: vec![512],
            ..axes
        };
        let items = of_axes(job("kernel_sync").unwrap(), &narrow);
        assert!(
            items
                .iter()
                .all(|item| matches!(item, Item::Own { shape, .. } if shape.tile() == 512))
        );
    }

    #[test]
    fn the_reference_is_named_or_synchronous() {
        let selection = Selection {
            blocks: vec![Blocks::Fit, Blocks::ONE_TILE],
            ..Selection::default()
        };
        let mut items = Vec::new();
        for name in ["kernel_async_pipeline", "kernel_sync"] {
            let kernel = workload::kernel(name).unwrap();
            items.extend(of_kernel(kernel, &selection).unwrap());
        }
        let label = |word| reference(&items, word).map(|index| items[index].label());
        assert_eq!(label(None).as_deref(), Some("kernel_sync × 256, grid fit"));
        assert_eq!(
            label(Some("s4_two")).as_deref(),
            Some("kernel_async_pipeline_s4_two_p1 × 256, grid fit")
        );
        assert_eq!(label(Some("nothing")), None);
    }

    #[test]
    fn peers_are_found_by_the_jobs_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers/cuda");
        let peers = Peers::read(std::path::Path::new(folder)).unwrap();
        let words = ["ring_two_s4".to_owned()];
        let items = of_peers(&peers, job("scale").unwrap(), &words);
        let entries: Vec<&str> = items.iter().map(Item::entry).collect();
        assert_eq!(
            entries,
            [
                "cpp_scale_ring_two_s4",
                "cpp_scale_ring_two_s4_p2",
                "cpp_scale_ring_two_s4_p4"
            ]
        );
    }
}
