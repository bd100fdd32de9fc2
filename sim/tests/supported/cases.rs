//! Which case shows an instruction: a row of values, or a kernel in which control comes to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nstage_ptx::ast::{Instruction, Item, Module, Statement};
use nstage_ptx::table::{Op, identify};
use nstage_sim::{Landing, Program};

use crate::case_file::run_case;
use crate::kernel_file::{execute, parse};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// For each row of the table, the first case that executes an instruction of it, by its path from the root.
pub(crate) fn shown() -> BTreeMap<Op, String> {
    let mut shown = BTreeMap::new();
    for path in files("sim/tests/instructions", "cases") {
        let text = read(&path);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((instruction, _)) = line.rsplit_once(" : ") else {
                continue;
            };
            // Registers need no declaration to be recognised.
            let text =
                format!(".version 8.7\n.target sm_90a\n.visible .entry t() {{ {instruction} }}\n");
            let module = nstage_ptx::parse(&text)
                .unwrap_or_else(|error| panic!("{path}: {instruction}: {error}"));
            for op in instructions(&module).into_iter().filter_map(op_of) {
                shown.entry(op).or_insert_with(|| path.clone());
            }
        }
    }
    for folder in ["sim/tests/runs", "tests/cases/pass", "tests/cases/fail"] {
        for path in files(folder, "ptx") {
            let text = read(&path);
            let module = nstage_ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            for instruction in instructions(&module) {
                let Some(op) = op_of(instruction) else {
                    continue;
                };
                if !shown.contains_key(&op) && is_reached(&path, &text, instruction) {
                    shown.insert(op, path.clone());
                }
            }
        }
    }
    shown
}

fn op_of(instruction: &Instruction) -> Option<Op> {
    identify(instruction).ok().map(|matched| matched.op)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a folder, in order, by their paths from the root.
fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join(folder))
        .expect("a folder of cases")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.ends_with(&format!(".{extension}")))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    names
}

/// All instructions of a module's functions.
pub(crate) fn instructions(module: &Module) -> Vec<&Instruction> {
    fn walk<'m>(statements: &'m [Statement], into: &mut Vec<&'m Instruction>) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => into.push(instruction),
                Statement::Block(inner) => walk(inner, into),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    for item in &module.items {
        if let Item::Function(function) = item
            && let Some(body) = &function.body
        {
            walk(body, &mut all);
        }
    }
    all
}

/// Whether control comes to an instruction: with `trap` in its place, under its guard, the kernel ends itself.
fn is_reached(path: &str, text: &str, instruction: &Instruction) -> bool {
    let text = with_trap(text, instruction);
    if path.starts_with("tests/cases") {
        return run_case(&text, Landing::Late).trap.is_some();
    }
    let module = nstage_ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let program =
        Program::compile(&module, "test").unwrap_or_else(|error| panic!("{path}: {error}"));
    let ran = execute(&program, &parse(&text), Landing::Late, false);
    ran.outcome.trap.is_some()
}

/// The text with `trap` instead of an instruction.
fn with_trap(text: &str, instruction: &Instruction) -> String {
    let line_start: usize = text
        .split_inclusive('\n')
        .take(instruction.pos.line as usize - 1)
        .map(str::len)
        .sum();
    let from = line_start
        + text[line_start..]
            .char_indices()
            .nth(instruction.pos.column as usize - 1)
            .map_or(0, |(at, _)| at);
    // The guard stays, wherever the position counts from.
    let opcode = text[from..]
        .find(&instruction.opcode)
        .map_or(from, |at| from + at);
    let to = text[opcode..]
        .find(';')
        .map_or(text.len(), |at| opcode + at);
    format!("{}trap{}", &text[..opcode], &text[to..])
}
