//! What a case says by itself of its findings: their places, and the advisories.
//!
//! A line that errors name as party (1) ends with `// (1)`; the kept reports have the line numbers too,
//! but they are rewritten by `--bless`, and marks are not.

use std::collections::BTreeSet;

use nstage_ptx::comments::directives;
use nstage_sim::{Class, Outcome, Severity};

/// A line and the number that a party has there.
type Mark = (u32, usize);

/// The classes of `// nstage-advises: a b`.
pub(crate) fn advised(text: &str) -> Result<Vec<Class>, String> {
    directives(text, "nstage-advises")
        .flat_map(|comment| comment.text.split_whitespace())
        .map(|name| Class::from_name(name).ok_or(format!("`{name}` is no class of findings")))
        .collect()
}

/// Whether the text gives a reason, `// nstage-late: …`, why copies that land at once make another fault of it.
pub(crate) fn only_late(text: &str) -> bool {
    directives(text, "nstage-late").any(|reason| !reason.text.is_empty())
}

/// How the parties of a run's errors stand elsewhere than the marks say; without numbers, only the lines are compared.
pub(crate) fn difference(text: &str, outcome: &Outcome, numbered: bool) -> Option<String> {
    let number = |number| if numbered { number } else { 0 };
    let marked: BTreeSet<Mark> = marks(text).map(|(line, n)| (line, number(n))).collect();
    let errors = outcome
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let found: BTreeSet<Mark> = errors
        .flat_map(|error| error.parties.iter().zip(1..))
        .map(|(party, n)| (party.line, number(n)))
        .collect();
    (marked != found).then(|| {
        format!(
            "parties of errors are at {}, and the marks are at {}",
            words(&found),
            words(&marked)
        )
    })
}

/// The marks of a text: comments of numbers in parentheses and nothing else.
fn marks(text: &str) -> impl Iterator<Item = Mark> {
    text.lines().zip(1..).flat_map(|(line, at)| {
        line.split("//").skip(1).flat_map(move |comment| {
            let numbers: Option<Vec<usize>> = comment.split_whitespace().map(numeral).collect();
            numbers
                .unwrap_or_default()
                .into_iter()
                .map(move |n| (at, n))
        })
    })
}

/// The number in `(1)`.
fn numeral(word: &str) -> Option<usize> {
    word.strip_prefix('(')?.strip_suffix(')')?.parse().ok()
}

fn words(marks: &BTreeSet<Mark>) -> String {
    if marks.is_empty() {
        return "no line".to_owned();
    }
    let word = |&(line, number): &Mark| match number {
        0 => format!("line {line}"),
        number => format!("line {line} ({number})"),
    };
    marks.iter().map(word).collect::<Vec<_>>().join(", ")
}
