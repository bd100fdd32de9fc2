//! `nstage doctor`: what this machine has, what is needed, and the command that mends it.

use clap::Args;

use super::Failure;
use super::out::{self, Format};
use crate::doctor::{self, Check, Facts, State};

/// Say what this machine has for each part of nstage, what is needed, and the command that mends it.
#[derive(Debug, Args)]
#[command(
    after_help = "Ends with 1 where a part is there and of no use; what is merely missing is no fault."
)]
pub(super) struct Arguments {
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let checks = doctor::examine(&Facts::gather());
    for check in &checks {
        match arguments.format {
            Format::Json => out::json(check)?,
            Format::Text => print(check)?,
        }
    }
    if checks.iter().any(|check| check.state == State::Broken) {
        return Err(Failure::Verdict);
    }
    Ok(())
}

fn print(check: &Check) -> std::io::Result<()> {
    let word = check.state.word();
    out::line(&format!("{:<18} {word:<8} {}", check.part, check.found))?;
    if let Some(remedy) = &check.remedy {
        out::line(&format!("{:27} needed: {}", "", check.needed))?;
        out::line(&format!("{:27} mend:   {remedy}", ""))?;
    }
    Ok(())
}
