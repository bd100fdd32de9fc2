//! What the executor tells whoever watches it.
//!
//! The executor owns *values and progress*: registers, bytes, program counters, who waits for what.
//! A [`Monitor`] owns *order*: which access happened before which, and so which of them is a hazard.
//! The two meet only here, so that the executor runs at full speed with [`Silent`] and the checker never reaches into it.
//!
//! Events of one block arrive in the order the executor performed them, a warp at a time.
//! In a cluster launch one monitor watches all blocks of a cluster: the warps and barriers of the block with rank r are numbered
//! from r times those of a block (16 barriers each).
//! A lane mask has bit `i` set for lane `i` of the warp; thread `t` of a block is lane `t % 32` of warp `t / 32`.

/// Index of a decoded instruction; the program maps it to its PTX line.
pub type Pc = u32;

/// A warp of a block at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The instruction.
    pub pc: Pc,
    /// How many times the warp has come to it, this time counted.
    pub execution: u32,
    /// Warp of the block, from zero.
    pub warp: u32,
    /// Lanes that execute it (its guard already applied).
    pub mask: u32,
}

/// A window of memory that accesses of different threads can meet in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Global memory; addresses are the simulator's 64-bit global addresses.
    Global,
    /// Shared memory of a block of the executing cluster; addresses are offsets in that block's window.
    Shared {
        /// The block's rank in its cluster; the executing block's own rank for `.shared::cta`.
        rank: u16,
    },
}

/// What an access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// `ld`, `ldmatrix`.
    Read,
    /// `st`, `stmatrix`.
    Write,
    /// `atom`.
    Atomic,
    /// `red`: an atomic that never acquires.
    Reduction,
}

/// Memory-ordering strength of an access or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its PTX word")]
pub enum Ordering {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// Scope of a strong operation, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is its PTX word")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// An ordinary access by the lanes of one warp.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Where the bytes are.
    pub window: Window,
    /// What happens to them.
    pub kind: AccessKind,
    /// Its strength.
    pub ordering: Ordering,
    /// Its scope; meaningless for weak accesses.
    pub scope: Scope,
    /// Bytes per lane.
    pub bytes: u32,
    /// First byte of each lane, by lane; only lanes in the site's mask count.
    pub addresses: &'a [u64; 32],
}

/// Names an asynchronous operation of a block, in order of issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyId(pub u32);

/// Which instruction family issued an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKind {
    /// `cp.async`: generic proxy, completes through `cp.async` groups or `cp.async.mbarrier.arrive`.
    Element,
    /// `cp.async.bulk` into shared memory: async proxy, completes on an mbarrier.
    BulkLoad,
    /// `cp.async.bulk` or `cp.reduce.async.bulk` out of shared memory: async proxy, completes through bulk groups.
    BulkStore,
    /// `wgmma.mma_async`: reads shared memory through the async proxy and writes registers, completes through product groups.
    Product,
}

/// One asynchronous operation of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Its name, unique in its block.
    pub id: CopyId,
    /// The issuing lane.
    pub lane: u32,
    /// Its family.
    pub kind: CopyKind,
    /// Window and first byte it reads; `None` when nothing is read (source size zero).
    pub source: Option<(Window, u64)>,
    /// Bytes read from the source.
    pub source_bytes: u32,
    /// Window and first byte it writes.
    pub destination: (Window, u64),
    /// Bytes written, zero-fill included.
    pub bytes: u32,
    /// The mbarrier that it completes on, as window and offset.
    pub mbarrier: Option<(Window, u64)>,
    /// `cp.reduce`: it combines with what is there, atomically at device scope.
    pub reduces: bool,
}

/// Bytes side by side in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub at: u64,
    /// How many.
    pub bytes: u32,
}

/// The element copies (`cp.async`) that one instruction issues, all lanes at once.
///
/// Sources are global, destinations in the executing block's shared memory; the ids run on from `first` in order of lane.
#[derive(Clone, Copy, Debug)]
pub struct ElementCopies<'a> {
    /// Name of the lowest lane's copy.
    pub first: CopyId,
    /// The executing block's rank in its cluster.
    pub rank: u16,
    /// Bytes each lane writes: 4, 8 or 16.
    pub bytes: u32,
    /// First source byte by lane; only lanes in the site's mask count.
    pub sources: &'a [u64; 32],
    /// Bytes read from the source by lane; the rest is zero-filled.
    pub source_bytes: &'a [u32; 32],
    /// First destination offset by lane.
    pub destinations: &'a [u64; 32],
}

/// A warp's part of a `wgmma.mma_async`.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// Its number among the products of the warp, from zero; the four warps of a warpgroup make the same ones.
    pub ordinal: u32,
    /// The executing block's rank in its cluster, whose shared memory is read.
    pub rank: u16,
    /// The bytes that are read for the warp, in order of address.
    pub reads: &'a [Run],
    /// Registers that are added into.
    pub accumulators: &'a [u32],
    /// Registers that hold the warp's rows of the left factor, where it is not in memory.
    pub fragments: &'a [u32],
    /// Tells shapes of accumulators apart.
    pub shape: u32,
}

/// Which of the group sequences of a thread an instruction speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// `cp.async.commit_group` and `wait_group`.
    Element,
    /// `cp.async.bulk.commit_group` and `wait_group`.
    Bulk {
        /// `.read`: only the sources are waited for.
        read: bool,
    },
    /// `wgmma.commit_group` and `wait_group`.
    Product,
}

/// How a thread takes part in a block barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierRole {
    /// `bar.sync`, `bar.red`: arrives and waits.
    Sync,
    /// `bar.arrive`: arrives only.
    Arrive,
}

