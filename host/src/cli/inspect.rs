//! `nstage inspect`: what a compiled entry is made of and what it takes of a multiprocessor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use nstage_ptx::ast::Module;
use serde::Serialize;

use super::Failure;
use super::out::{self, Format};
use crate::device::hardware::{self, Hardware};

/// The variable that names the folder of NVIDIA's compiler tools.
const TOOLS_VARIABLE: &str = "NSTAGE_CUDA_BIN";

/// First words of the instructions that copy asynchronously or wait for such copies.
const ASYNCHRONOUS: &[&str] = &[
    "cp.async",
    "cp.reduce.async",
    "mbarrier",
    "st.async",
    "red.async",
    "wgmma",
    "fence.proxy.async",
    "barrier.cluster",
];

/// Show what every entry of a PTX file is made of: instructions, registers, memory, occupancy.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage inspect kernels.ptx --entry kernel_async_pipeline_s4_two_p1"
)]
pub(super) struct Arguments {
    /// The PTX file.
    #[arg(value_name = "FILE.ptx")]
    file: PathBuf,
    /// Only this entry.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Threads of a block, for the occupancy.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: u32,
    /// Dynamic shared memory of a block, for the occupancy.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_shared: u32,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What ptxas says of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Compiled {
    registers: u32,
    shared_bytes: u32,
    local_bytes: u32,
    spill_stores: u32,
    spill_loads: u32,
}

/// One entry.
#[derive(Debug, Serialize)]
struct Inspected {
    entry: String,
    version: String,
    target: String,
    asynchronous: BTreeMap<String, usize>,
    /// `None` where there is no ptxas.
    compiled: Option<Compiled>,
    /// Blocks at once by architecture; `None` where the registers are not known.
    occupancy: Option<BTreeMap<String, u32>>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.file;
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("{}: cannot be read: {error}", path.display())))?;
    let module = nstage_ptx::parse(&text)
        .map_err(|errors| Failure::Usage(format!("{}: is not PTX: {errors}", path.display())))?;
    let names: Vec<String> = match &arguments.entry {
        Some(name) => vec![name.clone()],
        None => module.entries().map(|entry| entry.name.clone()).collect(),
    };
    let compiled = compile(&module, path)?;
    for name in names {
        let found = inspect(&module, &name, compiled.as_ref(), arguments)
            .map_err(|reason| Failure::Usage(format!("{}: {reason}", path.display())))?;
        match arguments.format {
            Format::Json => out::json(&found)?,
            Format::Text => print(&found, arguments)?,
        }
    }
    Ok(())
}

fn inspect(
    module: &Module,
    name: &str,
    compiled: Option<&BTreeMap<String, Compiled>>,
    arguments: &Arguments,
) -> Result<Inspected, String> {
    let mut alone = module.clone();
    alone
        .retain_entry(name)
        .map_err(|error| error.to_string())?;
    let compiled = compiled.and_then(|all| all.get(name)).copied();
    let occupancy = compiled.map(|compiled| {
        let shared = compiled.shared_bytes + arguments.dynamic_shared;
        let each = hardware::capabilities().map(|capability| {
            let blocks = Hardware::of_capability(capability).occupancy(
                arguments.block,
                compiled.registers,
                shared,
            );
            (format!("sm_{capability}"), blocks)
        });
        each.collect()
    });
    Ok(Inspected {
        entry: name.to_owned(),
        version: format!("{}.{}", module.version.major, module.version.minor),
        target: module.target.join(", "),
        asynchronous: asynchronous(&alone.to_string()),
        compiled,
        occupancy,
    })
}

