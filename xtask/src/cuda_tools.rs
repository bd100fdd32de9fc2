//! NVIDIA's compiler tools, from PyPI, for the tests only.
//!
//! They need no GPU and no driver. They are never shipped: they live in a virtual environment in the target folder.

use crate::commands::setup;
use crate::process::{output, run};
use crate::workspace;
use anyhow::{Context, Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with the tools, to use instead of installing them.
const VARIABLE: &str = "NSTAGE_CUDA_BIN";

/// What is installed. The parts of nvcc must agree: a newer nvvm writes what an older ptxas refuses.
const REQUIREMENTS: &[&str] = &[
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-cuobjdump==13.5.*",
    "nvidia-cuda-nvdisasm==13.5.*",
];

/// Where the tools are.
#[derive(Clone, Debug)]
pub(crate) struct CudaTools {
    /// The folder with `ptxas`.
    pub(crate) bin: PathBuf,
}

impl CudaTools {
    /// Lets a test find the tools.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env(VARIABLE, &self.bin);
    }

    /// Lets ptxas read a file for a target; a warning counts as a refusal.
    pub(crate) fn ptxas(&self, target: &str, ptx: &Path) -> Result<String> {
        let mut command = Command::new(self.bin.join("ptxas"));
        command
            .args([
                "--verbose",
                "--output-file",
                "/dev/null",
                "--gpu-name",
                target,
            ])
            .arg(ptx);
        let result = command
            .output()
            .with_context(|| format!("cannot run {}", self.bin.join("ptxas").display()))?;
        let text = String::from_utf8_lossy(&result.stderr).into_owned()
            + &String::from_utf8_lossy(&result.stdout);
        let complaints: Vec<_> = text
            .lines()
            .filter(|line| !line.starts_with("ptxas info") && !line.starts_with("    "))
            // It tells of GPUs to come, on which sharing copies in a cluster may be slow outside of their own targets; the code is right on all of them.
            .filter(|line| !line.contains("Advisory: '.multicast::cluster'"))
            .collect();
        if !result.status.success() || complaints.iter().any(|line| line.contains("warning")) {
            bail!(
                "ptxas refuses {} for {target}:\n{}",
                workspace::shown(ptx),
                complaints.join("\n")
            );
        }
        Ok(text)
    }
}

/// The tools: those that [`VARIABLE`] names, else those installed before, else they are installed.
pub(crate) fn find_or_install() -> Result<CudaTools> {
    if let Some(bin) = env::var_os(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
    {
        if !bin.join("ptxas").is_file() {
            bail!(
                "{VARIABLE} names {}, which has no ptxas; name a folder that has, or unset it",
                bin.display()
            );
        }
        return Ok(CudaTools { bin });
    }
    let environment = workspace::target_dir().join("cuda-tools");
    // Written last: an interrupted installation is not taken for a whole one.
    let stamp = environment.join("requirements.txt");
    let wanted = REQUIREMENTS.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted)
        && let Some(bin) = bin_folder(&environment)
    {
        return Ok(CudaTools { bin });
    }
    eprintln!(
        "installing NVIDIA's compiler tools from PyPI into {}",
        workspace::shown(&environment)
    );
    create_environment(&environment)?;
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(REQUIREMENTS);
    run(&mut pip).context("cannot install NVIDIA's compiler tools from PyPI; check the network")?;
    let bin = bin_folder(&environment)
        .context("PyPI's packages hold no ptxas; were they laid out anew?")?;
    std::fs::write(&stamp, wanted)?;
    Ok(CudaTools { bin })
}

/// The packages share one folder, `nvidia/cu13/bin` in the site packages.
fn bin_folder(environment: &Path) -> Option<PathBuf> {
    let pythons = std::fs::read_dir(environment.join("lib")).ok()?;
    let bins = pythons
        .filter_map(Result::ok)
        .map(|python| python.path().join("site-packages/nvidia/cu13/bin"));
    bins.into_iter().find(|bin| bin.join("ptxas").is_file())
}

/// Makes a virtual environment, with Debian's Python if the one on the path cannot.
fn create_environment(environment: &Path) -> Result<()> {
    let create = |python: &str| {
        output(
            Command::new(python)
                .args(["-m", "venv", "--clear"])
                .arg(environment),
        )
    };
    let Err(error) = create("python3") else {
        return Ok(());
    };
    if !Path::new("/etc/debian_version").exists() || !setup::is_root()? {
        return Err(error.context("a Python 3 with `venv` is needed for the CUDA tools; on Debian, run `sudo apt-get install python3-venv`"));
    }
    eprintln!(
        "no Python with venv here; installing Debian's: apt-get install --no-install-recommends python3-venv"
    );
    setup::apt_install(&["python3-venv"])?;
    create("/usr/bin/python3").map(drop)
}
