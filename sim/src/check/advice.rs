//! What the text alone shows, before anything runs. All of it is advice: none of it makes a kernel wrong by itself.

use std::collections::HashSet;

use nstage_ptx::ast::{Instruction, Module, Operand, Space, Version};
use nstage_ptx::body::{Body, RegisterId};
use nstage_ptx::cfg::Cfg;
use nstage_ptx::uses::Role;

use crate::finding::{Class, Finding};

use super::policy::Policy;
use super::report;

/// Something to say about a line of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advice<'a> {
    /// What.
    pub(crate) class: Class,
    /// The instruction.
    pub(crate) instruction: &'a Instruction,
    /// An earlier instruction that it goes with.
    pub(crate) earlier: Option<&'a Instruction>,
    /// The function.
    pub(crate) function: &'a str,
    /// How many more lines of the function the same can be said about.
    pub(crate) more: u64,
}

/// Looks at the functions of a module, which holds what one entry needs and nothing else; `clusters` says whether the launch has any.
#[must_use]
pub fn advise(module: &Module, clusters: bool, policy: &Policy) -> Vec<Finding> {
    let shared: HashSet<&str> = module
        .variables()
        .filter(|variable| variable.space == Space::Shared)
        .map(|variable| variable.name.as_str())
        .collect();
    let mut advice = Vec::new();
    for function in module.functions() {
        let body = Body::new(function);
        let mut found = Vec::new();
        if !clusters {
            found.extend(cluster_windows(&body, module.version));
        }
        found.extend(generic_accesses(&body, &shared));
        // A branch to nowhere is for others to report.
        if let Ok(cfg) = Cfg::new(&body) {
            found.extend(duplicated_barriers(&body, &cfg));
        }
        for (class, at, earlier) in found {
            let known = advice.iter_mut().find(|known: &&mut Advice<'_>| {
                known.class == class && known.function == function.name
            });
            match known {
                Some(known) => known.more += 1,
                None => advice.push(Advice {
                    class,
                    instruction: body.lines[at].instruction,
                    earlier: earlier.map(|earlier: usize| body.lines[earlier].instruction),
                    function: &function.name,
                    more: 0,
                }),
            }
        }
    }
    advice
        .iter()
        .filter_map(|advice| report::advice(advice, policy))
        .collect()
}

type Found = (Class, usize, Option<usize>);

fn has(instruction: &Instruction, word: &str) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| modifier == word)
}

/// The version from which on a bulk copy can name the block's own window.
const OWN_WINDOW: Version = Version { major: 8, minor: 6 };

/// Instructions that name the cluster's window, but for those that can name no other.
fn cluster_windows(body: &Body<'_>, version: Version) -> Vec<Found> {
    let lines = body.lines.iter().enumerate();
    lines
        .filter(|(_, line)| has(line.instruction, "shared::cluster"))
        .filter(|(_, line)| line.instruction.opcode != "cp" || version >= OWN_WINDOW)
        .map(|(at, _)| (Class::ClusterWindow, at, None))
        .collect()
}

/// Instructions whose result is an address if an operand is.
const ADDRESS_ARITHMETIC: [&str; 11] = [
    "add", "and", "cvt", "cvta", "mad", "mov", "or", "selp", "sub", "shl", "xor",
];

/// Generic accesses whose address comes from a shared variable.
fn generic_accesses(body: &Body<'_>, shared: &HashSet<&str>) -> Vec<Found> {
    let is_shared = |at: usize, name: &str| match body.declaration(body.lines[at].scope, name) {
        Some((declaration, _)) => body.declarations[declaration].space == Space::Shared,
        None => shared.contains(name),
    };
    // Registers that may hold such an address, until no more are found.
    let mut derived: HashSet<RegisterId> = HashSet::new();
    loop {
        let before = derived.len();
        for (at, line) in body.lines.iter().enumerate() {
            if !ADDRESS_ARITHMETIC.contains(&line.instruction.opcode.as_str()) {
                continue;
            }
            let uses = body.uses(at);
            let from_shared = uses.iter().any(|used| {
                used.role != Role::Write
                    && match used.register {
                        Some(register) => derived.contains(&register),
                        None => is_shared(at, used.name),
                    }
            });
            if from_shared {
                let written = uses.iter().filter(|used| used.role == Role::Write);
                derived.extend(written.filter_map(|used| used.register));
            }
        }
        if derived.len() == before {
            break;
        }
    }
    let mut found = Vec::new();
    for (at, line) in body.lines.iter().enumerate() {
        if !is_generic_access(line.instruction) {
            continue;
        }
        let from_shared = body.uses(at).iter().any(|used| {
            used.role == Role::Address
                && match used.register {
                    Some(register) => derived.contains(&register),
                    None => is_shared(at, used.name),
                }
        });
        if from_shared {
            found.push((Class::GenericSharedAccess, at, None));
        }
    }
    found
}

fn is_generic_access(instruction: &Instruction) -> bool {
    const SPACES: [&str; 9] = [
        "global",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
    ];
    matches!(instruction.opcode.as_str(), "ld" | "st" | "atom" | "red")
        && !SPACES.iter().any(|space| has(instruction, space))
}

