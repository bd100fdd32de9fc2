//! Which packages a kernels crate is made of.

use crate::BuildError;
use crate::cargo;
use crate::compiler::{Compiler, DEVICE_TARGET};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The crate to build, as its own workspace describes it.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// The package's name.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// The lock file of its workspace, if there is one.
    pub(crate) lock_file: Option<PathBuf>,
    /// The manifest of its workspace.
    pub(crate) workspace_manifest: PathBuf,
    /// The target folder of its workspace.
    pub(crate) target_dir: PathBuf,
}

/// A package that takes part in the device build.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// The specification that names it without doubt.
    pub(crate) id: String,
    /// The folder of its manifest.
    pub(crate) dir: PathBuf,
    /// Whether it comes from a registry or from git; otherwise from a path.
    pub(crate) fetched: bool,
    /// Whether a build script takes part, whose inputs only cargo knows.
    pub(crate) build_script: bool,
    /// The library's name in paths, where it has a library.
    pub(crate) library: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    id: String,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<MetadataTarget>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
}

/// Describes the crate in `dir`. Nothing is resolved, so the network is not needed.
pub(crate) fn root(compiler: &Compiler, dir: &Path) -> Result<Root, BuildError> {
    let not_a_crate = |problem: String| BuildError::NotACrate {
        path: dir.to_owned(),
        problem,
    };
    let dir = dir
        .canonicalize()
        .map_err(|error| not_a_crate(error.to_string()))?;
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(not_a_crate("it has no Cargo.toml".into()));
    }
    let metadata = metadata(compiler, &manifest, &["--no-deps"])?;
    let package = metadata
        .packages
        .into_iter()
        .find(|package| package.manifest_path == manifest)
        .ok_or_else(|| not_a_crate("its Cargo.toml has no [package]".into()))?;
    if library(&package.targets).is_none() {
        return Err(not_a_crate("it has no library (src/lib.rs)".into()));
    }
    let lock_file = Some(metadata.workspace_root.join("Cargo.lock")).filter(|path| path.is_file());
    Ok(Root {
        workspace_manifest: metadata.workspace_root.join("Cargo.toml"),
        name: package.name,
        dir,
        lock_file,
        target_dir: metadata.target_directory,
    })
}

/// All packages below the package of `manifest`, itself left out.
pub(crate) fn packages(compiler: &Compiler, manifest: &Path) -> Result<Vec<Package>, BuildError> {
    let metadata = metadata(compiler, manifest, &["--filter-platform", DEVICE_TARGET])?;
    let package = |package: MetadataPackage| Package {
        dir: package
            .manifest_path
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default(),
        fetched: package.source.is_some(),
        build_script: package
            .targets
            .iter()
            .any(|target| target.kind.iter().any(|kind| kind == "custom-build")),
        library: library(&package.targets),
        id: package.id,
    };
    Ok(metadata
        .packages
        .into_iter()
        .filter(|package| package.manifest_path != manifest)
        .map(package)
        .collect())
}

fn metadata(
    compiler: &Compiler,
    manifest: &Path,
    arguments: &[&str],
) -> Result<Metadata, BuildError> {
    let mut command = cargo::command(compiler);
    command
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .args(arguments);
    if let Some(dir) = manifest.parent() {
        command.current_dir(dir);
    }
    let text = cargo::run(command, "cargo metadata", "all targets", &|_| ())?;
    serde_json::from_str(&text).map_err(|error| BuildError::Unexpected {
        what: "cargo metadata".into(),
        problem: error.to_string(),
    })
}

fn library(targets: &[MetadataTarget]) -> Option<String> {
    let is_library = |kind: &String| {
        matches!(
            kind.as_str(),
            "lib" | "rlib" | "staticlib" | "cdylib" | "dylib"
        )
    };
    targets
        .iter()
        .find(|target| target.kind.iter().any(is_library))
        .map(|target| target.name.replace('-', "_"))
}
