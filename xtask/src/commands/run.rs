//! `run`: builds everything and runs `nstage run`.

use crate::commands::{ptx, setup};
use crate::process;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Builds the PTX and the program, then runs `nstage run` with the arguments given.
#[derive(Args)]
#[command(
    after_help = "Example: cargo xtask run kernel_async_pipeline --stages 4 --device sim",
    disable_help_flag = true
)]
pub(crate) struct Run {
    /// Passed to `nstage run`; `--help` lists what it takes.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

impl Run {
    pub(crate) fn run(self) -> Result<()> {
        // The compiler must be there before the program's build script looks for it.
        let compiler = setup::device_compiler()?;
        // Side by side, since the PTX comes from one long compilation on one core; the build script then finds it done, or waits for it.
        let program = std::thread::scope(|scope| {
            let ptx = scope.spawn(|| ptx::build_with(compiler, &[]));
            let program = build_program(&[]);
            ptx.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            program
        })?;
        let mut command = Command::new(&program);
        command.arg("run").args(self.arguments);
        replace_process(command)
    }
}

/// Builds `nstage` in release form and gives its path.
pub(crate) fn build_program(rustc_arguments: &[&str]) -> Result<PathBuf> {
    let arguments = [
        "rustc",
        "--release",
        "--package",
        "nstage-host",
        "--bin",
        "nstage",
        "--message-format",
        "json-render-diagnostics",
        "--",
    ];
    let mut command = process::cargo(&arguments);
    command.args(rustc_arguments).stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("building nstage failed ({})", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut executables =
        messages.filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from));
    executables
        .next_back()
        .context("cargo named no executable for nstage")
}

/// Hands over to a command: its exit code, signals and output are then the task's own.
#[cfg(unix)]
fn replace_process(mut command: Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(error).with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))
}

/// Runs a command and ends with its exit code.
#[cfg(not(unix))]
fn replace_process(mut command: Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    std::process::exit(status.code().unwrap_or(1));
}
