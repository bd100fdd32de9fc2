//! What a kernels crate says about its entries, carried in the PTX itself.
//!
//! rustc writes no launch bounds and no alignment of parameters, so a crate states them in a comment that `global_asm!` puts into the PTX, one line an entry:
//!
//! ```text
//! // nstage-entry: NAME requires=sm_90 ptx=8.0 maxntid=256 minnctapersm=2 maxnreg=64 reqnctapercluster=2,1,1 param=3:align=64 local=allow
//! ```
//!
//! Every key is optional, and a bound of 0 is one that is left out, so that a macro can write them all.
//! `maxntid` and `reqnctapercluster` take one to three numbers; `param=I:align=N` may be repeated.
//! `requires=sm_90` keeps the entry out of the files for lower targets, and with `specific=1` out of all but that for `sm_90a`; `ptx=8.0` raises the version of the files that it is in.
//! `local=allow` and `generic-shared=allow` permit what is refused otherwise: local memory, and shared memory read or written by generic instructions.

use nstage_ptx::ast::Version;
use nstage_ptx::comments;
use std::fmt;

/// The key of the comment.
pub const KEY: &str = "nstage-entry";

/// What one entry wants said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The entry.
    pub entry: String,
    /// The lowest architecture that has its instructions: 90 for `sm_90`.
    pub requires: Option<u32>,
    /// Whether only that architecture has them: `sm_90a`.
    pub specific: bool,
    /// The lowest PTX version that has its instructions.
    pub ptx: Option<Version>,
    /// Directives to insert, in the order in which they are written.
    pub directives: Vec<Bound>,
    /// Parameters, from zero, with the alignment that each is given.
    pub aligned_params: Vec<(usize, u32)>,
    /// Whether local memory is meant.
    pub local_allowed: bool,
    /// Whether generic instructions may reach shared memory.
    pub generic_shared_allowed: bool,
    /// The PTX line that says so.
    pub line: u32,
}

/// An entry directive: `.maxntid 256`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// With its dot.
    pub name: &'static str,
    /// One to three numbers.
    pub values: Vec<u64>,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<_> = self.values.iter().map(u64::to_string).collect();
        write!(f, "{} {}", self.name, values.join(", "))
    }
}

/// A declaration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The PTX line.
    pub line: u32,
    /// What is wrong.
    pub problem: String,
}

/// The keys that become a directive, with how many numbers each takes at most.
const BOUNDS: &[(&str, &str, usize)] = &[
    ("maxntid", ".maxntid", 3),
    ("minnctapersm", ".minnctapersm", 1),
    ("maxnreg", ".maxnreg", 1),
    ("reqnctapercluster", ".reqnctapercluster", 3),
];

/// Reads every declaration in a PTX text.
#[must_use]
pub fn read(ptx: &str) -> (Vec<Declaration>, Vec<Unreadable>) {
    let mut declarations: Vec<Declaration> = Vec::new();
    let mut unreadable = Vec::new();
    for comment in comments::directives(ptx, KEY) {
        let (rest, number) = (comment.text, comment.pos.line);
        match one(rest, number) {
            Ok(new) => match declarations.iter().find(|old| old.entry == new.entry) {
                // An assembly block may come out more than once; only two different statements are a fault.
                Some(old)
                    if Declaration {
                        line: old.line,
                        ..new.clone()
                    } == *old => {}
                Some(old) => unreadable.push(Unreadable {
                    line: number,
                    problem: format!(
                        "`{}` is declared otherwise at line {}; declare it once",
                        new.entry, old.line
                    ),
                }),
                None => declarations.push(new),
            },
            Err(problem) => unreadable.push(Unreadable {
                line: number,
                problem,
            }),
        }
    }
    (declarations, unreadable)
}

fn one(text: &str, line: u32) -> Result<Declaration, String> {
    let mut words = text.split_whitespace();
    let entry = words
        .next()
        .ok_or("names no entry; write `nstage-entry: NAME key=value …`")?
        .to_owned();
    let mut declaration = Declaration {
        entry,
        requires: None,
        specific: false,
        ptx: None,
        directives: Vec::new(),
        aligned_params: Vec::new(),
        local_allowed: false,
        generic_shared_allowed: false,
        line,
    };
    for word in words {
        match word {
            "local=allow" => declaration.local_allowed = true,
            "specific=1" => declaration.specific = true,
            "specific=0" => declaration.specific = false,
            "generic-shared=allow" => declaration.generic_shared_allowed = true,
            _ => declaration.read_value(word)?,
        }
    }
    Ok(declaration)
}

