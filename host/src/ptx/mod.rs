//! The kernels' PTX: built into the program, or read from a folder.

pub mod version;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nstage_ptx::ast::Module;

/// Target and text of each PTX file built into the program. Empty where the program was built without a device compiler.
static EMBEDDED: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/ptx.rs"));

/// Why nothing was built in; empty where something was.
const NOT_EMBEDDED: &str = env!("NSTAGE_NOT_EMBEDDED");

/// Why there is no usable PTX for an entry.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum PtxError {
    #[error(
        "this nstage was built without its kernels' PTX ({reason}); pass --ptx DIR, or build it where a device compiler is installed (cargo xtask setup)"
    )]
    NotEmbedded { reason: String },
    #[error("{}: cannot be read: {reason}; check the path given to --ptx", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{}: no .ptx file in it; check the path given to --ptx", path.display())]
    NoFiles { path: PathBuf },
    #[error("{name}: is not PTX: {reason}")]
    Unparsable { name: String, reason: String },
    #[error("no entry {entry} in {files}; build the kernels again with cargo xtask ptx")]
    NoEntry { entry: String, files: String },
    #[error(
        "its PTX is for {targets}, the device is sm_{capability}; pass --ptx DIR with PTX built for it"
    )]
    Target { targets: String, capability: u32 },
}

/// One PTX text.
#[derive(Debug)]
struct File {
    /// Its path, or what it was built for.
    name: String,
    text: Cow<'static, str>,
    /// Read on first use: most runs need one file of several.
    module: OnceLock<Result<Module, String>>,
}

/// PTX files of the same kernels for several targets.
#[derive(Debug)]
pub struct PtxSet {
    files: Vec<File>,
}

/// What one file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// `.target`'s first word.
    pub target: String,
    /// `.version`.
    pub version: version::Version,
    /// How many entries.
    pub entries: usize,
}

/// An entry alone: its text, and what a driver and a device must accept.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryText {
    /// A whole PTX module with this entry only.
    pub text: String,
    /// `.version`.
    pub version: (u8, u8),
    /// `.target`'s first word.
    pub target: String,
}

impl PtxSet {
    /// No kernels: for a device that runs other people's.
    pub fn none() -> Self {
        Self { files: Vec::new() }
    }

    /// What was built into the program.
    pub fn embedded() -> Result<Self, PtxError> {
        if EMBEDDED.is_empty() {
            return Err(PtxError::NotEmbedded {
                reason: NOT_EMBEDDED.to_owned(),
            });
        }
        let files = EMBEDDED.iter().map(|&(target, text)| File {
            name: format!("the built-in PTX for {target}"),
            text: Cow::Borrowed(text),
            module: OnceLock::new(),
        });
        Ok(Self {
            files: files.collect(),
        })
    }

    /// Every `.ptx` file of a folder.
    pub fn from_folder(folder: &Path) -> Result<Self, PtxError> {
        let unreadable = |path: &Path, reason: String| PtxError::Unreadable {
            path: path.into(),
            reason,
        };
        let entries = std::fs::read_dir(folder)
            .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
            .map_err(|error| unreadable(folder, error.to_string()))?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
        paths.sort();
        if paths.is_empty() {
            return Err(PtxError::NoFiles {
                path: folder.into(),
            });
        }
        let files = paths.into_iter().map(|path| {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| unreadable(&path, error.to_string()))?;
            Ok(File {
                name: path.display().to_string(),
                text: Cow::Owned(text),
                module: OnceLock::new(),
            })
        });
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// What every file holds.
    pub fn contents(&self) -> Result<Vec<Built>, PtxError> {
        let each = self.files.iter().map(|file| {
            let module = file.module()?;
            Ok(Built {
                target: target_line(&file.text).to_owned(),
                version: (module.version.major, module.version.minor),
                entries: module.entries().count(),
            })
        });
        each.collect()
    }

    /// Whether any of the files is for a device of this compute capability; otherwise what they are for.
    pub fn runs_on(&self, capability: u32) -> Result<(), PtxError> {
        // The header alone decides, and reading it is no parse of a megabyte.
        let targets: Vec<&str> = self
            .files
            .iter()
            .map(|file| target_line(&file.text))
            .collect();
        if targets
            .iter()
            .any(|target| version::target_runs_on(target, capability))
        {
            return Ok(());
        }
        Err(PtxError::Target {
            targets: names(targets.into_iter()),
            capability,
        })
    }

