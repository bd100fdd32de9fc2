//! The command line of `nstage` as its users meet it: output, exit codes, and one line for every mistake.

mod advise;
mod check;
mod devices;
mod doctor;
mod inspect;
mod launch;
mod refusals;
mod run;
mod selftest;

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a run of the program left.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

/// The program with these arguments, on a machine without a driver.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nstage-under-test"));
    command.args(arguments).stdin(Stdio::null());
    // The same answers on a machine with a driver.
    command.env("NSTAGE_LIBCUDA", "/nonexistent/libcuda.so.1");
    command
}

/// Runs the program.
fn nstage(arguments: &[&str]) -> Ran {
    Ran::of(command(arguments))
}

impl Ran {
    /// Runs the command.
    fn of(mut command: Command) -> Self {
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("standard output is text"),
            err: String::from_utf8(output.stderr).expect("standard error is text"),
        }
    }

    /// Asserts the exit code, showing everything where it differs.
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\nstdout:\n{}\nstderr:\n{}",
            self.out,
            self.err
        );
        self
    }

    /// Each line of standard output as JSON.
    fn json(&self) -> Vec<serde_json::Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("each line is one object"))
            .collect()
    }
}

/// A file of `tests/data`.
fn data(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "data", name].iter().collect();
    path.to_str().expect("the path is text").to_owned()
}
