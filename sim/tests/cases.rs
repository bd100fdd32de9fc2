//! The case collection in `tests/cases`: every file has the outcome that its head names, whenever copies land.

use std::fs;
use std::path::{Path, PathBuf};

use nstage_sim::{Expectation, Landing, Severity, Verdict};

#[path = "common/case_file.rs"]
mod case_file;

use case_file::run_case;

const LANDINGS: [Landing; 4] = [
    Landing::Late,
    Landing::Early,
    Landing::Random(1),
    Landing::Random(2),
];

fn files(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/cases")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(path)
        .expect("the case collection")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
}

#[test]
fn every_case_has_the_outcome_it_names() {
    let mut failures = Vec::new();
    let mut passed = 0;
    for path in files("fail").into_iter().chain(files("pass")) {
        let text = fs::read_to_string(&path).expect("a text");
        let expected = Expectation::of_text(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        for landing in LANDINGS {
            let outcome = run_case(&text, landing);
            // Where copies that land at once make another fault of it, as the case says, any fault will do.
            let another = landing == Landing::Early
                && text.contains("\n// nstage-late: ")
                && outcome.verdict() == Verdict::Hazard;
            if another || expected.is_met_by(&outcome) {
                passed += 1;
                continue;
            }
            let why = outcome.incomplete.map(|incomplete| incomplete.message);
            failures.push(format!(
                "{} ({landing:?}): expected `{expected}`, got {:?} {why:?}",
                path.display(),
                outcome.findings
            ));
            break;
        }
    }
    assert!(
        failures.is_empty(),
        "{passed} passed, {} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_fault_has_its_mended_twin() {
    let names = |folder: &str| -> Vec<_> {
        let files = files(folder).into_iter();
        files
            .filter_map(|path| path.file_name().map(ToOwned::to_owned))
            .collect()
    };
    let mended = names("pass");
    for fault in names("fail") {
        assert!(
            mended.contains(&fault),
            "{} has no twin in pass",
            fault.display()
        );
    }
}

/// Cases with more errors than one, and how many: pairs of instructions that no write has in common, and an advisory that the case makes an error.
const SEVERAL: [(&str, usize); 2] = [
    ("narrow-scope-counter-of-block-scope.ptx", 2),
    ("vacuous-wait-more-groups-than-committed.ptx", 2),
];

#[test]
fn a_fault_is_told_once() {
    for path in files("fail") {
        let text = fs::read_to_string(&path).expect("a text");
        let name = path.file_name().and_then(|name| name.to_str());
        let most = SEVERAL
            .iter()
            .find(|(several, _)| Some(*several) == name)
            .map_or(1, |(_, count)| *count);
        for landing in [Landing::Late, Landing::Random(1)] {
            let outcome = run_case(&text, landing);
            let errors: Vec<_> = outcome
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| finding.class)
                .collect();
            assert!(
                errors.len() <= most,
                "{} ({landing:?}): {errors:?}",
                path.display()
            );
        }
    }
}
