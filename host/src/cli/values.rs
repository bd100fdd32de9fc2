//! Values of flags that are more than a number.

use std::str::FromStr;

use clap::ValueEnum;
use nstage::catalogue::{Schedule, Variant};

use crate::device::Grid;
use crate::workload::job::Blocks;

/// `--stages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stages {
    /// Every depth that a kernel has.
    #[default]
    All,
    /// This one.
    One(u32),
}

impl Stages {
    /// The depth, if it is one.
    pub(super) fn one(self) -> Option<u32> {
        match self {
            Self::All => None,
            Self::One(stages) => Some(stages),
        }
    }
}

/// The deepest ring that any kernel has.
fn deepest() -> u32 {
    let variants = nstage_kernels::CATALOGUE
        .iter()
        .flat_map(|kernel| kernel.variants);
    variants.map(Variant::stages).max().unwrap_or(0)
}

impl FromStr for Stages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        match text.parse() {
            Ok(stages) if (1..=deepest()).contains(&stages) => Ok(Self::One(stages)),
            _ => Err(format!(
                "a pipeline has 1 to {} stages; pass one of these or all",
                deepest()
            )),
        }
    }
}

/// `--blocks-per-sm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlocksPerSm {
    /// As many as are on a multiprocessor at once.
    Fit,
    /// So many.
    Number(u32),
}

impl From<BlocksPerSm> for Blocks {
    fn from(blocks: BlocksPerSm) -> Self {
        match blocks {
            BlocksPerSm::Fit => Self::Resident,
            BlocksPerSm::Number(blocks) => Self::Asked(Grid::PerMultiprocessor(blocks)),
        }
    }
}

impl FromStr for BlocksPerSm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "fit" => Ok(Self::Fit),
            Ok(blocks @ 1..) => Ok(Self::Number(blocks)),
            _ => Err(
                "expected a number from 1 on, or fit for as many as are on a multiprocessor at once"
                    .to_owned(),
            ),
        }
    }
}

/// `--schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScheduleName {
    /// One barrier an iteration.
    One,
    /// Two barriers an iteration.
    Two,
}

impl From<ScheduleName> for Schedule {
    fn from(name: ScheduleName) -> Self {
        match name {
            ScheduleName::One => Self::OneBarrier,
            ScheduleName::Two => Self::TwoBarrier,
        }
    }
}
