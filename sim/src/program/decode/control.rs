//! Branches, calls and ends.

use nstage_ptx::ast::{Instruction, Operand};

use super::names::Binding;
use super::{Decoded, Decoder, Guard, Mods, NO_SOURCES, Refusal};
use crate::lanes::lane1;
use crate::program::op::{Meet, NONE, Op};

impl<'m> Decoder<'m> {
    pub(super) fn control(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        match instruction.opcode.as_str() {
            "bra" => {
                mods.flag("uni");
                mods.finish()?;
                let [
                    Operand::Name {
                        name,
                        component: None,
                    },
                ] = operands
                else {
                    return Err(Refusal::NotModelled);
                };
                let Some(Binding::Label(label)) = self.scopes.get(name) else {
                    return Err(self.undeclared(name));
                };
                self.branches.push((self.code.len(), *label));
                self.push(
                    guard,
                    Op::Branch {
                        target: 0,
                        meet: Meet::Never,
                    },
                );
                Ok(())
            }
            "brx" => self.branch_table(operands, guard, mods),
            "call" => self.call(operands, guard, mods),
            opcode => {
                mods.flag("uni");
                mods.finish()?;
                if !operands.is_empty() {
                    return Err(Refusal::NotModelled);
                }
                let op = match opcode {
                    "ret" => Op::Return,
                    "exit" => Op::Exit,
                    "trap" => Op::Trap,
                    _ => Op::Breakpoint,
                };
                self.push(guard, op);
                Ok(())
            }
        }
    }

    fn branch_table(
        &mut self,
        operands: &'m [Operand],
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        if !mods.flag("idx") {
            return Err(Refusal::NotModelled);
        }
        mods.flag("uni");
        mods.finish()?;
        let [
            index,
            Operand::Name {
                name,
                component: None,
            },
        ] = operands
        else {
            return Err(Refusal::NotModelled);
        };
        let Some(Binding::Targets(labels)) = self.scopes.get(name).cloned() else {
            return Err(self.undeclared(name));
        };
        let index = self.source::<u32>(index)?;
        let first = self.tables.lists.len() as u32;
        for label in &labels {
            let Some(Binding::Label(label)) = self.scopes.get(label) else {
                return Err(self.undeclared(label));
            };
            self.branch_lists.push((self.tables.lists.len(), *label));
            self.tables.lists.push(0);
        }
        let count = labels.len() as u32;
        let skip = self.begin_skip(guard);
        self.push(
            Guard::ALWAYS,
            Op::BranchTable {
                index,
                first,
                count,
                meet: Meet::Never,
            },
        );
        self.end_skip(skip);
        Ok(())
    }

    /// `call (results), function, (arguments)`, each list optional.
    fn call(&mut self, operands: &'m [Operand], guard: Guard, mods: &mut Mods<'_>) -> Decoded {
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
        let Some(function) = self.function_index(name)? else {
            return Err(Refusal::NotModelled);
        };
        let known = &self.known[function];
        let params: Vec<Binding> = known
            .params
            .iter()
            .map(|formal| formal.binding.clone())
            .collect();
        let returns: Vec<Binding> = known
            .returns
            .iter()
            .map(|formal| formal.binding.clone())
            .collect();
        if params.len() != arguments.len() || returns.len() != results.len() {
            return Err(Refusal::NotModelled);
        }
        let skip = self.begin_skip(guard);
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
        for (value, result) in returns.iter().zip(results) {
            let Operand::Name {
                name,
                component: None,
            } = result
            else {
                return Err(Refusal::NotModelled);
            };
            let Some(into) = self.resolve(name)? else {
                return Err(self.undeclared(name));
            };
            self.copy(&into, value)?;
        }
        self.end_skip(skip);
        Ok(())
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
        match super::names::file_of(*ty) {
            (crate::lanes::File::R32, _) => {
                let a = self.source::<u32>(argument)?;
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u32| a),
                    *reg,
                    [a, NONE, NONE, NONE],
                );
            }
            (crate::lanes::File::R64, 1) => {
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
                let (file, words) = super::names::file_of(*ty);
                for word in 0..words {
                    sources[0] = a + word;
                    match file {
                        crate::lanes::File::R32 => {
                            self.lane(Guard::ALWAYS, lane1(|a: u32| a), *d, sources)
                        }
                        crate::lanes::File::R64 => {
                            self.lane(Guard::ALWAYS, lane1(|a: u64| a), d + word, sources)
                        }
                        crate::lanes::File::Pred => {
                            self.lane(Guard::ALWAYS, lane1(|a: bool| a), *d, sources)
                        }
                    }
                }
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }
}
