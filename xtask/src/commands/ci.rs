//! `ci`: all of CI.

use crate::commands::test::Test;
use crate::process::{cargo, run};
use crate::steps::Steps;
use crate::tidy;
use anyhow::Result;
use clap::Args;

/// Format, clippy, rustdoc, tidy and all tests; a warning is an error and nothing may be missing.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask ci")]
pub(crate) struct Ci {}

impl Ci {
    pub(crate) fn run(self) -> Result<()> {
        let mut steps = Steps::default();
        steps.step("cargo fmt", || {
            run(&mut cargo(&["fmt", "--all", "--check"]))
        });
        steps.step("tidy", tidy::run);
        steps.step("cargo clippy", || {
            run(&mut cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]))
        });
        steps.step("cargo doc", || {
            run(cargo(&[
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"))
        });
        Test::strict().steps(&mut steps);
        steps.finish()
    }
}
