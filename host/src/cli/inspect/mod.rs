//! `nstage inspect`: what a compiled entry is made of and what it takes of a multiprocessor.

mod compiled;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use nstage_ptx::ast::Module;
use serde::Serialize;

use self::compiled::Compiled;
use super::Failure;
use super::out::{self, Format};
use crate::device::hardware::{self, Hardware};
use crate::tools;

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
    /// Also print the machine code.
    #[arg(long)]
    sass: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
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
    let compiled = compiled::compile(&module, path)?;
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
    let compiled = compiled.and_then(|all| all.get(name)).cloned();
    let occupancy = compiled.as_ref().map(|compiled| {
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
            "    registers not known: no ptxas on the path or in {}; see `nstage doctor`",
            tools::FOLDER_VARIABLE
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
    let sass = found.compiled.as_ref().and_then(|c| c.sass.as_ref());
    if let Some(sass) = sass {
        let each = sass
            .told
            .iter()
            .map(|(opcode, n)| format!("{n} × {opcode}"));
        let each: Vec<String> = each.collect();
        out::line(&format!(
            "    machine code: {} instructions, {}",
            sass.instructions,
            if each.is_empty() {
                "none of them asynchronous".to_owned()
            } else {
                each.join(", ")
            }
        ))?;
        if arguments.sass {
            for line in &sass.lines {
                out::line(&format!("        {line}"))?;
            }
        }
    } else if arguments.sass {
        out::line("    machine code not known: no ptxas and cuobjdump; see `nstage doctor`")?;
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
}
