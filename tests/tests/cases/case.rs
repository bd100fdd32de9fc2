//! One case: a PTX file with its launch and its expectation, and the report that is kept of it.

use std::fs;
use std::path::{Path, PathBuf};

use nstage_host::check::{Check, Run, annotated, findings, summary};
use nstage_sim::{Class, Expectation, Landing, Outcome, Severity, Verdict};

use crate::marks;

/// When copies land; the first is what `nstage check` does unless told otherwise.
const LANDINGS: [Landing; 4] = [
    Landing::Late,
    Landing::Early,
    Landing::Random(1),
    Landing::Random(2),
];

/// A file of the collection.
pub(crate) struct Case {
    /// `fail` or `pass`.
    folder: &'static str,
    stem: String,
    text: String,
}

/// What came of a case.
pub(crate) struct Judged {
    /// The verdict and the classes of the errors, in one line.
    pub(crate) found: String,
    /// What is not as it should be.
    pub(crate) problems: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// All cases, faults first.
pub(crate) fn collect() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for folder in ["fail", "pass"] {
        for (stem, path) in files(&root().join(folder), "ptx")? {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
            cases.push(Case { folder, stem, text });
        }
    }
    Ok(cases)
}

/// Stems and paths of a folder's files, in order; another extension is a mistake.
fn files(folder: &Path, extension: &str) -> Result<Vec<(String, PathBuf)>, String> {
    let unreadable = |error| format!("{}: cannot be listed: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_none_or(|found| found != extension) {
            return Err(format!("{}: is no .{extension} file", path.display()));
        }
        files.push((stem.into_owned(), path));
    }
    files.sort();
    Ok(files)
}

/// Reports whose case is gone; with `bless` they are removed.
pub(crate) fn stale_reports(cases: &[Case], bless: bool) -> Vec<String> {
    let mut stale = Vec::new();
    for folder in ["fail", "pass"] {
        let Ok(reports) = files(&root().join("reports").join(folder), "txt") else {
            continue;
        };
        for (stem, path) in reports {
            let there = cases
                .iter()
                .any(|case| case.folder == folder && case.stem == stem);
            let kept = there || bless && fs::remove_file(&path).is_ok();
            if !kept {
                stale.push(format!("reports/{folder}/{stem}.txt"));
            }
        }
    }
    stale
}

