//! Nothing is left for a linker, because there is none.
//!
//! A function that is declared and not defined makes the driver refuse the whole module, without saying who wanted it.

use super::{Context, Failure, demangled};
use nstage_ptx::ast::{Item, Linkage, Space};

/// Functions that the driver itself provides.
const PROVIDED: &[&str] = &["vprintf", "__assertfail", "malloc", "free"];

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    context
        .module
        .items
        .iter()
        .flat_map(|item| item_failures(context, item))
        .collect()
}

fn item_failures(context: &Context<'_>, item: &Item) -> Vec<Failure> {
    match item {
        Item::Function(function)
            if function.body.is_none()
                && context.function(&function.name).is_none()
                && !PROVIDED.contains(&function.name.as_str()) =>
        {
            unresolved_function(context, &function.name, function.pos.line)
        }
        // Dynamic shared memory is the one extern variable that a launch, not a linker, provides.
        Item::Variable(variable)
            if variable.linkage == Linkage::Extern && variable.space != Space::Shared =>
        {
            vec![Failure::of_file(
                variable.pos.line,
                format!(
                    "`.extern .{} {}` is defined nowhere",
                    variable.space.word(),
                    demangled(&variable.name)
                ),
                "define it in this crate or in a crate that it depends on",
            )]
        }
        _ => Vec::new(),
    }
}

/// One failure for each function that calls it.
fn unresolved_function(context: &Context<'_>, name: &str, declared: u32) -> Vec<Failure> {
    let readable = demangled(name);
    let mut failures = Vec::new();
    for (function, code) in context.functions.iter().enumerate() {
        if let Some((index, _)) = code.calls().find(|(_, callee)| *callee == name) {
            failures.push(Failure::new(
                context.place(function),
                code.line(index),
                format!(
                    "it needs `{readable}`, which is defined nowhere{}",
                    context.source(code, index)
                ),
                remedy(&readable),
            ));
        }
    }
    if failures.is_empty() {
        failures.push(Failure::of_file(
            declared,
            format!("`.extern .func {readable}` is defined nowhere"),
            remedy(&readable),
        ));
    }
    failures
}

/// What usually brings such a function in.
fn remedy(name: &str) -> &'static str {
    if name.starts_with("core::") || name.starts_with("alloc::") || name.starts_with("std::") {
        "the crate was compiled without fat LTO, or calls into a library that was not built for the device"
    } else if name.starts_with("__nv_") {
        "libdevice is not linked here; write the function with intrinsics"
    } else {
        "define it in a crate that this one depends on, or remove the `extern` block that declares it"
    }
}
