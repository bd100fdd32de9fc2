//! What a PTX text says should come of it: `// nstage-expect: hazard read-before-wait|unpublished-copy`.
//!
//! The word is a verdict; names behind `hazard` are classes, any one of which must be among the errors.

use std::fmt;

use crate::finding::{Class, Severity, Verdict};
use crate::launch::Outcome;

/// An expectation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// How the run must end.
    pub verdict: Verdict,
    /// Of a hazard: classes that are equally right; none where every hazard is.
    pub classes: Vec<Class>,
}

/// The key of the comment.
const KEY: &str = "nstage-expect";

impl Expectation {
    /// The expectation in a text's comments; `None` where it has none.
    ///
    /// # Errors
    /// In one line: a verdict or a class that does not exist, or a second expectation.
    pub fn of_text(text: &str) -> Result<Option<Self>, String> {
        let mut comments = nstage_ptx::comments::directives(text, KEY);
        let Some(comment) = comments.next() else {
            return Ok(None);
        };
        let at = |error: String| format!("line {}: {error}", comment.pos.line);
        if let Some(second) = comments.next() {
            return Err(format!(
                "line {}: a second `{KEY}`; write one",
                second.pos.line
            ));
        }
        let (verdict, classes) = match comment.text.split_once(' ') {
            None => (comment.text, ""),
            Some((verdict, classes)) => (verdict, classes.trim()),
        };
        let verdict = Verdict::from_name(verdict).ok_or_else(|| {
            at(format!(
                "`{verdict}` is no verdict; write clean, hazard, trap or incomplete"
            ))
        })?;
        if !classes.is_empty() && verdict != Verdict::Hazard {
            return Err(at(format!("only a hazard has classes, not `{verdict}`")));
        }
        let names = classes.split('|').filter(|name| !name.is_empty());
        let classes = names.map(|name| {
            Class::from_name(name).ok_or_else(|| at(format!("`{name}` is no class of findings")))
        });
        Ok(Some(Self {
            verdict,
            classes: classes.collect::<Result<_, _>>()?,
        }))
    }

    /// Whether an outcome is as expected.
    #[must_use]
    pub fn is_met_by(&self, outcome: &Outcome) -> bool {
        let mut errors = outcome
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        outcome.verdict() == self.verdict
            && (self.classes.is_empty()
                || errors.any(|finding| self.classes.contains(&finding.class)))
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        for (class, before) in self
            .classes
            .iter()
            .zip(std::iter::once(' ').chain(std::iter::repeat('|')))
        {
            write!(f, "{before}{class}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;

    fn outcome(classes: &[Class]) -> Outcome {
        Outcome {
            findings: classes
                .iter()
                .map(|&class| Finding {
                    class,
                    severity: class.default_severity(),
                    certain: true,
                    count: 1,
                    message: String::new(),
                    space: "",
                    bytes: 0..0,
                    parties: Vec::new(),
                    notes: Vec::new(),
                    remedy: String::new(),
                })
                .collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn an_expectation_is_met_by_its_verdict_and_one_of_its_classes() {
        let (race, early, advice) = (Class::SharedRace, Class::ReadBeforeWait, Class::NoOverlap);
        for (text, classes, met) in [
            ("clean", &[][..], true),
            ("clean", &[advice], true),
            ("clean", &[race], false),
            ("hazard", &[race], true),
            ("hazard shared-race", &[race], true),
            ("hazard H1|shared-race", &[race], true),
            ("hazard read-before-wait", &[race], false),
            // An advisory is no hazard, whatever its class.
            ("hazard no-overlap", &[advice, early], false),
            ("trap", &[], false),
        ] {
            let expected = Expectation::of_text(&format!("// nstage-expect: {text}\n"))
                .expect("a right one")
                .expect("one");
            assert_eq!(expected.is_met_by(&outcome(classes)), met, "{text}");
            assert_eq!(expected.to_string(), text.replace("H1", "read-before-wait"));
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(Expectation::of_text(".version 7.0\n"), Ok(None));
        for (text, message) in [
            ("fine", "line 1: `fine` is no verdict"),
            ("hazard H29", "line 1: `H29` is no class"),
            ("clean H1", "line 1: only a hazard has classes"),
            ("clean\n// nstage-expect: trap", "line 2: a second"),
        ] {
            let error = Expectation::of_text(&format!("// nstage-expect: {text}\n"))
                .expect_err("a mistake");
            assert!(error.starts_with(message), "{error}");
        }
    }
}
