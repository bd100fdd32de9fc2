//! How a command ends when it does not end well.

use std::process::ExitCode;

use crate::device::{DeviceError, GeometryError, OtherKernel, SelectError};
use crate::io::{InputError, OutputError};
use crate::ptx::PtxError;
use crate::workload::{NoReuse, UnknownKernel, Unsuitable};

/// Why a command stops. Each kind has its exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command line, an input or the machine is not as needed: 2.
    Usage(String),
    /// A result is wrong, a hazard was found or the kernel ended itself: 1. The details are in the output already.
    Verdict,
    /// As [`Verdict`](Self::Verdict), with something left to say.
    Fault(String),
    /// Something is not modelled, and so nothing is known of the kernel: 3.
    Incomplete,
    /// Whoever read standard output has gone. No fault of ours, and nobody to tell.
    ClosedPipe,
}

impl Failure {
    /// Prints the one line that is left to say and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Usage(message) => {
                print_error(&message);
                ExitCode::from(2)
            }
            Self::Fault(message) => {
                print_error(&message);
                ExitCode::from(1)
            }
            Self::Verdict => ExitCode::from(1),
            Self::Incomplete => ExitCode::from(3),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// `error: …` on standard error, in one line whatever the message holds.
fn print_error(message: &str) {
    use std::io::Write;
    let words: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    // Standard error may be closed too; then there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "error: {}", words.join(" "));
}

/// Something the user should know that stops nothing.
pub(super) fn notice(message: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "notice: {message}");
}

impl From<std::io::Error> for Failure {
    /// For writes to standard output, the only bare input and output of a command.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Usage(format!("standard output cannot be written: {error}"))
        }
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Launch { .. } => Self::Fault(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

macro_rules! usage {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Usage(error.to_string())
            }
        }
    )+};
}

usage!(
    GeometryError,
    OtherKernel,
    SelectError,
    InputError,
    OutputError,
    PtxError,
    NoReuse,
    UnknownKernel,
    Unsuitable,
);
