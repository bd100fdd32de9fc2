//! What calls pass on, in both directions.

use super::pass::Pass;
use super::{COMMON, Cause, Found, Level};
use crate::checks::{callee, demangled};
use nstage_ptx::ast::Operand;
use nstage_ptx::cfg::BlockId;

impl Pass<'_, '_> {
    /// Passes arguments and the way of calling to the called function, and gives what it returns.
    pub(super) fn call(&mut self, index: usize, block: BlockId) -> Found {
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
        let what = format!("the call in `{}`", demangled(&self.code.function.name));
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
}
