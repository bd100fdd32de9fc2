//! How a kernel is launched, with which options, and what came of it.

use std::fmt;

use crate::Program;
use crate::finding::{Finding, Party, Severity, Verdict};

/// An extent in three dimensions, in blocks or threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Fastest-running dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

impl Dim3 {
    /// Extent one in every dimension.
    pub const ONE: Self = Self { x: 1, y: 1, z: 1 };

    /// `x` by `y` by `z`.
    #[must_use]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// How many elements it spans.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }

    /// The index of element `linear`, x running fastest.
    #[must_use]
    pub const fn index(self, linear: u64) -> [u32; 3] {
        let (x, y) = (self.x as u64, self.y as u64);
        [
            (linear % x) as u32,
            (linear / x % y) as u32,
            (linear / x / y) as u32,
        ]
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self { x, y, ..Self::ONE }
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self { x, ..Self::ONE }
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.x, self.y, self.z)
    }
}

/// The shape of a launch and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Blocks in the grid.
    pub grid: Dim3,
    /// Threads in a block.
    pub block: Dim3,
    /// Blocks in a cluster; [`Dim3::ONE`] for a launch without clusters.
    pub cluster: Dim3,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// One little-endian blob a parameter, in order.
    pub params: Vec<Vec<u8>>,
}

impl Launch {
    /// A launch without clusters, dynamic shared memory or parameters.
    #[must_use]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            cluster: Dim3::ONE,
            dynamic_shared: 0,
            params: Vec::new(),
        }
    }
}

/// When an asynchronous copy lands. Values may depend on it, verdicts may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Landing {
    /// As late as the rules allow: only when a wait, an mbarrier or the end of the block forces it.
    #[default]
    Late,
    /// At random moments, drawn from this seed.
    Random(u64),
    /// At issue.
    Early,
}

/// Memory that a simulation may take, by a meter of the caller's: this crate asks no operating system.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Bytes in use now: those of the process, or what an allocator counts.
    pub meter: fn() -> u64,
    /// What they may come to.
    pub bytes: u64,
}

impl MemoryLimit {
    /// Bytes in use now.
    pub(crate) fn used(self) -> u64 {
        (self.meter)()
    }
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When asynchronous copies land.
    pub landing: Landing,
    /// Whether the happens-before checker watches.
    pub check: bool,
    /// Warp instructions after which the run ends as incomplete.
    pub max_steps: Option<u64>,
    /// Memory beyond which it does. Blocks are not started where they would not fit, and look at the meter every few thousand instructions.
    pub max_memory: Option<MemoryLimit>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            landing: Landing::Late,
            check: true,
            max_steps: None,
            max_memory: None,
        }
    }
}

/// Why a run ended without a statement about the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The sentence: what is not modelled, or which budget ran out.
    pub message: String,
    /// The instruction, where one is to blame.
    pub party: Option<Party>,
}

/// How the kernel ended itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// `trap`, `brkpt`, or the assertion with file, line and function.
    pub message: String,
    /// Who executed it first.
    pub party: Party,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Hazards, faults and advisories, in order of block and place.
    pub findings: Vec<Finding>,
    /// Set when the kernel ended itself.
    pub trap: Option<Trap>,
    /// Set when the run ended early for the simulator's reasons.
    pub incomplete: Option<Incomplete>,
    /// What the kernel printed.
    pub printed: String,
    /// Executed instructions whose results are only within the ISA's error bounds, sorted.
    pub approximate: Vec<String>,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Wall-clock time of the run.
    pub seconds: f64,
}

impl Outcome {
    /// The outcome in one word.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self
            .findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
        {
            Verdict::Hazard
        } else if self.trap.is_some() {
            Verdict::Trap
        } else if self.incomplete.is_some() {
            Verdict::Incomplete
        } else {
            Verdict::Clean
        }
    }
}

/// Why a launch does not fit a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// An extent of zero, or more threads or blocks than any device takes.
    #[error("{what} {extent} is not launchable; {rule}")]
    Extent {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// What was asked for.
        extent: Dim3,
        /// What is allowed.
        rule: &'static str,
    },
    /// The number of arguments.
    #[error("`{entry}` takes {wanted} parameters, {given} were given")]
    ParamCount {
        /// The entry.
        entry: String,
        /// Arguments given.
        given: usize,
        /// Parameters it has.
        wanted: usize,
    },
    /// The size of an argument.
    #[error("parameter {index} of `{entry}` has {wanted} bytes, {given} were given")]
    ParamSize {
        /// The entry.
        entry: String,
        /// Which parameter, from zero.
        index: usize,
        /// Bytes given.
        given: usize,
        /// Bytes it has.
        wanted: u32,
    },
    /// More dynamic shared memory than a block's window has.
    #[error("{given} bytes of dynamic shared memory are over the limit of {limit}")]
    DynamicShared {
        /// Bytes asked for.
        given: u32,
        /// The most there can be.
        limit: u32,
    },
}

impl Launch {
    /// Checks the launch against the program that it is for.
    ///
    /// # Errors
    /// With the first thing that does not fit.
    pub fn check(&self, program: &Program) -> Result<(), LaunchError> {
        /// More than any device has, and few enough that no sum of sizes overflows.
        const MAX_DYNAMIC: u32 = 4 << 20;
        let extent = |what, extent: Dim3, ok: bool, rule| {
            if ok {
                Ok(())
            } else {
                Err(LaunchError::Extent { what, extent, rule })
            }
        };
        let (grid, block, cluster) = (self.grid, self.block, self.cluster);
        let limits = grid.x < 1 << 31 && grid.y < 1 << 16 && grid.z < 1 << 16;
        extent(
            "grid",
            grid,
            grid.count() > 0 && limits,
            "each extent is at least 1, x below 2^31, y and z below 2^16",
        )?;
        let threads = block.x <= 1024
            && block.y <= 1024
            && block.z <= 64
            && (1..=1024).contains(&block.count());
        extent(
            "block",
            block,
            threads,
            "a block has 1 to 1024 threads, at most 64 in z",
        )?;
        let blocks = cluster.x <= 16
            && cluster.y <= 16
            && cluster.z <= 16
            && (1..=16).contains(&cluster.count());
        extent("cluster", cluster, blocks, "a cluster has 1 to 16 blocks")?;
        let divides = grid.x.is_multiple_of(cluster.x)
            && grid.y.is_multiple_of(cluster.y)
            && grid.z.is_multiple_of(cluster.z);
        extent(
            "cluster",
            cluster,
            divides,
            "each extent divides the grid's",
        )?;
        let entry = || program.entry().to_owned();
        let wanted = program.params().count();
        if wanted != self.params.len() {
            return Err(LaunchError::ParamCount {
                entry: entry(),
                given: self.params.len(),
                wanted,
            });
        }
        for (index, (wanted, blob)) in program.params().zip(&self.params).enumerate() {
            if wanted as usize != blob.len() {
                return Err(LaunchError::ParamSize {
                    entry: entry(),
                    index,
                    given: blob.len(),
                    wanted,
                });
            }
        }
        if self.dynamic_shared > MAX_DYNAMIC {
            return Err(LaunchError::DynamicShared {
                given: self.dynamic_shared,
                limit: MAX_DYNAMIC,
            });
        }
        Ok(())
    }
}
