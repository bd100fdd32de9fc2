//! From the tree to the decoded form.
//!
//! Functions are decoded as they are first called, variables placed as they are first named, and constants made registers.
//! Each opcode family has its own file; what none of them takes becomes [`Op::Unsupported`].

mod atomic;
mod call;
mod carry;
mod choose;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod half;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod mods;
mod moves;
mod names;
mod operand;
mod product;
mod sync;
mod tensor;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use nstage_ptx::ast::{Function, Instruction, Item, Module, Statement, Type, Variable};

use super::allocate::{Allocation, slot};
use super::op::{Frame, Guard, Inst, LaneFn, LaneOp, NONE, Op, Reg};
use super::{
    CompileError, Constants, Counts, ParamSlot, Place, Program, Special, Tables, flow, layout,
};
use crate::event::Pc;
use crate::lanes::File;
use mods::Mods;
pub(super) use names::file_of;
use names::{Binding, Scopes};

/// Why an instruction was not decoded.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It, or this form of it, is not modelled.
    NotModelled,
    /// The module makes no sense here.
    Error(CompileError),
}

impl From<CompileError> for Refusal {
    fn from(error: CompileError) -> Self {
        Self::Error(error)
    }
}

type Decoded<T = ()> = Result<T, Refusal>;

/// A function that something refers to.
struct Known<'m> {
    function: &'m Function,
    /// Where its code starts; set when it is decoded.
    start: Option<Pc>,
    params: Vec<names::Formal>,
    returns: Vec<names::Formal>,
}

struct Decoder<'m> {
    module: &'m Module,
    variables: HashMap<&'m str, &'m Variable>,
    functions: HashMap<&'m str, &'m Function>,
    scopes: Scopes,
    /// Module-level variables that are placed, by name.
    placed: HashMap<String, Binding>,
    known: Vec<Known<'m>>,
    known_by_name: HashMap<&'m str, usize>,
    code: Vec<Inst>,
    places: Vec<Place>,
    texts: Vec<String>,
    tables: Tables,
    counts: Counts,
    constants: Constants,
    interned: operand::Interned,
    params: Vec<ParamSlot>,
    param_bytes: u32,
    shared: layout::SharedLayout,
    constant_bank: layout::ConstantBank,
    globals: Vec<layout::GlobalVariable>,
    local_bytes: u32,
    /// The condition code's predicate register, once something uses it.
    carry_flag: Reg,
    /// Where the registers of the body at hand are, and their first rows by file.
    allocation: Option<(Allocation<'m>, [Reg; 3])>,
    /// Index of the instruction at hand in its body.
    line: usize,
    /// Rows of all bodies' registers.
    own: Frame,
    /// The function at hand; none for the entry.
    current: Option<usize>,
    /// First of the registers that calls through registers share.
    indirect: Option<Reg>,
    /// Place of the instruction at hand.
    place: Place,
    /// Labels of the function at hand: where they stand, once known.
    labels: Vec<Option<Pc>>,
    /// Branches whose targets are labels still to be resolved.
    branches: Vec<(usize, usize)>,
    /// Branch tables: where in the list the labels' targets go.
    branch_lists: Vec<(usize, usize)>,
}

/// Decodes `entry`.
pub(super) fn compile(module: &Module, entry: &str) -> Result<Program, CompileError> {
    let functions: HashMap<&str, &Function> = module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
        // A declaration must not hide the definition.
        .fold(HashMap::new(), |mut all, function| {
            if function.body.is_some() || !all.contains_key(function.name.as_str()) {
                all.insert(function.name.as_str(), function);
            }
            all
        });
    let Some(function) = functions
        .get(entry)
        .filter(|function| function.is_entry && function.body.is_some())
    else {
        let mut known: Vec<String> = functions
            .values()
            .filter(|function| function.is_entry && function.body.is_some())
            .map(|function| function.name.clone())
            .collect();
        known.sort();
        return Err(CompileError::NoSuchEntry {
            entry: entry.to_owned(),
            known,
        });
    };
    let variables = module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Variable(variable) => Some((variable.name.as_str(), variable)),
            _ => None,
        })
        .collect();
    let mut decoder = Decoder {
        module,
        variables,
        functions: functions.clone(),
        scopes: Scopes::default(),
        placed: HashMap::new(),
        known: Vec::new(),
        known_by_name: HashMap::new(),
        code: Vec::new(),
        places: Vec::new(),
        texts: Vec::new(),
        tables: Tables::default(),
        // Predicate register zero is the one that is always true.
        counts: Counts {
            pred: 1,
            ..Counts::default()
        },
        constants: Constants {
            pred: vec![(super::op::TRUE, true)],
            ..Constants::default()
        },
        interned: operand::Interned::default(),
        params: Vec::new(),
        param_bytes: 0,
        shared: layout::SharedLayout::default(),
        constant_bank: layout::ConstantBank::default(),
        globals: Vec::new(),
        local_bytes: 0,
        carry_flag: super::op::TRUE,
        allocation: None,
        line: 0,
        own: Frame::default(),
        current: None,
        indirect: None,
        place: Place::default(),
        labels: Vec::new(),
        branches: Vec::new(),
        branch_lists: Vec::new(),
    };
    decoder.entry(function)?;
    decoder.finish(entry)
}

