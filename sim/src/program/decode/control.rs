//! Branches and ends.

use nstage_ptx::ast::{Instruction, Operand};

use super::names::Binding;
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::program::op::{Meet, Op};

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
}
