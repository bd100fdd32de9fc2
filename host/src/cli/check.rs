//! `nstage check`: runs any PTX on the CPU and reports what breaks the rules of asynchronous copies.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use nstage_sim::{Landing, Outcome, Verdict};

use super::out::{self, Format};
use super::{Failure, notice};
use crate::check::flags::{Dump, Flags, Landings};
use crate::check::place::Buffer;
use crate::check::report::{self, Report};
use crate::check::{Check, Run, annotated};
use crate::io::Output;

/// Check a PTX file for hazards of asynchronous copies, by running it on the CPU.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage check kernel.ptx --grid 2 --block 128 --arg 'f32[1024]=zero' --arg 'f32[1024]=ramp' --arg u32=1024\n\
    A file may hold its own flags: // nstage: --grid 2 --block 128"
)]
pub(super) struct Arguments {
    /// The PTX.
    #[arg(value_name = "FILE.ptx", required_unless_present = "annotate")]
    file: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
    /// Write an argument's buffer after the run: its number, from zero, and a file.
    #[arg(long = "dump", value_name = "INDEX=FILE.npy")]
    dumps: Vec<Dump>,
    /// Print the PTX with the findings as comments instead of the report; with OUT, write it there beside the report.
    #[arg(long, value_name = "OUT", num_args = 0..=1)]
    annotate: Option<Option<PathBuf>>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Where the annotated PTX goes.
enum Annotate<'a> {
    /// Nowhere: it was not asked for.
    No,
    /// To standard output, in place of the report.
    Print,
    /// Into this file, beside the report.
    Write(&'a Path),
}

impl Arguments {
    /// The PTX and where the annotated one goes. In `--annotate kernel.ptx` alone the file is the input: an output needs an input beside it.
    fn files(&self) -> Result<(&Path, Annotate<'_>), Failure> {
        match (&self.file, &self.annotate) {
            (Some(file), None) => Ok((file, Annotate::No)),
            (Some(file), Some(None)) | (None, Some(Some(file))) => Ok((file, Annotate::Print)),
            (Some(file), Some(Some(out))) => {
                let same = |a: &Path, b: &Path| {
                    let real = |path: &Path| std::fs::canonicalize(path).ok();
                    a == b || real(a).is_some_and(|a| Some(a) == real(b))
                };
                if same(file, out) {
                    return Err(Failure::Usage(format!(
                        "--annotate {}: is the PTX itself; name another file",
                        out.display()
                    )));
                }
                Ok((file, Annotate::Write(out)))
            }
            (None, _) => Err(Failure::Usage(
                "no file to check; name one: nstage check kernel.ptx".to_owned(),
            )),
        }
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (path, annotate) = arguments.files()?;
    if matches!(annotate, Annotate::Print) && arguments.format == Format::Json {
        return Err(Failure::Usage(
            "--annotate prints PTX, not JSON; name a file for it, or leave --format out".to_owned(),
        ));
    }
    let file = path.display().to_string();
    let usage = |message: String| Failure::Usage(format!("{file}: {message}"));
    let text = read_text(path).map_err(usage)?;
    let check = Check::with_flags(&text, arguments.flags.clone()).map_err(usage)?;
    let dumps = claim_dumps(&arguments.dumps, check.flags().args.len())?;
    let copy = match annotate {
        Annotate::Write(out) => Some(Output::claim_text(out)?),
        _ => None,
    };
    let run = judge(&check).map_err(usage)?;
    for (dump, output) in arguments.dumps.iter().zip(dumps) {
        write_dump(dump, output, &run)?;
    }
    let outcome = &run.outcome;
    if let Some(copy) = copy {
        copy.write_with(|sink| sink.write_all(annotated(&text, outcome).as_bytes()))?;
    }
    match (annotate, arguments.format) {
        (Annotate::Print, _) => out::line(&annotated(&text, outcome))?,
        (_, Format::Text) => out::line(&report::text(&file, check.entry(), outcome))?,
        (_, Format::Json) => out::json(&Report::new(&file, check.entry(), outcome))?,
    }
    match outcome.verdict() {
        _ if report::passes(outcome, check.flags().strict) => Ok(()),
        Verdict::Incomplete => Err(Failure::Incomplete),
        _ => Err(Failure::Verdict),
    }
}

/// Bytes of PTX that are read at most: a hundred times what a large library of kernels comes to.
const MOST_TEXT: u64 = 1 << 28;

/// The text of a PTX file, which may be a pipe.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_TEXT + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > MOST_TEXT => Err(format!(
            "holds more than {MOST_TEXT} bytes, which is no PTX that a driver takes; check the path"
        )),
        Ok(_) => Ok(text),
        Err(error) => Err(format!(
            "cannot be read: {error}; check the path and that it holds text"
        )),
    }
}

/// Runs the check under each landing that the flags ask for, and answers the worst run.
fn judge(check: &Check) -> Result<Run, String> {
    let landings = check
        .flags()
        .landing
        .unwrap_or(Landings::One(Landing::Late));
    let mut worst: Option<Run> = None;
    for landing in landings.each() {
        let run = check.run(landing)?;
        // A rule that is broken must be broken whenever copies land.
        if let Some(worst) = &worst {
            disagreement(&worst.outcome, &run.outcome, landing);
        }
        worst = match worst {
            Some(worst) if rank(&worst.outcome) >= rank(&run.outcome) => Some(worst),
            _ => Some(run),
        };
    }
    worst.ok_or_else(|| "no landing was asked for".to_owned())
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

/// Makes sure, before the run, that the dumps can be written.
pub(super) fn claim_dumps(dumps: &[Dump], args: usize) -> Result<Vec<Output>, Failure> {
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
    dumps.iter().map(claim).collect()
}

fn write_dump(dump: &Dump, output: Output, run: &Run) -> Result<(), Failure> {
    let Some(Some(Buffer { address, ty, count })) = run.placed.buffers.get(dump.argument) else {
        return Err(no_buffer(dump));
    };
    let mut bytes = vec![0; *count as usize * ty.bytes()];
    run.memory
        .read(*address, &mut bytes)
        .map_err(|error| Failure::Usage(format!("--dump {}: {error}", dump.argument)))?;
    Ok(output.write_with(|sink| ty.write_npy(&bytes, sink))?)
}

/// The refusal to write an argument that has no buffer.
pub(super) fn no_buffer(dump: &Dump) -> Failure {
    Failure::Usage(format!(
        "--dump {}: argument {} passes no buffer",
        dump.argument, dump.argument
    ))
}
