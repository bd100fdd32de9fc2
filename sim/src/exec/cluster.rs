//! The barrier of a cluster.

use super::group::{Group, Stop};
use super::warp::{Wait, Warp};
use crate::event::{Monitor, Ordering, Pc};
use crate::report::Fault;

/// Arrivals of one round.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Completions so far.
    pub(crate) generation: u64,
    /// Lanes of each warp that have arrived.
    arrived: Vec<u32>,
}

impl ClusterBarrier {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.generation = 0;
        self.arrived.clear();
        self.arrived.resize(warps, 0);
    }
}

impl<M: Monitor> Group<'_, M> {
    /// `barrier.cluster.arrive`.
    pub(crate) fn cluster_arrive(
        &mut self,
        warp: &Warp,
        pc: Pc,
        mask: u32,
        ordering: Ordering,
    ) -> Result<(), Stop> {
        let site = self.site(pc, mask);
        let arrived = self.cluster.arrived[site.warp as usize];
        if arrived & mask != 0 {
            return Err(self.fault(warp, pc, arrived & mask, Fault::ClusterTwice));
        }
        self.monitor.cluster_arrive(site, ordering);
        self.cluster.arrived[site.warp as usize] |= mask;
        self.writes += 1;
        self.complete_cluster(warp.live);
        Ok(())
    }

    /// `barrier.cluster.wait`. Whether the lanes may go on.
    pub(crate) fn cluster_wait(
        &mut self,
        warp: &mut Warp,
        index: usize,
        pc: Pc,
        mask: u32,
        ordering: Ordering,
    ) -> bool {
        let site = self.site(pc, mask);
        if self.cluster.arrived[site.warp as usize] & mask != 0 {
            warp.fragments[index].wait = Wait::Cluster {
                generation: self.cluster.generation,
            };
            return false;
        }
        self.monitor.cluster_wait(site, ordering);
        true
    }

    /// Completes the round if every thread of the cluster that has not ended has arrived; `live` are the running warp's lanes.
    pub(crate) fn complete_cluster(&mut self, live: u32) {
        let own = self.site(0, 0).warp as usize;
        if self.cluster.arrived.iter().all(|arrived| *arrived == 0) {
            return;
        }
        let warps = self.blocks.iter().flat_map(|block| &block.warps);
        let complete =
            warps
                .zip(&self.cluster.arrived)
                .enumerate()
                .all(|(index, (warp, arrived))| {
                    // The running warp is not in its block at the moment.
                    let live = if index == own { live } else { warp.live };
                    live & !arrived == 0
                });
        if complete {
            self.cluster.generation += 1;
            self.cluster.arrived.fill(0);
            self.writes += 1;
        }
    }
}
