//! `test`: everything that can be tested on this machine.

use crate::commands::ptx;
use crate::cuda_tools::{self, CudaTools};
use crate::steps::Steps;
use crate::{examples, golden, process, workspace};
use anyhow::Result;
use clap::Args;
use nstage_builder::Built;

/// Where tests write `name: reason` when this machine lacks something that they need.
const SKIP_LOG: &str = "NSTAGE_SKIP_LOG";

/// Packs every crate that others may depend on, and builds each from its package, `nstage-host` without `cuda`: nothing may be missing there.
const PACKAGE: &[&str] = &[
    "package",
    "--offline",
    "--allow-dirty",
    "--no-default-features",
    "--package=nstage",
    "--package=nstage-ptx",
    "--package=nstage-sim",
    "--package=nstage-builder",
    "--package=nstage-kernels",
    "--package=nstage-host",
];

/// Builds the PTX and runs all tests: unit, integration, examples, ptxas, golden PTX.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask test --bless")]
pub(crate) struct Test {
    /// Rewrite golden files from what was built.
    #[arg(long)]
    bless: bool,
    /// Let a missing tool fail the run instead of being skipped.
    #[arg(long)]
    strict: bool,
}

impl Test {
    pub(crate) fn run(self) -> Result<()> {
        let mut steps = Steps::default();
        self.steps(&mut steps);
        steps.finish()
    }

    /// As part of a longer task, where nothing may be missing.
    pub(crate) fn strict() -> Self {
        Self {
            bless: false,
            strict: true,
        }
    }

    pub(crate) fn steps(&self, steps: &mut Steps) {
        let mut built = None;
        steps.step("build PTX", || {
            built = Some(ptx::build(&[])?);
            Ok(())
        });
        let tools = self.cuda_tools(steps);
        if let Some(built) = &built {
            self.ptx_steps(steps, built, tools.as_ref());
        }
        let log = workspace::target_dir().join("skipped-tests.txt");
        steps.step("cargo test --workspace", || {
            let _ = std::fs::remove_file(&log);
            let mut command = process::cargo(&["test", "--workspace"]);
            self.environment(&mut command, tools.as_ref(), &log);
            process::run_reported(&mut command)
        });
        self.examples(steps);
        steps.step("cargo package", || {
            process::run_reported(&mut process::cargo(PACKAGE))
        });
        for line in std::fs::read_to_string(&log).unwrap_or_default().lines() {
            let (name, reason) = line.split_once(": ").unwrap_or((line, "no reason given"));
            steps.skip(name, reason);
        }
        if !std::path::Path::new("/dev/nvidiactl").exists() {
            steps.skip("nstage selftest --device cuda", "needs a CUDA device");
        }
    }

    fn cuda_tools(&self, steps: &mut Steps) -> Option<CudaTools> {
        match cuda_tools::find_or_install() {
            Ok(tools) => Some(tools),
            Err(error) if self.strict => {
                steps.step("CUDA tools", || Err(error));
                None
            }
            Err(error) => {
                steps.skip("ptxas accepts the PTX", format!("no CUDA tools: {error:#}"));
                None
            }
        }
    }

    fn ptx_steps(&self, steps: &mut Steps, built: &Built, tools: Option<&CudaTools>) {
        if let Some(tools) = tools {
            for ptx in built.ptx() {
                steps.step(&format!("ptxas accepts {}", ptx.target()), || {
                    tools.ptxas(ptx.target().name(), ptx.path()).map(drop)
                });
            }
        }
        let release = &built.compiler().release;
        if self.bless || golden::exist_for(release) {
            steps.step("golden PTX", || golden::check(built, self.bless));
        } else {
            steps.skip("golden PTX", format!("none is kept for rustc {release}"));
        }
    }

    fn examples(&self, steps: &mut Steps) {
        let folders = match examples::folders() {
            Ok(folders) => folders,
            Err(error) => return steps.step("examples", || Err(error)),
        };
        for folder in folders {
            steps.step(
                &format!("cargo test in {}", workspace::shown(&folder)),
                || process::run_reported(&mut examples::cargo(&folder, &["test"])),
            );
        }
    }

    fn environment(
        &self,
        command: &mut std::process::Command,
        tools: Option<&CudaTools>,
        log: &std::path::Path,
    ) {
        command.env(SKIP_LOG, log);
        if let Some(tools) = tools {
            tools.tell(command);
        }
        if self.bless {
            // The two crates that keep golden texts each have a variable of their own.
            command
                .env("INSTA_UPDATE", "always")
                .env("TRYBUILD", "overwrite")
                .env("NSTAGE_BLESS", "1");
        }
    }
}
