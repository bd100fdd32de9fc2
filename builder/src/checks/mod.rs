//! What is refused in built PTX, one rule a file.
//!
//! Each rule refuses something that compiles and then fails far from its cause: at load time, as a hang, as a slow kernel.
//! All failures are collected; each names the entry, the PTX line, what was got and expected, and what to do.

mod barriers;
mod control;
mod entries;
mod externs;
mod generic_shared;
mod header;
mod local;
mod ssa;
mod taint;

pub(crate) use entries::missing;
pub(crate) use header::header;

use crate::declaration::Declaration;
use nstage_ptx::ast::{Function, Item, Module, Operand};
use nstage_ptx::body::Body;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// One thing that is wrong with the PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// "entry `scale`", "function `clamp` of entry `scale`"; `None` where the whole file is meant.
    pub place: Option<String>,
    /// The line of the finished PTX.
    pub line: u32,
    /// What is wrong, with what was got and what was expected.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl Failure {
    pub(crate) fn new(
        place: String,
        line: u32,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            place: Some(place),
            line,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn of_entry(
        entry: &str,
        line: u32,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(format!("entry `{entry}`"), line, problem, remedy)
    }

    pub(crate) fn of_file(
        line: u32,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            place: None,
            line,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}, ")?;
        }
        write!(f, "line {}: {}; {}", self.line, self.problem, self.remedy)
    }
}

/// Everything that the rules look at.
pub(crate) struct Context<'a> {
    pub(crate) module: &'a Module,
    pub(crate) declarations: &'a [Declaration],
    /// Functions with a body, by their place in this list.
    pub(crate) functions: Vec<Code<'a>>,
    by_name: HashMap<&'a str, usize>,
    files: HashMap<u32, &'a str>,
}

/// A function with its flattened body.
pub(crate) struct Code<'a> {
    pub(crate) function: &'a Function,
    pub(crate) body: Body<'a>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(module: &'a Module, declarations: &'a [Declaration]) -> Self {
        let mut context = Self {
            module,
            declarations,
            functions: Vec::new(),
            by_name: HashMap::new(),
            files: HashMap::new(),
        };
        for item in &module.items {
            match item {
                Item::Function(function) if function.body.is_some() => {
                    context
                        .by_name
                        .insert(&function.name, context.functions.len());
                    context.functions.push(Code {
                        function,
                        body: Body::new(function),
                    });
                }
                Item::File { index, name } => {
                    context.files.insert(*index, name);
                }
                _ => {}
            }
        }
        context
    }

    /// The names of the entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'a str> {
        let entries = self
            .functions
            .iter()
            .map(|code| code.function)
            .filter(|function| function.is_entry);
        entries.map(|function| function.name.as_str())
    }

    /// All rules over one module.
    pub(crate) fn check(&self) -> Vec<Failure> {
        let rules = [
            entries::check,
            externs::check,
            local::check,
            generic_shared::check,
            barriers::check,
        ];
        let mut failures: Vec<Failure> = rules.iter().flat_map(|rule| rule(self)).collect();
        failures.sort_by_key(|failure| failure.line);
        failures
    }

    /// The function with a body of this name.
    pub(crate) fn function(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// What a crate declared about an entry.
    pub(crate) fn declaration(&self, entry: &str) -> Option<&'a Declaration> {
        self.declarations
            .iter()
            .find(|declaration| declaration.entry == entry)
    }

    /// The entries whose execution may reach a function, itself included, by direct calls.
    pub(crate) fn entries_reaching(&self, function: usize) -> Vec<&'a Function> {
        let mut reached = BTreeSet::from([function]);
        loop {
            let callers = self.functions.iter().enumerate().filter(|(caller, code)| {
                !reached.contains(caller)
                    && code.calls().any(|(_, name)| {
                        self.function(name)
                            .is_some_and(|callee| reached.contains(&callee))
                    })
            });
            let callers: Vec<usize> = callers.map(|(caller, _)| caller).collect();
            if callers.is_empty() {
                break;
            }
            reached.extend(callers);
        }
        reached
            .into_iter()
            .map(|reached| self.functions[reached].function)
            .filter(|function| function.is_entry)
            .collect()
    }

    /// A function as a failure names it: with the first entry that reaches it.
    pub(crate) fn place(&self, function: usize) -> String {
        let code = &self.functions[function];
        if code.function.is_entry {
            return format!("entry `{}`", code.function.name);
        }
        let name = demangled(&code.function.name);
        match self.entries_reaching(function).first() {
            Some(entry) => format!("function `{name}` of entry `{}`", entry.name),
            None => format!("function `{name}`"),
        }
    }

    /// Where in the source a line of a body comes from, as far as the PTX says: `, from src/scale.rs:12`.
    pub(crate) fn source(&self, code: &Code<'_>, line: usize) -> String {
        let place = code.body.lines[line].source;
        place
            .and_then(|place| {
                Some(format!(
                    ", from {}:{}",
                    self.files.get(&place.file)?,
                    place.line
                ))
            })
            .unwrap_or_default()
    }
}

impl<'a> Code<'a> {
    /// Each direct call: its index in the body, and the function's name.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.body
            .lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((index, callee(line.instruction)?)))
    }

    /// The PTX line of an instruction.
    pub(crate) fn line(&self, index: usize) -> u32 {
        self.body.pos(index).unwrap_or(self.function.pos).line
    }
}

/// The function that a `call` names: behind the list of returned values, if there is one.
pub(crate) fn callee(instruction: &nstage_ptx::ast::Instruction) -> Option<&str> {
    if instruction.opcode != "call" {
        return None;
    }
    instruction
        .operands
        .iter()
        .find_map(|operand| match operand {
            Operand::Name {
                name,
                component: None,
            } => Some(name.as_str()),
            _ => None,
        })
}

/// A name as its author wrote it, without the hash.
pub(crate) fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests;
