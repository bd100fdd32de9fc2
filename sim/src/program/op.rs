//! The decoded form of an instruction.
//!
//! Decoding settles everything that does not change from step to step: operands are indices into the register file
//! (immediates, parameters and special registers are registers that are filled before a warp starts), branch targets and
//! reconvergence points are instruction indices, and what an instruction needs beyond a few words stands in a table of its own kind.

use std::ops::Range;

use crate::event::{Fence, Groups, Ordering, Pc, Scope};
use crate::lanes::Registers;
use crate::matrix::Row;
use crate::matrix::descriptor::Major;
use crate::matrix::mma::Mma;
use crate::matrix::quad::Order;
use crate::matrix::wgmma::Wgmma;
use crate::matrix::wmma::{self, Wmma};

/// Index of a register in its part of the register file.
pub(crate) type Reg = u32;

/// The predicate register that is always true.
pub(crate) const TRUE: Reg = 0;

/// No register: a dropped result or an operand that is absent.
pub(crate) const NONE: Reg = u32::MAX;

/// A register-only instruction on all lanes of a mask.
///
/// It is unsafe to call because it may be compiled for instructions that the machine lacks; decoding picks one that it has.
pub(crate) type LaneFn = unsafe fn(&mut Registers, &LaneOp, u32);

/// A register-only instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneOp {
    /// What it does.
    pub(crate) f: LaneFn,
    /// Destination.
    pub(crate) d: Reg,
    /// First source.
    pub(crate) a: Reg,
    /// Second source.
    pub(crate) b: Reg,
    /// Third source.
    pub(crate) c: Reg,
    /// Fourth source, or second destination.
    pub(crate) e: Reg,
}

/// Which lanes execute: those whose predicate is set, or clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    /// The predicate register.
    pub(crate) pred: Reg,
    /// All ones for `@!p`.
    pub(crate) flip: u32,
}

impl Guard {
    /// Every lane.
    pub(crate) const ALWAYS: Self = Self {
        pred: TRUE,
        flip: 0,
    };
}

/// An instruction with its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub(crate) guard: Guard,
    pub(crate) op: Op,
}

/// Where the lanes of a divergent branch meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meet {
    /// Nowhere: the paths end.
    Never,
    /// At this instruction of the same activation; `exact` unless paths that leave early had to be guessed.
    At {
        /// The instruction.
        pc: Pc,
        /// Whether every path that does not end comes here.
        exact: bool,
    },
    /// Where the function returns to.
    Return,
}

/// What to do; a `u32` without a better name is an index into the table of that kind in [`super::Tables`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Nothing.
    Nop,
    /// Registers only.
    Lane(LaneOp),
    /// The same, where the result is only within the ISA's error bounds.
    Approximate(LaneOp),
    /// To `target` for the lanes of the guard.
    Branch {
        target: Pc,
        meet: Meet,
    },
    /// To the `index`-th target of the list, by lane.
    BranchTable {
        index: Reg,
        first: u32,
        count: u32,
        meet: Meet,
    },
    /// To a function of this program, whose parameters were filled by the instructions before.
    Call {
        target: Pc,
        function: u32,
    },
    /// To the function whose address is in the register, through its thunk.
    CallIndirect(Reg),
    /// Back to the caller; from the entry, the end of the thread.
    Return,
    /// The end of the thread.
    Exit,
    /// `trap`.
    Trap,
    /// `brkpt`.
    Breakpoint,
    Load(u32),
    Store(u32),
    Atomic(u32),
    /// `cp.async`.
    CopyElements(u32),
    /// `cp.async.commit_group` and its bulk sister.
    Commit(Groups),
    /// `cp.async.wait_group`, `wait_all` (without a number).
    Wait(Groups, Option<u32>),
    /// `wgmma.wait_group`, behind the meeting of its lanes.
    WaitProducts(u32),
    /// No instruction: says that the next one touches registers that products use.
    Registers(u32),
    /// `cp.async.mbarrier.arrive`.
    CopyArrive(u32),
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    CopyBulk(u32),
    /// Copies of boxes of tensors, and their prefetch.
    CopyTensor(u32),
    /// `st.async`, `red.async`.
    StoreAsync(u32),
    Mbarrier(u32),
    /// `bar`, `barrier`.
    Barrier(u32),
    ClusterArrive(Ordering),
    ClusterWait(Ordering),
    Fence(Fence),
    /// `bar.warp.sync`, `shfl.sync` and everything else whose lanes wait for each other.
    Collective(u32),
    ActiveMask(Reg),
    /// `elect` needs no other lane's value but a member mask, and so is a collective; this is `%clock` and its like.
    Clock {
        d: Reg,
        clock: Clock,
    },
    Nanosleep,
    /// `vprintf`, `__assertfail`.
    System(u32),
    /// Puts the registers of a function aside for a call that may come back to it.
    Save(u32),
    /// Takes them back.
    Restore(u32),
    /// Not modelled.
    Unsupported(u32),
}

