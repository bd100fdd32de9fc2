//! Calls.
//!
//! Every function has registers of its own, its parameters among them, so that a call is copies into the callee's parameters,
//! a jump, and copies out of its results. A function that can come to call itself saves its registers around such a call.
//! A call through a register cannot know where its callee's parameters are: it goes to a *thunk* of the callee,
//! which takes parameters from registers that all such calls share, and puts results there.

use std::collections::HashSet;

use nstage_ptx::ast::{Operand, Statement};

use super::names::{Binding, Formal, file_of};
use super::{Decoded, Decoder, Guard, Mods, NO_SOURCES, Place, Refusal};
use crate::event::Pc;
use crate::lanes::{File, lane1, lane2};
use crate::program::op::{NONE, Op, Reg, System, SystemCall};

/// Words of parameters or results that a call through a register can have.
const SHARED_WORDS: u32 = 256;

/// The functions that the driver brings along.
const SYSTEM: [(&str, SystemCall); 2] = [
    ("vprintf", SystemCall::Print),
    ("__assertfail", SystemCall::AssertFail),
];

impl<'m> Decoder<'m> {
    /// `call (results), function, (arguments)`, each list optional.
    pub(super) fn call(
        &mut self,
        operands: &'m [Operand],
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        mods.flag("uni");
        mods.finish()?;
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
            rest => ([].as_slice(), rest),
        };
        let (callee, arguments) = match rest {
            [callee, Operand::List(arguments), ..] => (callee, arguments.as_slice()),
            [callee, ..] => (callee, [].as_slice()),
            [] => return Err(Refusal::NotModelled),
        };
        let Operand::Name {
            name,
            component: None,
        } = callee
        else {
            return Err(Refusal::NotModelled);
        };
        if self.is_register(callee) {
            return self.call_indirect(callee, results, arguments, guard);
        }
        let defined = self
            .functions
            .get(name.as_str())
            .is_some_and(|function| function.body.is_some());
        if let Some((_, call)) = SYSTEM.iter().find(|(known, _)| known == name)
            && !defined
        {
            return self.call_system(*call, results, arguments, guard);
        }
        let Some(function) = self.function_index(name)? else {
            return Err(self.undeclared(name));
        };
        let bindings = |formals: &[Formal]| {
            formals
                .iter()
                .map(|formal| formal.binding.clone())
                .collect::<Vec<_>>()
        };
        let (params, returns) = (
            bindings(&self.known[function].params),
            bindings(&self.known[function].returns),
        );
        if params.len() != arguments.len() || returns.len() != results.len() {
            return Err(Refusal::NotModelled);
        }
        let recursive = self
            .current
            .filter(|current| self.reaches(function, *current));
        let skip = self.begin_skip(guard);
        if let Some(current) = recursive {
            self.push(Guard::ALWAYS, Op::Save(current as u32));
        }
        for (param, argument) in params.iter().zip(arguments) {
            self.pass(param, argument)?;
        }
        self.push(
            Guard::ALWAYS,
            Op::Call {
                target: 0,
                function: function as u32,
            },
        );
        if let Some(current) = recursive {
            self.push(Guard::ALWAYS, Op::Restore(current as u32));
        }
        for (value, result) in returns.iter().zip(results) {
            let into = self.result(result)?;
            self.copy(&into, value)?;
        }
        self.end_skip(skip);
        Ok(())
    }

    fn call_indirect(
        &mut self,
        callee: &'m Operand,
        results: &'m [Operand],
        arguments: &'m [Operand],
        guard: Guard,
    ) -> Decoded {
        let target = self.source::<u64>(callee)?;
        let (params, returns) = self.shared_words();
        let skip = self.begin_skip(guard);
        let mut next = params;
        for argument in arguments {
            let Operand::Name {
                name,
                component: None,
            } = argument
            else {
                return Err(Refusal::NotModelled);
            };
            let Some(from @ Binding::Words { bytes, .. }) = self.resolve(name)? else {
                return Err(Refusal::NotModelled);
            };
            if next + bytes.div_ceil(4) > params + SHARED_WORDS {
                return Err(Refusal::NotModelled);
            }
            self.copy(&Binding::Words { first: next, bytes }, &from)?;
            next += bytes.div_ceil(4);
        }
        self.push(Guard::ALWAYS, Op::CallIndirect(target));
        let mut next = returns;
        for result in results {
            let into = self.result(result)?;
            let Binding::Words { bytes, .. } = into else {
                return Err(Refusal::NotModelled);
            };
            self.copy(&into, &Binding::Words { first: next, bytes })?;
            next += bytes.div_ceil(4);
        }
        self.end_skip(skip);
        Ok(())
    }

    /// A function that this module only declares and the driver brings along.
    fn call_system(
        &mut self,
        call: SystemCall,
        results: &[Operand],
        arguments: &[Operand],
        guard: Guard,
    ) -> Decoded {
        let mut values = [NONE; 5];
        if arguments.len() > values.len() {
            return Err(Refusal::NotModelled);
        }
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = self.wide_argument(argument)?;
        }
        let result = match results {
            [] => None,
            [result] => Some(self.result(result)?),
            _ => return Err(Refusal::NotModelled),
        };
        self.tables.systems.push(System { call, values });
        let op = Op::System(self.tables.systems.len() as u32 - 1);
        self.push(guard, op);
        if let Some(Binding::Words { first, .. }) = result {
            let zero = self.constant32(0);
            self.lane(guard, lane1(|a: u32| a), first, [zero, NONE, NONE, NONE]);
        }
        Ok(())
    }

    /// An argument as a 64-bit register.
    fn wide_argument(&mut self, argument: &Operand) -> Decoded<Reg> {
        let Operand::Name {
            name,
            component: None,
        } = argument
        else {
            return Err(Refusal::NotModelled);
        };
        match self.resolve(name)? {
            Some(Binding::Words { first, bytes: 4 }) => {
                let d = self.new_registers(File::R64, 1);
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u32| u64::from(a)),
                    d,
                    [first, NONE, NONE, NONE],
                );
                Ok(d)
            }
            Some(Binding::Words { first, bytes: 8 }) => {
                let d = self.new_registers(File::R64, 1);
                let f = lane2(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
                self.lane(Guard::ALWAYS, f, d, [first, first + 1, NONE, NONE]);
                Ok(d)
            }
            Some(Binding::Register { .. }) => self.source::<u64>(argument),
            _ => Err(Refusal::NotModelled),
        }
    }

    fn result(&mut self, operand: &Operand) -> Decoded<Binding> {
        let Operand::Name {
            name,
            component: None,
        } = operand
        else {
            return Err(Refusal::NotModelled);
        };
        match self.resolve(name)? {
            Some(into @ (Binding::Words { .. } | Binding::Register { .. })) => Ok(into),
            Some(_) => Err(Refusal::NotModelled),
            None => Err(self.undeclared(name)),
        }
    }

    /// The registers that calls through registers share: parameters, then results.
    fn shared_words(&mut self) -> (Reg, Reg) {
        let first = match self.indirect {
            Some(first) => first,
            None => self.new_registers(File::R32, 2 * SHARED_WORDS),
        };
        self.indirect = Some(first);
        (first, first + SHARED_WORDS)
    }

    /// Emits the thunks, once every function that has an address is known.
    pub(super) fn thunks(&mut self) {
        let Some(params) = self.indirect else { return };
        for function in 0..self.known.len() {
            self.place = Place {
                line: self.known[function].function.pos.line,
                ..Place::default()
            };
            let start = self.code.len();
            let made = self.thunk(function, params, params + SHARED_WORDS);
            if made.is_err() {
                self.code.truncate(start);
                self.places.truncate(start);
                let op = self.unsupported(format!(
                    "a call through a register of `{}`",
                    self.known[function].function.name
                ));
                self.push(Guard::ALWAYS, op);
            }
            self.tables.thunks.push(start as Pc);
        }
    }

    fn thunk(&mut self, function: usize, params: Reg, returns: Reg) -> Decoded {
        let words = |formals: &[Formal]| {
            formals
                .iter()
                .map(|formal| match formal.binding {
                    Binding::Words { first, bytes } => Ok((first, bytes)),
                    _ => Err(Refusal::NotModelled),
                })
                .collect::<Decoded<Vec<_>>>()
        };
        let (into, from) = (
            words(&self.known[function].params)?,
            words(&self.known[function].returns)?,
        );
        let mut next = params;
        for (first, bytes) in into {
            self.copy(
                &Binding::Words { first, bytes },
                &Binding::Words { first: next, bytes },
            )?;
            next += bytes.div_ceil(4);
        }
        self.push(
            Guard::ALWAYS,
            Op::Call {
                target: 0,
                function: function as u32,
            },
        );
        let mut next = returns;
        for (first, bytes) in from {
            self.copy(
                &Binding::Words { first: next, bytes },
                &Binding::Words { first, bytes },
            )?;
            next += bytes.div_ceil(4);
        }
        self.push(Guard::ALWAYS, Op::Return);
        Ok(())
    }

    /// Whether a function can come to call another (or itself), not counting calls through registers.
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        self.leads_to(
            &self.known[from].function.name,
            &self.known[to].function.name,
        )
    }

    fn leads_to(&self, from: &str, wanted: &str) -> bool {
        let mut seen = HashSet::new();
        let mut todo = vec![from];
        while let Some(name) = todo.pop() {
            if name == wanted {
                return true;
            }
            if !seen.insert(name) {
                continue;
            }
            if let Some(body) = self
                .functions
                .get(name)
                .and_then(|function| function.body.as_ref())
            {
                callees(body, &mut todo);
            }
        }
        false
    }

    /// Whether a function can come to be called by itself.
    pub(super) fn calls_itself(&self, function: usize) -> bool {
        let mut called = Vec::new();
        if let Some(body) = &self.known[function].function.body {
            callees(body, &mut called);
        }
        let name = self.known[function].function.name.as_str();
        called.iter().any(|callee| self.leads_to(callee, name))
    }

    /// Copies an argument into a parameter.
    fn pass(&mut self, param: &Binding, argument: &'m Operand) -> Decoded {
        if let Operand::Name {
            name,
            component: None,
        } = argument
            && let Some(from) = self.resolve(name)?
            && matches!(from, Binding::Register { .. } | Binding::Words { .. })
        {
            return self.copy(param, &from);
        }
        let Binding::Register { ty, reg } = param else {
            return Err(Refusal::NotModelled);
        };
        match file_of(*ty) {
            (File::R32, _) => {
                let a = self.source::<u32>(argument)?;
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u32| a),
                    *reg,
                    [a, NONE, NONE, NONE],
                );
            }
            (File::R64, 1) => {
                let a = self.source::<u64>(argument)?;
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u64| a),
                    *reg,
                    [a, NONE, NONE, NONE],
                );
            }
            _ => return Err(Refusal::NotModelled),
        }
        Ok(())
    }

    /// Copies registers of one shape.
    fn copy(&mut self, into: &Binding, from: &Binding) -> Decoded {
        let mut sources = NO_SOURCES;
        match (into, from) {
            (
                Binding::Words {
                    first: d,
                    bytes: to,
                },
                Binding::Words { first: a, bytes },
            ) => {
                for word in 0..to.min(bytes).div_ceil(4) {
                    sources[0] = a + word;
                    self.lane(Guard::ALWAYS, lane1(|a: u32| a), d + word, sources);
                }
                Ok(())
            }
            (Binding::Register { ty: to, reg: d }, Binding::Register { ty, reg: a })
                if to.bits() == ty.bits() =>
            {
                let (file, words) = file_of(*ty);
                for word in 0..words {
                    sources[0] = a + word;
                    match file {
                        File::R32 => self.lane(Guard::ALWAYS, lane1(|a: u32| a), *d, sources),
                        File::R64 => self.lane(Guard::ALWAYS, lane1(|a: u64| a), d + word, sources),
                        File::Pred => self.lane(Guard::ALWAYS, lane1(|a: bool| a), *d, sources),
                    }
                }
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }
}

/// The functions that a body calls by name.
fn callees<'a>(body: &'a [Statement], into: &mut Vec<&'a str>) {
    for statement in body {
        match statement {
            Statement::Block(inner) => callees(inner, into),
            Statement::Instruction(instruction) if instruction.opcode == "call" => {
                into.extend(
                    instruction
                        .operands
                        .iter()
                        .filter_map(|operand| match operand {
                            Operand::Name {
                                name,
                                component: None,
                            } => Some(name.as_str()),
                            _ => None,
                        }),
                );
            }
            _ => {}
        }
    }
}
