//! The compiler's header: its version is no higher than asked, and its target is the one asked.
//!
//! A driver refuses PTX that is newer than itself, whatever is in it, and says so only when the kernel is loaded.

use super::Failure;
use crate::Target;
use nstage_ptx::ast::Module;

/// What is wrong with the header of code that was compiled for `asked_target`.
pub(crate) fn header(module: &Module, asked_target: Target) -> Vec<Failure> {
    let mut failures = Vec::new();
    let (got, asked) = (module.version, asked_target.version());
    if got > asked {
        failures.push(Failure::of_file(
            1,
            format!(".version: got {}.{}, expected {}.{} at most", got.major, got.minor, asked.major, asked.minor),
            format!("ask for {}.{} with `Target::with_version` if the drivers that must read it are new enough", got.major, got.minor),
        ));
    }
    let target = module.target.first().map_or("none", String::as_str);
    if target != asked_target.name() {
        failures.push(Failure::of_file(
            1,
            format!(".target: got {target}, expected {asked_target}"),
            "remove `-C target-cpu` from the crate's own flags",
        ));
    }
    failures
}
