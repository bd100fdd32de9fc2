//! Which values may differ between the threads of a block.
//!
//! The analysis is conservative: a value counts as the same for all threads only if it is computed from parameters, constants, block indices and the like.
//! Where ways meet again that threads took differently, a value is common only if all ways bring the same one;
//! and behind a loop that threads leave at different turns, nothing is common that the loop computed.

mod call;
mod pass;
mod value;

use super::control::{Control, Region};
use super::ssa::{Place, Ssa, ValueId};
use super::{Code, Context};
use nstage_ptx::body::RegisterId;
use nstage_ptx::cfg::BlockId;
use nstage_ptx::uses::Role;
use pass::Pass;
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
                    changed |= Pass::new(context, code, flow, &mut taint, function).run();
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