impl<'m> Decoder<'m> {
    fn entry(&mut self, entry: &'m Function) -> Result<(), CompileError> {
        self.scopes.enter();
        for param in &entry.params {
            let bytes = layout::size(param)?;
            let align = layout::align(param)?;
            let offset = self.param_bytes.next_multiple_of(align);
            if bytes > 1 << 16 {
                return Err(layout::refuse(
                    param,
                    format!("{bytes} bytes are more than a parameter may have"),
                ));
            }
            let bytes = bytes as u32;
            self.param_bytes = offset + bytes;
            self.params.push(ParamSlot {
                name: param.name.clone(),
                offset,
                bytes,
            });
            self.scopes
                .bind(&param.name, Binding::EntryParam { offset, bytes });
        }
        self.function(entry)?;
        self.scopes.leave();
        // Decoding one function makes others known; the list grows while it is worked off.
        let mut next = 0;
        while next < self.known.len() {
            let function = self.known[next].function;
            self.known[next].start = Some(self.code.len() as Pc);
            self.scopes.enter();
            for formal in self.known[next]
                .params
                .iter()
                .chain(&self.known[next].returns)
            {
                self.scopes.bind(&formal.name, formal.binding.clone());
            }
            let before = self.counts;
            self.current = Some(next);
            self.function(function)?;
            self.scopes.leave();
            let frame = self.frame(next, before);
            self.tables.frames.push(frame);
            next += 1;
        }
        self.thunks();
        for inst in &mut self.code {
            if let Op::Call { target, function } = &mut inst.op {
                *target = self.known[*function as usize].start.unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Gives the registers of a body their rows.
    fn allocate(&mut self, function: &'m Function) {
        self.line = 0;
        self.allocation = Allocation::new(function).map(|allocation| {
            let first = [File::R32, File::R64, File::Pred]
                .map(|file| self.new_registers(file, allocation.counts[slot(file)]));
            let range = |file| {
                let first = first[slot(file)];
                first..first + allocation.counts[slot(file)]
            };
            self.own.r32.push(range(File::R32));
            self.own.r64.push(range(File::R64));
            self.own.pred.push(range(File::Pred));
            (allocation, first)
        });
    }

    /// The registers of a function whose body was just decoded, its parameters with them.
    fn frame(&self, function: usize, before: Counts) -> Frame {
        let mut frame = Frame {
            r32: std::iter::once(before.r32..self.counts.r32).collect(),
            r64: std::iter::once(before.r64..self.counts.r64).collect(),
            pred: std::iter::once(before.pred..self.counts.pred).collect(),
        };
        for formal in &self.known[function].params {
            match formal.binding {
                Binding::Words { first, bytes } => frame.r32.push(first..first + bytes.div_ceil(4)),
                Binding::Register { ty, reg } => match names::file_of(ty) {
                    (File::R32, _) => frame.r32.push(reg..reg + 1),
                    (File::R64, words) => frame.r64.push(reg..reg + words),
                    (File::Pred, _) => frame.pred.push(reg..reg + 1),
                },
                _ => {}
            }
        }
        frame
    }

    /// Decodes a body; its parameters are bound already.
    fn function(&mut self, function: &'m Function) -> Result<(), CompileError> {
        let base = self.code.len();
        self.labels.clear();
        self.branches.clear();
        self.branch_lists.clear();
        self.allocate(function);
        self.place = Place {
            line: function.pos.line,
            ..Place::default()
        };
        let Some(body) = &function.body else {
            // Declared but defined nowhere: whoever calls it finds out.
            self.place.text = self.text(format!("call of `{}`, which has no body", function.name));
            let unsupported = self.unsupported(format!(
                "function `{}`, which this module does not define,",
                function.name
            ));
            self.push(Guard::ALWAYS, unsupported);
            return Ok(());
        };
        self.block(body)?;
        // A body may run off its end.
        self.push(
            Guard::ALWAYS,
            if function.is_entry {
                Op::Exit
            } else {
                Op::Return
            },
        );
        for (inst, label) in std::mem::take(&mut self.branches) {
            let at = self.labels[label].unwrap_or(0);
            if let Op::Branch { target, .. } = &mut self.code[inst].op {
                *target = at;
            }
        }
        for (slot, label) in std::mem::take(&mut self.branch_lists) {
            self.tables.lists[slot] = self.labels[label].unwrap_or(0);
        }
        flow::set_meeting_points(
            &mut self.code[base..],
            base,
            &self.tables.lists,
            function.is_entry,
        );
        Ok(())
    }

    /// Decodes the statements of one scope.
    fn block(&mut self, statements: &'m [Statement]) -> Result<(), CompileError> {
        self.scopes.enter();
        for statement in statements {
            match statement {
                Statement::Label { name, .. } => {
                    self.scopes.bind(name, Binding::Label(self.labels.len()));
                    self.labels.push(None);
                }
                Statement::BranchTargets { name, labels, .. } => {
                    self.scopes.bind(name, Binding::Targets(labels.clone()));
                }
                Statement::CallPrototype { name, .. } => {
                    self.scopes.bind(name, Binding::Prototype);
                }
                _ => {}
            }
        }
        for statement in statements {
            match statement {
                Statement::Variable(variable) => self.declare(variable)?,
                Statement::Label { name, .. } => {
                    if let Some(Binding::Label(label)) = self.scopes.get(name) {
                        self.labels[*label] = Some(self.code.len() as Pc);
                    }
                }
                Statement::Instruction(instruction) => {
                    self.instruction(instruction)?;
                    self.line += 1;
                }
                Statement::Block(inner) => self.block(inner)?,
                Statement::Loc { file, line, .. } => self.place.source = (*file, *line),
                Statement::BranchTargets { .. }
                | Statement::CallPrototype { .. }
                | Statement::Pragma { .. } => {}
            }
        }
        self.scopes.leave();
        Ok(())
    }

    /// Decodes one instruction, or puts in its place that it is not modelled.
    fn instruction(&mut self, instruction: &'m Instruction) -> Result<(), CompileError> {
        let text = self.text(instruction.mnemonic());
        self.place = Place {
            line: instruction.pos.line,
            text,
            approximate: false,
            ..self.place
        };
        let start = self.code.len();
        self.tell_touched(instruction);
        match self.dispatch(instruction) {
            Ok(()) => Ok(()),
            Err(Refusal::Error(error)) => Err(error),
            Err(Refusal::NotModelled) => {
                // Instructions that were emitted for its operands would be executed for nothing.
                self.code.truncate(start);
                self.places.truncate(start);
                self.branches.retain(|(inst, _)| *inst < start);
                let op = self.unsupported(format!("`{}`", instruction.mnemonic()));
                let guard = match &instruction.guard {
                    Some(guard) => self.guard(guard).unwrap_or(Guard::ALWAYS),
                    None => Guard::ALWAYS,
                };
                self.push(guard, op);
                Ok(())
            }
        }
    }

    fn dispatch(&mut self, instruction: &'m Instruction) -> Decoded {
        let guard = match &instruction.guard {
            Some(guard) => self.guard(guard)?,
            None => Guard::ALWAYS,
        };
        let mut mods = Mods::new(instruction);
        match instruction.opcode.as_str() {
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => {
                self.control(instruction, guard, &mut mods)
            }
            "st" | "red"
                if instruction
                    .modifiers
                    .first()
                    .is_some_and(|word| word == "async") =>
            {
                self.store_async(instruction, guard, &mut mods)
            }
            "createpolicy" => self.create_policy(instruction, guard),
            "ld" | "ldu" | "st" => self.load_store(instruction, guard, &mut mods),
            "mov" => self.mov(instruction, guard, &mut mods),
            "cvta" => self.cvta(instruction, guard, &mut mods),
            "isspacep" => self.isspacep(instruction, guard, &mut mods),
            "selp" => self.selp(instruction, guard, &mut mods),
            "cvt" => self.cvt(instruction, guard, &mut mods),
            "setp" => self.setp(instruction, guard, &mut mods),
            "set" => self.set(instruction, guard, &mut mods),
            "slct" => self.slct(instruction, guard, &mut mods),
            "atom" | "red" => self.atomic(instruction, guard, &mut mods),
            "mbarrier" => self.mbarrier(instruction, guard, &mut mods),
            "mapa" | "getctarank" => self.cluster_address(instruction, guard, &mut mods),
            "ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma" => {
                self.matrix(instruction, guard, &mut mods)
            }
            "wgmma" => self.wgmma(instruction, guard, &mut mods),
            "cp" => self.cp(instruction, guard, &mut mods),
            "bar" | "barrier" => self.barrier(instruction, guard, &mut mods),
            "fence" | "membar" => self.fence(instruction, guard, &mut mods),
            "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => {
                self.warp_level(instruction, guard, &mut mods)
            }
            "nanosleep" | "griddepcontrol" | "setmaxnreg" | "prefetch" | "prefetchu"
            | "applypriority" | "discard" | "pmevent" => self.no_effect(instruction, guard),
            _ if Self::is_carry(instruction) => self.carry(instruction, guard, &mut mods),
            opcode => self.arithmetic(opcode, instruction, guard, &mut mods),
        }
    }

    /// Opcodes whose type says which family they belong to.
    fn arithmetic(
        &mut self,
        opcode: &str,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let ty = instruction
            .modifiers
            .iter()
            .rev()
            .find_map(|word| Type::parse(word))
            .ok_or(Refusal::NotModelled)?;
        match opcode {
            "add" | "sub" | "mul" | "fma" | "min" | "max" | "abs" | "neg" | "ex2" | "tanh"
                if half::is_half(ty) =>
            {
                self.half(instruction, guard, mods)
            }
            "add" | "sub" | "mul" | "mad" | "fma" | "div" if integer::is_float(ty) => {
                self.float_arithmetic(instruction, guard, mods)
            }
            "min" | "max" if integer::is_float(ty) => self.float_extremes(instruction, guard, mods),
            "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh"
                if integer::is_float(ty) =>
            {
                self.float_functions(instruction, guard, mods)
            }
            "abs" | "neg" | "copysign" | "testp" if integer::is_float(ty) => {
                self.float_signs(instruction, guard, mods)
            }
            "add" | "sub" | "min" | "max" => self.integer_pair(instruction, guard, mods),
            "mul" | "mad" | "mul24" | "mad24" => self.integer_product(instruction, guard, mods),
            "div" | "rem" | "sad" | "abs" | "neg" => self.integer_other(instruction, guard, mods),
            "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe" | "bfi" | "szext" | "bmsk" => {
                self.bits(instruction, guard, mods)
            }
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "lop3" => {
                self.logic(instruction, guard, mods)
            }
            "prmt" | "dp4a" | "dp2a" | "vabsdiff4" => self.bytes(instruction, guard, mods),
            _ => Err(Refusal::NotModelled),
        }
    }

    fn text(&mut self, text: String) -> u32 {
        // Neighbouring instructions are often the same; the whole list is not worth a search.
        if self.texts.last() != Some(&text) {
            self.texts.push(text);
        }
        self.texts.len() as u32 - 1
    }

    fn unsupported(&mut self, what: String) -> Op {
        self.tables.unsupported.push(what);
        Op::Unsupported(self.tables.unsupported.len() as u32 - 1)
    }

    fn push(&mut self, guard: Guard, op: Op) {
        self.code.push(Inst { guard, op });
        self.places.push(self.place);
    }

    fn lane(&mut self, guard: Guard, f: LaneFn, d: Reg, sources: [Reg; 4]) {
        let [a, b, c, e] = sources;
        let op = LaneOp { f, d, a, b, c, e };
        self.push(
            guard,
            if self.place.approximate {
                Op::Approximate(op)
            } else {
                Op::Lane(op)
            },
        );
    }

    fn finish(mut self, entry: &str) -> Result<Program, CompileError> {
        let specials = &self.constants.specials;
        if specials
            .iter()
            .any(|(special, _)| *special == Special::ReservedSmem)
        {
            self.shared.reserve();
        }
        let dynamic = self.shared.finish();
        for (reg, offset) in &self.interned.dynamic32 {
            self.constants
                .r32
                .push((*reg, dynamic.wrapping_add(*offset as u32)));
        }
        for (reg, offset) in &self.interned.dynamic64 {
            self.constants
                .r64
                .push((*reg, u64::from(dynamic).wrapping_add(*offset as u64)));
        }
        let files = self
            .module
            .items
            .iter()
            .filter_map(|item| match item {
                Item::File { index, name } => Some((*index, name.clone())),
                _ => None,
            })
            .collect();
        Ok(Program {
            entry: entry.to_owned(),
            module: fingerprint(self.module),
            code: self.code,
            places: self.places,
            texts: self.texts,
            files,
            tables: self.tables,
            counts: self.counts,
            constants: self.constants,
            own: self.own,
            params: self.params,
            param_bytes: self.param_bytes,
            shared: self.shared,
            constant_bank: self.constant_bank,
            globals: self.globals,
            local_bytes: self.local_bytes,
            start: 0,
        })
    }
}

/// A number that differs between modules with different variables.
fn fingerprint(module: &Module) -> u64 {
    let mut hasher = DefaultHasher::new();
    for item in &module.items {
        match item {
            Item::Variable(variable) => format!("{variable:?}").hash(&mut hasher),
            Item::Function(function) => function.name.hash(&mut hasher),
            _ => {}
        }
    }
    hasher.finish()
}

/// No operands.
const NO_SOURCES: [Reg; 4] = [NONE; 4];
