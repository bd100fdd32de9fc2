//! One function at a time: how differences get from value to value.

use super::{COMMON, Cause, Flow, Found, Level, State, Taint, condition, join};
use crate::checks::ssa::{Definition, Place, ValueId};
use crate::checks::{Code, Context};
use nstage_ptx::cfg::BlockId;

/// Looks at every instruction of a function.
pub(super) struct Pass<'c, 'a> {
    pub(super) context: &'c Context<'a>,
    pub(super) code: &'c Code<'a>,
    pub(super) flow: &'c Flow,
    pub(super) taint: &'c mut Taint,
    pub(super) function: usize,
    pub(super) changed: bool,
}

impl<'c, 'a> Pass<'c, 'a> {
    pub(super) fn new(
        context: &'c Context<'a>,
        code: &'c Code<'a>,
        flow: &'c Flow,
        taint: &'c mut Taint,
        function: usize,
    ) -> Self {
        Self {
            context,
            code,
            flow,
            taint,
            function,
            changed: false,
        }
    }

    /// Looks until nothing changes any more; whether anything did.
    pub(super) fn run(mut self) -> bool {
        let mut ever = false;
        loop {
            self.changed = false;
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
            if !self.changed {
                return ever;
            }
            ever = true;
        }
    }

    pub(super) fn state(&self) -> &State {
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
    pub(super) fn control_of(&self, index: usize) -> Found {
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
