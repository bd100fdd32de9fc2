//! nstage's own tasks: build, run, test, check and pack, each with all its set-up.
//!
//! Of `run`, standard output is the program's alone; what a task says of its own work is on standard error, but for the reports of `test` and `ci`.

mod commands;
mod cuda_tools;
mod examples;
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
    CheckCases(commands::check_cases::CheckCases),
    Supported(commands::supported::Supported),
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
        Task::CheckCases(task) => task.run(),
        Task::Supported(task) => task.run(),
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
