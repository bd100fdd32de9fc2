//! What the page of the case collection promises: every class has its fault, every row names what there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nstage_ptx::comments::directives;
use nstage_sim::{Class, Expectation, Severity};

/// How a file of another crate's tests begins in the tables, and where it is.
const SHORT: [(&str, &str, &str); 4] = [
    ("fail/", "tests/cases/fail/", ".ptx"),
    ("pass/", "tests/cases/pass/", ".ptx"),
    ("compile_fail/", "device/tests/compile_fail/", ".rs"),
    ("checks/", "builder/tests/checks/", ".ptx"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the table below a heading of the page, in cells.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = read("tests/cases/README.md");
    let (_, below) = page
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no heading {heading}"));
    let section = below.split("\n## ").next().unwrap_or_default();
    let table = section.lines().filter(|line| line.starts_with('|')).skip(2);
    table
        .map(|row| {
            let cells = row.trim_matches('|').split(" | ");
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
        .collect()
}

/// What stands in backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Says what is wrong with the name of a case, of a file, or of a test in a file.
fn missing(name: &str) -> Option<String> {
    let (path, test) = match name.split_once(": ") {
        Some((path, test)) => (path, Some(test)),
        None => (name, None),
    };
    let short = SHORT.iter().find(|(prefix, ..)| path.starts_with(prefix));
    let path = short.map_or_else(
        || path.to_owned(),
        |(prefix, folder, extension)| format!("{folder}{}{extension}", &path[prefix.len()..]),
    );
    let Ok(text) = fs::read_to_string(root().join(&path)) else {
        return Some(format!("there is no file {path}"));
    };
    let test = test?;
    let is_there = text.contains(&format!("#[test]\nfn {test}()"))
        || text.contains(&format!("#[test]\n    fn {test}()"));
    (!is_there).then(|| format!("{path} has no test {test}"))
}

/// Everything that a case may tell: the classes of its errors, and those of its advisories.
fn told(text: &str) -> BTreeSet<Class> {
    let expected = Expectation::of_text(text)
        .expect("a right one")
        .expect("one");
    let advised = directives(text, "nstage-advises")
        .flat_map(|comment| comment.text.split_whitespace())
        .map(|name| Class::from_name(name).expect("a class"));
    expected.classes.into_iter().chain(advised).collect()
}

#[test]
fn every_class_has_a_fault_and_its_twin() {
    let folder = root().join("tests/cases/fail");
    let mut classes = BTreeSet::new();
    for entry in fs::read_dir(&folder).expect("listed") {
        let path = entry.expect("listed").path();
        let text = fs::read_to_string(&path).expect("read");
        let twin = root()
            .join("tests/cases/pass")
            .join(path.file_name().expect("a name"));
        let mended =
            fs::read_to_string(&twin).unwrap_or_else(|error| panic!("{}: {error}", twin.display()));
        let here = told(&text);
        let left = told(&mended);
        // What only advises counts where the mended twin is silent about it.
        classes.extend(here.difference(&left).copied());
        let error = Expectation::of_text(&mended)
            .expect("a right one")
            .expect("one");
        assert_eq!(error.to_string(), "clean", "{}", twin.display());
    }
    for class in Class::ALL {
        assert!(classes.contains(&class), "no fault of class {class}");
    }
    let numbered = |class: &&Class| class.code().starts_with('H');
    assert_eq!(Class::ALL.iter().filter(numbered).count(), 28);
    let weights: BTreeSet<Severity> = classes
        .iter()
        .map(|class| class.default_severity())
        .collect();
    assert_eq!(weights.len(), 2);
}

#[test]
fn every_pattern_that_must_stay_clean_has_its_case() {
    let rows = rows("Patterns that must stay clean");
    assert_eq!(rows.len(), 11);
    for row in rows {
        let [pattern, files] = &row[..] else {
            panic!("two cells: {row:?}")
        };
        let names = quoted(files);
        assert!(!names.is_empty(), "{pattern}: no case");
        for name in names {
            assert!(
                name.starts_with("pass/"),
                "{name}: clean cases are in pass/"
            );
            assert_eq!(missing(name), None, "{pattern}");
        }
    }
}

#[test]
fn every_report_names_what_there_is() {
    let rows = rows("Public reports");
    assert!(rows.len() > 22, "{} rows", rows.len());
    for row in rows {
        let [report, what, tests, rust] = &row[..] else {
            panic!("four cells: {row:?}")
        };
        assert!(!what.is_empty(), "{report}: not told");
        assert!(
            !quoted(tests).is_empty() || tests.starts_with("no case, since "),
            "{report}: neither a case nor a reason"
        );
        assert!(!quoted(rust).is_empty(), "{report}: nothing in Rust");
        for name in quoted(tests).into_iter().chain(quoted(rust)) {
            assert_eq!(missing(name), None, "{report}");
        }
    }
}

#[test]
fn what_is_missing_is_noticed() {
    for (name, wrong) in [
        (
            "fail/no-such-case",
            "there is no file tests/cases/fail/no-such-case.ptx",
        ),
        ("no/such/file.rs: test", "there is no file no/such/file.rs"),
        (
            "host/src/ptx/version.rs: of_driver",
            "host/src/ptx/version.rs has no test of_driver",
        ),
    ] {
        assert_eq!(missing(name).as_deref(), Some(wrong));
    }
}

/// Asynchronous copies from memory that is not page-locked block, and take other streams with them: the host has none at all.
#[test]
fn host_and_device_exchange_bytes_by_blocking_copies_only() {
    let mut folders = vec![root().join("host/src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // The table forwards every function of the driver that the binding links against, used or not.
            if path.ends_with("driver/table.rs") {
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).expect("read");
            for call in ["HtoDAsync", "DtoHAsync", "async_copy_to", "async_copy_from"] {
                assert!(!text.contains(call), "{}: {call}", path.display());
            }
        }
    }
    assert!(files > 50, "{files} files");
}
