//! What an instruction makes of what it reads.

use super::pass::Pass;
use super::{COMMON, Cause, Found, Level, join};
use crate::checks::ssa::{Definition, Place, ValueId, param_place};
use nstage_ptx::ast::{Immediate, Operand};
use nstage_ptx::cfg::BlockId;
use nstage_ptx::uses::Role;

impl Pass<'_, '_> {
    /// How far what an instruction computes is common, taken for itself.
    pub(super) fn value(&self, index: usize, block: BlockId) -> Found {
        let instruction = self.code.body.lines[index].instruction;
        let read = self.read(index, block);
        let line = self.code.line(index);
        let made = |level, what: String| (level, Some(Cause::Source { line, what }));
        let own = || made(Level::Thread, format!("`{}`", instruction.mnemonic()));
        let of_warp = || made(Level::Warp, format!("`{}`", instruction.mnemonic()));
        let has = |word: &str| {
            instruction
                .modifiers
                .iter()
                .any(|modifier| modifier == word)
        };
        match instruction.opcode.as_str() {
            "ld" if !(has("const")
                || instruction
                    .modifiers
                    .iter()
                    .any(|word| word == "param" || word.starts_with("param::"))) =>
            {
                own()
            }
            opcode if OWN_RESULT.contains(&opcode) => own(),
            // One value for all: the barrier gathers it from every thread.
            "bar" | "barrier" => COMMON,
            "vote" | "redux" => of_warp(),
            // The predicate beside the value tells whether the lane asked for exists.
            "shfl"
                if matches!(instruction.operands.first(), Some(Operand::Pair(..)))
                    && !has("idx") =>
            {
                own()
            }
            // One lane's value for all of its warp, if all name the same lane.
            "shfl"
                if read.0 > Level::Block
                    && has("idx")
                    && self.operand(index, block, 2) <= Level::Warp =>
            {
                of_warp()
            }
            "shr" | "and" | "setp" if self.asks_for_the_warp(index) => {
                made(Level::Warp, "the number of the warp".to_owned())
            }
            _ => read,
        }
    }

    /// The join over everything that an instruction reads.
    pub(super) fn read(&self, index: usize, block: BlockId) -> Found {
        let mut found = COMMON;
        for value in self.flow.ssa.all_read(index) {
            found = join(found, self.state().used(self.flow, value, block));
        }
        let line = self.code.line(index);
        for used in self
            .code
            .body
            .uses(index)
            .iter()
            .filter(|used| used.role != Role::Write && used.register.is_none())
        {
            let level = special(used.name);
            if level > found.0 {
                found = (
                    level,
                    Some(Cause::Source {
                        line,
                        what: used.name.to_owned(),
                    }),
                );
            }
        }
        found
    }

    /// How far one operand, a plain name or a constant, is common.
    fn operand(&self, index: usize, block: BlockId, operand: usize) -> Level {
        match self.code.body.lines[index]
            .instruction
            .operands
            .get(operand)
        {
            Some(Operand::Immediate(_)) => Level::Block,
            Some(Operand::Name { name, .. }) => self.named(index, block, name).0,
            _ => Level::Thread,
        }
    }

    /// How far a register or parameter that a line reads by name is common.
    pub(super) fn named(&self, index: usize, block: BlockId, name: &str) -> Found {
        let used = self
            .code
            .body
            .uses(index)
            .iter()
            .find(|used| used.name == name && used.role != Role::Write);
        let register = used.and_then(|used| used.register).map(Place::Register);
        let place = register.or_else(|| param_place(self.code, index, name));
        let value = place.and_then(|place| self.flow.ssa.read(index, place));
        value.map_or(COMMON, |value| self.state().used(self.flow, value, block))
    }

    /// Whether an instruction computes something of `%tid.x` that is the same for all 32 threads of a warp: a shift by five or more places,
    /// the bits above the lowest five, or a comparison with a multiple of 32. That holds where the first dimension of the block is a multiple of 32.
    fn asks_for_the_warp(&self, index: usize) -> bool {
        let instruction = self.code.body.lines[index].instruction;
        let [
            _,
            Operand::Name {
                name,
                component: None,
            },
            Operand::Immediate(Immediate::Int { bits, .. }),
        ] = &instruction.operands[..]
        else {
            return false;
        };
        let has = |word: &str| {
            instruction
                .modifiers
                .iter()
                .any(|modifier| modifier == word)
        };
        let whole_warps = match instruction.opcode.as_str() {
            "shr" => (5..64).contains(bits),
            "and" => bits % 32 == 0,
            _ if has("lt") || has("ge") || has("lo") || has("hs") => bits % 32 == 0,
            _ if has("gt") || has("le") || has("hi") || has("ls") => bits % 32 == 31,
            _ => false,
        };
        let used = self
            .code
            .body
            .uses(index)
            .iter()
            .find(|used| used.name == name && used.role == Role::Read);
        let value =
            used.and_then(|used| self.flow.ssa.read(index, Place::Register(used.register?)));
        whole_warps && value.is_some_and(|value| self.is_thread_index(value, 4))
    }

    /// Whether a value is `%tid.x`, over a few conversions.
    fn is_thread_index(&self, value: ValueId, conversions: u32) -> bool {
        let Definition::Line { line } = self.flow.ssa.source(value) else {
            return false;
        };
        let instruction = self.code.body.lines[*line].instruction;
        if instruction.guard.is_some() || !matches!(instruction.opcode.as_str(), "mov" | "cvt") {
            return false;
        }
        match instruction.operands.get(1) {
            Some(Operand::Name {
                name,
                component: Some('x'),
            }) => name == "%tid",
            Some(Operand::Name {
                component: None, ..
            }) if conversions > 0 => self
                .flow
                .ssa
                .all_read(*line)
                .next()
                .is_some_and(|value| self.is_thread_index(value, conversions - 1)),
            _ => false,
        }
    }
}

/// Instructions whose result is each thread's own, whatever they read.
const OWN_RESULT: &[&str] = &[
    "activemask",
    "atom",
    "elect",
    "ldmatrix",
    "ldu",
    "match",
    "mbarrier",
    "mma",
    "multimem",
    "suld",
    "tcgen05",
    "tex",
    "tld4",
    "wgmma",
    "wmma",
];

/// How far a special register is common; any other name stands for an address or a function, which is.
fn special(name: &str) -> Level {
    const BLOCK: &[&str] = &[
        "ctaid",
        "nctaid",
        "ntid",
        "nwarpid",
        "smid",
        "nsmid",
        "gridid",
        "dynamic_smem_size",
        "total_smem_size",
        "aggr_smem_size",
    ];
    const BLOCK_STEMS: &[&str] = &[
        "cluster_",
        "envreg",
        "reserved_smem_",
        "is_explicit_cluster",
        "clusterid",
        "nclusterid",
        "current_graph_exec",
    ];
    match name.strip_prefix('%') {
        None => Level::Block,
        Some("warpid") => Level::Warp,
        Some(name)
            if BLOCK.contains(&name) || BLOCK_STEMS.iter().any(|stem| name.starts_with(stem)) =>
        {
            Level::Block
        }
        Some(_) => Level::Thread,
    }
}
