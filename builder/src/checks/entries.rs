//! The entries that were asked for are there.

use super::{Context, Failure};

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    let entries: Vec<&str> = context
        .functions
        .iter()
        .filter(|code| code.function.is_entry)
        .map(|code| code.function.name.as_str())
        .collect();
    let mut failures = Vec::new();
    if entries.is_empty() {
        failures.push(Failure::of_file(
            1,
            "got no entry at all, expected one at least",
            "write kernels as `extern \"ptx-kernel\"` functions with `#[unsafe(export_name = \"…\")]`; others are dropped",
        ));
    }
    for missing in context
        .expected
        .iter()
        .filter(|name| !entries.contains(&name.as_str()))
    {
        failures.push(Failure::of_file(
            1,
            format!(
                "got no entry `{missing}`, which was asked for; there are {}",
                entries.join(", ")
            ),
            "correct the name, or switch on the feature that it belongs to",
        ));
    }
    failures
}
