//! `dist`: a folder to carry to a machine with a GPU.

use crate::commands::{ptx, run};
use crate::cuda_tools;
use crate::process::{cargo, output};
use crate::workspace;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::Path;

/// What is copied besides the program and the PTX: folder here, folder there.
const FOLDERS: &[(&str, &str)] = &[
    ("scripts", "scripts"),
    ("bench/peers", "bench/peers"),
    ("tests/cases", "tests/cases"),
    ("tests/data", "tests/data"),
];

/// The most that the folder may hold, in bytes: it has to be carried.
const LIMIT: u64 = 64 << 20;

/// Makes dist/: the stripped program, the PTX, scripts and peers; needs nothing but a driver where it goes.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask dist --peers")]
pub(crate) struct Dist {
    /// Compile the CUDA C++ peers too, for `nstage bench --peers peers`; takes NVIDIA's compiler, installed from PyPI where there is none.
    #[arg(long)]
    peers: bool,
}

impl Dist {
    pub(crate) fn run(self) -> Result<()> {
        let built = ptx::build(&[])?;
        let program = run::build_program(&["-Cstrip=symbols"])?;
        let dist = workspace::root().join("dist");
        if dist.exists() {
            std::fs::remove_dir_all(&dist)
                .with_context(|| format!("cannot clear {}", dist.display()))?;
        }
        std::fs::create_dir_all(dist.join("ptx"))?;
        copy(&program, &dist.join("nstage"))?;
        for ptx in built.ptx() {
            copy(
                ptx.path(),
                &dist.join("ptx").join(format!("{}.ptx", ptx.target())),
            )?;
        }
        for (from, to) in FOLDERS {
            copy_folder(&workspace::root().join(from), &dist.join(to))?;
        }
        if self.peers {
            peers(&dist.join("peers"))?;
        }
        std::fs::write(dist.join("VERSION"), version(&built)?)?;
        let bytes = size(&dist)?;
        if bytes > LIMIT {
            bail!(
                "{} holds {bytes} bytes, the limit is {LIMIT}; leave something out",
                workspace::shown(&dist)
            );
        }
        eprintln!(
            "{} holds {:.1} MiB",
            workspace::shown(&dist),
            bytes as f64 / f64::from(1 << 20)
        );
        Ok(())
    }
}

/// Machine code of `bench/peers/cuda`; the PTX beside it is what it was made from, and stays here.
fn peers(folder: &Path) -> Result<()> {
    let tools = cuda_tools::find_or_install()?;
    let mut build = std::process::Command::new("python3");
    build
        .arg(workspace::root().join("bench/peers/build.py"))
        .arg(folder)
        .arg("--nvcc")
        .arg(tools.bin.join("nvcc"))
        .arg("--no-cub");
    output(&mut build).context("cannot compile the peers")?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Which state of the repository, and which compiler.
fn version(built: &nstage_builder::Built) -> Result<String> {
    let commit = output(
        std::process::Command::new("git")
            .current_dir(workspace::root())
            .args(["describe", "--always", "--dirty"]),
    );
    let commit = commit.unwrap_or_else(|_| "unknown".to_owned());
    let host = output(&mut cargo(&["--version"]))?;
    Ok(format!(
        "commit {}\nhost {}\ndevice rustc {}\n",
        commit.trim(),
        host.trim(),
        built.compiler().release
    ))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?
    {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            copy(&entry.path(), &target)?
        }
    }
    Ok(())
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_whole() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let from = dir.path().join("from");
        std::fs::create_dir_all(from.join("inner")).expect("created");
        std::fs::write(from.join("inner/a"), "four").expect("written");
        std::fs::write(from.join("b"), "two").expect("written");
        copy_folder(&from, &dir.path().join("to")).expect("copied");
        assert_eq!(size(&dir.path().join("to")).expect("measured"), 7);
    }
}
