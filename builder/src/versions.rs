//! The lowest PTX version that has every instruction of a file.
//!
//! What a driver or `ptxas` refuses is a version below the instructions, so the header follows from them; an entry's own declaration can only raise it.

use nstage_ptx::ast::{Instruction, Module, Statement, Version};

/// What came after PTX 7.0, the first for `sm_80`, by the opcode and words that must be there.
///
/// Source: the PTX ISA's notes on each instruction and qualifier ("introduced in").
const NEWER: &[(&str, &[&str], (u8, u8))] = &[
    ("mbarrier", &["test_wait", "parity"], (7, 1)),
    ("applypriority", &[], (7, 4)),
    ("createpolicy", &[], (7, 4)),
    ("discard", &[], (7, 4)),
    ("*", &["L1::evict_first"], (7, 4)),
    ("*", &["L1::evict_last"], (7, 4)),
    ("*", &["L1::evict_normal"], (7, 4)),
    ("*", &["L1::evict_unchanged"], (7, 4)),
    ("*", &["L1::no_allocate"], (7, 4)),
    ("*", &["L2::64B"], (7, 4)),
    ("*", &["L2::128B"], (7, 4)),
    ("*", &["L2::256B"], (7, 4)),
    ("*", &["L2::cache_hint"], (7, 4)),
    ("getctarank", &[], (7, 8)),
    ("griddepcontrol", &[], (7, 8)),
    ("mapa", &[], (7, 8)),
    ("mbarrier", &["try_wait"], (7, 8)),
    ("stmatrix", &[], (7, 8)),
    ("*", &["cluster"], (7, 8)),
    ("*", &["shared::cluster"], (7, 8)),
    ("*", &["shared::cta"], (7, 8)),
    ("cp", &["bulk"], (8, 0)),
    ("cp", &["reduce"], (8, 0)),
    ("elect", &[], (8, 0)),
    ("fence", &["proxy", "async"], (8, 0)),
    ("fence", &["mbarrier_init"], (8, 0)),
    ("mbarrier", &["expect_tx"], (8, 0)),
    ("mbarrier", &["complete_tx"], (8, 0)),
    ("prefetch", &["tensormap"], (8, 0)),
    ("setmaxnreg", &[], (8, 0)),
    ("wgmma", &[], (8, 0)),
    ("red", &["async"], (8, 1)),
    ("st", &["async"], (8, 1)),
];

/// The lowest version for the instructions of the whole file; 7.0 at least.
pub(crate) fn needed(module: &Module) -> Version {
    let bodies = module
        .functions()
        .filter_map(|function| function.body.as_deref());
    bodies.map(of_body).fold(version((7, 0)), Ord::max)
}

fn of_body(statements: &[Statement]) -> Version {
    let needed = statements.iter().map(|statement| match statement {
        Statement::Instruction(instruction) => of(instruction),
        Statement::Block(inner) => of_body(inner),
        _ => version((7, 0)),
    });
    needed.fold(version((7, 0)), Ord::max)
}

fn of(instruction: &Instruction) -> Version {
    let has = |word: &&str| instruction.modifiers.iter().any(|own| own == word);
    let newer = NEWER.iter().filter(|(opcode, words, _)| {
        (*opcode == "*" || *opcode == instruction.opcode) && words.iter().all(has)
    });
    newer
        .map(|&(.., since)| version(since))
        .fold(version((7, 0)), Ord::max)
}

const fn version((major, minor): (u8, u8)) -> Version {
    Version { major, minor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_instruction_decides() {
        for (code, expected) in [
            ("ret;", (7, 0)),
            ("cp.async.cg.shared.global [%r1], [%rd1], 16;", (7, 0)),
            (
                "cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;",
                (7, 4),
            ),
            ("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;", (7, 0)),
            (
                "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r2;",
                (7, 1),
            ),
            ("{ ld.global.nc.L1::no_allocate.b32 %r1, [%rd1]; }", (7, 4)),
            ("mapa.shared::cluster.u32 %r1, %r2, %r3; ret;", (7, 8)),
            ("ld.global.b32 %r1, [%rd1]; @%p1 fence.proxy.async;", (8, 0)),
            (
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
                (8, 1),
            ),
        ] {
            let text = format!(
                ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k() {{ {code} }}\n"
            );
            let module = nstage_ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(needed(&module), version(expected), "{code}");
        }
    }
}
