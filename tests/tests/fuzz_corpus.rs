//! What the fuzzers kept, through the same functions: nothing panics, and nothing takes long.
//!
//! `fuzz/corpus/TARGET/` holds the smallest set of inputs that reaches what the fuzzer reached; an input that once failed stays there under a name of its own.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

#[allow(unreachable_pub, reason = "the file is a library of its own elsewhere")]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(target);
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    assert!(
        files.len() > 20,
        "{}: {} files",
        folder.display(),
        files.len()
    );
    files
}

fn replay(target: &str, with: fn(&[u8])) {
    inputs(target).par_iter().for_each(|path| {
        let bytes = std::fs::read(path).unwrap();
        let run = std::panic::catch_unwind(|| with(&bytes));
        assert!(run.is_ok(), "{} panics", path.display());
    });
}

#[test]
fn texts_parse_or_are_refused() {
    replay("parse", targets::parse);
}

#[test]
fn launches_run_or_are_refused() {
    replay("launch", targets::launch);
}

#[test]
fn checks_end() {
    replay("check", targets::check);
}
