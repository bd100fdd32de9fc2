//! What was measured of one configuration, before anything is concluded from it: a line of the raw files.

use serde::{Deserialize, Serialize};

/// A configuration, in the words of the raw files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The job: what all that is compared computes.
    pub workload: String,
    /// Whose kernel it is: `nstage`, or who compiled it.
    pub peer: String,
    /// The kernel.
    pub kernel: String,
    /// Its name in the PTX.
    pub entry: String,
    /// How bytes come to shared memory.
    pub mechanism: String,
    /// Depth of the ring; 0 is synchronous.
    pub stages: u32,
    /// Barriers an iteration: `one`, `two`, or `none`.
    pub schedule: String,
    /// 16-byte pieces that a thread copies for a stage; 0 where the kernel does not count so.
    pub pieces: u32,
    /// Elements of a tile.
    pub tile: u64,
    /// Threads of a block.
    pub block: u32,
    /// Blocks of the grid.
    pub blocks: u64,
    /// What decided the grid: `N` blocks for each multiprocessor, `fit` or `tiles`.
    pub grid: String,
    /// Blocks on a multiprocessor at once.
    pub resident: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Bytes that one multiprocessor has on the way at once, at most.
    pub in_flight_per_sm: u64,
    /// Elements of the input.
    pub elements: u64,
    /// Bytes that one run must read and write.
    pub bytes: u64,
    /// Bytes of these that are read.
    pub read_bytes: u64,
}

impl Spec {
    /// What tells it from all others of the same files.
    pub fn key(&self) -> String {
        let Self {
            entry,
            block,
            grid,
            elements,
            ..
        } = self;
        format!("{entry}/{block}/{grid}/{elements}")
    }
}

/// How a result was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Every element against the reference in `f64`.
    Elements,
    /// Every bit, guards included, against a result verified so.
    Bits,
}

/// Times and verdict of one configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// The configuration.
    pub spec: Spec,
    /// How the result was verified; `None` where it was not, or is wrong.
    pub verified: Option<How>,
    /// Largest error, where every element was compared.
    pub max_abs_error: Option<f64>,
    /// What is wrong or could not be done, in a sentence.
    pub trouble: Option<String>,
    /// Times before the clock counts, the verified run first.
    pub warm_up_ms: Vec<f64>,
    /// Times that count, one a round.
    pub samples_ms: Vec<f64>,
    /// The copy's times in the same rounds.
    pub copy_ms: Vec<f64>,
    /// What the copy reads plus writes.
    pub copy_bytes: u64,
    /// The entry that this one is compared with.
    pub reference: Option<String>,
    /// The reference's times in the same rounds.
    pub reference_ms: Vec<f64>,
    /// Bytes that the reference must read and write.
    pub reference_bytes: u64,
    /// Bytes of all buffer sets.
    pub rotation_bytes: u64,
    /// The clock before and after.
    pub clock_mhz: (Option<u32>, Option<u32>),
    /// One step of the timer.
    pub resolution_ms: f64,
}
