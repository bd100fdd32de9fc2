//! No aligned barrier depends on a thread-dependent value.
//!
//! An aligned instruction promises that all threads of a warp, and for a barrier of the whole block all threads of the block, come to the same instruction together.
//! A compiler that copies the barrier into both arms of a branch breaks the promise silently: the GPU hangs, or goes on too early.
//! Counting barriers proves nothing, since unrolling a loop repeats them rightfully; so each one's control flow is followed back to where it begins.

use super::control::{self, Control};
use super::taint::{self, Level, Place, Taint};
use super::{Code, Context, Failure};
use nstage_ptx::ast::Instruction;
use nstage_ptx::uses::Role;

pub(super) fn check(context: &Context<'_>) -> Vec<Failure> {
    let traps = control::trapping_functions(context);
    let mut failures = Vec::new();
    let mut controls = Vec::new();
    for code in &context.functions {
        match Control::new(context, code, &traps) {
            Ok(control) => controls.push(Some(control)),
            Err(error) => {
                failures.push(Failure::new(
                    context.place(controls.len()),
                    code.function.pos.line,
                    error.to_string(),
                    "build it again; the file is damaged",
                ));
                controls.push(None);
            }
        }
    }
    let taint = Taint::new(context, &controls);
    for (function, code) in context.functions.iter().enumerate() {
        let Some(control) = &controls[function] else {
            continue;
        };
        for index in 0..code.body.lines.len() {
            let Some(needed) = needed(code.body.lines[index].instruction) else {
                continue;
            };
            failures.extend(failure(
                context, code, control, &taint, function, index, needed,
            ));
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

/// The failure of one aligned instruction, if some threads may miss it.
fn failure(
    context: &Context<'_>,
    code: &Code<'_>,
    control: &Control,
    taint: &Taint,
    function: usize,
    index: usize,
    needed: Level,
) -> Option<Failure> {
    let instruction = code.body.lines[index].instruction;
    let level = |place| taint.level(function, place);
    let whom = if needed == Level::Block {
        "block"
    } else {
        "warp"
    };
    let fail = |problem: String| {
        Some(Failure::new(
            context.place(function),
            code.line(index),
            format!("`{instruction}` {problem}{}", context.source(code, index)),
            format!(
                "let the condition be the same for the whole {whom}: compute it from parameters and block indices, or move this out of the branch"
            ),
        ))
    };
    let origin = |place| {
        taint
            .origin(function, place)
            .map_or_else(String::new, |(line, what)| {
                format!(" through {what} at line {line}")
            })
    };
    // Its own guard, then the branches around it from the nearest outwards.
    for &decider in [index].iter().chain(control.deciders(index)) {
        if let Some(register) = taint::condition(code, decider)
            && level(Place::Register(register)) > needed
        {
            let got = if decider == index {
                "its guard".to_owned()
            } else {
                format!("the branch at line {}", code.line(decider))
            };
            let origin = origin(Place::Register(register));
            return fail(format!(
                "is reached by some threads of a {whom} only: got {got}, which differs between threads{origin}, expected one that does not"
            ));
        }
    }
    if level(Place::Call) > needed {
        return fail(format!(
            "is reached by some threads of a {whom} only: got a call of its function{}, expected one by all",
            origin(Place::Call)
        ));
    }
    // A barrier that differs between the threads of a warp is as good as none. Matrix operands differ rightfully.
    let is_barrier = matches!(instruction.opcode.as_str(), "bar" | "barrier");
    let operands = code
        .body
        .uses(index)
        .iter()
        .filter(|used| is_barrier && used.role == Role::Read)
        .filter_map(|used| used.register);
    let mut operands = operands.filter(|register| {
        level(Place::Register(*register)) > needed && !is_predicate(code, *register)
    });
    operands.next().and_then(|register| {
        fail(format!("has an operand that differs between the threads of a {whom}{}, expected one that does not", origin(Place::Register(register))))
    })
}

/// A barrier that reduces takes each thread's own predicate.
fn is_predicate(code: &Code<'_>, register: nstage_ptx::body::RegisterId) -> bool {
    code.body.registers[register.0 as usize].declaration.ty == nstage_ptx::ast::Type::Pred
}
