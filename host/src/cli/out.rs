//! Standard output: text for people, one JSON object a line for programs.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

/// What to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One object a line.
    Json,
}

/// Writes a line.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.trim_end().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes one JSON object as a line. Numbers that JSON does not have become null.
pub(super) fn json(object: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string(object)?)
}
