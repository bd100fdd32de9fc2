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
        let text = std::fs::read_to_string(&root.workspace_manifest)
            .map_err(BuildError::io("read", &root.workspace_manifest))?;
        let patches = patches(
            &text,
            root.workspace_manifest.parent().unwrap_or(Path::new("/")),
        );
        let manifest = manifest(&root.name, &root.dir, settings, packages) + &patches;
        cache::write_if_changed(&self.manifest(), &manifest)?;
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
    // For the user's crates only: the library need not be compiled again for it.
    let debug = if settings.debug_lines {
        "debug = \"line-directives-only\"\n"
    } else {
        ""
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
debug = false
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
{debug}rustflags = ["-Zcrate-attr=feature({FEATURES})", "-Aunused_features", "-Ainternal_features", "-Aduplicate_features", "-Aunknown_lints"]
"#,
            quoted(&package.id),
        );
    }
    text
}

/// The `[patch]` tables of the user's workspace, with paths that hold from anywhere: they say which source of a crate is meant.
fn patches(workspace_manifest: &str, folder: &Path) -> String {
    // A manifest that cannot be read has stopped cargo before.
    let mut table: toml::Table = workspace_manifest.parse().unwrap_or_default();
    let Some(mut patch) = table.remove("patch") else {
        return String::new();
    };
    for source in patch
        .as_table_mut()
        .into_iter()
        .flat_map(|table| table.iter_mut())
    {
        for dependency in source
            .1
            .as_table_mut()
            .into_iter()
            .flat_map(|table| table.iter_mut())
        {
            if let Some(toml::Value::String(path)) = dependency.1.get_mut("path") {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
    }
    let patch = toml::Table::from_iter([("patch".to_owned(), patch)]);
    toml::to_string(&patch).map_or_else(|_| String::new(), |text| format!("\n{text}"))
}

/// A TOML string; JSON's escapes are all TOML's too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Package;

    #[test]
    fn the_manifest_is_toml_with_every_package_in_it() {
        let settings = Settings {
            features: vec!["wide".into()],
            default_features: false,
            debug_lines: true,
        };
        let package = Package {
            id: "path+file:///k#kernels@0.1.0".into(),
            dir: "/k".into(),
            fetched: false,
            build_script: false,
            library: None,
        };
        let text = manifest("kernels", Path::new("/a \"b\""), &settings, &[package]);
        let table: toml::Table = text.parse().expect("it is TOML");
        let kernels = &table["dependencies"]["kernels"];
        assert_eq!(kernels["path"].as_str(), Some("/a \"b\""));
        assert_eq!(kernels["features"].as_array().map(Vec::len), Some(1));
        assert_eq!(kernels["default-features"].as_bool(), Some(false));
        let profile = &table["profile"]["device"];
        let package = &profile["package"]["path+file:///k#kernels@0.1.0"];
        assert_eq!(package["debug"].as_str(), Some("line-directives-only"));
        let flags = package["rustflags"].as_array().expect("flags");
        assert!(
            flags
                .iter()
                .any(|flag| flag.as_str().is_some_and(|flag| flag.contains("abi_ptx")))
        );
    }

    #[test]
    fn patches_are_carried_over_with_whole_paths() {
        let manifest = "[workspace]\n[patch.crates-io]\nnstage = { path = \"../nstage/device\" }\nlibm = { git = \"https://x/y\" }\n";
        let table: toml::Table = patches(manifest, Path::new("/home/a/own"))
            .parse()
            .expect("it is TOML");
        let patch = &table["patch"]["crates-io"];
        assert_eq!(
            patch["nstage"]["path"].as_str(),
            Some("/home/a/own/../nstage/device")
        );
        assert_eq!(patch["libm"]["git"].as_str(), Some("https://x/y"));
        assert_eq!(patches("[workspace]\n", Path::new("/")), "");
    }
}
