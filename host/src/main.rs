//! The program `nstage`; all of it is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    nstage_host::cli::main()
}
