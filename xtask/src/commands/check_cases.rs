//! `check-cases`: the case collection, one line a case.

use crate::process::{cargo, run_reported};
use anyhow::Result;
use clap::Args;

/// Checks every file of tests/cases as `nstage check` does, and compares its report with the one that is kept.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask check-cases wait-count")]
pub(crate) struct CheckCases {
    /// Write the reports instead of comparing them.
    #[arg(long)]
    bless: bool,
    /// Only cases whose name contains one of these.
    #[arg(value_name = "WORD")]
    filters: Vec<String>,
}

impl CheckCases {
    pub(crate) fn run(self) -> Result<()> {
        let mut arguments = vec![
            "test",
            "--quiet",
            "--package",
            "nstage-tests",
            "--test",
            "cases",
            "--",
            "--some",
        ];
        if self.bless {
            arguments.push("--bless");
        }
        arguments.extend(self.filters.iter().map(String::as_str));
        run_reported(&mut cargo(&arguments))
    }

    /// As part of a longer task.
    pub(crate) fn all() -> Result<()> {
        let (bless, filters) = (false, Vec::new());
        Self { bless, filters }.run()
    }
}
