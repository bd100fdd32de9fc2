//! The happens-before checker.
//!
//! A [`Checker`] belongs to one launch. It hands out one [`BlockMonitor`] for each group of blocks (a cluster, or a block by itself),
//! which watches the group's events and ends as a [`BlockReport`]; [`Checker::findings`] puts the reports together, in order of group.
//!
//! Three concerns stay apart: `clock` is algebra, `hazard` (with what it judges by: `shadow`, `copies`, `objects`, `threads`, `fences`, `global`) is rules,
//! `report` is words.

mod advice;
mod block;
mod clock;
mod consequences;
mod copies;
mod fences;
mod global;
mod hazard;
mod ledger;
mod lines;
mod mbarriers;
mod notes;
mod objects;
mod policy;
mod products;
mod quick;
mod record;
mod report;
mod shadow;
mod tally;
mod threads;
mod touch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub use advice::advise;
pub(crate) use consequences::merge;

pub use block::{BlockMonitor, BlockReport};
pub use policy::{Disputed, Level, Policy, PolicyError};

use crate::event::Pc;
use crate::finding::Finding;
use crate::launch::Dim3;
use global::GlobalShadow;
use hazard::{Hazard, judge_wait};
use tally::WaitTally;

/// An instruction as reports show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// PTX line, from one.
    pub line: u32,
    /// The mnemonic, `cp.async.cg.shared.global`.
    pub mnemonic: String,
    /// Source file and line, where the PTX has `.loc`.
    pub source: Option<(String, u32)>,
}

/// What reports need to know about the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The instructions, by [`Pc`].
    pub instructions: Vec<Listed>,
    /// Shared variables: name and offsets in the block's window.
    pub shared: Vec<(String, Range<u64>)>,
    /// Whether the program contains bulk copies or asynchronous products, which go through the async proxy.
    pub async_proxy: bool,
}

impl Listing {
    fn instruction(&self, pc: Pc) -> Option<&Listed> {
        self.instructions.get(pc as usize)
    }

    /// The shared variable that holds the byte.
    fn variable(&self, offset: u64) -> Option<&(String, Range<u64>)> {
        self.shared
            .iter()
            .find(|(_, range)| range.contains(&offset))
    }
}

/// The shape of a launch, as far as threads are numbered by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    grid: Dim3,
    block: Dim3,
    cluster: Dim3,
}

impl Shape {
    /// Warps of one block.
    pub(crate) fn block_warps(&self) -> u32 {
        (self.block.count() as u32).div_ceil(32)
    }

    /// Blocks that are checked together: those of a cluster.
    pub(crate) fn blocks(&self) -> u32 {
        self.cluster.count() as u32
    }

    /// Index in the grid of the block with this rank in a group.
    pub(crate) fn block_index(&self, group: u32, rank: u32) -> [u32; 3] {
        let Dim3 { x, y, z } = self.cluster;
        let groups = Dim3::new(self.grid.x / x, self.grid.y / y, self.grid.z / z);
        let [gx, gy, gz] = groups.index(group.into());
        let [rx, ry, rz] = self.cluster.index(rank.into());
        [gx * x + rx, gy * y + ry, gz * z + rz]
    }

    /// Warps that are checked together.
    pub(crate) fn warps(&self) -> u32 {
        self.block_warps() * self.blocks()
    }

    /// The lanes that a warp has.
    pub(crate) fn lanes_of(&self, warp: u32) -> u32 {
        let from = warp % self.block_warps() * 32;
        match self.block.count() as u32 - from {
            count @ 0..32 => (1 << count) - 1,
            _ => !0,
        }
    }
}

/// Checks one launch.
#[derive(Debug)]
pub struct Checker {
    listing: Listing,
    shape: Shape,
    policy: Policy,
    global: GlobalShadow,
    /// Whether monitors may take the quick path; its law is that this changes no finding.
    quick: bool,
}

impl Checker {
    /// A checker for a launch of this shape; `cluster` is [`Dim3::ONE`] for a launch without clusters.
    #[must_use]
    pub fn new(listing: Listing, grid: Dim3, block: Dim3, cluster: Dim3, policy: Policy) -> Self {
        Self {
            listing,
            shape: Shape {
                grid,
                block,
                cluster,
            },
            policy,
            global: GlobalShadow::default(),
            quick: true,
        }
    }

    /// The monitor of one group of blocks: the clusters of the grid, or in a launch without clusters its blocks, x running fastest.
    ///
    /// In a cluster launch, warps and barriers of the block with rank r are numbered from r times those of a block (16 barriers each).
    #[must_use]
    pub fn group(self: &Arc<Self>, group: u32) -> BlockMonitor {
        BlockMonitor::new(Arc::clone(self), group)
    }

    /// The findings of the whole launch, in order of group and of time in each group; what concerns several groups comes last.
    #[must_use]
    pub fn findings(&self, mut reports: Vec<BlockReport>) -> Vec<Finding> {
        reports.sort_by_key(|report| report.group);
        let mut folded = BTreeMap::new();
        let mut list: Vec<([u32; 2], Hazard, u64)> = Vec::new();
        let mut waits: BTreeMap<Pc, (u32, WaitTally)> = BTreeMap::new();
        for report in reports {
            for (hazard, count) in report.hazards {
                let at = *folded.entry(hazard.key()).or_insert(list.len());
                match list.get_mut(at) {
                    Some((_, _, total)) => *total += count,
                    None => list.push(([report.group; 2], hazard, count)),
                }
            }
            for (pc, tally) in report.waits {
                waits
                    .entry(pc)
                    .and_modify(|(_, total)| total.add(&tally))
                    .or_insert((report.group, tally));
            }
        }
        list.extend(self.global.races());
        for (group, tally) in waits.into_values() {
            list.extend(judge_wait(&tally).map(|hazard| ([group; 2], hazard, tally.runs())));
        }
        consequences::fold(list, &self.policy)
            .into_iter()
            .filter_map(|(groups, hazard, count)| report::finding(self, groups, &hazard, count))
            .collect()
    }
}
