//! The program `nstage`, once more, so that the tests of its command line have it whatever else is built.

use std::process::ExitCode;

fn main() -> ExitCode {
    nstage_host::cli::main()
}
