//! There are entries, and those that were asked for are among them.

use super::{Context, Failure};

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    if context.entries().next().is_some() {
        return Vec::new();
    }
    vec![Failure::of_file(
        1,
        "got no entry at all, expected one at least",
        "write kernels as `extern \"ptx-kernel\"` functions with `#[unsafe(export_name = \"…\")]`; others are dropped",
    )]
}

/// One failure for each entry that was asked for and is not there.
pub(crate) fn missing(entries: &[String], expected: &[String]) -> Vec<Failure> {
    let missing = expected.iter().filter(|name| !entries.contains(name));
    let failure = |name: &String| {
        Failure::of_file(
            1,
            format!(
                "got no entry `{name}`, which was asked for; there are {}",
                entries.join(", ")
            ),
            "correct the name, or switch on the feature that it belongs to",
        )
    };
    missing.map(failure).collect()
}
