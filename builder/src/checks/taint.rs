//! Which values may differ between the threads of a block.
//!
//! The analysis is conservative: a value counts as the same for all threads only if it is computed from parameters, constants, block indices and the like.
//! Where ways meet again that threads took differently, a value is common only if all ways bring the same one;
//! and behind a loop that threads leave at different turns, nothing is common that the loop computed.

use super::control::{Control, Region};
use super::ssa::{Definition, Place, Ssa, ValueId, param_place};
use super::{Code, Context, callee};
use nstage_ptx::ast::{Immediate, Operand};
use nstage_ptx::body::RegisterId;
use nstage_ptx::cfg::BlockId;
use nstage_ptx::uses::Role;
use std::collections::BTreeMap;

/// How far a value, or the fact that an instruction runs, is common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// The same for all threads of a block.
    Block,
    /// The same for all threads of a warp.
    Warp,
    /// Its own for each thread.
    Thread,
}

/// Why a value is not common to the block.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// It is made here, from `what`.
    Source { line: u32, what: String },
    /// It comes from another value of the same function, or from a branch on it.
    From(ValueId),
}

/// A level with its cause; the lowest level has none.
type Found = (Level, Option<Cause>);

/// What is common: no cause is needed.
const COMMON: Found = (Level::Block, None);

/// A function, ready to be followed.
pub(super) struct Flow {
    pub(super) control: Control,
    pub(super) ssa: Ssa,
}

/// What has been found out about one function.
#[derive(Default)]
struct State {
    /// Every value.
    values: Vec<Found>,
    /// What the callers pass, by declaration.
    params: BTreeMap<usize, Found>,
    /// How far the threads of a block are together when they call it.
    called: Option<Found>,
    /// What it returns.
    returned: Option<Found>,
    /// Branches that threads take differently, with what lies between them and their meeting place.
    regions: BTreeMap<BlockId, (Region, Level, ValueId)>,
}

/// All functions' values.
pub(super) struct Taint {
    functions: Vec<State>,
}

impl Taint {
    /// Follows values through all functions until nothing changes any more.
    pub(super) fn new(context: &Context<'_>, flows: &[Option<Flow>]) -> Self {
        let state = |flow: &Option<Flow>| State {
            values: vec![COMMON; flow.as_ref().map_or(0, |flow| flow.ssa.values.len())],
            ..State::default()
        };
        let mut taint = Self {
            functions: flows.iter().map(state).collect(),
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (function, code) in context.functions.iter().enumerate() {
                if let Some(flow) = &flows[function] {
                    let mut pass = Pass {
                        context,
                        code,
                        flow,
                        taint: &mut taint,
                        function,
                        changed: false,
                    };
                    pass.run();
                    changed |= pass.changed;
                }
            }
        }
        taint
    }

    /// How far the calls of a function are common, and where they come from.
    pub(super) fn called(&self, function: usize) -> (Level, String) {
        let found = self.functions[function].called.clone().unwrap_or(COMMON);
        (found.0, self.origin(function, found.1.as_ref()))
    }

    /// How far a register is common as a line reads it, and where it comes from.
    pub(super) fn read(
        &self,
        flow: &Flow,
        function: usize,
        line: usize,
        register: RegisterId,
    ) -> (Level, String) {
        let block = flow.control.cfg().block_of(line);
        let value = flow.ssa.read(line, Place::Register(register));
        let (Some(block), Some(value)) = (block, value) else {
            return (Level::Block, String::new());
        };
        let found = self.functions[function].used(flow, value, block);
        (found.0, self.origin(function, found.1.as_ref()))
    }

    /// Where a value comes from in the end: ` through %tid at line 12`.
    fn origin(&self, function: usize, cause: Option<&Cause>) -> String {
        let state = &self.functions[function];
        let mut at = cause;
        // A cause was there before what it caused, so this ends; the bound only guards against a mistake.
        for _ in 0..=state.values.len() {
            match at {
                Some(Cause::Source { line, what }) => {
                    return format!(" through {what} at line {line}");
                }
                Some(Cause::From(value)) => at = state.values[*value].1.as_ref(),
                None => break,
            }
        }
        String::new()
    }
}

impl State {
    fn value(&self, value: ValueId) -> Found {
        match self.values[value].0 {
            Level::Block => COMMON,
            level => (level, Some(Cause::From(value))),
        }
    }