/// A register that changes while a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// `%clock`.
    Low,
    /// `%clock_hi`.
    High,
    /// `%clock64`.
    Cycles,
    /// `%globaltimer`.
    Nanoseconds,
    /// `%globaltimer_lo`.
    NanosecondsLow,
    /// `%globaltimer_hi`.
    NanosecondsHigh,
}

/// A state space as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// None named: the address says which window.
    Generic,
    Global,
    /// `.shared`, `.shared::cta`.
    Shared,
    /// `.shared::cluster`.
    Cluster,
    Local,
    Const,
    Param,
}

/// An address operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// The register.
    pub(crate) base: Reg,
    /// Whether it is one of 64 bits.
    pub(crate) wide: bool,
    /// Bytes added.
    pub(crate) offset: i64,
}

/// How one element of a load or store sits in its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// In a register of up to 32 bits; a signed load extends to the bits of `keep`.
    Narrow { signed: bool, keep: u32 },
    /// In a register of 64 bits.
    Wide { signed: bool },
    /// In two registers of 64 bits.
    Pair,
}

/// `ld`, `st`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Bytes of one element.
    pub(crate) bytes: u32,
    /// Elements of the vector.
    pub(crate) count: u32,
    pub(crate) cell: Cell,
    /// Where the element registers start in the register list.
    pub(crate) first: u32,
    pub(crate) ordering: Ordering,
    pub(crate) scope: Scope,
}

/// What an atomic does to its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
}

/// The type of an atomic's location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicType {
    Unsigned,
    Signed,
    Float,
    Half,
    Bfloat,
    HalfPair,
    BfloatPair,
}

/// `atom`, `red`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) op: AtomicOp,
    pub(crate) ty: AtomicType,
    /// Bytes of one element: 2, 4, 8 or 16.
    pub(crate) bytes: u32,
    /// Elements; destinations, operands (and swap values) follow each other in the register list.
    pub(crate) count: u32,
    pub(crate) first: u32,
    /// `red`: no result.
    pub(crate) reduction: bool,
    pub(crate) ordering: Ordering,
    pub(crate) scope: Scope,
}

/// `cp.async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyElements {
    pub(crate) destination: Address,
    pub(crate) source: Address,
    pub(crate) bytes: u32,
    /// Bytes to read; [`NONE`] for all.
    pub(crate) source_bytes: Reg,
    /// `ignore-src`; [`NONE`] without.
    pub(crate) ignore: Option<Guard>,
}

/// What `bar` does when its warp arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `.red.popc` of a predicate into a 32-bit register.
    Popc,
    /// `.red.and` into a predicate.
    And,
    /// `.red.or` into a predicate.
    Or,
}

/// `bar`, `barrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) aligned: bool,
    pub(crate) id: Reg,
    /// Threads; [`NONE`] for the whole block.
    pub(crate) threads: Reg,
    /// Result of a reduction.
    pub(crate) d: Reg,
    /// Predicate of a reduction.
    pub(crate) pred: Option<Guard>,
}