impl Case {
    /// `fail/wait-count-one-too-many`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.folder, self.stem)
    }

    /// Runs the case under every landing, and compares it with its expectation and its report.
    pub(crate) fn judge(&self, bless: bool) -> Judged {
        let mut problems = Vec::new();
        if self.folder == "fail" {
            self.check_fault(&mut problems);
        }
        let found = match self.runs() {
            Ok(runs) => {
                self.compare(&runs, bless, &mut problems);
                told(&runs[0].1.outcome)
            }
            Err(problem) => {
                problems.push(problem);
                String::new()
            }
        };
        Judged { found, problems }
    }

    /// A fault is marked at its line, and mended in a file of the same name.
    fn check_fault(&self, problems: &mut Vec<String>) {
        if !self.text.contains("// fault:") {
            problems.push("no line is marked with `// fault:`".to_owned());
        }
        let twin = root().join("pass").join(format!("{}.ptx", self.stem));
        if !twin.is_file() {
            problems.push("has no mended twin in pass/".to_owned());
        }
    }

    fn runs(&self) -> Result<Vec<(String, Run)>, String> {
        let check = Check::new(&self.text)?;
        let run = |landing| {
            let run = check.run(landing)?;
            let name = format!("{}.ptx", self.name());
            let report = format!(
                "{}{}\n",
                findings(&name, &run.outcome),
                summary(check.entry(), &run.outcome)
            );
            Ok((report, run))
        };
        LANDINGS.into_iter().map(run).collect()
    }

    fn compare(&self, runs: &[(String, Run)], bless: bool, problems: &mut Vec<String>) {
        for (landing, (_, run)) in LANDINGS.iter().zip(runs) {
            if *landing == Landing::Early && marks::only_late(&self.text) {
                if run.outcome.verdict() != Verdict::Hazard {
                    problems.push(format!("{landing:?}: got `{}`", told(&run.outcome)));
                }
                continue;
            }
            let mut found = Vec::new();
            self.compare_verdict(&run.outcome, &mut found);
            // Which of two unordered parties came first is a matter of the schedule; where they are is not.
            let numbered = *landing == LANDINGS[0];
            found.extend(marks::difference(&self.text, &run.outcome, numbered));
            problems.extend(
                found
                    .into_iter()
                    .map(|found| format!("{landing:?}: {found}")),
            );
        }
        self.compare_report(&runs[0], bless, problems);
        if let Err(problem) = self.check_annotation(&runs[0].1.outcome) {
            problems.push(problem);
        }
    }

    /// One class of errors and no other, and the advisories that the head lists.
    fn compare_verdict(&self, outcome: &Outcome, problems: &mut Vec<String>) {
        let expected = match Expectation::of_text(&self.text) {
            Ok(Some(expected)) => expected,
            Ok(None) => return problems.push("has no `// nstage-expect:`".to_owned()),
            Err(error) => return problems.push(error),
        };
        if expected.verdict == Verdict::Hazard && expected.classes.len() != 1 {
            problems.push(format!(
                "`{expected}`: a case is of one class; name that one"
            ));
        }
        let mut wanted = marks::advised(&self.text).unwrap_or_else(|error| {
            problems.push(error);
            Vec::new()
        });
        let advised = classes(outcome, Severity::Advisory);
        wanted.sort();
        if !expected.is_met_by(outcome)
            || classes(outcome, Severity::Error) != expected.classes
            || advised != wanted
        {
            let mut words = expected.to_string();
            for class in wanted {
                words += &format!(" ~{class}");
            }
            problems.push(format!("expected `{words}`, got `{}`", told(outcome)));
        }
    }

    /// A run in which something is told has its report; one in which nothing is has none.
    fn compare_report(&self, run: &(String, Run), bless: bool, problems: &mut Vec<String>) {
        let (report, Run { outcome, .. }) = run;
        let path = root()
            .join("reports")
            .join(self.folder)
            .join(format!("{}.txt", self.stem));
        let silent = outcome.findings.is_empty() && outcome.incomplete.is_none();
        let wanted = if silent { "" } else { report };
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept == wanted {
            return;
        }
        if bless {
            let written = if silent {
                fs::remove_file(&path)
            } else {
                fs::create_dir_all(path.parent().unwrap_or(&path))
                    .and_then(|()| fs::write(&path, report))
            };
            if let Err(error) = written {
                problems.push(format!("{}: cannot be written: {error}", path.display()));
            }
        } else if let Some(difference) = difference(&kept, wanted) {
            problems.push(format!(
                "the report is not as kept: {difference}\nif that is meant, run `cargo xtask check-cases --bless` and review the change"
            ));
        }
    }

    /// The annotated text is the same module.
    fn check_annotation(&self, outcome: &Outcome) -> Result<(), String> {
        let text = annotated(&self.text, outcome);
        let printed = |text: &str| {
            nstage_ptx::parse(text)
                .map(|module| module.to_string())
                .map_err(|errors| format!("the annotated text does not parse: {errors}"))
        };
        match difference(&printed(&self.text)?, &printed(&text)?) {
            Some(difference) => Err(format!(
                "the annotated text is another module: {difference}"
            )),
            None => Ok(()),
        }?;
        for finding in &outcome.findings {
            for party in finding.parties.iter().filter(|party| party.line > 0) {
                let line = self.text.lines().nth(party.line as usize - 1);
                let line = line.ok_or_else(|| format!("there is no line {}", party.line))?;
                if !text.contains(&format!("{line}\n// ^ finding ")) {
                    return Err(format!("line {} is not annotated", party.line));
                }
            }
        }
        Ok(())
    }
}

/// The verdict, with the classes of the errors and then of the advisories.
fn told(outcome: &Outcome) -> String {
    let mut words = vec![outcome.verdict().to_string()];
    for (severity, sign) in [(Severity::Error, ""), (Severity::Advisory, "~")] {
        let classes = classes(outcome, severity);
        words.extend(classes.iter().map(|class| format!("{sign}{class}")));
    }
    if let Some(incomplete) = &outcome.incomplete {
        words.push(format!("({})", incomplete.message));
    }
    words.join(" ")
}

/// The classes of the findings of this weight, each once, in order.
fn classes(outcome: &Outcome, severity: Severity) -> Vec<Class> {
    let findings = outcome.findings.iter();
    let mut classes: Vec<Class> = findings
        .filter(|finding| finding.severity == severity)
        .map(|finding| finding.class)
        .collect();
    classes.sort();
    classes.dedup();
    classes
}

/// The first line in which two texts differ.
fn difference(kept: &str, got: &str) -> Option<String> {
    if kept == got {
        return None;
    }
    let (mut kept, mut got) = (kept.lines(), got.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (kept.next(), got.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return Some("only the ends of lines differ".to_owned()),
            (kept, got) => {
                let shown = |line: Option<&str>| line.unwrap_or("(its end)").trim_end().to_owned();
                return Some(format!(
                    "line {number}:\n  got      {}\n  expected {}",
                    shown(got),
                    shown(kept)
                ));
            }
        }
    }
}
