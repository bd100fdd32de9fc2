//! Runs other programs, with their output where it belongs.

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that runs this task, in the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root()).args(arguments);
    for (name, _) in env::vars_os() {
        // Cargo describes xtask's own package to it; a nested build would take that for its own.
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name == "LD_LIBRARY_PATH"
        {
            command.env_remove(&*name);
        }
    }
    command
}

/// Runs a command to its end, its output on standard error, where nothing else reads it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    run_on(command, std::io::stderr().into())
}

/// Runs a command to its end, its output where a task's report goes.
pub(crate) fn run_reported(command: &mut Command) -> Result<()> {
    run_on(command, Stdio::inherit())
}

fn run_on(command: &mut Command, stdout: Stdio) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .status()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command and gives its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        bail!(
            "{} failed ({})\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program of this name is on the path.
pub(crate) fn on_path(name: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

/// A command as a person would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy);
    format!("`{}`", words.collect::<Vec<_>>().join(" "))
}
