//! `nstage check`: runs any PTX on the CPU and reports what breaks the rules of asynchronous copies.

mod flags;
mod header;
mod number;
mod place;
mod report;
mod spec;

use std::path::PathBuf;

use clap::Args;
use nstage_sim::check::Policy;
use nstage_sim::{Dim3, GlobalMemory, Landing, Launch, Options, Outcome, Program, Verdict};

use self::flags::{Dump, Flags, Landings};
use self::place::{Buffer, Placed};
use self::report::Report;
use super::out::{self, Format};
use super::{Failure, notice};
use crate::io::Output;

/// Check a PTX file for hazards of asynchronous copies, by running it on the CPU.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage check kernel.ptx --grid 2 --block 128 --arg 'f32[1024]=zero' --arg 'f32[1024]=ramp' --arg u32=1024\n\
    A file may hold its own flags: // nstage: --grid 2 --block 128"
)]
pub(super) struct Arguments {
    /// The PTX.
    #[arg(value_name = "FILE.ptx")]
    file: PathBuf,
    #[command(flatten)]
    flags: Flags,
    /// Write an argument's buffer after the run: its number, from zero, and a file.
    #[arg(long = "dump", value_name = "INDEX=FILE.npy")]
    dumps: Vec<Dump>,
    /// Print the PTX with the findings as comments instead of the report.
    #[arg(long, conflicts_with = "format")]
    annotate: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A launch that has been read and fits its program.
struct Ready {
    program: Program,
    entry: String,
    flags: Flags,
    policy: Policy,
    launch: Launch,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.file.display().to_string();
    let usage = |message: String| Failure::Usage(format!("{file}: {message}"));
    let text = std::fs::read_to_string(&arguments.file).map_err(|error| {
        usage(format!(
            "cannot be read: {error}; check the path and that it holds text"
        ))
    })?;
    let ready = prepare(arguments, &text).map_err(usage)?;
    let dumps = claim_dumps(arguments, ready.flags.args.len())?;
    let mut judged: Option<(Outcome, GlobalMemory, Placed)> = None;
    for landing in ready
        .flags
        .landing
        .unwrap_or(Landings::One(Landing::Late))
        .each()
    {
        let mut memory = GlobalMemory::new();
        let placed = place::place(&ready.flags.args, &mut memory).map_err(usage)?;
        let launch = Launch {
            params: placed.params.clone(),
            ..ready.launch.clone()
        };
        launch
            .check(&ready.program)
            .map_err(|error| usage(error.to_string()))?;
        let options = Options {
            landing,
            max_steps: ready.flags.max_steps,
            ..Options::default()
        };
        let outcome = nstage_sim::run_with_policy(
            &ready.program,
            &mut memory,
            &launch,
            &options,
            &ready.policy,
        );
        judged = Some(match judged {
            // The worst is kept; a rule that is broken must be broken whenever copies land.
            Some(earlier) if rank(&earlier.0) >= rank(&outcome) => {
                disagreement(&earlier.0, &outcome, landing);
                earlier
            }
            earlier => {
                if let Some(earlier) = earlier {
                    disagreement(&earlier.0, &outcome, landing);
                }
                (outcome, memory, placed)
            }
        });
    }
    let Some((outcome, memory, placed)) = judged else {
        return Ok(());
    };
    for (dump, output) in arguments.dumps.iter().zip(dumps) {
        write_dump(dump, output, &memory, &placed)?;
    }
    if arguments.annotate {
        out::line(&report::annotated(&text, &outcome))?;
    } else {
        match arguments.format {
            Format::Text => out::line(&report::text(&file, &ready.entry, &outcome))?,
            Format::Json => out::json(&Report::new(&file, &ready.entry, &outcome))?,
        }
    }
    match outcome.verdict() {
        _ if report::passes(&outcome, ready.flags.strict) => Ok(()),
        Verdict::Incomplete => Err(Failure::Incomplete),
        _ => Err(Failure::Verdict),
    }
}

/// How bad an outcome is.
fn rank(outcome: &Outcome) -> u8 {
    match outcome.verdict() {
        Verdict::Clean => 0,
        Verdict::Incomplete => 1,
        Verdict::Trap => 2,
        Verdict::Hazard => 3,
    }
}

fn disagreement(earlier: &Outcome, outcome: &Outcome, landing: Landing) {
    let (before, now) = (earlier.verdict(), outcome.verdict());
    if before != now {
        notice(&format!(
            "the verdict is {before} with one landing and {now} with {landing:?}: values decide a branch"
        ));
    }
}

/// Reads the file and the flags, and decodes the entry.
fn prepare(arguments: &Arguments, text: &str) -> Result<Ready, String> {
    let flags = arguments.flags.clone().or(Flags::in_file(text)?);
    let policy = flags.policy()?;
    let module = nstage_ptx::parse(text).map_err(|errors| first_of(&errors))?;
    let entry = match &flags.entry {
        Some(name) => module
            .entry(name)
            .map_err(|error| error.to_string())?
            .name
            .clone(),
        None => {
            let names: Vec<&str> = module.entries().map(|entry| entry.name.as_str()).collect();
            match names.as_slice() {
                [] => return Err("has no .entry to run".to_owned()),
                [one] => (*one).to_owned(),
                several => {
                    return Err(format!(
                        "has several entries; pass --entry {}",
                        several.join(" or --entry ")
                    ));
                }
            }
        }
    };
    let program = Program::compile(&module, &entry).map_err(|error| error.to_string())?;
    let missing = |flag: &str| {
        format!("--{flag} is missing; pass it, or write it into the file: // nstage: --{flag} 128")
    };
    let launch = Launch {
        grid: flags.grid.ok_or_else(|| missing("grid"))?.0,
        block: flags.block.ok_or_else(|| missing("block"))?.0,
        cluster: flags.cluster.map_or(Dim3::ONE, |cluster| cluster.0),
        dynamic_shared: flags.dynamic_shared.unwrap_or(0),
        params: Vec::new(),
    };
    Ok(Ready {
        program,
        entry,
        flags,
        policy,
        launch,
    })
}

/// The first mistake in a text, in one line, and how many there are.
fn first_of(errors: &nstage_ptx::ParseErrors) -> String {
    let Some(first) = errors.errors.first() else {
        return errors.to_string();
    };
    let more = match errors.errors.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more error)".to_owned(),
        more => format!(" (and {more} more errors)"),
    };
    format!(
        "line {}, column {}: got {}, expected {}{more}",
        first.pos.line, first.pos.column, first.found, first.expected
    )
}

/// Makes sure, before the run, that the dumps can be written.
fn claim_dumps(arguments: &Arguments, args: usize) -> Result<Vec<Output>, Failure> {
    let claim = |dump: &Dump| {
        if dump.argument >= args {
            return Err(Failure::Usage(format!(
                "--dump {}: there is no argument {}, the last is {}",
                dump.argument,
                dump.argument,
                args as i64 - 1
            )));
        }
        Ok(Output::claim(&dump.path)?)
    };
    arguments.dumps.iter().map(claim).collect()
}

fn write_dump(
    dump: &Dump,
    output: Output,
    memory: &GlobalMemory,
    placed: &Placed,
) -> Result<(), Failure> {
    let Some(Some(Buffer { address, ty, count })) = placed.buffers.get(dump.argument) else {
        return Err(Failure::Usage(format!(
            "--dump {}: argument {} passes no buffer",
            dump.argument, dump.argument
        )));
    };
    let mut bytes = vec![0; *count as usize * ty.bytes()];
    memory
        .read(*address, &mut bytes)
        .map_err(|error| Failure::Usage(format!("--dump {}: {error}", dump.argument)))?;
    Ok(output.write_with(|sink| ty.write_npy(&bytes, sink))?)
}
