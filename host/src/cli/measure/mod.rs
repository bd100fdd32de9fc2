//! What `bench` and `sweep` have in common: a child that measures, a parent that watches it.

pub(super) mod sink;
#[cfg(feature = "cuda")]
mod work;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use super::Failure;
use crate::bench::peer::{PeerError, Peers};
use crate::bench::session::{SessionError, Settings};
use crate::bench::supervise::{self, Orders, WatchError, Watched};
use crate::device::Request;
use crate::ptx::PtxSet;

#[cfg(feature = "cuda")]
pub(super) use self::work::work;

/// The flag by which a parent starts its child.
const WORKER: &str = "--worker";

/// How it is measured.
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "only a CUDA device is measured")
)]
pub(super) struct How {
    /// The device.
    pub(super) device: Request,
    /// The kernels.
    pub(super) ptx: PtxSet,
    /// Compiled peers.
    pub(super) peers: Option<Peers>,
    /// Runs and buffers.
    pub(super) settings: Settings,
    /// Whether grids that come to the same are measured once.
    pub(super) distinct: bool,
    /// Seed of the inputs.
    pub(super) seed: u64,
    /// Operations on each element, where that can be chosen.
    pub(super) reuse: Option<u32>,
}

/// The index of the CUDA device; the simulator has no clock.
fn cuda_index(device: Request) -> Result<u32, Failure> {
    match device {
        Request::Auto => Ok(0),
        Request::Cuda(index) => Ok(index),
        Request::Simulator => Err(Failure::Usage(
            "the simulator has no clock, so nothing can be measured on it; pass --device cuda, or ask nstage advise for what the model says".to_owned(),
        )),
    }
}

/// The name of the device; refuses before anything is planned what cannot be measured here.
#[cfg(feature = "cuda")]
pub(super) fn measurable(device: Request) -> Result<String, Failure> {
    let index = cuda_index(device)?;
    let all = crate::device::cuda::list()?;
    match all.get(index as usize) {
        Some((description, _)) => Ok(description.name.clone()),
        None => Err(crate::device::SelectError::NoSuchDevice {
            index,
            count: all.len() as u32,
        }
        .into()),
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) fn measurable(device: Request) -> Result<String, Failure> {
    cuda_index(device)?;
    Err(Failure::Usage(
        "this nstage was built without CUDA, so it cannot measure; build it with the feature cuda"
            .to_owned(),
    ))
}

#[cfg(not(feature = "cuda"))]
pub(super) fn work(_: &[crate::bench::plan::JobPlan], how: How) -> Result<(), Failure> {
    measurable(how.device).map(drop)
}

/// Starts this program again as the child and hands on what it tells.
pub(super) fn watch(
    leave_out: BTreeSet<usize>,
    timeout: Duration,
    tell: impl FnMut(Watched) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let start = |error: std::io::Error| WatchError::Start {
        reason: error.to_string(),
    };
    let program = std::env::current_exe().map_err(start)?;
    let command = || {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg(WORKER);
        command
    };
    let orders = Orders {
        leave_out,
        alone: BTreeSet::new(),
    };
    supervise::supervise(command, orders, timeout, tell)
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Job(error) => error.into(),
            SessionError::Emit(error) => error.into(),
        }
    }
}
