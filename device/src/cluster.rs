//! The cluster that a block belongs to.

use crate::{Block, Uniform, ptx};

/// A block's membership of its cluster; of a launch without clusters, each block is one.
///
/// Needs sm_90: an entry that asks says [`Requires::SM_90`](crate::catalogue::Requires::SM_90).
#[derive(Debug)]
pub struct Cluster<'b> {
    block: &'b Block,
}

impl Block {
    /// The cluster of this block.
    ///
    /// # Safety
    /// - Every collective call made through the value is made by all threads of all blocks of the cluster, in one order.
    #[inline(always)]
    pub unsafe fn cluster(&self) -> Cluster<'_> {
        Cluster { block: self }
    }
}

impl Cluster<'_> {
    /// The block.
    #[inline(always)]
    pub fn block(&self) -> &Block {
        self.block
    }

    /// The block's number in the cluster.
    #[inline(always)]
    pub fn rank(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a block.
        unsafe { Uniform::assume(ptx::cluster_ctarank()) }
    }

    /// Blocks of the cluster.
    #[inline(always)]
    pub fn blocks(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a grid.
        unsafe { Uniform::assume(ptx::cluster_nctarank()) }
    }

    /// The cluster's number in the grid.
    #[inline(always)]
    pub fn index(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a cluster.
        unsafe { Uniform::assume(ptx::clusterid_x()) }
    }

    /// Clusters of the grid.
    #[inline(always)]
    pub fn clusters(&self) -> Uniform<u32> {
        // SAFETY: the register is the same for all threads of a grid.
        unsafe { Uniform::assume(ptx::nclusterid_x()) }
    }

    /// Waits for every thread of the cluster, and shows each what the others wrote before.
    ///
    /// Collective in the cluster.
    #[inline(always)]
    pub fn sync(&self) {
        // SAFETY: the cluster's contract: all of its threads make this call.
        unsafe {
            ptx::barrier_cluster_arrive();
            ptx::barrier_cluster_wait();
        }
    }

    /// The address, for [`ptx::ld_shared_cluster_f32`] and its like, of what lies in block `rank` where `address` lies in this one.
    ///
    /// Traps where the cluster has no such block.
    #[inline(always)]
    pub fn at(&self, address: u32, rank: u32) -> u32 {
        if rank >= self.blocks().get() {
            ptx::trap();
        }
        // SAFETY: the cluster has the block.
        unsafe { ptx::mapa(address, rank) }
    }
}