/// Asynchronous instructions of a text by their opcode.
fn asynchronous(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let words = line.split_whitespace();
        // A predicate stands before the opcode.
        let Some(word) = words.into_iter().find(|word| !word.starts_with('@')) else {
            continue;
        };
        let opcode = word.trim_end_matches(';');
        let is = |start: &&str| {
            let rest = opcode.strip_prefix(*start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if ASYNCHRONOUS.iter().any(is) {
            *found.entry(opcode.to_owned()).or_insert(0) += 1;
        }
    }
    found
}

/// A tool of NVIDIA's: in the folder that the variable names, or on the path.
fn tool(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(TOOLS_VARIABLE).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named.into_iter().chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// What ptxas says of every entry; `None` where it is not there or refuses the file.
fn compile(module: &Module, path: &Path) -> Result<Option<BTreeMap<String, Compiled>>, Failure> {
    let Some(ptxas) = tool("ptxas") else {
        return Ok(None);
    };
    let target = module.target.first().map_or("sm_80", String::as_str);
    let done = Command::new(&ptxas)
        .args([
            "--verbose",
            "--output-file",
            "/dev/null",
            "--gpu-name",
            target,
        ])
        .arg(path)
        .output()
        .map_err(|error| Failure::Usage(format!("{}: {error}", ptxas.display())))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(Failure::Usage(format!(
            "ptxas refuses {}: {said}",
            path.display()
        )));
    }
    Ok(Some(read_ptxas(&said)))
}

/// The verbose output of ptxas.
fn read_ptxas(said: &str) -> BTreeMap<String, Compiled> {
    let mut found: BTreeMap<String, Compiled> = BTreeMap::new();
    let mut entry = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().unwrap_or_default().to_owned();
            found.entry(entry.clone()).or_default();
        }
        let Some(compiled) = found.get_mut(&entry) else {
            continue;
        };
        let mut before = |text: &str, field: fn(&mut Compiled) -> &mut u32| {
            let number = line
                .split(text)
                .next()
                .filter(|head| head.len() < line.len());
            let digits = number.and_then(|head| head.rsplit([' ', ',']).next());
            if let Some(value) = digits.and_then(|digits| digits.parse().ok()) {
                *field(compiled) = value;
            }
        };
        before(" registers", |c| &mut c.registers);
        before(" bytes smem", |c| &mut c.shared_bytes);
        before(" bytes stack frame", |c| &mut c.local_bytes);
        before(" bytes spill stores", |c| &mut c.spill_stores);
        before(" bytes spill loads", |c| &mut c.spill_loads);
    }
    found
}

fn print(found: &Inspected, arguments: &Arguments) -> Result<(), Failure> {
    out::line(&format!(
        "{}: PTX {}, {}",
        found.entry, found.version, found.target
    ))?;
    match &found.compiled {
        Some(c) => out::line(&format!(
            "    {} registers, {} B static shared, {} B local, {} B + {} B spilled",
            c.registers, c.shared_bytes, c.local_bytes, c.spill_stores, c.spill_loads
        ))?,
        None => out::line(&format!(
            "    registers not known: no ptxas on the path or in {TOOLS_VARIABLE}"
        ))?,
    }
    if let Some(occupancy) = &found.occupancy {
        let each: Vec<String> = occupancy
            .iter()
            .map(|(sm, n)| format!("{sm} {n}"))
            .collect();
        out::line(&format!(
            "    blocks of {} with {} B dynamic shared at once: {}",
            arguments.block,
            arguments.dynamic_shared,
            each.join(", ")
        ))?;
    }
    for (opcode, count) in &found.asynchronous {
        out::line(&format!("    {count:>4} × {opcode}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asynchronous_instructions_are_counted_by_kind() {
        let text = "  cp.async.cg.shared.global [%r1], [%rd1], 16;\n  @%p1 cp.async.cg.shared.global [%r1], [%rd1], 16;\n  cp.async.commit_group;\n  cp.asynchronous;\n  ld.global.f32 %f1, [%rd1];\n";
        let expected = BTreeMap::from([
            ("cp.async.cg.shared.global".to_owned(), 2),
            ("cp.async.commit_group".to_owned(), 1),
        ]);
        assert_eq!(asynchronous(text), expected);
    }

    #[test]
    fn the_words_of_ptxas_are_read() {
        let said = "ptxas info    : Compiling entry function 'first' for 'sm_90'\n\
            ptxas info    : Function properties for first\n\
            \x20   8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 40 registers, used 1 barriers, 8 bytes stack frame, 1024 bytes smem\n\
            ptxas info    : Compiling entry function 'second' for 'sm_90'\n\
            ptxas info    : Used 16 registers\n";
        let found = read_ptxas(said);
        let first = Compiled {
            registers: 40,
            shared_bytes: 1024,
            local_bytes: 8,
            spill_stores: 4,
            spill_loads: 12,
        };
        assert_eq!(found["first"], first);
        let second = Compiled {
            registers: 16,
            ..Compiled::default()
        };
        assert_eq!(found["second"], second);
    }
}
