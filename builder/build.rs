//! Gives the crate a hash of its own source, so that finished PTX is checked anew when the checks have changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The code that finishes and checks: this crate's, and the parser's where it lies beside it.
const FOLDERS: [&str; 2] = ["src", "../ptx/src"];

fn main() {
    let mut files = Vec::new();
    for folder in FOLDERS
        .map(Path::new)
        .into_iter()
        .filter(|folder| folder.is_dir())
    {
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(folder, &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for file in files {
        std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    println!(
        "cargo::rustc-env=NSTAGE_BUILDER_SOURCE={:016x}",
        hasher.finish()
    );
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
    {
        if path.is_dir() {
            collect(&path, files)
        } else {
            files.push(path)
        }
    }
}
