//! What `check` prints.

use nstage_sim::{Finding, Outcome, Party, Severity, Verdict};
use serde::Serialize;

/// One line of JSON for a file.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    file: &'a str,
    entry: &'a str,
    outcome: String,
    /// What ended the run early, or how the kernel ended itself; null where neither happened.
    reason: Option<&'a str>,
    findings: Vec<FindingLine<'a>>,
    /// Executed instructions whose results are only within the ISA's error bounds.
    approximate: &'a [String],
    /// What the kernel printed.
    printed: &'a str,
    warp_instructions: u64,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct FindingLine<'a> {
    class: &'static str,
    name: &'static str,
    severity: String,
    certain: bool,
    count: u64,
    message: &'a str,
    space: &'static str,
    bytes: [u64; 2],
    parties: Vec<PartyLine<'a>>,
    notes: &'a [String],
    remedy: &'a str,
}

#[derive(Debug, Serialize)]
struct PartyLine<'a> {
    what: &'a str,
    line: u32,
    source: Option<String>,
    thread: [u32; 3],
    block: [u32; 3],
    execution: u32,
}

impl<'a> Report<'a> {
    /// The outcome of running `entry` of `file`.
    pub(crate) fn new(file: &'a str, entry: &'a str, outcome: &'a Outcome) -> Self {
        Self {
            file,
            entry,
            outcome: outcome.verdict().to_string(),
            reason: reason(outcome),
            findings: outcome.findings.iter().map(FindingLine::new).collect(),
            approximate: &outcome.approximate,
            printed: &outcome.printed,
            warp_instructions: outcome.warp_instructions,
            seconds: outcome.seconds,
        }
    }
}

impl<'a> FindingLine<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            class: finding.class.code(),
            name: finding.class.name(),
            severity: finding.severity.to_string(),
            certain: finding.certain,
            count: finding.count,
            message: &finding.message,
            space: finding.space,
            bytes: [finding.bytes.start, finding.bytes.end],
            parties: finding.parties.iter().map(PartyLine::new).collect(),
            notes: &finding.notes,
            remedy: &finding.remedy,
        }
    }
}

impl<'a> PartyLine<'a> {
    fn new(party: &'a Party) -> Self {
        Self {
            what: &party.what,
            line: party.line,
            source: source_text(party),
            thread: party.thread,
            block: party.block,
            execution: party.execution,
        }
    }
}

fn source_text(party: &Party) -> Option<String> {
    let (file, line) = party.source.as_ref()?;
    Some(format!("{file}:{line}"))
}

/// Why the run ended before its end, if it did.
fn reason(outcome: &Outcome) -> Option<&str> {
    match (&outcome.trap, &outcome.incomplete) {
        (Some(trap), _) => Some(&trap.message),
        (None, Some(incomplete)) => Some(&incomplete.message),
        (None, None) => None,
    }
}

/// Whether the check passes: nothing wrong, and with `strict` nothing to advise either.
pub(crate) fn passes(outcome: &Outcome, strict: bool) -> bool {
    outcome.verdict() == Verdict::Clean && (!strict || outcome.findings.is_empty())
}

/// The report for people.
pub(crate) fn text(file: &str, entry: &str, outcome: &Outcome) -> String {
    format!(
        "{}{file}: {}, {} warp instructions in {:.2} s\n",
        findings(file, outcome),
        summary(entry, outcome),
        outcome.warp_instructions,
        outcome.seconds
    )
}

/// All that is told of a run before its summary: the findings, why it ended early, what it printed.
#[must_use]
pub fn findings(file: &str, outcome: &Outcome) -> String {
    let mut text = String::new();
    for finding in &outcome.findings {
        text += &finding_text(file, finding);
        text.push('\n');
    }
    let party_text = |party: &Party| place_text(file, party, None);
    if let Some(trap) = &outcome.trap {
        text += &format!("trap: {}\n{}\n", trap.message, party_text(&trap.party));
    }
    if let Some(incomplete) = &outcome.incomplete {
        text += &format!("incomplete: {}\n", incomplete.message);
        if let Some(party) = &incomplete.party {
            text += &party_text(party);
        }
        text.push('\n');
    }
    if !outcome.printed.is_empty() {
        text += "the kernel printed:\n";
        for line in outcome.printed.lines() {
            text += &format!("  {line}\n");
        }
    }
    if !outcome.approximate.is_empty() {
        text += &format!(
            "note: results of {} are within the ISA's error bounds, not the hardware's bits\n",
            outcome.approximate.join(", ")
        );
    }
    text
}

/// The entry, its verdict and how many findings there are: `kernel: hazard, 1 error and 0 advisories`.
#[must_use]
pub fn summary(entry: &str, outcome: &Outcome) -> String {
    let count = |severity| {
        outcome
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .count()
    };
    let (errors, advisories) = (count(Severity::Error), count(Severity::Advisory));
    format!(
        "{entry}: {}, {} and {}",
        outcome.verdict(),
        counted(errors, "error", "errors"),
        counted(advisories, "advisory", "advisories"),
    )
}

fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    }
}

