//! Which values may differ between the threads of a block.
//!
//! The analysis is conservative: a value counts as the same for all threads only if it is computed from parameters, constants, block indices and the like, at a place that all threads reach together.
//! Registers are looked at without regard to order, which costs nothing on a compiler's output: there, nearly every register is written once.

use super::control::Control;
use super::{Code, Context, callee};
use nstage_ptx::ast::{Operand, Space};
use nstage_ptx::body::RegisterId;
use nstage_ptx::uses::{Role, reads_carry, writes_carry};
use std::collections::HashMap;

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

/// What holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Register(RegisterId),
    /// A declaration in the `.param` space, through which calls pass values.
    Param(usize),
    Carry,
    /// What the function returns.
    Return,
    /// That the function is called at all.
    Call,
}

/// Why a place is not common to the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The value is made here, from `what`.
    Source { line: u32, what: String },
    /// It comes from another place of the same function.
    From(Place),
}

/// A level with its cause; the lowest level has none.
type Found = (Level, Option<Cause>);

/// All functions' places above [`Level::Block`].
pub(super) struct Taint {
    functions: Vec<HashMap<Place, (Level, Cause)>>,
}

impl Taint {
    /// Follows values through all functions until nothing changes any more.
    pub(super) fn new(context: &Context<'_>, controls: &[Option<Control>]) -> Self {
        let mut taint = Self {
            functions: vec![HashMap::new(); context.functions.len()],
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (function, code) in context.functions.iter().enumerate() {
                if let Some(control) = &controls[function] {
                    let mut pass = Pass {
                        context,
                        code,
                        control,
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

    /// How far a place is common.
    pub(super) fn level(&self, function: usize, place: Place) -> Level {
        self.functions[function]
            .get(&place)
            .map_or(Level::Block, |(level, _)| *level)
    }

    /// Where a place's value comes from in the end: the PTX line, and what stands there.
    pub(super) fn origin(&self, function: usize, place: Place) -> Option<(u32, &str)> {
        let mut at = place;
        // A cause was there before what it caused, so this ends; the bound only guards against a mistake.
        for _ in 0..self.functions[function].len() {
            match &self.functions[function].get(&at)?.1 {
                Cause::Source { line, what } => return Some((*line, what)),
                Cause::From(place) => at = *place,
            }
        }
        None
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

/// One look at every instruction of a function.
struct Pass<'c, 'a> {
    context: &'c Context<'a>,
    code: &'c Code<'a>,
    control: &'c Control,
    taint: &'c mut Taint,
    function: usize,
    changed: bool,
}

impl Pass<'_, '_> {
    fn run(&mut self) {
        let mut before = true;
        while std::mem::take(&mut before) {
            for index in 0..self.code.body.lines.len() {
                before |= self.line(index);
            }
            self.changed |= before;
        }
    }

    /// Follows one instruction; whether something was learnt.
    fn line(&mut self, index: usize) -> bool {
        let instruction = self.code.body.lines[index].instruction;
        let reached = self.reached(index);
        let mut learnt = false;
        if instruction.opcode == "call" {
            learnt |= self.call(index, &reached);
        }
        let value = join(self.value(index), reached);
        for place in self.written(index) {
            learnt |= self.raise(self.function, place, &value);
        }
        learnt
    }

    /// How far the threads are together at an instruction: its guard, the branches that lead to it, and the calls of the function.
    fn reached(&self, index: usize) -> Found {
        let mut found = self.found(Place::Call);
        for &line in self.control.deciders(index).iter().chain([&index]) {
            if let Some(condition) = condition(self.code, line) {
                found = join(found, self.found(Place::Register(condition)));
            }
        }
        found
    }

    /// How far what an instruction computes is common, taken for itself.
    fn value(&self, index: usize) -> Found {
        let instruction = self.code.body.lines[index].instruction;
        let read = self.read(index);
        let line = self.code.line(index);
        let made = |level, what: String| (level, Some(Cause::Source { line, what }));
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
                made(Level::Thread, format!("`{}`", instruction.mnemonic()))
            }
            opcode if OWN_RESULT.contains(&opcode) => {
                made(Level::Thread, format!("`{}`", instruction.mnemonic()))
            }
            // The predicate beside the value tells whether the lane asked for exists.
            "shfl"
                if matches!(instruction.operands.first(), Some(Operand::Pair(..)))
                    && !has("idx") =>
            {
                made(Level::Thread, format!("`{}`", instruction.mnemonic()))
            }
            "call" => (Level::Block, None),
            // One value for all: the barrier gathers it from every thread.
            "bar" | "barrier" => (Level::Block, None),
            "vote" | "redux" => made(Level::Warp, format!("`{}`", instruction.mnemonic())),
            "shfl" => match read {
                (Level::Block, _) => read,
                // One lane's value for all of its warp, if all name the same lane.
                _ if has("idx") && self.operand(index, 2) <= Level::Warp => {
                    made(Level::Warp, format!("`{}`", instruction.mnemonic()))
                }
                _ => read,
            },
            "shr" if self.warp_number(index) => made(Level::Warp, "%tid.x / 32".to_owned()),
            _ => read,
        }
    }

    /// The join over everything that an instruction reads.
    fn read(&self, index: usize) -> Found {
        let instruction = self.code.body.lines[index].instruction;
        let mut found = (Level::Block, None);
        for used in self.code.body.uses(index) {
            found = match (used.role, used.register) {
                (Role::Write, _) => continue,
                (_, Some(register)) => join(found, self.found(Place::Register(register))),
                (_, None) => join(found, self.named(index, used.name)),
            };
        }
        if reads_carry(instruction) {
            found = join(found, self.found(Place::Carry));
        }
        found
    }

    /// A name that is no register: a special register, a parameter, a symbol.
    fn named(&self, index: usize, name: &str) -> Found {
        let level = special(name);
        if level > Level::Block {
            return (
                level,
                Some(Cause::Source {
                    line: self.code.line(index),
                    what: name.to_owned(),
                }),
            );
        }
        self.param(index, name)
            .map_or((Level::Block, None), |place| self.found(place))
    }

    /// The `.param` declaration of a name.
    fn param(&self, index: usize, name: &str) -> Option<Place> {
        let (declaration, _) = self
            .code
            .body
            .declaration(self.code.body.lines[index].scope, name)?;
        (self.code.body.declarations[declaration].space == Space::Param)
            .then_some(Place::Param(declaration))
    }

    /// The level of one operand that is a plain name or a constant.
    fn operand(&self, index: usize, operand: usize) -> Level {
        match self.code.body.lines[index]
            .instruction
            .operands
            .get(operand)
        {
            Some(Operand::Immediate(_)) => Level::Block,
            Some(Operand::Name { name, .. }) => {
                let used = self
                    .code
                    .body
                    .uses(index)
                    .iter()
                    .find(|used| used.name == name && used.role == Role::Read);
                used.and_then(|used| used.register)
                    .map_or(Level::Thread, |register| {
                        self.taint.level(self.function, Place::Register(register))
                    })
            }
            _ => Level::Thread,
        }
    }

    /// Whether a shift right computes the warp's number: `%tid.x` by five or more places.
    fn warp_number(&self, index: usize) -> bool {
        let shift = self.code.body.lines[index].instruction.operands.get(2);
        let far = matches!(
            shift,
            Some(Operand::Immediate(nstage_ptx::ast::Immediate::Int {
                bits: 5..64,
                ..
            }))
        );
        let mut reads = self
            .code
            .body
            .uses(index)
            .iter()
            .filter(|used| used.role == Role::Read);
        far && reads.next().is_some_and(|used| {
            used.register
                .is_some_and(|register| self.is_thread_index(register, 4))
        })
    }

    /// Whether a register is a plain copy of `%tid.x`, over a few moves.
    fn is_thread_index(&self, register: RegisterId, moves: u32) -> bool {
        let body = &self.code.body;
        let mut writers = (0..body.lines.len()).filter(|&line| {
            body.uses(line)
                .iter()
                .any(|used| used.role == Role::Write && used.register == Some(register))
        });
        let (Some(line), None) = (writers.next(), writers.next()) else {
            return false;
        };
        let instruction = body.lines[line].instruction;
        if moves == 0
            || instruction.guard.is_some()
            || !matches!(instruction.opcode.as_str(), "mov" | "cvt")
        {
            return false;
        }
        match instruction.operands.get(1) {
            Some(Operand::Name {
                name,
                component: Some('x'),
            }) => name == "%tid",
            Some(Operand::Name {
                component: None, ..
            }) => {
                let mut reads = body
                    .uses(line)
                    .iter()
                    .filter(|used| used.role == Role::Read);
                reads
                    .next()
                    .and_then(|used| used.register)
                    .is_some_and(|register| self.is_thread_index(register, moves - 1))
            }
            _ => false,
        }
    }

    /// The places that an instruction writes.
    fn written(&self, index: usize) -> Vec<Place> {
        let instruction = self.code.body.lines[index].instruction;
        let uses = self.code.body.uses(index);
        let mut places: Vec<Place> = uses
            .iter()
            .filter(|used| used.role == Role::Write)
            .filter_map(|used| match used.register {
                Some(register) => Some(Place::Register(register)),
                None => self.param(index, used.name),
            })
            .collect();
        if writes_carry(instruction) {
            places.push(Place::Carry);
        }
        if instruction.opcode == "st"
            && instruction
                .modifiers
                .iter()
                .any(|word| word.starts_with("param"))
        {
            let addresses = uses.iter().filter(|used| used.role == Role::Address);
            places.extend(addresses.filter_map(|used| self.param(index, used.name)));
        }
        let returned = |place: &Place| match place {
            Place::Param(declaration) => *declaration < self.code.function.returns.len(),
            Place::Register(register) => {
                let declared = self.code.body.registers[register.0 as usize].declaration;
                self.code
                    .function
                    .returns
                    .iter()
                    .any(|variable| std::ptr::eq(variable, declared))
            }
            _ => false,
        };
        if places.iter().any(returned) {
            places.push(Place::Return);
        }
        places
    }

    /// Passes arguments and the way of calling to the called function, and its results back.
    fn call(&mut self, index: usize, reached: &Found) -> bool {
        let instruction = self.code.body.lines[index].instruction;
        let line = self.code.line(index);
        let known = callee(instruction).and_then(|name| self.context.function(name));
        let Some(callee) = known else {
            // What is not here may return anything.
            let results = self.written(index);
            let unknown = (
                Level::Thread,
                Some(Cause::Source {
                    line,
                    what: "a function that is not in this file".to_owned(),
                }),
            );
            return results.into_iter().fold(false, |learnt, place| {
                self.raise(self.function, place, &unknown) | learnt
            });
        };
        let told = |found: Found| {
            (
                found.0,
                Some(Cause::Source {
                    line,
                    what: format!(
                        "the call in `{}`",
                        super::demangled(&self.code.function.name)
                    ),
                }),
            )
        };
        let mut learnt = self.raise(callee, Place::Call, &told(reached.clone()));
        let returns = self.context.functions[callee].function.returns.len();
        for (number, argument) in self.arguments(index).into_iter().enumerate() {
            let place = self.parameter_place(callee, returns + number);
            learnt |= self.raise(callee, place, &told(argument));
        }
        let result = (
            self.taint.level(callee, Place::Return),
            Some(Cause::Source {
                line,
                what: "what the call returns".to_owned(),
            }),
        );
        for place in self.written(index) {
            learnt |= self.raise(self.function, place, &result);
        }
        learnt
    }

    /// What is passed: the last list of a call, unless it has only the list of results.
    fn arguments(&self, index: usize) -> Vec<Found> {
        let operands = &self.code.body.lines[index].instruction.operands;
        let mut lists = operands
            .iter()
            .enumerate()
            .filter_map(|(at, operand)| match operand {
                Operand::List(elements) if at > 0 => Some(elements),
                _ => None,
            });
        let Some(elements) = lists.next_back() else {
            return Vec::new();
        };
        let found = |operand: &Operand| match operand {
            Operand::Name { name, .. } => {
                let used = self
                    .code
                    .body
                    .uses(index)
                    .iter()
                    .find(|used| used.name == name && used.role == Role::Read);
                match used.and_then(|used| used.register) {
                    Some(register) => self.found(Place::Register(register)),
                    None => self.named(index, name),
                }
            }
            _ => (Level::Block, None),
        };
        elements.iter().map(found).collect()
    }

    /// How a function holds one of its parameters: in the `.param` space or in a register.
    fn parameter_place(&self, function: usize, declaration: usize) -> Place {
        let body = &self.context.functions[function].body;
        let is_declared = |register: &nstage_ptx::body::Register<'_>| {
            body.declarations
                .get(declaration)
                .is_some_and(|variable| std::ptr::eq(*variable, register.declaration))
        };
        match body.registers.iter().position(is_declared) {
            Some(register) => {
                Place::Register(RegisterId(u32::try_from(register).unwrap_or(u32::MAX)))
            }
            None => Place::Param(declaration),
        }
    }

    fn found(&self, place: Place) -> Found {
        match self.taint.level(self.function, place) {
            Level::Block => (Level::Block, None),
            level => (level, Some(Cause::From(place))),
        }
    }

    /// Raises a place to a level, never down; whether that changed it.
    fn raise(&mut self, function: usize, place: Place, found: &Found) -> bool {
        let (level, Some(cause)) = found else {
            return false;
        };
        if *level <= self.taint.level(function, place) {
            return false;
        }
        self.taint.functions[function].insert(place, (*level, cause.clone()));
        true
    }
}

/// The less common of two.
fn join(a: Found, b: Found) -> Found {
    if b.0 > a.0 { b } else { a }
}

/// How far a special register is common; what is no special register is.
fn special(name: &str) -> Level {
    let Some(name) = name.strip_prefix('%') else {
        return Level::Block;
    };
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
    if name == "warpid" {
        Level::Warp
    } else if BLOCK.contains(&name) || BLOCK_STEMS.iter().any(|stem| name.starts_with(stem)) {
        Level::Block
    } else {
        Level::Thread
    }
}
