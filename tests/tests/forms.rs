//! Every instruction function of the device library: what it becomes in PTX, that the instruction table knows it, and that ptxas takes it.

use nstage_builder::{Builder, Target};
use nstage_ptx::ast::{Function, Instruction, Item, Module};
use nstage_ptx::body::Body;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions that carry operands to and results from what an entry is about.
const CARRIERS: &[&str] = &[
    "ld",
    "st",
    "cvta",
    "mov",
    "ret",
    "setp",
    "selp",
    "cvt",
    "and",
    "createpolicy",
];

fn built() -> Module {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Builder::new(root.join("forms"))
        // The oldest PTX that has all forms of the element copies.
        .targets([Target::SM_80
            .with_version(7, 5)
            .expect("later than the lowest")])
        .work_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("nstage"))
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let text = built.ptx()[0].text().expect("read");
    nstage_ptx::parse(&text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn entries(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) if function.is_entry => Some(function),
        _ => None,
    })
}

/// The instructions that an entry is about: not the carriers, unless there is nothing else.
fn subjects<'a>(body: &Body<'a>) -> Vec<&'a Instruction> {
    let of = |carriers: bool| {
        let all = body.lines.iter().map(|line| line.instruction);
        all.filter(move |instruction| carriers || !CARRIERS.contains(&instruction.opcode.as_str()))
            .collect::<Vec<_>>()
    };
    let subjects = of(false);
    if subjects.is_empty() {
        of(true)
    } else {
        subjects
    }
}

/// Registers without their numbers, which other entries move.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(part.len());
        text + "%" + part[..end].trim_end_matches(|c: char| c.is_ascii_digit()) + &part[end..]
    })
}

#[test]
fn every_form_is_what_its_name_says_and_known_to_the_table() {
    let module = built();
    let mut list = String::new();
    let mut unknown = Vec::new();
    for entry in entries(&module) {
        let body = Body::new(entry);
        for line in &body.lines {
            if let Err(error) = nstage_ptx::table::identify(line.instruction) {
                unknown.push(format!("{}: {}: {error}", entry.name, line.instruction));
            }
        }
        let _ = writeln!(list, "{}", entry.name);
        for subject in subjects(&body) {
            let _ = writeln!(list, "    {}", without_numbers(&subject.to_string()));
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let mut entries: Vec<&str> = list.split_inclusive("\n").collect();
    // Sorted by entry: the compiler's order is its own business.
    let mut groups: Vec<String> = Vec::new();
    for line in entries.drain(..) {
        match groups.last_mut() {
            Some(group) if line.starts_with(' ') => group.push_str(line),
            _ => groups.push(line.to_owned()),
        }
    }
    groups.sort();
    insta::assert_snapshot!("forms", groups.concat());
}

#[test]
fn ptxas_takes_every_form() {
    let Some(ptxas) =
        std::env::var_os("NSTAGE_CUDA_BIN").map(|bin| PathBuf::from(bin).join("ptxas"))
    else {
        eprintln!("skipping: needs ptxas (NSTAGE_CUDA_BIN)");
        return;
    };
    let module = built();
    // The architecture that an entry needs leads its name; without one it is the lowest.
    for (target, version) in [("sm_80", (7, 5)), ("sm_90", (8, 0)), ("sm_90a", (8, 0))] {
        let mut own = module.clone();
        let needs = |name: &str| {
            ["sm_90a", "sm_90"]
                .into_iter()
                .find(|&arch| name.starts_with(&format!("{arch}_")))
                .unwrap_or("sm_80")
        };
        own.items.retain(|item| match item {
            Item::Function(function) => !function.is_entry || needs(&function.name) == target,
            _ => true,
        });
        own.target = vec![target.to_owned()];
        own.version = nstage_ptx::ast::Version {
            major: version.0,
            minor: version.1,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("forms.ptx");
        std::fs::write(&path, own.to_string()).expect("written");
        let out = Command::new(&ptxas)
            .args(["--gpu-name", target, "--output-file", "/dev/null"])
            .arg(&path)
            .output()
            .expect("ptxas runs");
        assert!(
            out.status.success(),
            "{target}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}
