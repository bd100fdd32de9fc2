//! Shared memory is reached by `ld.shared` and `st.shared`, not by generic instructions.
//!
//! A reference to shared memory that is turned into an ordinary pointer still works, but every access then finds out at run time which memory it means, and is split into narrow pieces.

use super::{Code, Context, Failure};
use nstage_ptx::ast::Instruction;
use nstage_ptx::body::RegisterId;
use nstage_ptx::uses::Role;
use std::collections::BTreeSet;

/// Instructions that read or write memory through an address, and take the space as a modifier.
const ACCESSES: &[&str] = &["ld", "st", "atom", "red"];

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    let allowed = |name: &str| {
        context
            .declaration(name)
            .is_some_and(|declaration| declaration.generic_shared_allowed)
    };
    let refused = (0..context.functions.len())
        .filter(|&function| !allowed(&context.functions[function].function.name));
    refused
        .flat_map(|function| function_failures(context, function))
        .collect()
}

fn function_failures(context: &Context<'_>, function: usize) -> Vec<Failure> {
    let code = &context.functions[function];
    let pointers = generic_pointers(code);
    let mut failures = Vec::new();
    for (index, line) in code
        .body
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| is_generic_access(line.instruction))
    {
        let mut addresses = code
            .body
            .uses(index)
            .iter()
            .filter(|used| used.role == Role::Address);
        if addresses.any(|used| {
            used.register
                .is_some_and(|register| pointers.contains(&register))
        }) {
            failures.push(Failure::new(
                context.place(function),
                code.line(index),
                format!("got `{}` on shared memory, expected `{}.shared`{}", line.instruction.mnemonic(), line.instruction.opcode, context.source(code, index)),
                "use the crate's shared-memory accesses instead of a Rust reference, or declare the entry with `generic-shared=allow`",
            ));
        }
    }
    failures
}

/// Registers that may hold a generic address of shared memory: the results of conversions, and everything computed from them.
fn generic_pointers(code: &Code<'_>) -> BTreeSet<RegisterId> {
    let mut pointers = BTreeSet::new();
    let mut before = usize::MAX;
    while before != pointers.len() {
        before = pointers.len();
        for (index, line) in code.body.lines.iter().enumerate() {
            let uses = code.body.uses(index);
            let reads_one = uses.iter().any(|used| {
                used.role == Role::Read
                    && used
                        .register
                        .is_some_and(|register| pointers.contains(&register))
            });
            if converts_to_generic(line.instruction) || reads_one && !forgets(line.instruction) {
                pointers.extend(
                    uses.iter()
                        .filter(|used| used.role == Role::Write)
                        .filter_map(|used| used.register),
                );
            }
        }
    }
    pointers
}

/// `cvta.shared`; `cvta.to.shared` goes the other way.
fn converts_to_generic(instruction: &Instruction) -> bool {
    instruction.opcode == "cvta"
        && instruction
            .modifiers
            .first()
            .is_some_and(|word| is_space(word, "shared"))
}

/// What comes out of these is no generic address of shared memory, whatever goes in.
fn forgets(instruction: &Instruction) -> bool {
    matches!(
        instruction.opcode.as_str(),
        "ld" | "ldu" | "atom" | "call" | "setp"
    ) || instruction.opcode == "cvta" && instruction.modifiers.iter().any(|word| word == "to")
}

fn is_generic_access(instruction: &Instruction) -> bool {
    let names_space = |word: &String| {
        ["global", "shared", "local", "const", "param"]
            .iter()
            .any(|space| is_space(word, space))
    };
    ACCESSES.contains(&instruction.opcode.as_str())
        && !instruction.modifiers.iter().any(names_space)
}

/// `shared`, `shared::cta`, `param::entry`, …
fn is_space(word: &str, space: &str) -> bool {
    word.strip_prefix(space)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
