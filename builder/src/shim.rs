//! The package that the device build starts from.
//!
//! Building the kernels crate where it stands would resolve its whole workspace, host crates and all, and would need a device profile there.
//! So cargo is given a package of ours whose only dependency is the kernels crate, and is asked to compile that dependency.
//! The profile lives here, and so do the unstable features: they are switched on for every crate of the user's, each by name, because the library (which has some of them already) refuses a second mention in some releases.

use crate::BuildError;
use crate::cache;
use crate::graph::{Package, Root};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What device code needs of the compiler beyond stable Rust.
const FEATURES: &str = "abi_ptx,asm_experimental_arch,link_llvm_intrinsics,abi_unadjusted";

/// What the user's features ask of the kernels crate and of the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Settings {
    /// Features of the kernels crate.
    pub(crate) features: Vec<String>,
    /// Whether its default features are on.
    pub(crate) default_features: bool,
    /// Whether the PTX carries `.loc` lines.
    pub(crate) debug_lines: bool,
}

/// Where the shim stands on disk.
pub(crate) struct Shim {
    dir: PathBuf,
}

impl Shim {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.dir.join("Cargo.toml")
    }

    /// Writes the shim for `root`; `packages` are those whose crates get the features, empty before they are known.
    pub(crate) fn write(
        &self,
        root: &Root,
        settings: &Settings,
        packages: &[Package],
    ) -> Result<(), BuildError> {
        let source = self.dir.join("src");
        std::fs::create_dir_all(&source).map_err(BuildError::io("create", &source))?;
        cache::write_if_changed(
            &source.join("lib.rs"),
            "//! Starts the device build of another crate.\n#![no_std]\n",
        )?;
        cache::write_if_changed(
            &self.manifest(),
            &manifest(&root.name, &root.dir, settings, packages),
        )?;
        // The versions that the user's own workspace has settled on; cargo drops what the shim does not reach.
        if let Some(lock) = &root.lock_file {
            let own = self.dir.join("Cargo.lock");
            let newer = |path: &Path| {
                path.metadata()
                    .and_then(|metadata| metadata.modified())
                    .ok()
            };
            if newer(lock) > newer(&own) {
                std::fs::copy(lock, &own).map_err(BuildError::io("copy", lock))?;
            }
        }
        Ok(())
    }
}

/// The shim's manifest. Every setting of the profile is spelt out, so that a user's own release profile, which it must inherit from, changes nothing.
fn manifest(name: &str, dir: &Path, settings: &Settings, packages: &[Package]) -> String {
    let debug = if settings.debug_lines {
        "\"line-directives-only\""
    } else {
        "false"
    };
    let mut text = format!(
        r#"cargo-features = ["profile-rustflags"]

[package]
name = "nstage-device-build"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
{} = {{ path = {}, default-features = {}, features = {} }}

[profile.device]
inherits = "release"
opt-level = 3
lto = "fat"
codegen-units = 1
panic = "abort"
debug = {debug}
strip = false
incremental = false
debug-assertions = false
overflow-checks = false
"#,
        quoted(name),
        quoted(&dir.to_string_lossy()),
        settings.default_features,
        serde_json::Value::from(settings.features.clone()),
    );
    for package in packages {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            r#"
[profile.device.package.{}]
rustflags = ["-Zcrate-attr=feature({FEATURES})", "-Aunused_features", "-Ainternal_features", "-Aduplicate_features", "-Aunknown_lints"]
"#,
            quoted(&package.id),
        );
    }
    text
}

/// A TOML string; JSON's escapes are all TOML's too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
