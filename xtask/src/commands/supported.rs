//! `supported`: the list of supported PTX.

use crate::process::{cargo, run_reported};
use anyhow::Result;
use clap::Args;

/// Compares SUPPORTED.md with the instruction table and what the simulator decodes, and looks for instructions without a case.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask supported --bless")]
pub(crate) struct Supported {
    /// Write the list instead of comparing it.
    #[arg(long)]
    bless: bool,
}

impl Supported {
    pub(crate) fn run(self) -> Result<()> {
        let mut command = cargo(&["test", "--package", "nstage-sim", "--test", "supported"]);
        if self.bless {
            command.env("NSTAGE_BLESS", "1");
        }
        run_reported(&mut command)
    }
}
