//! The catalogue: what the host knows of a kernel, taken from the kernel's own declaration.
//!
//! [`kernels!`](crate::kernels) fills these tables, so that no kernel name, entry name or argument list is written a second time.

use crate::law::law;
use crate::param::ParamType;
use crate::{Launch, Uniform};
use core::fmt;
use core::ops::RangeInclusive;

/// Code that becomes one `.entry`, with the shape of the launches that it accepts.
///
/// `Args` is the parameters as one value: the `Args` of the kernel's module.
/// Implemented on a type without values, usually one with const parameters for the depth and the like; [`kernels!`](crate::kernels) names its instances.
///
/// # Safety
/// The implementation promises that
/// - every thread of the block reaches every collective call of [`run`](Entry::run) (barriers, making and using a block-wide ring or stream), in one order, and every lane of a warp those of its [`Warp`](crate::Warp);
/// - [`run`](Entry::run) is sound whenever the launch keeps the kernel's contract: block size and dynamic shared memory as in [`SHAPE`](Entry::SHAPE),
///   a one-dimensional grid and block, and parameters as the kernel's documentation says.
pub unsafe trait Entry<Args> {
    /// What launches must look like.
    const SHAPE: Shape;

    /// The body, run by every thread.
    fn run(launch: Launch, args: Uniform<Args>);
}

/// How the stages of a ring are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Schedule {
    /// No block-wide ring.
    #[default]
    None,
    /// One barrier an iteration; depth − 1 tiles in flight.
    OneBarrier,
    /// Two barriers an iteration; depth tiles in flight.
    TwoBarrier,
    /// Some warps fill, others use; they meet at each stage's barriers, and depth tiles are in flight.
    Roles,
}

impl Schedule {
    /// The word of the command line: `one`, `two` or `roles`, and `none` without a ring.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::OneBarrier => "one",
            Self::TwoBarrier => "two",
            Self::Roles => "roles",
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What instructions need: an architecture and a PTX version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requires {
    /// 80 for `sm_80`.
    pub arch: u32,
    /// Whether only that architecture has them, and no later one: `sm_90a`.
    pub specific: bool,
    /// The PTX version, `(8, 0)`.
    pub ptx: (u32, u32),
}

impl Requires {
    /// Element copies and their groups.
    pub const SM_80: Self = Self {
        arch: 80,
        specific: false,
        ptx: (7, 0),
    };
    /// Barriers in shared memory, waited for by parity.
    pub const MBARRIER: Self = Self {
        ptx: (7, 1),
        ..Self::SM_80
    };
    /// Bulk copies, clusters, waits that suspend.
    pub const SM_90: Self = Self {
        arch: 90,
        specific: false,
        ptx: (8, 0),
    };
    /// Register counts that roles choose, and matrix instructions of a warp group.
    pub const SM_90A: Self = Self {
        specific: true,
        ..Self::SM_90
    };
}

/// The shape of a variant's launches; made with [`Shape::new`] and the methods that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    stages: u32,
    schedule: Schedule,
    pieces: u32,
    min_threads: u32,
    max_threads: u32,
    default_threads: u32,
    min_blocks_per_sm: u32,
    max_registers: u32,
    tiles_a_block: u32,
    cluster: u32,
    requires: Requires,
    shared_bytes: fn(u32) -> u32,
    tile: fn(u32) -> u32,
}

impl Default for Shape {
    fn default() -> Self {
        Self::new()
    }
}

impl Shape {
    /// A synchronous kernel without shared memory: blocks of 32 to 1024 threads, 256 where nothing else is asked for, one element a thread.
    pub const fn new() -> Self {
        const fn nothing(_: u32) -> u32 {
            0
        }
        const fn one_each(threads: u32) -> u32 {
            threads
        }
        Self {
            stages: 0,
            schedule: Schedule::None,
            pieces: 0,
            min_threads: 32,
            max_threads: 1024,
            default_threads: 256,
            min_blocks_per_sm: 0,
            max_registers: 0,
            tiles_a_block: 0,
            cluster: 0,
            requires: Requires::SM_80,
            shared_bytes: nothing,
            tile: one_each,
        }
    }

    /// A ring of `stages` stages, reused as `schedule` says.
    pub const fn ring(self, stages: usize, schedule: Schedule) -> Self {
        Self {
            stages: stages as u32,
            schedule,
            ..self
        }
    }

    /// 16-byte pieces that one thread copies for a stage.
    pub const fn pieces(self, pieces: usize) -> Self {
        Self {
            pieces: pieces as u32,
            ..self
        }
    }

    /// Fewest and most threads of a block, both multiples of 32, and how many where nothing is asked for.
    pub const fn threads(self, min: u32, max: u32, default: u32) -> Self {
        law(
            min > 0 && min.is_multiple_of(32),
            "the smallest block is a multiple of 32 threads",
        );
        law(
            max <= 1024 && max.is_multiple_of(32),
            "the largest block is a multiple of 32 threads, at most 1024",
        );
        law(
            min <= default && default <= max,
            "the default block size lies between the smallest and the largest",
        );
        Self {
            min_threads: min,
            max_threads: max,
            default_threads: default,
            ..self
        }
    }

    /// Blocks that must fit on one multiprocessor at once, which caps the registers (`.minnctapersm`).
    pub const fn min_blocks_per_sm(self, blocks: u32) -> Self {
        Self {
            min_blocks_per_sm: blocks,
            ..self
        }
    }

    /// Registers of a thread, at most (`.maxnreg`).
    pub const fn max_registers(self, registers: u32) -> Self {
        Self {
            max_registers: registers,
            ..self
        }
    }

