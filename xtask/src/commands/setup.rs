//! `setup`: gets what the other tasks need.

use crate::process::{on_path, output, run};
use crate::{cuda_tools, workspace};
use anyhow::{Context, Result, bail};
use clap::Args;
use nstage_builder::BuildError;
use nstage_builder::compiler::Compiler;
use std::path::Path;
use std::process::Command;

/// What Debian calls a device compiler with its library source.
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Finds a device compiler, or installs one where that takes nothing away; with --cuda-tools also ptxas and friends, for the tests.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask setup --cuda-tools")]
pub(crate) struct Setup {
    /// Also install ptxas, nvcc, cuobjdump and nvdisasm from PyPI into the target folder: the tests use them, nothing else does.
    #[arg(long)]
    cuda_tools: bool,
}

impl Setup {
    pub(crate) fn run(self) -> Result<()> {
        let compiler = device_compiler()?;
        eprintln!("device compiler: {compiler}");
        if self.cuda_tools {
            let tools = cuda_tools::find_or_install()?;
            eprintln!("CUDA tools: {}", workspace::shown(&tools.bin));
        }
        Ok(())
    }
}

/// The device compiler; as root on Debian it is installed if there is none.
pub(crate) fn device_compiler() -> Result<Compiler> {
    let kernels = workspace::root().join("kernels");
    let error = match Compiler::find(&kernels) {
        Err(error) if error.is_no_compiler() => error,
        found => return Ok(found?),
    };
    install(error)?;
    Ok(Compiler::find(&kernels)?)
}

/// Installs Debian's compiler, or says in one command what a person must do.
fn install(error: BuildError) -> Result<()> {
    if !Path::new("/etc/debian_version").exists() || !on_path("apt-get") || !is_root()? {
        return Err(error.into());
    }
    eprintln!(
        "no device compiler here; installing Debian's: apt-get install --no-install-recommends {}",
        PACKAGES.join(" ")
    );
    apt_install(&PACKAGES).with_context(|| error.to_string())
}

/// Installs Debian packages without recommendations, unless another package would have to go.
pub(crate) fn apt_install(packages: &[&str]) -> Result<()> {
    run(Command::new("apt-get").args(["update", "--quiet=2"]))?;
    let install = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .arg("install")
            .arg("--no-install-recommends")
            .args(arguments)
            .args(packages);
        command
    };
    let removed = removals(&output(&mut install(&["--simulate"]))?);
    if !removed.is_empty() {
        bail!(
            "installing {} would remove {}; nothing was done: run `apt-get install --no-install-recommends {}` yourself if you agree",
            packages.join(" and "),
            removed.join(", "),
            packages.join(" "),
        );
    }
    run(&mut install(&["--yes", "--quiet=2"]))
}

/// The packages that `apt-get --simulate` would remove.
fn removals(simulation: &str) -> Vec<String> {
    let lines = simulation
        .lines()
        .filter_map(|line| line.strip_prefix("Remv "));
    lines
        .filter_map(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> Result<bool> {
    Ok(output(Command::new("id").arg("-u"))?.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::removals;

    #[test]
    fn a_simulated_removal_is_seen() {
        let simulation = "Inst libllvm22 (1:22.1.8 Debian)\nRemv rustc [1.63.0]\nRemv rustup [1.26]\nInst rustc-web (1.96.0)\nConf rustc-web\n";
        assert_eq!(removals(simulation), ["rustc", "rustup"]);
        assert!(removals("Inst rustc-web (1.96.0)\n").is_empty());
    }
}
