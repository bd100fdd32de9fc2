//! `ci`: all of CI.

use crate::commands::check_cases::CheckCases;
use crate::commands::test::Test;
use crate::process::{cargo, run_reported};
use crate::steps::Steps;
use crate::{examples, tidy};
use anyhow::Result;
use clap::Args;

/// Format, clippy, rustdoc, tidy, the case collection and all tests; a warning is an error and nothing may be missing.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask ci")]
pub(crate) struct Ci {}

impl Ci {
    pub(crate) fn run(self) -> Result<()> {
        let examples = examples::folders()?;
        let each = |arguments: &[&str]| {
            run_reported(&mut cargo(arguments))?;
            examples
                .iter()
                .try_for_each(|folder| run_reported(&mut examples::cargo(folder, arguments)))
        };
        let mut steps = Steps::default();
        steps.step("cargo fmt", || each(&["fmt", "--all", "--check"]));
        steps.step("tidy", tidy::run);
        steps.step("cargo clippy", || {
            each(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])
        });
        // Who only checks PTX builds the host without CUDA, and shall see no warning either.
        steps.step("cargo clippy without cuda", || {
            run_reported(&mut cargo(&[
                "clippy",
                "--package=nstage-host",
                "--no-default-features",
                "--",
                "-D",
                "warnings",
            ]))
        });
        steps.step("cargo doc", || {
            run_reported(
                cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
            )
        });
        steps.step("check-cases", CheckCases::all);
        Test::strict().steps(&mut steps);
        steps.finish()
    }
}