    /// The module that holds `entry` and suits a device of this compute capability best: the one for the latest target that it runs.
    pub fn module(&self, entry: &str, capability: u32) -> Result<&Module, PtxError> {
        let mut holding = Vec::new();
        for file in &self.files {
            let module = file.module()?;
            if module.entry(entry).is_ok() {
                holding.push(module);
            }
        }
        if holding.is_empty() {
            return Err(self.no_entry(entry));
        }
        holding
            .iter()
            .copied()
            .filter(|module| version::target_runs_on(target_of(module), capability))
            .max_by_key(|module| version::target_number(target_of(module)))
            .ok_or_else(|| PtxError::Target {
                targets: names(holding.iter().map(|module| target_of(module))),
                capability,
            })
    }

    fn no_entry(&self, entry: &str) -> PtxError {
        PtxError::NoEntry {
            entry: entry.to_owned(),
            files: names(self.files.iter().map(|file| file.name.as_str())),
        }
    }

    /// The text of `entry` alone, for a driver that compiles what it is given.
    pub fn entry(&self, entry: &str, capability: u32) -> Result<EntryText, PtxError> {
        let module = self.module(entry, capability)?;
        let mut alone = module.clone();
        alone
            .retain_entry(entry)
            .map_err(|_| self.no_entry(entry))?;
        Ok(EntryText {
            text: alone.to_string(),
            version: (module.version.major, module.version.minor),
            target: target_of(module).to_owned(),
        })
    }
}

impl File {
    fn module(&self) -> Result<&Module, PtxError> {
        self.module
            .get_or_init(|| {
                nstage_ptx::parse(&self.text).map_err(|errors| {
                    let first = errors.errors.first();
                    first.map_or_else(
                        || errors.to_string(),
                        |error| {
                            format!(
                                "line {}, column {}: got {}, expected {}",
                                error.pos.line, error.pos.column, error.found, error.expected
                            )
                        },
                    )
                })
            })
            .as_ref()
            .map_err(|reason| PtxError::Unparsable {
                name: self.name.clone(),
                reason: reason.clone(),
            })
    }
}

/// The first word of the `.target` line.
fn target_line(text: &str) -> &str {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".target"));
    let word = line.and_then(|line| line.split([',', ' ', '\t']).find(|word| !word.is_empty()));
    word.unwrap_or_default()
}

fn target_of(module: &Module) -> &str {
    module.target.first().map_or("", String::as_str)
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_ENTRIES: &str = ".version 7.0\n.target TARGET\n.address_size 64\n\
        .visible .entry first() { ret; }\n.visible .entry second() { ret; }\n";

    fn folder(targets: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for target in targets {
            let path = folder.path().join(format!("kernels.{target}.ptx"));
            std::fs::write(path, TWO_ENTRIES.replace("TARGET", target)).unwrap();
        }
        folder
    }

    #[test]
    fn the_latest_target_that_runs_is_taken_with_one_entry() {
        let folder = folder(&["sm_80", "sm_90", "sm_90a"]);
        let set = PtxSet::from_folder(folder.path()).unwrap();
        for (capability, expected) in [(80, "sm_80"), (89, "sm_80"), (100, "sm_90")] {
            let found = set.entry("second", capability).unwrap();
            assert_eq!((found.target.as_str(), found.version), (expected, (7, 0)));
            assert!(
                found.text.contains("second") && !found.text.contains("first"),
                "{}",
                found.text
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let set = folder(&["sm_90"]);
        let set = PtxSet::from_folder(set.path()).unwrap();
        let message = set.entry("third", 90).unwrap_err().to_string();
        assert!(message.starts_with("no entry third in "), "{message}");
        let message = set.entry("first", 75).unwrap_err().to_string();
        assert!(
            message.starts_with("its PTX is for sm_90, the device is sm_75"),
            "{message}"
        );

        assert_eq!(set.runs_on(75).unwrap_err().to_string(), message);

        let empty = tempfile::tempdir().unwrap();
        let message = PtxSet::from_folder(empty.path()).unwrap_err().to_string();
        assert!(message.contains("no .ptx file"), "{message}");
        let message = PtxSet::from_folder(&empty.path().join("none"))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("check the path given to --ptx"),
            "{message}"
        );

        std::fs::write(
            empty.path().join("bad.ptx"),
            ".version 7.0\n.target sm_80\n!",
        )
        .unwrap();
        let set = PtxSet::from_folder(empty.path()).unwrap();
        let message = set.entry("first", 90).unwrap_err().to_string();
        assert!(
            message.contains("bad.ptx: is not PTX: line 3, column 1"),
            "{message}"
        );
    }
}
