//! The examples: each is a workspace of its own, as a user's would be.

use crate::{process, workspace};
use anyhow::{Context, Result};
use nstage_builder::WORK_DIR_VARIABLE;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders below `examples/` that hold a workspace.
pub(crate) fn folders() -> Result<Vec<PathBuf>> {
    let folder = workspace::root().join("examples");
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let dir = entry?.path();
        if dir.join("Cargo.toml").is_file() {
            found.push(dir);
        }
    }
    found.sort();
    Ok(found)
}

/// A cargo command in an example. All examples share one target folder, and the folder of device code with this repository: `core` is there already.
pub(crate) fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let target_dir = workspace::target_dir();
    let mut command = process::cargo(arguments);
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_dir.join("examples"))
        .env(WORK_DIR_VARIABLE, target_dir.join("nstage"));
    command
}
