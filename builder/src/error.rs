//! Why a build failed. Every message says what to do.

use crate::Target;
use crate::compiler::Looked;
use nstage_ptx::ast::Version;
use std::io;
use std::path::PathBuf;

/// Why PTX could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler with its library source was found.
    #[error(
        "no device compiler with its library source: {}; {remedy}",
        list(looked)
    )]
    NoCompiler {
        /// What was looked at.
        looked: Vec<Looked>,
        /// What mends it.
        remedy: String,
    },
    /// A target's name is not known.
    #[error("target `{name}` has no asynchronous copies or is not known; known are {known}")]
    UnknownTarget {
        /// As asked.
        name: String,
        /// All names.
        known: String,
    },
    /// A PTX version below an architecture's lowest was asked for.
    #[error("{target} asked at PTX {}.{}, exists from {}.{} on; leave the version out to get the lowest", asked.major, asked.minor, lowest.major, lowest.minor)]
    VersionTooLow {
        /// The architecture.
        target: Target,
        /// As asked.
        asked: Version,
        /// What the architecture needs.
        lowest: Version,
    },
    /// The folder holds no crate with a library.
    #[error("{} is not a kernels crate: {problem}", path.display())]
    NotACrate {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// Cargo or rustc failed.
    #[error("{what} failed for {target}:\n{output}")]
    Cargo {
        /// The command in short.
        what: String,
        /// The target, or "all targets".
        target: String,
        /// What cargo wrote.
        output: String,
    },
    /// Something other than PTX or a description of packages came out.
    #[error(
        "{what} wrote something unexpected: {problem}; is the compiler newer than this crate knows?"
    )]
    Unexpected {
        /// The command in short.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file or a process.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A call that only makes sense in a build script.
    #[error("{what} works in a build script only: cargo has not set OUT_DIR")]
    NotABuildScript {
        /// The call.
        what: &'static str,
    },
}

impl BuildError {
    /// Whether what is missing is the compiler, so that a caller may go on without PTX.
    #[must_use]
    pub fn is_no_compiler(&self) -> bool {
        matches!(self, Self::NoCompiler { .. })
    }

    /// For `map_err` on file operations.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

fn list(looked: &[Looked]) -> String {
    looked
        .iter()
        .map(|looked| format!("{} {}", looked.what, looked.why))
        .collect::<Vec<_>>()
        .join("; ")
}