/// A fence instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `fence.{acq_rel,sc,acquire,release}`, `membar`.
    Memory(Ordering, Scope),
    /// `fence.proxy.async`, with the one space it names or none for all.
    ProxyAsync(Option<FenceSpace>),
    /// `fence.mbarrier_init.release.cluster`.
    MbarrierInit,
}

/// The space a proxy fence is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its PTX word")]
pub enum FenceSpace {
    Global,
    SharedCta,
    SharedCluster,
}

/// An operation on an mbarrier object by one lane, already carried out by the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierOp {
    /// `mbarrier.init` with its count.
    Init(u32),
    /// `mbarrier.inval`.
    Inval,
    /// `mbarrier.arrive` and its forms; transaction bytes were added first.
    Arrive {
        /// Arrivals.
        count: u32,
        /// `expect_tx` bytes of the same instruction.
        expect_tx: u32,
        /// `.arrive_drop`.
        drop: bool,
        /// `.release` or `.relaxed`.
        ordering: Ordering,
        /// Its scope.
        scope: Scope,
    },
    /// `mbarrier.expect_tx`.
    ExpectTx(u32),
    /// `mbarrier.complete_tx`.
    CompleteTx(u32),
    /// `cp.async.mbarrier.arrive`: arrives once the lane's earlier element copies are done.
    CopyArrive {
        /// `.noinc`.
        noinc: bool,
    },
    /// A test or try wait that returned true.
    WaitDone {
        /// The phase number (from zero) whose completion it saw; `None` is the phase that precedes a fresh object's first,
        /// which a wait for parity one is satisfied by.
        phase: Option<u64>,
        /// `.acquire` or `.relaxed`.
        ordering: Ordering,
        /// Its scope.
        scope: Scope,
    },
    /// A test or try wait that returned false.
    WaitPending,
}

/// Watches the execution of one block.
///
/// Every method has an empty default, so that a monitor names only what it needs and [`Silent`] costs nothing.
#[allow(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Monitor {
    /// Whether it judges what it is told, so that the executor leaves to it what both could say.
    const JUDGES: bool = true;
    /// Ordinary loads, stores and atomics.
    #[inline(always)]
    fn access(&mut self, site: Site, access: &Access<'_>) {}
    /// An asynchronous operation was issued.
    #[inline(always)]
    fn issue(&mut self, site: Site, copy: &Copy) {}
    /// A copy of a box of a tensor was issued: its bytes are these runs, in the windows that `copy` names.
    #[inline(always)]
    fn issue_box(&mut self, site: Site, copy: &Copy, sources: &[Run], destinations: &[Run]) {}
    /// The element copies of one instruction were issued; the same as an [`issue`](Self::issue) for each lane.
    #[inline(always)]
    fn issue_elements(&mut self, site: Site, copies: &ElementCopies<'_>) {}
    /// A warp issued its part of an asynchronous product.
    #[inline(always)]
    fn product(&mut self, site: Site, product: &Product<'_>) {}
    /// Registers that some product uses are read and written, by an instruction that is no product.
    #[inline(always)]
    fn registers(&mut self, site: Site, reads: &[u32], writes: &[u32]) {}
    /// `wgmma.fence`: the warp's registers are in order with later products.
    #[inline(always)]
    fn product_fence(&mut self, site: Site) {}
    /// Each lane closes its running group, empty or not.
    #[inline(always)]
    fn commit(&mut self, site: Site, groups: Groups) {}
    /// Each lane waited until at most `pending` of its newest groups are open; `None` is `wait_all`.
    #[inline(always)]
    fn wait(&mut self, site: Site, groups: Groups, pending: Option<u32>) {}
    /// The lanes arrive at block barrier `id`, which expects `threads`.
    #[inline(always)]
    fn barrier_arrive(&mut self, site: Site, id: u32, role: BarrierRole, threads: u32) {}
    /// Block barrier `id` completed a generation; every arrival since the last completion took part.
    #[inline(always)]
    fn barrier_complete(&mut self, id: u32) {}
    /// The lanes of the mask met in `bar.warp.sync`.
    #[inline(always)]
    fn warp_sync(&mut self, site: Site) {}
    /// The lanes arrived at the cluster barrier.
    #[inline(always)]
    fn cluster_arrive(&mut self, site: Site, ordering: Ordering) {}
    /// The lanes passed the cluster barrier's wait.
    #[inline(always)]
    fn cluster_wait(&mut self, site: Site, ordering: Ordering) {}
    /// An mbarrier operation by `lane`.
    #[inline(always)]
    fn mbarrier(&mut self, site: Site, lane: u32, object: (Window, u64), op: MbarrierOp) {}
    /// Phase `phase` of the object (from zero) just completed; what completed it was told before.
    #[inline(always)]
    fn mbarrier_complete(&mut self, object: (Window, u64), phase: u64) {}
    /// The bytes of `copy` arrived on its mbarrier (a complete-tx by the system).
    #[inline(always)]
    fn mbarrier_copy_complete(&mut self, object: (Window, u64), copy: CopyId) {}
    /// A fence.
    #[inline(always)]
    fn fence(&mut self, site: Site, fence: Fence) {}
    /// Every thread that is left waits, and nothing can end that.
    #[inline(always)]
    fn stuck(&mut self) {}
    /// The lanes are done.
    #[inline(always)]
    fn exit(&mut self, site: Site) {}
}

/// Watches nothing: values only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Monitor for Silent {
    const JUDGES: bool = false;
}
