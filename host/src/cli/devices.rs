//! `nstage devices`: what kernels can run on here.

use clap::Args;
use serde_json::json;

use super::Failure;
use super::out::{self, Format};
use crate::device::{Description, Limits, simulator};

/// List the devices that kernels can run on.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    print(
        arguments.format,
        &simulator::description(),
        &simulator::limits(),
    )?;
    match cuda() {
        Ok(devices) => devices
            .iter()
            .try_for_each(|(description, limits)| print(arguments.format, description, limits))?,
        Err(reason) => match arguments.format {
            Format::Text => out::line(&format!("{:<8}{reason}", "cuda"))?,
            Format::Json => {
                out::json(&json!({ "id": "cuda", "available": false, "reason": reason }))?
            }
        },
    }
    Ok(())
}

fn print(format: Format, device: &Description, limits: &Limits) -> std::io::Result<()> {
    match format {
        Format::Text => out::line(&format!(
            "{:<8}{}: {}",
            device.id, device.name, device.facts
        )),
        Format::Json => out::json(&json!({
            "id": device.id,
            "available": true,
            "name": device.name,
            "compute_capability": f64::from(device.capability) / 10.0,
            "multiprocessors": limits.multiprocessors,
            "threads_per_block": limits.threads_per_block,
            "shared_bytes_per_block": limits.shared_opt_in,
            "memory_bytes": limits.memory,
        })),
    }
}

/// CUDA devices, or why there is none.
#[cfg(feature = "cuda")]
fn cuda() -> Result<Vec<(Description, Limits)>, String> {
    match crate::device::cuda::list() {
        Ok(devices) if devices.is_empty() => Err("the CUDA driver finds no device".to_owned()),
        Ok(devices) => Ok(devices),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Vec<(Description, Limits)>, String> {
    Err("this nstage was built without CUDA; build it with the feature cuda".to_owned())
}
