//! Each rule over tiny PTX files: those in `tests/checks/pass` are silent, those in `tests/checks/fail` say exactly what stands in the `.txt` beside them.
//!
//! `NSTAGE_BLESS=1 cargo test -p nstage-builder` rewrites the texts.

use crate::{Target, finish};
use std::path::{Path, PathBuf};

/// Everything that a build does with the compiler's output.
fn complaints(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("read");
    let output = finish::finish_and_check(&text, Target::SM_80, Target::SM_80);
    let output = output.unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
    output
        .failures
        .iter()
        .map(|failure| format!("{failure}\n"))
        .collect()
}

fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/checks")
        .join(kind);
    let entries = std::fs::read_dir(&folder)
        .expect("listed")
        .map(|entry| entry.expect("listed").path());
    let mut paths: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    paths.sort();
    assert!(
        paths.len() > 5,
        "{} has {} cases",
        folder.display(),
        paths.len()
    );
    paths
}

#[test]
fn every_fault_is_named() {
    for path in cases("fail") {
        let got = complaints(&path);
        assert!(!got.is_empty(), "{}: nothing was refused", path.display());
        let golden = path.with_extension("txt");
        if std::env::var_os("NSTAGE_BLESS").is_some() {
            std::fs::write(&golden, &got).expect("written");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            got,
            expected,
            "{}; NSTAGE_BLESS=1 takes it as right",
            path.display()
        );
    }
}

#[test]
fn what_is_right_is_not_refused() {
    for path in cases("pass") {
        assert_eq!(complaints(&path), "", "{}", path.display());
    }
}

#[test]
fn an_expected_entry_is_looked_for() {
    let failures = super::missing(
        &["scale".to_owned()],
        &["scale".to_owned(), "sum".to_owned()],
    );
    let texts: Vec<String> = failures.iter().map(ToString::to_string).collect();
    let text = "line 1: got no entry `sum`, which was asked for; there are scale; correct the name, or switch on the feature that it belongs to";
    assert_eq!(texts, [text]);
}