impl Declaration {
    /// Reads a word `key=value` with numbers in it.
    fn read_value(&mut self, word: &str) -> Result<(), String> {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("got `{word}`, expected `key=value`"))?;
        if key == "param" {
            // A parameter that keeps the alignment of its type.
            if value.ends_with(":align=0") {
                return Ok(());
            }
            let param = aligned_param(value);
            self.aligned_params.push(param.ok_or_else(|| {
                format!("got `{word}`, expected `param=INDEX:align=POWER_OF_TWO`")
            })?);
            return Ok(());
        }
        if key == "requires" {
            let number = value.strip_prefix("sm_").and_then(|sm| sm.parse().ok());
            self.requires =
                Some(number.ok_or_else(|| format!("got `{word}`, expected `requires=sm_90`"))?);
            return Ok(());
        }
        if key == "ptx" {
            let version = version(value);
            self.ptx = Some(version.ok_or_else(|| format!("got `{word}`, expected `ptx=8.0`"))?);
            return Ok(());
        }
        let Some(&(_, name, most)) = BOUNDS.iter().find(|(known, ..)| *known == key) else {
            let known = "requires=, ptx=, specific=, maxntid=, minnctapersm=, maxnreg=, reqnctapercluster=, param=, local=allow, generic-shared=allow";
            return Err(format!("got `{word}`, expected one of {known}"));
        };
        if value == "0" {
            return Ok(());
        }
        let values = numbers(value).filter(|values| values.len() <= most);
        let values = values.ok_or_else(|| {
            let plural = if most == 1 { "" } else { "s" };
            format!("got `{word}`, expected {most} positive number{plural} at most")
        })?;
        if self.directives.iter().any(|bound| bound.name == name) {
            return Err(format!("`{key}` stands twice; keep one"));
        }
        self.directives.push(Bound { name, values });
        Ok(())
    }
}

/// `8.0`.
fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some(Version {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// Positive numbers with commas between.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let positive = |number: &str| number.parse().ok().filter(|&number| number > 0);
    text.split(',').map(positive).collect()
}

fn aligned_param(text: &str) -> Option<(usize, u32)> {
    let (index, align) = text.split_once(":align=")?;
    let align: u32 = align.parse().ok()?;
    Some((
        index.parse().ok()?,
        Some(align).filter(|align| align.is_power_of_two())?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_declaration_is_read() {
        let text = "\t// nstage-entry: scale_s2 maxntid=128,2 minnctapersm=2 maxnreg=0 reqnctapercluster=2,1,1 param=3:align=64 param=0:align=0 local=allow";
        // An assembly block may come out more than once.
        let (declarations, unreadable) = read(&format!("\n{text}\n{text}\n"));
        assert_eq!(unreadable, []);
        let [declaration] = &declarations[..] else {
            panic!("{declarations:?}")
        };
        assert_eq!(
            (declaration.entry.as_str(), declaration.line),
            ("scale_s2", 2)
        );
        let directives = declaration.directives.iter().map(ToString::to_string);
        assert_eq!(
            directives.collect::<Vec<_>>(),
            [
                ".maxntid 128, 2",
                ".minnctapersm 2",
                ".reqnctapercluster 2, 1, 1"
            ]
        );
        assert_eq!(declaration.aligned_params, [(3, 64)]);
        assert!(declaration.local_allowed && !declaration.generic_shared_allowed);
    }

    #[test]
    fn what_cannot_be_read_says_what_was_expected() {
        let cases = [
            ("", "names no entry"),
            ("k maxntid", "got `maxntid`, expected `key=value`"),
            (
                "k maxntid=0,1",
                "got `maxntid=0,1`, expected 3 positive numbers at most",
            ),
            ("k maxntid=1,2,3,4", "got `maxntid=1,2,3,4`, expected 3"),
            ("k minnctapersm=1,2", "expected 1 positive number at most"),
            ("k maxnreg=64 maxnreg=32", "`maxnreg` stands twice"),
            (
                "k param=3:align=48",
                "expected `param=INDEX:align=POWER_OF_TWO`",
            ),
            (
                "k param=x:align=64",
                "expected `param=INDEX:align=POWER_OF_TWO`",
            ),
            (
                "k local=deny",
                "got `local=deny`, expected one of requires=",
            ),
            ("k colour=red", "got `colour=red`, expected one of"),
        ];
        for (text, expected) in cases {
            let (declarations, unreadable) = read(&format!("// {KEY}: {text}"));
            assert_eq!(declarations, [], "{text}");
            assert!(
                unreadable[0].problem.contains(expected),
                "{text}: {}",
                unreadable[0].problem
            );
        }
        let (_, unreadable) =
            read("// nstage-entry: k maxntid=32\n// nstage-entry: k maxntid=64\n");
        assert_eq!(unreadable[0].line, 2);
        assert!(
            unreadable[0]
                .problem
                .contains("declared otherwise at line 1")
        );
    }
}
