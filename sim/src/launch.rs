//! How a kernel is launched, with which options, and what came of it.

use std::fmt;

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

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When asynchronous copies land.
    pub landing: Landing,
    /// Whether the happens-before checker watches.
    pub check: bool,
    /// Warp instructions after which the run ends as incomplete.
    pub max_steps: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            landing: Landing::Late,
            check: true,
            max_steps: None,
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