/// `error[H3 wait-count, certain]`.
pub(super) fn heading(finding: &Finding) -> String {
    let (code, name) = (finding.class.code(), finding.class.name());
    // An advisory has no number of its own: its name says it once.
    let class = if code == name {
        name.to_owned()
    } else {
        format!("{code} {name}")
    };
    let sure = if finding.certain {
        "certain"
    } else {
        "conservative"
    };
    format!("{}[{class}, {sure}]", finding.severity)
}

fn finding_text(file: &str, finding: &Finding) -> String {
    let mut text = format!("{}: {}\n", heading(finding), finding.message);
    for (party, number) in finding.parties.iter().zip(1..) {
        text += &place_text(file, party, Some(number));
        text.push('\n');
    }
    for note in &finding.notes {
        text += &format!("  = note: {note}\n");
    }
    if !finding.certain {
        text += "  = note: conservative: the rule may be stricter than the hardware\n";
    }
    if finding.count > 1 {
        text += &format!("  = note: seen {} times\n", finding.count);
    }
    text += &format!("  = help: {}\n", finding.remedy);
    text
}

fn place_text(file: &str, party: &Party, number: Option<u32>) -> String {
    let number = number.map_or_else(String::new, |number| format!("({number}) "));
    let at = if party.line > 0 {
        format!("{file}:{}", party.line)
    } else {
        file.to_owned()
    };
    format!("  --> {at}: {number}{}", deed_text(party))
}

/// What a party did, which thread it is, how many times its warp had come there, and where its source is if that is known.
pub(super) fn deed_text(party: &Party) -> String {
    let source = source_text(party).map_or_else(String::new, |source| format!(", {source}"));
    // In a loop this tells which iteration it was; of what happened once there is nothing to tell.
    let execution = match party.execution {
        0 | 1 => String::new(),
        execution => format!(", execution {execution}"),
    };
    format!(
        "{}, thread {} of block {}{execution}{source}",
        party.what,
        index_text(party.thread),
        index_text(party.block)
    )
}

fn index_text([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nstage_sim::{Class, Incomplete, Trap};

    fn party(what: &str, line: u32, thread: u32) -> Party {
        Party {
            what: what.to_owned(),
            line,
            source: (line == 3).then(|| ("lib.rs".to_owned(), 40)),
            thread: [thread, 0, 0],
            block: [1, 0, 0],
            execution: if line == 3 { 5 } else { 1 },
        }
    }

    fn hazard() -> Outcome {
        Outcome {
            findings: vec![Finding {
                class: Class::ReadBeforeWait,
                severity: Severity::Error,
                certain: false,
                count: 3,
                message: "bytes 0..4 of tile read while (1) is under way".to_owned(),
                space: "shared",
                bytes: 0..4,
                parties: vec![party("cp.async copy", 2, 5), party("ld.shared", 3, 5)],
                notes: vec!["the group is open".to_owned()],
                remedy: "wait before line 3".to_owned(),
            }],
            warp_instructions: 12,
            ..Outcome::default()
        }
    }

    #[test]
    fn a_hazard_is_told_with_its_parties_and_a_remedy() {
        let expected = "\
error[H1 read-before-wait, conservative]: bytes 0..4 of tile read while (1) is under way
  --> a.ptx:2: (1) cp.async copy, thread (5,0,0) of block (1,0,0)
  --> a.ptx:3: (2) ld.shared, thread (5,0,0) of block (1,0,0), execution 5, lib.rs:40
  = note: the group is open
  = note: conservative: the rule may be stricter than the hardware
  = note: seen 3 times
  = help: wait before line 3

a.ptx: k: hazard, 1 error and 0 advisories, 12 warp instructions in 0.00 s
";
        assert_eq!(text("a.ptx", "k", &hazard()), expected);
    }

    #[test]
    fn a_run_that_ends_early_says_why() {
        let trapped = Outcome {
            trap: Some(Trap {
                message: "`trap` was executed".to_owned(),
                party: party("trap", 7, 0),
            }),
            printed: "hello\n".to_owned(),
            approximate: vec!["ex2.approx.f32".to_owned()],
            ..Outcome::default()
        };
        let expected = "\
trap: `trap` was executed
  --> a.ptx:7: trap, thread (0,0,0) of block (1,0,0)
the kernel printed:
  hello
note: results of ex2.approx.f32 are within the ISA's error bounds, not the hardware's bits
a.ptx: k: trap, 0 errors and 0 advisories, 0 warp instructions in 0.00 s
";
        assert_eq!(text("a.ptx", "k", &trapped), expected);
        let unknown = Outcome {
            incomplete: Some(Incomplete {
                message: "`foo` at line 9 is not modelled".to_owned(),
                party: None,
            }),
            ..Outcome::default()
        };
        let told = text("a.ptx", "k", &unknown);
        assert!(
            told.starts_with("incomplete: `foo` at line 9 is not modelled\n"),
            "{told}"
        );
    }

    #[test]
    fn strictness_decides_about_advisories() {
        let mut advised = hazard();
        advised.findings[0].severity = Severity::Advisory;
        assert!(passes(&advised, false) && !passes(&advised, true));
        assert!(!passes(&hazard(), false));
        assert!(passes(&Outcome::default(), true));
    }
}
