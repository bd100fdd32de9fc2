//! Why a build failed. Every message says what to do.

use crate::Target;
use crate::checks::Failure;
use crate::compiler::Looked;
use nstage_ptx::ParseErrors;
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
    /// There is nothing to build for.
    #[error("got no target, expected at least one; leave `targets` out for sm_80 and sm_90")]
    NoTarget,
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
    /// The compiler's output cannot be read as PTX.
    #[error("the PTX for {target} cannot be read ({}): {errors}", path.display())]
    Unreadable {
        /// The target.
        target: Target,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        errors: ParseErrors,
    },
    /// The PTX is refused; all faults of all targets.
    #[error("{}", refusals(.0))]
    Refused(Vec<Refusal>),
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

/// What is wrong with the PTX of one target.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The target.
    pub target: Target,
    /// The PTX that the lines of the failures count in. It stays there to be looked at.
    pub path: PathBuf,
    /// Every fault.
    pub failures: Vec<Failure>,
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

fn refusals(refusals: &[Refusal]) -> String {
    let texts = refusals.iter().map(|refusal| {
        let count = refusal.failures.len();
        let plural = if count == 1 { "" } else { "s" };
        let lines: String = refusal
            .failures
            .iter()
            .map(|failure| format!("\n  {failure}"))
            .collect();
        format!(
            "{count} fault{plural} in the PTX for {} ({}):{lines}",
            refusal.target,
            refusal.path.display()
        )
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn list(looked: &[Looked]) -> String {
    looked
        .iter()
        .map(|looked| format!("{} {}", looked.what, looked.why))
        .collect::<Vec<_>>()
        .join("; ")
}
