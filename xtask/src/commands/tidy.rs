//! `tidy`: the house rules.

use crate::tidy;
use anyhow::Result;
use clap::Args;

/// Checks the house rules: module docs, reasons, file sizes, dependencies between crates, words that must be absent.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask tidy")]
pub(crate) struct Tidy {}

impl Tidy {
    pub(crate) fn run(self) -> Result<()> {
        tidy::run()
    }
}