    /// How far a value is common where a block uses it.
    fn used(&self, flow: &Flow, value: ValueId, block: BlockId) -> Found {
        let mut found = self.value(value);
        let Some(defined) = flow.ssa.block_of(value) else {
            return found;
        };
        for (region, level, condition) in self.regions.values() {
            if *level > found.0 && region.parts(defined, block) {
                found = (*level, Some(Cause::From(*condition)));
            }
        }
        found
    }
}

/// One look at every instruction of a function.
struct Pass<'c, 'a> {
    context: &'c Context<'a>,
    code: &'c Code<'a>,
    flow: &'c Flow,
    taint: &'c mut Taint,
    function: usize,
    changed: bool,
}

impl Pass<'_, '_> {
    fn run(&mut self) {
        loop {
            let before = std::mem::replace(&mut self.changed, false);
            for value in 0..self.flow.ssa.values.len() {
                let found = match &self.flow.ssa.values[value] {
                    Definition::Start(place) => self.start(*place),
                    Definition::Merge { block, from, .. } => self.merge(*block, from),
                    // All values of a line are found together below.
                    Definition::Line { .. } => continue,
                };
                self.raise(value, &found);
            }
            for index in 0..self.code.body.lines.len() {
                self.line(index);
            }
            self.find_parting_branches();
            let again = self.changed;
            self.changed |= before;
            if !again {
                return;
            }
        }
    }

    fn state(&self) -> &State {
        &self.taint.functions[self.function]
    }

    fn start(&self, place: Place) -> Found {
        let declaration = match place {
            Place::Param(declaration) => Some(declaration),
            Place::Register(register) => {
                let declared = self.code.body.registers[register.0 as usize].declaration;
                self.code
                    .body
                    .declarations
                    .iter()
                    .position(|variable| std::ptr::eq(*variable, declared))
            }
            Place::Carry => None,
        };
        declaration
            .and_then(|declaration| self.state().params.get(&declaration).cloned())
            .unwrap_or(COMMON)
    }

    /// A merge is as common as what it merges, if threads come the same way or all ways bring the same.
    fn merge(&self, block: BlockId, from: &[(Option<BlockId>, ValueId)]) -> Found {
        let ssa = &self.flow.ssa;
        let mut found = COMMON;
        for (source, value) in from {
            // On its way from one block to the other it may leave a loop.
            for at in [source.unwrap_or(block), block] {
                found = join(found, self.state().used(self.flow, *value, at));
            }
        }
        for (region, level, condition) in self
            .state()
            .regions
            .values()
            .filter(|(region, ..)| region.may_meet_at(block))
        {
            let mut brought = from
                .iter()
                .filter(|(source, _)| source.is_some_and(|source| region.comes_from(source)));
            let first = brought.next();
            if first.is_some_and(|first| brought.any(|other| !ssa.are_same(first.1, other.1))) {
                found = join(found, (*level, Some(Cause::From(*condition))));
            }
        }
        found
    }

    /// Follows one instruction.
    fn line(&mut self, index: usize) {
        let Some(block) = self.flow.control.cfg().block_of(index) else {
            return;
        };
        let instruction = self.code.body.lines[index].instruction;
        let mut found = if instruction.opcode == "call" {
            self.call(index, block)
        } else {
            self.value(index, block)
        };
        if instruction.guard.is_some() {
            // The old values stay for some threads.
            found = join(found, self.read(index, block));
        }
        for &value in self.flow.ssa.written(index).values() {
            self.raise(value, &found);
        }
        self.returns(index, &found);
    }

    /// Notes what goes into a place that the function returns.
    fn returns(&mut self, index: usize, found: &Found) {
        let returns = &self.code.function.returns;
        let is_returned = |place: &Place| match place {
            Place::Param(declaration) => *declaration < returns.len(),
            Place::Register(register) => {
                let declared = self.code.body.registers[register.0 as usize].declaration;
                returns
                    .iter()
                    .any(|variable| std::ptr::eq(variable, declared))
            }
            Place::Carry => false,
        };
        if !self.flow.ssa.written(index).keys().any(is_returned) {
            return;
        }
        // Two returns in parted ways give parted results.
        let parted = self.control_of(index);
        let found = join(found.clone(), parted);
        let old = self.state().returned.clone().unwrap_or(COMMON);
        if found.0 > old.0 {
            self.taint.functions[self.function].returned = Some(found);
            self.changed = true;
        }
    }

