//! The program `nstage`: its commands, their flags and how they end.

mod advise;
mod bench;
mod check;
mod devices;
mod doctor;
mod failure;
mod inspect;
mod launch;
mod measure;
mod out;
mod progress;
mod run;
mod selftest;
mod sweep;
mod table;
mod values;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

pub use failure::Failure;
use failure::notice;

/// Runs, verifies and checks N-stage asynchronous-copy kernels.
#[derive(Debug, Parser)]
#[command(name = "nstage", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 all well, 1 wrong result, hazard or trap, 2 bad usage or input, 3 incomplete."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Check(check::Arguments),
    Launch(launch::Arguments),
    Devices(devices::Arguments),
    Doctor(doctor::Arguments),
    Selftest(selftest::Arguments),
    Bench(bench::Arguments),
    Sweep(sweep::Arguments),
    Advise(advise::Arguments),
    Inspect(inspect::Arguments),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => match cli.command {
            Command::Run(arguments) => run::run(&arguments),
            Command::Check(arguments) => check::run(&arguments),
            Command::Launch(arguments) => launch::run(&arguments),
            Command::Devices(arguments) => devices::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Selftest(arguments) => selftest::run(&arguments),
            Command::Bench(arguments) => bench::run(&arguments),
            Command::Sweep(arguments) => sweep::run(&arguments),
            Command::Advise(arguments) => advise::run(&arguments),
            Command::Inspect(arguments) => inspect::run(&arguments),
        },
        Err(error) => explain(&error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Help and version go to standard output as they are; an error becomes one line without the usage below it.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Failure::Usage(
            "no command given; nstage --help lists them".to_owned(),
        )),
        kind => {
            let mut message = one_line(&error.render().to_string());
            if kind == ErrorKind::InvalidSubcommand && !message.contains("; ") {
                message += "; nstage --help lists the commands";
            }
            Err(Failure::Usage(message))
        }
    }
}

/// The error and its hints, without `Usage:` and what follows it.
pub(crate) fn one_line(rendered: &str) -> String {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let lines = text.lines().map(str::trim);
    let said: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    said.join("; ").replace(":; ", ": ").replace("tip: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_usage_error_is_one_line_with_its_hint() {
        for (arguments, expected) in [
            (
                &["nstage", "device"][..],
                "unrecognized subcommand 'device'; some similar subcommands exist: 'advise', 'devices'",
            ),
            (
                &["nstage", "devices", "--format", "xml"],
                "invalid value 'xml' for '--format <FORMAT>'; [possible values: text, json]",
            ),
            (
                &["nstage", "devices", "--formt", "json"],
                "unexpected argument '--formt' found; a similar argument exists: '--format'",
            ),
        ] {
            let error = Cli::try_parse_from(arguments).unwrap_err();
            assert_eq!(one_line(&error.render().to_string()), expected);
        }
    }
}
