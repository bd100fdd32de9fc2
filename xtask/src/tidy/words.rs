//! Words that must be absent from a folder.

use super::{Breach, Source};

/// A word and where it must not stand.
struct Rule {
    word: &'static str,
    /// Prefixes of paths; an empty one covers everything.
    folders: &'static [&'static str],
    /// Whether comments and tests are looked at too.
    everywhere: bool,
    remedy: &'static str,
}

const NO_HOST: &str = "device code names no host type; keep it in host/";
const NO_IO: &str = "this crate does no input or output; take the data as an argument";
const NO_KERNELS: &str = "this crate knows no kernel of ours; let the caller name it";
const NOT_OURS: &str = "that place exists on one machine only; name it by what it is";

/// The rules. Words that would be found in this very table are put together from halves.
const RULES: &[Rule] = &[
    code(
        "asm!(",
        &["kernels/"],
        "kernels contain no assembly; add an intrinsic to device/src/ptx/",
    ),
    code("std::", &["device/src/", "kernels/src/"], NO_HOST),
    code(
        "extern crate std",
        &["device/src/", "kernels/src/"],
        NO_HOST,
    ),
    code(
        "alloc::",
        &["device/src/", "kernels/src/"],
        "device code allocates nothing",
    ),
    code("std::fs", &["ptx/src/", "sim/src/"], NO_IO),
    code("std::net", &["ptx/src/", "sim/src/"], NO_IO),
    code("std::env", &["ptx/src/", "sim/src/"], NO_IO),
    code(
        "println!",
        &["ptx/src/", "sim/src/", "builder/src/checks/"],
        NO_IO,
    ),
    code(
        "libloading",
        &["ptx/", "sim/", "builder/", "device/", "kernels/"],
        "only host loads a driver",
    ),
    code(
        "kernel_async_pipeline",
        &["ptx/src/", "sim/src/", "builder/src/"],
        NO_KERNELS,
    ),
    code(
        "kernel_sync",
        &["ptx/src/", "sim/src/", "builder/src/"],
        NO_KERNELS,
    ),
    all(concat!("/wo", "rk/"), NOT_OURS),
    all(concat!("/ro", "ot/"), NOT_OURS),
    all(
        concat!("#[ig", "nore"),
        "an ignored test rots; mend it, or skip it with a printed reason",
    ),
    all(concat!("to", "do!("), "write it, or leave it out"),
    all(concat!("unimpl", "emented!("), "write it, or leave it out"),
];

const fn code(word: &'static str, folders: &'static [&'static str], remedy: &'static str) -> Rule {
    Rule {
        word,
        folders,
        everywhere: false,
        remedy,
    }
}

const fn all(word: &'static str, remedy: &'static str) -> Rule {
    Rule {
        word,
        folders: &[""],
        everywhere: true,
        remedy,
    }
}

/// Every breach in one file.
pub(super) fn check(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for rule in RULES.iter().filter(|rule| {
        rule.folders
            .iter()
            .any(|folder| source.path.starts_with(folder))
    }) {
        let lines: Vec<_> = match (rule.everywhere, source.is_rust()) {
            (true, _) => source.lines().collect(),
            (false, true) => source.code().collect(),
            (false, false) => continue,
        };
        let found = lines
            .into_iter()
            .filter(|(_, line)| stands_in(rule.word, line));
        breaches.extend(found.map(|(line, _)| {
            Breach::at(source, line, format!("`{}`: {}", rule.word, rule.remedy))
        }));
    }
    breaches
}

/// Whether a word stands in a line, not merely the end of a longer one.
fn stands_in(word: &str, line: &str) -> bool {
    let part_of_name = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        let starts_with_letter = word.starts_with(part_of_name);
        !starts_with_letter || !line[..at].ends_with(part_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_are_forbidden() {
        let cases = [
            ("kernels/src/a.rs", "unsafe { asm!(\"\") }", 1),
            ("kernels/src/a.rs", "// asm!( is forbidden", 0),
            ("device/src/a.rs", "asm!(\"\")", 0),
            ("kernels/src/a.rs", "global_asm!(\"\")", 0),
            ("device/src/a.rs", "use std::fmt;", 1),
            ("device/src/a.rs", "use core::fmt; // not std::fmt", 0),
            (
                "device/src/a.rs",
                "#[cfg(test)]\nmod tests { use std::fmt; }",
                0,
            ),
            ("sim/src/a.rs", "std::fs::read(path)", 1),
            ("host/src/a.rs", "std::fs::read(path)", 0),
            ("README.md", concat!("see /wo", "rk/main"), 1),
            ("README.md", "an artwork/file", 0),
        ];
        for (path, text, expected) in cases {
            let found = check(&Source {
                path: path.into(),
                text: text.into(),
            });
            assert_eq!(found.len(), expected, "{path}: {text}: {found:?}");
        }
    }
}