/// Barriers of the block that follow the same barrier with no use of memory between them.
fn duplicated_barriers(body: &Body<'_>, cfg: &Cfg) -> Vec<Found> {
    let mut found = Vec::new();
    for (id, block) in cfg.blocks.iter().enumerate() {
        // What the only way into this block ends with.
        let mut last = match block.predecessors[..] {
            [before] if before != id && cfg.blocks[before].successors.len() == 1 => {
                pending_barrier(body, cfg.blocks[before].lines.clone())
            }
            _ => None,
        };
        for at in block.lines.clone() {
            let instruction = body.lines[at].instruction;
            if is_block_barrier(instruction) {
                if let Some(earlier) = last
                    && same_barrier(body.lines[earlier].instruction, instruction)
                {
                    found.push((Class::DuplicatedBarrier, at, Some(earlier)));
                }
                last = Some(at);
            } else if uses_memory(instruction) {
                last = None;
            }
        }
    }
    found
}

/// The barrier behind which the lines use no memory.
fn pending_barrier(body: &Body<'_>, lines: std::ops::Range<usize>) -> Option<usize> {
    for at in lines.rev() {
        let instruction = body.lines[at].instruction;
        if is_block_barrier(instruction) {
            return Some(at);
        }
        if uses_memory(instruction) {
            return None;
        }
    }
    None
}

fn is_block_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.as_str(), "bar" | "barrier")
        && has(instruction, "sync")
        && !has(instruction, "warp")
        && !has(instruction, "cluster")
        && instruction.guard.is_none()
}

fn same_barrier(a: &Instruction, b: &Instruction) -> bool {
    a.operands == b.operands
}

/// Whether the instruction reads or writes memory that others see, waits, or may do so elsewhere.
fn uses_memory(instruction: &Instruction) -> bool {
    const ELSEWHERE: [&str; 12] = [
        "bar",
        "barrier",
        "call",
        "cp",
        "exit",
        "fence",
        "mbarrier",
        "membar",
        "nanosleep",
        "ret",
        "trap",
        "wgmma",
    ];
    let addressed = instruction
        .operands
        .iter()
        .any(|operand| matches!(operand, Operand::Address(_)));
    ELSEWHERE.contains(&instruction.opcode.as_str()) || addressed && !has(instruction, "param")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body, whether the launch has clusters, and the classes and lines of what is said about it.
    type Case = (&'static str, bool, &'static [(Class, u32)]);

    const HEAD: &str = ".version 8.0\n.target sm_90\n.shared .align 16 .b8 tile[1024];\n.entry k() {\n        .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n";

    const CASES: &[Case] = &[
        (
            "bar.sync 0;\nbar.sync 0;\nret;",
            false,
            &[(Class::DuplicatedBarrier, 7)],
        ),
        ("bar.sync 0;\nbar.sync 1;\nret;", false, &[]),
        (
            "bar.sync 0;\nadd.u32 %r1, %r2, %r3;\nbar.sync 0;\nret;",
            false,
            &[(Class::DuplicatedBarrier, 8)],
        ),
        (
            "bar.sync 0;\nst.shared.u32 [tile], %r1;\nbar.sync 0;\nret;",
            false,
            &[],
        ),
        (
            "bar.sync 0;\n@%p1 bra L;\nbar.sync 0;\nL:\nret;",
            false,
            &[],
        ),
        (
            "bar.sync 0;\nbra L;\nL:\nbar.sync 0;\nret;",
            false,
            &[(Class::DuplicatedBarrier, 9)],
        ),
        (
            "mov.u64 %rd1, tile;\nadd.u64 %rd2, %rd1, 4;\nst.u32 [%rd2], %r1;\nld.u32 %r2, [%rd1];\nret;",
            false,
            &[(Class::GenericSharedAccess, 8)],
        ),
        (
            "mov.u64 %rd1, tile;\nst.shared.u32 [%rd1], %r1;\nret;",
            false,
            &[],
        ),
        (
            "mov.u64 %rd1, tile;\nld.shared.u64 %rd2, [%rd1];\nst.u32 [%rd2], %r1;\nret;",
            false,
            &[],
        ),
        (
            "mapa.shared::cluster.u32 %r1, %r2, 0;\nret;",
            false,
            &[(Class::ClusterWindow, 6)],
        ),
        ("mapa.shared::cluster.u32 %r1, %r2, 0;\nret;", true, &[]),
        // This version has no other form of it.
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2];\nret;",
            false,
            &[],
        ),
    ];

    #[test]
    fn each_body_gets_the_advice_it_deserves() {
        for (body, clusters, expected) in CASES {
            let text = format!("{HEAD}{body}\n}}\n");
            let module =
                nstage_ptx::parse(&text).unwrap_or_else(|errors| panic!("{body}: {errors}"));
            let found: Vec<_> = advise(&module, *clusters, &Policy::default())
                .into_iter()
                .map(|finding| {
                    (
                        finding.class,
                        finding.parties.last().map_or(0, |party| party.line),
                    )
                })
                .collect();
            assert_eq!(found, *expected, "{body}");
        }
    }
}
