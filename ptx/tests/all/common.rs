//! What several tests share: the real files, and trees without places.

use std::path::PathBuf;

use nstage_ptx::ast::{Function, Item, Module, Pos, Statement};

/// The real PTX under `tests/data`, by name.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("tests/data is part of the crate")
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "only {} files in tests/data", files.len());
    let read = |path: PathBuf| {
        (
            path.display().to_string(),
            std::fs::read_to_string(&path).expect("UTF-8"),
        )
    };
    files.into_iter().map(read).collect()
}

/// The tree with all places zeroed, for comparing what was printed with what was read.
pub(crate) fn without_places(mut module: Module) -> Module {
    for item in &mut module.items {
        match item {
            Item::Variable(variable) => variable.pos = Pos::default(),
            Item::Function(function) => clear_function(function),
            Item::Other { pos, .. } => *pos = Pos::default(),
            Item::File { .. } => {}
        }
    }
    module
}

fn clear_function(function: &mut Function) {
    function.pos = Pos::default();
    for variable in function.returns.iter_mut().chain(&mut function.params) {
        variable.pos = Pos::default();
    }
    for directive in &mut function.directives {
        directive.pos = Pos::default();
    }
    clear_body(function.body.iter_mut().flatten());
}

fn clear_body<'a>(body: impl Iterator<Item = &'a mut Statement>) {
    for statement in body {
        match statement {
            Statement::Variable(variable) => variable.pos = Pos::default(),
            Statement::Instruction(instruction) => instruction.pos = Pos::default(),
            Statement::Block(inner) => clear_body(inner.iter_mut()),
            Statement::Label { pos, .. }
            | Statement::BranchTargets { pos, .. }
            | Statement::CallPrototype { pos, .. }
            | Statement::Pragma { pos, .. } => *pos = Pos::default(),
            Statement::Loc { .. } => {}
        }
    }
}
