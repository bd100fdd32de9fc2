//! The PTX again, with what was found as comments below the lines of those who took part.
//!
//! Comments are all that is added, so the text parses to the same module.

use std::fmt::Write;

use nstage_sim::{Finding, Outcome};

use super::report::{deed_text, heading};

/// The PTX with each finding below the lines of its parties, and the verdict at its end.
#[must_use]
pub fn annotated(ptx: &str, outcome: &Outcome) -> String {
    let mut text = String::with_capacity(2 * ptx.len());
    for (line, number) in ptx.lines().zip(1_u32..) {
        text += line;
        text.push('\n');
        below(&mut text, number, outcome);
    }
    // Where nothing has a line of its own.
    below(&mut text, 0, outcome);
    comment(&mut text, &format!("verdict: {}", outcome.verdict()));
    text
}

/// What is to be said below one line.
fn below(text: &mut String, line: u32, outcome: &Outcome) {
    let of = outcome.findings.len();
    for (finding, number) in outcome.findings.iter().zip(1_usize..) {
        let here = finding.parties.iter().any(|party| party.line == line);
        if here || line == 0 && finding.parties.is_empty() {
            annotate(text, finding, line, &format!("finding {number} of {of}"));
        }
    }
    if let Some(trap) = outcome.trap.as_ref().filter(|trap| trap.party.line == line) {
        comment(text, &format!("^ trap: {}", trap.message));
    }
    if let Some(incomplete) = &outcome.incomplete
        && incomplete.party.as_ref().map_or(0, |party| party.line) == line
    {
        comment(text, &format!("^ incomplete: {}", incomplete.message));
    }
}

fn annotate(text: &mut String, finding: &Finding, line: u32, number: &str) {
    for (party, index) in finding.parties.iter().zip(1..) {
        if party.line == line {
            comment(
                text,
                &format!("^ {number}, ({index}): {}", deed_text(party)),
            );
        }
    }
    comment(
        text,
        &format!("  {}: {}", heading(finding), finding.message),
    );
    comment(text, &format!("  help: {}", finding.remedy));
}

/// One comment on a line of its own. Line ends would let the message out of it, and the end of a block comment would let it out of one that is open here.
fn comment(text: &mut String, message: &str) {
    let indent = message.len() - message.trim_start().len();
    let words: Vec<&str> = message.split_whitespace().collect();
    let words = words.join(" ").replace("*/", "* /");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "// {:indent$}{words}", "");
}

#[cfg(test)]
mod tests {
    use super::*;
    use nstage_sim::{Class, Incomplete, Party, Severity};

    fn party(what: &str, line: u32) -> Party {
        Party {
            what: what.to_owned(),
            line,
            source: None,
            thread: [line, 0, 0],
            block: [0; 3],
            execution: 1,
        }
    }

    fn outcome(lines: [u32; 2]) -> Outcome {
        Outcome {
            findings: vec![Finding {
                class: Class::ReadBeforeWait,
                severity: Severity::Error,
                certain: true,
                count: 3,
                message: "a message\nof two lines */".to_owned(),
                space: "shared",
                bytes: 0..4,
                parties: vec![
                    party("cp.async copy", lines[0]),
                    party("ld.shared", lines[1]),
                ],
                notes: Vec::new(),
                remedy: "wait".to_owned(),
            }],
            ..Outcome::default()
        }
    }

    #[test]
    fn both_parties_have_their_comments() {
        let expected = "one
two
// ^ finding 1 of 1, (1): cp.async copy, thread (2,0,0) of block (0,0,0)
//   error[H1 read-before-wait, certain]: a message of two lines * /
//   help: wait
three
// ^ finding 1 of 1, (2): ld.shared, thread (3,0,0) of block (0,0,0)
//   error[H1 read-before-wait, certain]: a message of two lines * /
//   help: wait
// verdict: hazard
";
        assert_eq!(annotated("one\ntwo\r\nthree", &outcome([2, 3])), expected);
    }

    #[test]
    fn parties_of_one_line_share_the_message() {
        let text = annotated("one\ntwo\n", &outcome([2, 2]));
        assert_eq!(text.matches("a message").count(), 1, "{text}");
        assert_eq!(text.matches("// ^ finding").count(), 2, "{text}");
    }

    #[test]
    fn what_has_no_line_stands_at_the_end() {
        let outcome = Outcome {
            incomplete: Some(Incomplete {
                message: "the budget ran out".to_owned(),
                party: None,
            }),
            ..Outcome::default()
        };
        assert_eq!(
            annotated("one\n", &outcome),
            "one\n// ^ incomplete: the budget ran out\n// verdict: incomplete\n"
        );
    }
}
