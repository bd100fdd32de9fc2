//! What a build depends on: files, and environment variables that the code reads.

use crate::BuildError;
use crate::cache::{hash_bytes, hash_file};
use crate::graph::Package;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The inputs of one build, with what they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    /// Each file with the hash of its contents.
    pub(crate) files: Vec<(PathBuf, u64)>,
    /// Each variable with the hash of its value, `None` where it was not set.
    pub(crate) variables: Vec<(String, Option<u64>)>,
}

impl Inputs {
    /// Reads what cargo and rustc noted down while building `library`.
    pub(crate) fn collect(
        profile_dir: &Path,
        library: &str,
        packages: &[Package],
    ) -> Result<Self, BuildError> {
        let own = profile_dir.join(format!("lib{library}.d"));
        let text = std::fs::read_to_string(&own).map_err(BuildError::io("read", &own))?;
        let mut files: BTreeSet<PathBuf> = dependencies(&text).into_iter().collect();
        let mut names = BTreeSet::new();
        for package in packages.iter().filter(|package| !package.fetched) {
            // A manifest above may be the workspace that this one inherits from.
            files.extend(
                package
                    .dir
                    .ancestors()
                    .map(|dir| dir.join("Cargo.toml"))
                    .filter(|path| path.is_file()),
            );
            if let Some(library) = &package.library {
                names.extend(
                    newest_dep_info(&profile_dir.join("deps"), library)
                        .map(|text| variables(&text))
                        .unwrap_or_default(),
                );
            }
        }
        let files = files
            .into_iter()
            .map(|path| hash_file(&path).map(|hash| (path, hash)))
            .collect::<Result<_, _>>()?;
        let variables = names
            .into_iter()
            .map(|name| {
                let hash = value(&name);
                (name, hash)
            })
            .collect();
        Ok(Self { files, variables })
    }

    /// Adds a file that the compiler does not know of.
    pub(crate) fn add_file(&mut self, path: &Path) -> Result<(), BuildError> {
        self.files.push((path.to_owned(), hash_file(path)?));
        Ok(())
    }

    /// Whether every input still is what it was.
    pub(crate) fn unchanged(&self) -> bool {
        self.files
            .iter()
            .all(|(path, hash)| hash_file(path).is_ok_and(|now| now == *hash))
            && self
                .variables
                .iter()
                .all(|(name, hash)| value(name) == *hash)
    }
}

fn value(name: &str) -> Option<u64> {
    env::var_os(name).map(|value| hash_bytes(value.as_encoded_bytes()))
}

/// The files after the colon of the first rule. Spaces in names are written `\ `.
fn dependencies(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut paths = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&' ') => {
                characters.next();
                paths.last_mut().into_iter().for_each(|path| path.push(' '));
            }
            ' ' => paths.push(String::new()),
            _ => paths
                .last_mut()
                .into_iter()
                .for_each(|path| path.push(character)),
        }
    }
    paths
        .into_iter()
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// The variables that rustc noted as read by `env!` and `option_env!`. Cargo's own are fixed by the manifest.
fn variables(text: &str) -> Vec<String> {
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("# env-dep:"));
    let names = names.map(|rest| rest.split('=').next().unwrap_or(rest).to_owned());
    names.filter(|name| !name.starts_with("CARGO")).collect()
}

/// rustc's own notes on the last build of `library`.
fn newest_dep_info(deps: &Path, library: &str) -> Option<String> {
    let prefix = format!("{library}-");
    let entries = std::fs::read_dir(deps).ok()?.filter_map(Result::ok);
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.ends_with(".d")
            && name
                .strip_prefix(&prefix)
                .is_some_and(|rest| !rest.contains('-'))
    });
    let age = |entry: &std::fs::DirEntry| {
        entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let newest = ours.max_by_key(age)?;
    std::fs::read_to_string(newest.path()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_is_read_with_spaces_in_names() {
        let cases: &[(&str, &[&str])] = &[
            (
                "/t/libk.a: /a/lib.rs /a/my\\ file.rs\n",
                &["/a/lib.rs", "/a/my file.rs"],
            ),
            ("/t/libk.a: /a/lib.rs\n\n/a/lib.rs:\n", &["/a/lib.rs"]),
            ("/t/libk.a:\n", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(dependencies(text), expected, "{text:?}");
        }
    }

    #[test]
    fn variables_are_read_but_not_cargos_own() {
        let text = "k: lib.rs\n# env-dep:TILE=128\n# env-dep:ABSENT\n# env-dep:CARGO_PKG_NAME=k\n";
        assert_eq!(variables(text), ["TILE", "ABSENT"]);
    }
}
