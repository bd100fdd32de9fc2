//! What every Rust file looks like: module docs, size, reasons.

use super::{Breach, Source};

/// The most lines a file may have.
const MOST_LINES: usize = 800;

/// Flat tables, which may be longer: nothing in them is read from top to bottom.
const FLAT_TABLES: &[&str] = &[
    "ptx/src/table/",
    "ptx/src/table.rs",
    "host/src/driver/forward.rs",
    "kernels/src/lib.rs",
];

/// How far above an `unsafe` block its reason may stand, attributes and the statement's own lines between.
const REASON_WITHIN: usize = 8;

/// Every breach in one file.
pub(super) fn check(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let lines: Vec<&str> = source.text.lines().collect();
    if !lines
        .iter()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.starts_with("//!"))
    {
        breaches.push(Breach::at(
            source,
            1,
            "starts without `//!`; say what the module is for",
        ));
    }
    if lines.len() > MOST_LINES
        && !FLAT_TABLES
            .iter()
            .any(|table| source.path.starts_with(table))
    {
        breaches.push(Breach::at(
            source,
            lines.len(),
            format!(
                "has {} lines, at most {MOST_LINES}; split it by concern",
                lines.len()
            ),
        ));
    }
    for (index, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        if opens_unsafe(code) && !has_reason(&lines, index) {
            breaches.push(Breach::at(
                source,
                index + 1,
                "`unsafe` without `// SAFETY:` above it; say why the obligation holds here",
            ));
        }
        if opens_allowance(code) && !attribute(&lines[index..]).contains("reason =") {
            breaches.push(Breach::at(
                source,
                index + 1,
                "an allowance without `reason = \"…\"`; say why it is right here",
            ));
        }
    }
    breaches
}

/// Whether a line opens an unsafe block or implementation; functions state their contract in `# Safety` instead.
fn opens_unsafe(code: &str) -> bool {
    ["unsafe {", "unsafe impl"].iter().any(|word| {
        code.match_indices(word).any(|(at, _)| {
            let before = &code[..at];
            // Inside a string it is text.
            before.matches('"').count().is_multiple_of(2)
                && !before
                    .ends_with(|character: char| character.is_alphanumeric() || character == '_')
        })
    })
}

/// Whether the reason stands on the line or above it, with nothing blank between.
fn has_reason(lines: &[&str], index: usize) -> bool {
    let above = lines[..index]
        .iter()
        .rev()
        .take(REASON_WITHIN)
        .take_while(|line| !line.trim().is_empty());
    std::iter::once(&lines[index])
        .chain(above)
        .any(|line| line.contains("SAFETY:"))
}

fn opens_allowance(code: &str) -> bool {
    let code = code.trim_start();
    ["#[allow(", "#![allow(", "#[expect(", "#![expect("]
        .iter()
        .any(|word| code.starts_with(word))
}

/// An attribute that may go over several lines, up to its end.
fn attribute(lines: &[&str]) -> String {
    let end = lines
        .iter()
        .position(|line| line.contains(")]"))
        .map_or(lines.len(), |end| end + 1);
    lines[..end].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_finds_its_breach_and_nothing_else() {
        let long = format!("//! Long.\n{}", "\n".repeat(MOST_LINES));
        let cases = [
            ("a.rs", "//! Says what it is for.\n", None),
            ("a.rs", "\nuse core::fmt;\n", Some("starts without `//!`")),
            ("a.rs", long.as_str(), Some("has 801 lines, at most 800")),
            ("ptx/src/table/loads.rs", long.as_str(), None),
            (
                "a.rs",
                "//! A.\nlet a = unsafe { f() };\n",
                Some("`unsafe` without"),
            ),
            (
                "a.rs",
                "//! A.\n// SAFETY: f has no obligation.\nlet a = unsafe { f() };\n",
                None,
            ),
            (
                "a.rs",
                "//! A.\n// SAFETY: too far away.\n\nlet a = unsafe { f() };\n",
                Some("`unsafe` without"),
            ),
            (
                "a.rs",
                "//! A.\nunsafe impl Send for A {}\n",
                Some("`unsafe` without"),
            ),
            ("a.rs", "//! A.\nlet text = \"unsafe { f() }\";\n", None),
            (
                "a.rs",
                "//! A.\n#[allow(dead_code)]\n",
                Some("allowance without"),
            ),
            (
                "a.rs",
                "//! A.\n#[allow(\n    dead_code,\n    reason = \"kept for the printer\"\n)]\n",
                None,
            ),
        ];
        for (path, text, expected) in cases {
            let found = check(&Source {
                path: path.into(),
                text: text.into(),
            });
            match expected {
                None => assert_eq!(found, [], "{text}"),
                Some(expected) => assert!(
                    found.len() == 1 && found[0].problem.contains(expected),
                    "{text}: {found:?}"
                ),
            }
        }
    }
}
