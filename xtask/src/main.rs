//! nstage's own tasks: build, run, test, check and pack, each with all its set-up.
//!
//! Standard output belongs to the program that a task runs; a task itself speaks on standard error.

mod commands;
mod cuda_tools;
mod golden;
mod process;
mod steps;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// nstage's own tasks.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Run(commands::run::Run),
    Test(commands::test::Test),
    Ci(commands::ci::Ci),
    Setup(commands::setup::Setup),
    Ptx(commands::ptx::Ptx),
    Tidy(commands::tidy::Tidy),
    Dist(commands::dist::Dist),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Run(task) => task.run(),
        Task::Test(task) => task.run(),
        Task::Ci(task) => task.run(),
        Task::Setup(task) => task.run(),
        Task::Ptx(task) => task.run(),
        Task::Tidy(task) => task.run(),
        Task::Dist(task) => task.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;

    #[test]
    fn every_task_shows_an_example() {
        Arguments::command().debug_assert();
        for task in Arguments::command().get_subcommands() {
            let help = task
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let example = format!("Example: cargo xtask {}", task.get_name());
            assert!(help.starts_with(&example), "{}: {help:?}", task.get_name());
        }
    }
}
