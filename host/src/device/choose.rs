//! Which device is used, and why.

use std::sync::Arc;

use super::simulator::Simulator;
use super::{Device, Request, SelectError};
use crate::ptx::PtxSet;

/// A device, and why it was taken.
pub struct Chosen {
    /// The device.
    pub device: Box<dyn Device>,
    /// The reason, for the head of a table.
    pub reason: String,
}

/// Opens the device asked for.
pub fn choose(request: Request, ptx: &Arc<PtxSet>) -> Result<Chosen, SelectError> {
    let simulator = || -> Box<dyn Device> { Box::new(Simulator::new(Arc::clone(ptx))) };
    match request {
        Request::Simulator => Ok(Chosen {
            device: simulator(),
            reason: "asked for with --device sim".to_owned(),
        }),
        Request::Cuda(index) => Ok(Chosen {
            device: open_cuda(index, ptx)?,
            reason: format!("asked for with --device {request}"),
        }),
        Request::Auto => {
            let cuda = open_cuda(0, ptx).map_err(|error| why_not_cuda(&error));
            let usable = cuda.and_then(|device| match ptx.runs_on(device.describe().capability) {
                Ok(()) => Ok(device),
                Err(error) => Err(first_clause(&format!("{}: {error}", device.describe()))),
            });
            Ok(match usable {
                Ok(device) => Chosen {
                    device,
                    reason: "the first CUDA device; --device sim takes the simulator".to_owned(),
                },
                Err(reason) => Chosen {
                    device: simulator(),
                    reason,
                },
            })
        }
    }
}

/// What is missing.
fn why_not_cuda(error: &SelectError) -> String {
    match error {
        SelectError::NoCuda(reason) => first_clause(reason),
        SelectError::NoSuchDevice { .. } => "the CUDA driver finds no device".to_owned(),
        SelectError::Device(error) => first_clause(&error.to_string()),
    }
}

/// An error without the remedies that belong to it only where it ends the program.
fn first_clause(text: &str) -> String {
    let clause = text.split("; ").next().unwrap_or(text);
    clause.split(" (tried ").next().unwrap_or(clause).to_owned()
}

#[cfg(feature = "cuda")]
fn open_cuda(index: u32, ptx: &Arc<PtxSet>) -> Result<Box<dyn Device>, SelectError> {
    Ok(Box::new(super::cuda::Cuda::open(index, Arc::clone(ptx))?))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_: u32, _: &Arc<PtxSet>) -> Result<Box<dyn Device>, SelectError> {
    Err(SelectError::NoCuda(
        "this nstage was built without CUDA; build it with the feature cuda".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_the_simulator_is_one_clause() {
        let error = SelectError::NoCuda(
            "no CUDA driver: libcuda.so.1 not found (tried a, b); install the NVIDIA driver"
                .to_owned(),
        );
        assert_eq!(
            why_not_cuda(&error),
            "no CUDA driver: libcuda.so.1 not found"
        );
    }
}