    /// Dynamic shared memory of a block, in bytes, from its threads.
    pub const fn shared(self, bytes: fn(u32) -> u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// Elements of a tile, from the threads of a block.
    pub const fn tile(self, elements: fn(u32) -> u32) -> Self {
        Self {
            tile: elements,
            ..self
        }
    }

    /// Tiles that one block takes where no grid is asked for; without this, as many blocks are launched as a GPU holds at once, and share all tiles.
    ///
    /// A few tiles a block keep more of a GPU's memory system busy than many: the next block's first copies start while the last ones of others drain.
    pub const fn tiles_a_block(self, tiles: u32) -> Self {
        law(tiles > 0, "a block takes at least one tile");
        Self {
            tiles_a_block: tiles,
            ..self
        }
    }

    /// Blocks of a cluster (`.reqnctapercluster`): a grid is a multiple of it.
    pub const fn cluster(self, blocks: u32) -> Self {
        law(
            blocks >= 1 && blocks <= 8,
            "a cluster has 1 to 8 blocks on every device that has clusters",
        );
        law(
            self.requires.arch >= 90,
            "clusters need sm_90: state `requires` first",
        );
        Self {
            cluster: blocks,
            ..self
        }
    }

    /// What the entry's instructions need of the device and of the driver; where nothing is said, an sm_80 and PTX 7.0.
    pub const fn requires(self, requires: Requires) -> Self {
        Self { requires, ..self }
    }

    /// The entry's `.reqnctapercluster`, zero for none.
    #[doc(hidden)]
    pub const fn reqnctapercluster(&self) -> u32 {
        self.cluster
    }

    /// What the entry needs.
    #[doc(hidden)]
    pub const fn required(&self) -> Requires {
        self.requires
    }

    /// The limit that the entry's `.maxntid` states.
    #[doc(hidden)]
    pub const fn maxntid(&self) -> u32 {
        self.max_threads
    }

    /// The entry's `.minnctapersm`, zero for none.
    #[doc(hidden)]
    pub const fn minnctapersm(&self) -> u32 {
        self.min_blocks_per_sm
    }

    /// The entry's `.maxnreg`, zero for none.
    #[doc(hidden)]
    pub const fn maxnreg(&self) -> u32 {
        self.max_registers
    }
}

/// One entry of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in the PTX.
    pub entry: &'static str,
    shape: Shape,
}

impl Variant {
    /// What [`kernels!`](crate::kernels) makes of an entry.
    #[doc(hidden)]
    pub const fn of<Args, E: Entry<Args>>(entry: &'static str) -> Self {
        Self {
            entry,
            shape: E::SHAPE,
        }
    }

    /// Depth of the ring; 0 is synchronous.
    pub const fn stages(&self) -> u32 {
        self.shape.stages
    }

    /// How stages are reused.
    pub const fn schedule(&self) -> Schedule {
        self.shape.schedule
    }

    /// 16-byte pieces that one thread copies for a stage; 0 where the kernel does not count so.
    pub const fn pieces(&self) -> u32 {
        self.shape.pieces
    }

    /// Threads that a block may have; a block has a multiple of 32.
    pub const fn threads(&self) -> RangeInclusive<u32> {
        self.shape.min_threads..=self.shape.max_threads
    }

    /// Threads of a block where nothing else is asked for.
    pub const fn default_threads(&self) -> u32 {
        self.shape.default_threads
    }

    /// Whether a block may have `threads` threads.
    pub const fn accepts(&self, threads: u32) -> bool {
        threads >= self.shape.min_threads
            && threads <= self.shape.max_threads
            && threads.is_multiple_of(32)
    }

    /// Blocks of a cluster, of which a grid is a multiple; 1 without clusters.
    pub const fn cluster(&self) -> u32 {
        if self.shape.cluster == 0 {
            1
        } else {
            self.shape.cluster
        }
    }

    /// What its instructions need of the device and of the driver.
    pub const fn requires(&self) -> Requires {
        self.shape.requires
    }

    /// Dynamic shared memory that a block of `threads` threads needs, in bytes.
    pub fn shared_bytes(&self, threads: u32) -> u32 {
        (self.shape.shared_bytes)(threads)
    }

    /// Tiles that one block takes where no grid is asked for; 0 where all blocks that a GPU holds at once share them.
    pub const fn tiles_a_block(&self) -> u32 {
        self.shape.tiles_a_block
    }

    /// Elements of a tile of a block of `threads` threads.
    pub fn tile(&self, threads: u32) -> u32 {
        (self.shape.tile)(threads)
    }
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in the declaration.
    pub name: &'static str,
    /// What it is.
    pub ty: ParamType,
    /// Its documentation.
    pub doc: &'static str,
}

/// A kernel: what it computes, its parameters, and an entry per variant.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Its parameters in order.
    pub params: &'static [Param],
    /// Its entries.
    pub variants: &'static [Variant],
}

impl Kernel {
    /// The first paragraph of the documentation, for tables.
    pub fn summary(&self) -> &'static str {
        self.doc.split("\n\n").next().unwrap_or(self.doc).trim()
    }

    /// The variants of one depth; 0 is synchronous.
    pub fn of_depth(&self, stages: u32) -> impl Iterator<Item = &'static Variant> {
        self.variants
            .iter()
            .filter(move |variant| variant.stages() == stages)
    }
}

/// The typed parameters of a kernel, as the driver and the simulator want them: one little-endian blob a parameter, in order.
///
/// Implemented by [`kernels!`](crate::kernels) for the `Args` of each kernel; a launch takes `Args`, so that a missing, extra or mistyped argument does not compile.
pub trait KernelArgs {
    /// The kernel that takes these parameters.
    fn kernel() -> &'static Kernel
    where
        Self: Sized;

    /// Hands the bytes of each parameter to `visit`.
    fn visit(&self, visit: &mut dyn FnMut(&Param, &[u8]));
}
