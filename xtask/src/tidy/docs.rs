//! What the documentation of an instruction says, and in which order.

use super::{Breach, Source};

/// Where the functions are that this holds for: one for each instruction form.
const FOLDER: &str = "device/src/ptx/";

/// What each of them says, in this order.
const SECTIONS: &[(&str, &str)] = &[
    ("# PTX", "the instruction"),
    ("# Threads", "who must execute it"),
    ("# Safety", "what the caller promises"),
    ("sm_", "the lowest architecture"),
];

/// Every breach in one file.
pub(super) fn check(source: &Source) -> Vec<Breach> {
    if !source.path.starts_with(FOLDER) {
        return Vec::new();
    }
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let functions = source
        .code()
        .filter(|(_, code)| code.trim_start().starts_with("pub unsafe fn "));
    functions
        .filter_map(|(number, code)| {
            // In the macro that makes a function for the host and one for the device, the documentation is handed on.
            let docs = documentation(&lines[..number - 1]);
            if docs.iter().any(|line| line.starts_with("$(#[")) {
                return None;
            }
            let name = code.trim().trim_start_matches("pub unsafe fn ");
            let name = name.split(['(', '<', ' ', '[']).next().unwrap_or(name);
            let problem = problem(&docs)?;
            Some(Breach::at(source, number, format!("`{name}`: {problem}")))
        })
        .collect()
}

/// The documentation and attributes directly above, from the top.
fn documentation<'a>(above: &[&'a str]) -> Vec<&'a str> {
    let mut docs: Vec<&str> = above
        .iter()
        .rev()
        .take_while(|line| {
            ["///", "#[", "$(#["]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .copied()
        .collect();
    docs.reverse();
    docs
}

/// What is missing or out of order.
fn problem(docs: &[&str]) -> Option<String> {
    if docs.is_empty() {
        return Some("is not documented; say what it does".into());
    }
    let text = |line: &str| line.trim_start_matches("///").trim().to_owned();
    if docs
        .first()
        .is_some_and(|line| text(line).starts_with('#') && line.starts_with("///"))
    {
        return Some("starts with a heading; say what it does first".into());
    }
    let mut after = 0;
    for (section, what) in SECTIONS {
        // Where a macro's functions differ in their architecture, each row of it says so.
        let says = |line: &&str| {
            text(line).starts_with(section) || (*section == "sm_" && *line == "#[doc = $since]")
        };
        let Some(at) = docs.iter().rposition(says) else {
            return Some(format!("does not say {what}; write `{section}`"));
        };
        if at < after {
            return Some(format!(
                "says {what} too early; the order is sentence, PTX, threads, safety, sm_"
            ));
        }
        after = at;
    }
    // A heading with nothing below it is a section that says nothing.
    let empty = docs.windows(2).find(|pair| {
        text(pair[0]).starts_with("# ") && pair[0].starts_with("///") && text(pair[1]).is_empty()
    });
    empty.map(|pair| format!("says nothing under `{}`", text(pair[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_is_missed_and_its_order_held() {
        let all = "/// Waits.\n///\n/// # PTX\n/// `w;`\n///\n/// # Threads\n/// All.\n///\n/// # Safety\n/// Nothing to keep.\n///\n/// sm_80\n";
        let swapped = all
            .replace("# PTX", "# X")
            .replace("# Threads", "# PTX")
            .replace("# X", "# Threads");
        let cases = [
            (all.to_owned(), None),
            (String::new(), Some("is not documented")),
            (
                all.replace("/// # PTX\n", ""),
                Some("does not say the instruction"),
            ),
            (
                all.replace("/// # Threads\n", ""),
                Some("does not say who must execute it"),
            ),
            (
                all.replace("/// # Safety\n", ""),
                Some("does not say what the caller promises"),
            ),
            (
                all.replace("/// sm_80\n", ""),
                Some("does not say the lowest architecture"),
            ),
            (swapped, Some("too early")),
            (
                all.replace("/// All.\n", ""),
                Some("says nothing under `# Threads`"),
            ),
            (
                all.replace("/// Waits.\n///\n", ""),
                Some("starts with a heading"),
            ),
            (all.replace("/// Waits.", "#[doc = $what]"), None),
            (all.replace("/// sm_80", "#[doc = $since]"), None),
        ];
        for (docs, expected) in cases {
            let source = |path: &str| Source {
                path: path.into(),
                text: format!("//! Waits.\n\n{docs}pub unsafe fn wait() {{}}\n"),
            };
            let found = check(&source("device/src/ptx/wait.rs"));
            match expected {
                None => assert_eq!(found, [], "{docs}"),
                Some(expected) => assert!(
                    found.len() == 1 && found[0].problem.contains(expected),
                    "{docs}: {found:?}"
                ),
            }
            assert_eq!(check(&source("device/src/view/wait.rs")), []);
        }
    }
}
