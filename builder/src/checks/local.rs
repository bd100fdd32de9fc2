//! No local memory unless it is meant.
//!
//! An array that is indexed at run time, or that did not fit into registers, lands in memory that is as slow as global memory, and keeps ptxas from overlapping matrix instructions.

use super::{Context, Failure, demangled};
use nstage_ptx::ast::{Space, Variable};

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (index, code) in context.functions.iter().enumerate() {
        let Some(variable) = code
            .body
            .declarations
            .iter()
            .find(|variable| variable.space == Space::Local)
        else {
            continue;
        };
        for entry in context.entries_reaching(index) {
            if context
                .declaration(&entry.name)
                .is_some_and(|declaration| declaration.local_allowed)
            {
                continue;
            }
            let through = if entry.name == code.function.name {
                String::new()
            } else {
                format!(" in `{}`, which it calls", demangled(&code.function.name))
            };
            failures.push(Failure::of_entry(
                &entry.name,
                variable.pos.line,
                format!("got {} bytes of local memory{through}, expected none", bytes(variable)),
                "index arrays by constants only (unroll the loop over them), or declare the entry with `local=allow`",
            ));
        }
    }
    failures
}

fn bytes(variable: &Variable) -> u64 {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
    variable.dims.iter().product::<u64>() * element
}