/// An instruction whose lanes wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) kind: CollectiveKind,
    /// Register with the lanes that take part.
    pub(crate) members: Reg,
}

/// What lanes that met do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CollectiveKind {
    /// `bar.warp.sync`: nothing more.
    Sync,
    /// Lanes that only come together.
    Converge,
    /// `wgmma.fence`.
    ProductFence,
    /// `wgmma.commit_group`.
    ProductCommit,
    Shuffle(Shuffle),
    Vote(Vote),
    Match(Match),
    Redux(Redux),
    /// An instruction on matrices.
    Matrix(u32),
    /// `elect.sync`: the lane's number (or [`NONE`]) and who it is.
    Elect {
        d: Reg,
        pred: Reg,
    },
}

/// Which lane `shfl` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `shfl.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) d: Reg,
    /// Whether the source was in range; [`NONE`] if nobody asks.
    pub(crate) pred: Reg,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) c: Reg,
}

/// What `vote` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// `vote.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub(crate) mode: VoteMode,
    pub(crate) d: Reg,
    pub(crate) pred: Guard,
}

/// `match.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) all: bool,
    pub(crate) wide: bool,
    pub(crate) d: Reg,
    pub(crate) pred: Reg,
    pub(crate) a: Reg,
}

/// What `redux` combines with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduxOp {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

impl ReduxOp {
    pub(crate) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::MinSigned => (a as i32).min(b as i32) as u32,
            Self::MaxSigned => (a as i32).max(b as i32) as u32,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// `redux.sync`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redux {
    pub(crate) op: ReduxOp,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
}

/// What an `mbarrier` instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierKind {
    Init,
    Inval,
    ExpectTx,
    CompleteTx,
    Arrive {
        /// `.arrive_drop`.
        drop: bool,
    },
    TestWait,
    TryWait,
    PendingCount,
}

impl MbarrierKind {
    /// Whether it is asked again and again until the answer is yes.
    pub(crate) fn polls(self) -> bool {
        matches!(self, Self::TestWait | Self::TryWait)
    }
}

/// `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mbarrier {
    pub(crate) kind: MbarrierKind,
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// The state that an arrival returns, a wait's predicate, a count; [`NONE`] where nobody asks.
    pub(crate) d: Reg,
    /// A count, a state or a parity; [`NONE`] for a count of one.
    pub(crate) operand: Reg,
    /// Transaction bytes; [`NONE`] without.
    pub(crate) bytes: Reg,
    /// Whether a wait names a parity and not a state.
    pub(crate) parity: bool,
    pub(crate) no_complete: bool,
    pub(crate) ordering: Ordering,
    pub(crate) scope: Scope,
}

/// `cp.async.mbarrier.arrive`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyArrive {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) noinc: bool,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyBulk {
    pub(crate) destination_space: Space,
    pub(crate) destination: Address,
    pub(crate) source_space: Space,
    pub(crate) source: Address,
    pub(crate) bytes: Reg,
    /// The mbarrier that it completes on; without one it is in a bulk group.
    pub(crate) object: Option<Address>,
    /// Mask of the blocks that get a copy; [`NONE`] without.
    pub(crate) multicast: Reg,
    /// The reduction, and the bytes of an element.
    pub(crate) reduce: Option<(AtomicOp, AtomicType, u32)>,
}

/// Which way a box of a tensor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorWay {
    /// Into shared memory.
    Load,
    /// Out of shared memory.
    Store,
    /// Into the cache.
    Fetch,
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyTensor {
    pub(crate) way: TensorWay,
    /// The space of the shared side.
    pub(crate) space: Space,
    /// The shared side; a prefetch has none.
    pub(crate) shared: Option<Address>,
    /// The tensor map, by its generic address.
    pub(crate) map: Address,
    /// Registers of the coordinates in the lists, innermost first.
    pub(crate) coordinates: u32,
    pub(crate) rank: u32,
    /// The mbarrier that a load completes on.
    pub(crate) object: Option<Address>,
    /// Mask of the blocks that get a copy; [`NONE`] without.
    pub(crate) multicast: Reg,
    /// What a store does with what is there; the map says of which type.
    pub(crate) reduce: Option<AtomicOp>,
}