    /// How far threads are together at a line.
    fn control_of(&self, index: usize) -> Found {
        let mut found = self.state().called.clone().unwrap_or(COMMON);
        for &line in self.flow.control.deciders(index).iter().chain([&index]) {
            if let (Some(register), Some(block)) = (
                condition(self.code, line),
                self.flow.control.cfg().block_of(line),
            ) && let Some(value) = self.flow.ssa.read(line, Place::Register(register))
            {
                found = join(found, self.state().used(self.flow, value, block));
            }
        }
        found
    }

    /// How far what an instruction computes is common, taken for itself.
    fn value(&self, index: usize, block: BlockId) -> Found {
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
    fn read(&self, index: usize, block: BlockId) -> Found {
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
    fn named(&self, index: usize, block: BlockId, name: &str) -> Found {
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

    /// Passes arguments and the way of calling to the called function, and gives what it returns.
    fn call(&mut self, index: usize, block: BlockId) -> Found {
        let line = self.code.line(index);
        let instruction = self.code.body.lines[index].instruction;
        let made = |level, what: &str| {
            (
                level,
                Some(Cause::Source {
                    line,
                    what: what.to_owned(),
                }),
            )
        };
        let Some(callee) = callee(instruction).and_then(|name| self.context.function(name)) else {
            return made(Level::Thread, "a function that is not in this file");
        };
        let what = format!(
            "the call in `{}`",
            super::demangled(&self.code.function.name)
        );
        let reached = made(self.control_of(index).0, &what);
        let arguments: Vec<Found> = self
            .arguments(index, block)
            .into_iter()
            .map(|found| made(found.0, &what))
            .collect();
        let returns = self.context.functions[callee].function.returns.len();
        let state = &mut self.taint.functions[callee];
        if reached.0 > state.called.as_ref().map_or(Level::Block, |found| found.0) {
            state.called = Some(reached);
            self.changed = true;
        }
        for (number, argument) in arguments.into_iter().enumerate() {
            let old = state
                .params
                .get(&(returns + number))
                .map_or(Level::Block, |found| found.0);
            if argument.0 > old {
                state.params.insert(returns + number, argument);
                self.changed = true;
            }
        }
        made(
            state
                .returned
                .as_ref()
                .map_or(Level::Block, |found| found.0),
            "what the call returns",
        )
    }

    /// What is passed: the list behind the function's name.
    fn arguments(&self, index: usize, block: BlockId) -> Vec<Found> {
        let operands = &self.code.body.lines[index].instruction.operands;
        let mut lists = operands
            .iter()
            .enumerate()
            .filter_map(|(at, operand)| match operand {
                Operand::List(elements) if at > 0 => Some(elements),
                _ => None,
            });
        let found = |operand: &Operand| match operand {
            Operand::Name { name, .. } => self.named(index, block, name),
            _ => COMMON,
        };
        lists
            .next_back()
            .map_or_else(Vec::new, |elements| elements.iter().map(found).collect())
    }

    /// Finds branches that threads take differently.
    fn find_parting_branches(&mut self) {
        for branch in self.flow.control.branches() {
            let Some(line) = self.flow.control.cfg().blocks[branch].lines.clone().last() else {
                continue;
            };
            let Some(register) = condition(self.code, line) else {
                continue;
            };
            let Some(value) = self.flow.ssa.read(line, Place::Register(register)) else {
                continue;
            };
            let level = self.state().used(self.flow, value, branch).0;
            let old = self
                .state()
                .regions
                .get(&branch)
                .map_or(Level::Block, |(_, level, _)| *level);
            if level > old {
                let region = self.flow.control.region(branch);
                self.taint.functions[self.function]
                    .regions
                    .insert(branch, (region, level, value));
                self.changed = true;
            }
        }
    }

    /// Raises a value to a level, never down.
    fn raise(&mut self, value: ValueId, found: &Found) {
        if found.0 > self.state().values[value].0 {
            self.taint.functions[self.function].values[value] = found.clone();
            self.changed = true;
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

/// What decides at an instruction: its guard, or the index into a list of targets.
pub(super) fn condition(code: &Code<'_>, line: usize) -> Option<RegisterId> {
    let uses = code.body.uses(line);
    let guard = uses.iter().find(|used| used.role == Role::Guard);
    let indexed = || {
        uses.first()
            .filter(|_| code.body.lines[line].instruction.opcode == "brx")
    };
    guard.or_else(indexed)?.register
}

/// The less common of two.
fn join(a: Found, b: Found) -> Found {
    if b.0 > a.0 { b } else { a }
}

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
