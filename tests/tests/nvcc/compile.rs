//! From CUDA C++ to PTX.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folder with nvcc, as `cargo xtask test` passes it on.
const VARIABLE: &str = "NSTAGE_CUDA_BIN";

/// Why nothing can be compiled here.
pub(crate) struct Skip(pub(crate) String);

/// The PTX of a file of `tests/cuda` for a target, with more flags; kept in the target folder from run to run.
pub(crate) fn ptx(source: &str, target: &str, flags: &[&str]) -> Result<String, Skip> {
    let bin = env::var_os(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| {
            Skip(format!(
                "{VARIABLE} names no folder with nvcc; `cargo xtask test` installs one"
            ))
        })?;
    let nvcc = bin.join("nvcc");
    if !nvcc.is_file() {
        return Err(Skip(format!("{VARIABLE} has no nvcc: {}", bin.display())));
    }
    // nvcc leaves preprocessing to the host's compiler.
    if Command::new("g++").arg("--version").output().is_err() {
        return Err(Skip("nvcc needs g++, which is not here".to_owned()));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cuda")
        .join(source)
        .with_extension("cu");
    let text = fs::read_to_string(&path).expect("the source is there");
    let mut hasher = DefaultHasher::new();
    (&text, target, flags, &bin).hash(&mut hasher);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvcc");
    fs::create_dir_all(&folder).expect("a folder for PTX");
    let kept = folder.join(format!("{source}-{target}-{:016x}.ptx", hasher.finish()));
    if let Ok(ptx) = fs::read_to_string(&kept) {
        return Ok(ptx);
    }
    let fresh = kept.with_extension(format!("{}.ptx", std::process::id()));
    let output = Command::new(&nvcc)
        .args(["-ptx", "-std=c++17", "-arch", target, "-o"])
        .arg(&fresh)
        .args(flags)
        .arg(&path)
        .output()
        .expect("nvcc starts");
    assert!(
        output.status.success(),
        "nvcc refuses {source} for {target}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // Renamed when it is whole, so that no other test reads half of it.
    fs::rename(&fresh, &kept).expect("the PTX is kept");
    Ok(fs::read_to_string(&kept).expect("the PTX is there"))
}
