//! NVIDIA's command-line tools, where a machine has them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the folder of NVIDIA's compiler tools.
pub const FOLDER_VARIABLE: &str = "NSTAGE_CUDA_BIN";

/// A tool: in the folder that [`FOLDER_VARIABLE`] names, on the path, or where CUDA's installer puts it.
pub fn find(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain([PathBuf::from("/usr/local/cuda/bin")]);
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// What the tool says of its release: `13.0` of `Cuda compilation tools, release 13.0, V13.0.88`.
///
/// # Errors
/// In words: it cannot be run, or says nothing that is a release.
pub fn release(tool: &Path) -> Result<String, String> {
    let done = Command::new(tool)
        .arg("--version")
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    read_release(&said).ok_or_else(|| {
        let first = said.lines().next().unwrap_or("nothing");
        format!("`--version` says no release, but: {first}")
    })
}

/// The word after `release` or `Version`, without its comma.
fn read_release(said: &str) -> Option<String> {
    let mut words = said.split_whitespace();
    words.by_ref().find(|word| {
        word.eq_ignore_ascii_case("release") || word.eq_ignore_ascii_case("version")
    })?;
    let release = words.next()?.trim_end_matches(',');
    release
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_what_each_tool_says() {
        for (said, expected) in [
            (
                "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88\n",
                Some("13.0"),
            ),
            (
                "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880)",
                Some("2025.3.1.0"),
            ),
            ("command not understood", None),
            ("version unknown", None),
        ] {
            assert_eq!(read_release(said).as_deref(), expected, "{said}");
        }
    }
}
