//! Mutants: a module with one synchronising instruction taken out, or one wait count off by one.
//!
//! A mutant is made in the parsed module and printed, so that it is PTX as good as the original.

use nstage_ptx::ast::{Immediate, Instruction, Item, Module, Operand, Statement};

/// What is done to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Taken out.
    Remove,
    /// Its wait count one more: it waits for less.
    Raise,
    /// Its wait count one less: it waits for more.
    Lower,
    /// A `trap` in its place, to see whether a launch gets there.
    Trap,
}

impl Change {
    fn verb(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Raise => "raise",
            Self::Lower => "lower",
            Self::Trap => "trap at",
        }
    }
}

/// One way to spoil an entry.
#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    /// `lower cp.async.wait_group 2 #1`: what, and which of the alike, in order of the text.
    pub(crate) name: String,
    /// The instruction, counted through all bodies of the module.
    at: usize,
    change: Change,
}

impl Mutation {
    /// A trap at the same place.
    pub(crate) fn probe(&self) -> Self {
        Self {
            name: format!("{} ({})", Change::Trap.verb(), self.name),
            at: self.at,
            change: Change::Trap,
        }
    }
}

/// Every mutation of a module.
pub(crate) fn mutations(module: &Module) -> Vec<Mutation> {
    let mut found = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut module = module.clone();
    visit(&mut module, &mut |at, statement| {
        let Statement::Instruction(instruction) = statement else {
            return;
        };
        if !synchronises(instruction) {
            return;
        }
        let what = shown(instruction);
        seen.push(what.clone());
        let number = seen.iter().filter(|earlier| **earlier == what).count();
        let mut push = |change: Change| {
            found.push(Mutation {
                name: format!("{} {what} #{number}", change.verb()),
                at,
                change,
            });
        };
        push(Change::Remove);
        match wait_count(instruction) {
            Some(0) => push(Change::Raise),
            Some(_) => {
                push(Change::Raise);
                push(Change::Lower);
            }
            None => {}
        }
    });
    found
}

/// The module with the mutation made.
pub(crate) fn mutant(module: &Module, mutation: &Mutation) -> Module {
    let mut module = module.clone();
    visit(&mut module, &mut |at, statement| {
        if at == mutation.at
            && let Statement::Instruction(instruction) = statement
        {
            *statement = changed(instruction.clone(), mutation.change);
        }
    });
    module
}

/// Lets every block but the first end at once, at the start of every entry.
///
/// For kernels whose share of a block grows with the whole grid: the first block then does many tiles, and the others cost nothing.
pub(crate) fn first_block_only(module: &mut Module) {
    for item in &mut module.items {
        let Item::Function(function) = item else {
            continue;
        };
        let Some(body) = function.body.as_mut().filter(|_| function.is_entry) else {
            continue;
        };
        let early = nstage_ptx::parse(
            ".version 7.0\n.target sm_80\n.address_size 64\n.entry early() {\n\
             .reg .pred %other_block;\n.reg .b32 %block;\n\
             mov.u32 %block, %ctaid.x;\nsetp.ne.u32 %other_block, %block, 0;\n@%other_block ret;\n}\n",
        );
        let early = early.expect("the lines above are PTX");
        let lines = early.functions().find_map(|early| early.body.clone());
        body.splice(0..0, lines.expect("it has a body"));
    }
}

/// Calls `each` with every statement that is an instruction, and its number.
fn visit(module: &mut Module, each: &mut dyn FnMut(usize, &mut Statement)) {
    fn inside(
        body: &mut [Statement],
        next: &mut usize,
        each: &mut dyn FnMut(usize, &mut Statement),
    ) {
        for statement in body {
            match statement {
                Statement::Instruction(_) => {
                    each(*next, statement);
                    *next += 1;
                }
                Statement::Block(inner) => inside(inner, next, each),
                _ => {}
            }
        }
    }
    let mut next = 0;
    for item in &mut module.items {
        if let Item::Function(function) = item
            && let Some(body) = &mut function.body
        {
            inside(body, &mut next, each);
        }
    }
}

/// Whether it is a wait, a commit, a barrier, a fence or an arrive.
fn synchronises(instruction: &Instruction) -> bool {
    let has = |words: &[&str]| {
        instruction
            .modifiers
            .iter()
            .any(|m| words.contains(&m.as_str()))
    };
    match instruction.opcode.as_str() {
        "bar" | "barrier" | "fence" | "membar" => true,
        "cp" => {
            has(&["wait_group", "wait_all", "commit_group"])
                || has(&["mbarrier"]) && has(&["arrive"])
        }
        "mbarrier" => has(&[
            "arrive",
            "arrive_drop",
            "expect_tx",
            "complete_tx",
            "test_wait",
            "try_wait",
        ]),
        _ => false,
    }
}

/// The count of groups that may stay open, of an instruction that waits for the others.
fn wait_count(instruction: &Instruction) -> Option<u64> {
    let waits = instruction.modifiers.iter().any(|m| m == "wait_group");
    match instruction.operands.as_slice() {
        [Operand::Immediate(Immediate::Int { bits, .. })] if waits => Some(*bits),
        _ => None,
    }
}

/// The mnemonic and the numbers behind it; registers are named by the compiler, and say nothing.
fn shown(instruction: &Instruction) -> String {
    let mut text = instruction.mnemonic();
    for operand in &instruction.operands {
        if let Operand::Immediate(Immediate::Int { bits, .. }) = operand {
            text += &format!(" {bits}");
        }
    }
    text
}

/// What stands in an instruction's place.
fn changed(instruction: Instruction, change: Change) -> Statement {
    let integer = |bits: u64| {
        Operand::Immediate(Immediate::Int {
            bits,
            negative: false,
        })
    };
    let polls = instruction.opcode == "mbarrier"
        && instruction
            .modifiers
            .iter()
            .any(|m| m == "test_wait" || m == "try_wait");
    match (change, wait_count(&instruction)) {
        // A test of a phase answers in a predicate, for which everything after it needs a value: it is then always true.
        (Change::Remove, _) if polls => {
            let answer = instruction.operands.into_iter().take(1);
            Statement::Instruction(Instruction {
                opcode: "setp".to_owned(),
                modifiers: vec!["eq".to_owned(), "u32".to_owned()],
                operands: answer.chain([integer(0), integer(0)]).collect(),
                ..instruction
            })
        }
        (Change::Trap, _) => Statement::Instruction(Instruction {
            opcode: "trap".to_owned(),
            modifiers: Vec::new(),
            operands: Vec::new(),
            ..instruction
        }),
        (Change::Raise, Some(count)) => Statement::Instruction(Instruction {
            operands: vec![integer(count + 1)],
            ..instruction
        }),
        (Change::Lower, Some(count)) => Statement::Instruction(Instruction {
            operands: vec![integer(count.saturating_sub(1))],
            ..instruction
        }),
        // An empty scope is nothing.
        _ => Statement::Block(Vec::new()),
    }
}
