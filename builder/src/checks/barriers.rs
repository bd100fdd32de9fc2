//! No aligned barrier depends on a thread-dependent value.
//!
//! An aligned instruction promises that all threads of a warp, and for a barrier of the whole block all threads of the block, come to the same instruction together.
//! A compiler that copies the barrier into both arms of a branch breaks the promise silently: the GPU hangs, or goes on too early.
//! Counting barriers proves nothing, since unrolling a loop repeats them rightfully; so each one's control flow is followed back to where it begins.

use super::control::{self, Control};
use super::ssa::Ssa;
use super::taint::{self, Flow, Level, Taint};
use super::{Code, Context, Failure};
use nstage_ptx::ast::{Instruction, Type};
use nstage_ptx::uses::Role;

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    let traps = control::trapping_functions(context);
    let mut failures = Vec::new();
    let mut flows = Vec::new();
    for (function, code) in context.functions.iter().enumerate() {
        flows.push(match Control::new(context, code, &traps) {
            Ok(control) => Some(Flow {
                ssa: Ssa::new(code, &control),
                control,
            }),
            Err(error) => {
                failures.push(Failure::new(
                    context.place(function),
                    code.function.pos.line,
                    error.to_string(),
                    "build it again; the file is damaged",
                ));
                None
            }
        });
    }
    let taint = Taint::new(context, &flows);
    for (function, code) in context.functions.iter().enumerate() {
        let Some(flow) = &flows[function] else {
            continue;
        };
        for index in 0..code.body.lines.len() {
            if let Some(needed) = needed(code.body.lines[index].instruction) {
                let suspect = Suspect {
                    context,
                    code,
                    flow,
                    taint: &taint,
                    function,
                    index,
                    needed,
                };
                failures.extend(suspect.failure());
            }
        }
    }
    failures
}

/// How far the threads must be together at an instruction; `None` if it promises nothing.
fn needed(instruction: &Instruction) -> Option<Level> {
    let has = |word: &str| {
        instruction
            .modifiers
            .iter()
            .any(|modifier| modifier == word)
    };
    match instruction.opcode.as_str() {
        // A synchronisation of a warp names its lanes instead.
        "bar" if has("warp") => None,
        // With a number of threads it is for some warps only, each of them whole.
        "bar" => Some(if thread_count(instruction) {
            Level::Warp
        } else {
            Level::Block
        }),
        "barrier" if has("aligned") => Some(if thread_count(instruction) {
            Level::Warp
        } else {
            Level::Block
        }),
        _ if has("aligned") => Some(Level::Warp),
        _ => None,
    }
}

/// Whether a barrier names how many threads take part: behind its number, and for a reduction also before the predicate.
fn thread_count(instruction: &Instruction) -> bool {
    let reduces = instruction
        .modifiers
        .iter()
        .any(|modifier| modifier == "red");
    instruction.operands.len() >= if reduces { 4 } else { 2 }
}

/// An aligned instruction that is looked at.
struct Suspect<'c, 'a> {
    context: &'c Context<'a>,
    code: &'c Code<'a>,
    flow: &'c Flow,
    taint: &'c Taint,
    function: usize,
    index: usize,
    needed: Level,
}

impl Suspect<'_, '_> {
    /// What is wrong, if some threads may miss it.
    fn failure(&self) -> Option<Failure> {
        let whom = if self.needed == Level::Block {
            "block"
        } else {
            "warp"
        };
        let missed = |got: String, expected: &str| {
            self.fail(
                whom,
                &format!(
                    "is reached by some threads of a {whom} only: got {got}, expected {expected}"
                ),
            )
        };
        // Its own guard, then the branches around it from the nearest outwards.
        for &decider in [self.index]
            .iter()
            .chain(self.flow.control.deciders(self.index))
        {
            let Some(register) = taint::condition(self.code, decider) else {
                continue;
            };
            let (level, origin) = self.taint.read(self.flow, self.function, decider, register);
            if level > self.needed {
                let what = if decider == self.index {
                    "its guard".to_owned()
                } else {
                    format!("the branch at line {}", self.code.line(decider))
                };
                return missed(
                    format!("{what}, which differs between threads{origin}"),
                    "one that does not",
                );
            }
        }
        let (level, origin) = self.taint.called(self.function);
        if level > self.needed {
            return missed(
                format!("a call of its function by some{origin}"),
                "one by all",
            );
        }
        let origin = self.differing_operand()?;
        self.fail(whom, &format!("has an operand that differs between the threads of a {whom}{origin}, expected one that does not"))
    }

    /// Where a barrier's number or thread count comes from, if it is not common. Predicates of a reduction, and operands of matrix instructions, differ rightfully.
    fn differing_operand(&self) -> Option<String> {
        if !matches!(
            self.code.body.lines[self.index].instruction.opcode.as_str(),
            "bar" | "barrier"
        ) {
            return None;
        }
        let read = self
            .code
            .body
            .uses(self.index)
            .iter()
            .filter(|used| used.role == Role::Read);
        let registers = read.filter_map(|used| used.register);
        let numbers = registers.filter(|register| {
            self.code.body.registers[register.0 as usize].declaration.ty != Type::Pred
        });
        let mut found = numbers.map(|register| {
            self.taint
                .read(self.flow, self.function, self.index, register)
        });
        found
            .find(|(level, _)| *level > self.needed)
            .map(|(_, origin)| origin)
    }

    fn fail(&self, whom: &str, problem: &str) -> Option<Failure> {
        let instruction = self.code.body.lines[self.index].instruction;
        Some(Failure::new(
            self.context.place(self.function),
            self.code.line(self.index),
            format!(
                "`{instruction}` {problem}{}",
                self.context.source(self.code, self.index)
            ),
            format!(
                "let the condition be the same for the whole {whom}: compute it from parameters and block indices, or move this out of the branch"
            ),
        ))
    }
}
