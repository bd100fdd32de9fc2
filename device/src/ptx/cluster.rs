//! Clusters: blocks that run together and reach each other's shared memory.
//!
//! An address of the `.shared::cluster` window names a byte of any block of the cluster; a block's own `.shared` addresses lie in it too.
//! The barrier here is the form that promises no convergence, so that inline assembly may stand for it.

use super::instructions;

macro_rules! registers {
    ($($name:ident, $ptx:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Reads ", $what, ".")]
            ///
            /// # PTX
            #[doc = concat!("`mov.u32 d, ", $ptx, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// Nothing to keep.
            ///
            /// sm_90
            #[must_use = "reading a register has no effect"]
            pub unsafe fn $name() -> u32 {
                let value: u32;
                // SAFETY: reading a special register has no requirement; it does not change during a launch.
                unsafe { core::arch::asm!(concat!("mov.u32 {}, ", $ptx, ";"), out(reg32) value, options(pure, nomem, nostack, preserves_flags)) };
                value
            }
        )+}
    };
}

registers! {
    cluster_ctarank, "%cluster_ctarank", "the block's number in its cluster";
    cluster_nctarank, "%cluster_nctarank", "the blocks of a cluster";
    cluster_ctaid_x, "%cluster_ctaid.x", "the block's number in its cluster along x";
    cluster_nctaid_x, "%cluster_nctaid.x", "the blocks of a cluster along x";
    clusterid_x, "%clusterid.x", "the cluster's number in the grid along x";
    nclusterid_x, "%nclusterid.x", "the grid's clusters along x";
}

instructions! {
    /// Arrives at the cluster's barrier, and publishes this thread's accesses before it.
    ///
    /// # PTX
    /// `barrier.cluster.arrive;`
    ///
    /// # Threads
    /// Every thread of the cluster, once before each wait.
    ///
    /// # Safety
    /// - All threads of the cluster that have not exited arrive and wait in turns, as often as each other.
    /// - It completes no asynchronous copy.
    ///
    /// sm_90
    pub unsafe fn barrier_cluster_arrive() {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("barrier.cluster.arrive;", options(nostack, preserves_flags)) }
    }

    /// Arrives at the cluster's barrier, and publishes nothing but what a fence before it did.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.relaxed;`
    ///
    /// # Threads
    /// Every thread of the cluster, once before each wait.
    ///
    /// # Safety
    /// - As for [`barrier_cluster_arrive`].
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn barrier_cluster_arrive_relaxed() {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("barrier.cluster.arrive.relaxed;", options(nostack, preserves_flags)) }
    }

    /// Waits until every thread of the cluster has arrived at its barrier.
    ///
    /// # PTX
    /// `barrier.cluster.wait;`
    ///
    /// # Threads
    /// Every thread of the cluster, after its arrival.
    ///
    /// # Safety
    /// - As for [`barrier_cluster_arrive`].
    ///
    /// sm_90
    pub unsafe fn barrier_cluster_wait() {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("barrier.cluster.wait;", options(nostack, preserves_flags)) }
    }

    /// The address, in the cluster's window, of the byte that lies in block `rank` where `address` lies in this one.
    ///
    /// # PTX
    /// `mapa.shared::cluster.u32 d, address, rank;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// - `address` is in the block's shared memory, `rank` is below the blocks of the cluster.
    ///
    /// sm_90
    #[must_use = "an address has no effect until it is used"]
    pub unsafe fn mapa(address: u32, rank: u32) -> u32 {
        let there: u32;
        // SAFETY: the caller's contract; the instruction touches no memory.
        unsafe { core::arch::asm!("mapa.shared::cluster.u32 {}, {}, {};", out(reg32) there, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack, preserves_flags)) };
        there
    }

    /// The block of the cluster that an address of the cluster's window belongs to.
    ///
    /// # PTX
    /// `getctarank.shared::cluster.u32 d, address;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// - `address` is in the cluster's window.
    ///
    /// sm_90
    #[must_use = "asking has no effect"]
    pub unsafe fn getctarank(address: u32) -> u32 {
        let rank: u32;
        // SAFETY: the caller's contract; the instruction touches no memory.
        unsafe { core::arch::asm!("getctarank.shared::cluster.u32 {}, {};", out(reg32) rank, in(reg32) address, options(pure, nomem, nostack, preserves_flags)) };
        rank
    }
}

macro_rules! access {
    ($($load:ident, $store:ident, $ty:ty, $reg:ident, $ptx:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Loads one `", stringify!($ty), "` from the shared memory of a block of the cluster.")]
            ///
            /// # PTX
            #[doc = concat!("`ld.shared::cluster.", $ptx, " d, [address];`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `address` is in the cluster's window, aligned; its block runs until the load is done.
            /// - The value was written and published by a barrier of the cluster.
            ///
            /// sm_90
            #[must_use = "a load's result is its purpose"]
            pub unsafe fn $load(address: u32) -> $ty {
                let value: $ty;
                // SAFETY: the caller's contract.
                unsafe { core::arch::asm!(concat!("ld.shared::cluster.", $ptx, " {}, [{}];"), out($reg) value, in(reg32) address, options(pure, readonly, nostack, preserves_flags)) };
                value
            }

            #[doc = concat!("Stores one `", stringify!($ty), "` to the shared memory of a block of the cluster.")]
            ///
            /// # PTX
            #[doc = concat!("`st.shared::cluster.", $ptx, " [address], value;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `address` is in the cluster's window, aligned; its block runs until the store is done.
            /// - No other thread accesses the bytes until a barrier of the cluster.
            ///
            /// sm_90
            pub unsafe fn $store(address: u32, value: $ty) {
                // SAFETY: the caller's contract.
                unsafe { core::arch::asm!(concat!("st.shared::cluster.", $ptx, " [{}], {};"), in(reg32) address, in($reg) value, options(nostack, preserves_flags)) }
            }
        )+}
    };
}

access! {
    ld_shared_cluster_u32, st_shared_cluster_u32, u32, reg32, "b32";
    ld_shared_cluster_f32, st_shared_cluster_f32, f32, reg32, "b32";
    ld_shared_cluster_u64, st_shared_cluster_u64, u64, reg64, "b64";
    ld_shared_cluster_f64, st_shared_cluster_f64, f64, reg64, "b64";
}