/// A function that the driver brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemCall {
    /// `vprintf(format, arguments)`.
    Print,
    /// `__assertfail(message, file, line, function, size)`.
    AssertFail,
}

/// A call of such a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System {
    pub(crate) call: SystemCall,
    /// The arguments in 64-bit registers; [`NONE`] after the last.
    pub(crate) values: [Reg; 5],
}

/// Registers of a function: first and one past the last of each file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) r32: Vec<Range<Reg>>,
    pub(crate) r64: Vec<Range<Reg>>,
    pub(crate) pred: Vec<Range<Reg>>,
}

/// An instruction on matrices, all lanes of a warp together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrix {
    /// `ldmatrix`, `stmatrix`.
    Rows(RowMove),
    /// `movmatrix.trans`.
    Transpose { d: Reg, a: Reg },
    /// `wmma.load`, `wmma.store`.
    Fragment(FragmentMove),
    /// `mma.sync`, `wmma.mma`.
    Product(Product),
    /// `wgmma.mma_async`.
    GroupProduct(GroupProduct),
}

/// `wgmma.mma_async`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupProduct {
    pub(crate) wgmma: Wgmma,
    /// Where the accumulators start in the register list; the registers of a follow them, where it is in registers.
    pub(crate) first: u32,
    /// The descriptor of a; [`NONE`] where it is in registers.
    pub(crate) a: Reg,
    /// The descriptor of b.
    pub(crate) b: Reg,
    /// Whether the accumulators count.
    pub(crate) accumulate: Guard,
    /// Whether a and b are negated.
    pub(crate) negate: [bool; 2],
    /// In which direction a and b lie in memory.
    pub(crate) majors: [Major; 2],
}

/// Registers that products use, as an instruction that is none touches them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterTouch {
    pub(crate) reads: Vec<Reg>,
    pub(crate) writes: Vec<Reg>,
}

/// `ldmatrix`, `stmatrix`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowMove {
    pub(crate) store: bool,
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// One, two or four.
    pub(crate) matrices: u32,
    pub(crate) transpose: bool,
    /// Where the registers start in the register list.
    pub(crate) first: u32,
}

/// `wmma.load`, `wmma.store`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FragmentMove {
    pub(crate) store: bool,
    pub(crate) space: Space,
    pub(crate) address: Address,
    /// Elements from one line to the next.
    pub(crate) stride: Reg,
    pub(crate) order: Order,
    pub(crate) fragment: wmma::Fragment,
    /// Where the registers start in the register list.
    pub(crate) first: u32,
}

/// A product of matrices in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) kind: ProductKind,
    /// Where d, a, b and c follow each other in the register list.
    pub(crate) first: u32,
}

/// Which instruction a product is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProductKind {
    Mma(Mma),
    Wmma(Wmma),
}

impl Product {
    /// How many registers a, b, c and d have.
    pub(crate) const fn registers(&self) -> [usize; 4] {
        match &self.kind {
            ProductKind::Mma(mma) => mma.registers(),
            ProductKind::Wmma(wmma) => wmma.registers(),
        }
    }

    /// The product of the registers.
    pub(crate) fn multiply(&self, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut [Row]) {
        match &self.kind {
            ProductKind::Mma(mma) => mma.multiply(a, b, c, d),
            ProductKind::Wmma(wmma) => wmma.multiply(a, b, c, d),
        }
    }
}

/// `st.async`, `red.async`: registers into the shared memory of a block of the cluster, counted on an mbarrier there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreAsync {
    pub(crate) address: Address,
    pub(crate) object: Address,
    /// Bytes of one element.
    pub(crate) bytes: u32,
    pub(crate) count: u32,
    /// Where the element registers start in the register list.
    pub(crate) first: u32,
    pub(crate) reduce: Option<(AtomicOp, AtomicType, u32)>,
}
