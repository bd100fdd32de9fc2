//! Runs cargo inside cargo.
//!
//! A build script inherits the environment of the build that it belongs to: flags, wrappers, profile settings and the target folder of the host.
//! None of them must reach the device build, so all of cargo's own variables go except those that say how the network and the registries are reached.

use crate::BuildError;
use crate::compiler::Compiler;
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Prefixes of variables that a build script is given and a nested build must not see.
const CLEARED: &[&str] = &["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "DEP_"];

/// Prefixes that stay although [`CLEARED`] covers them: the network, the registries, and the job server that keeps the number of compilers in bounds.
const KEPT: &[&str] = &[
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
];

/// What else cargo sets for a build script.
const CLEARED_NAMES: &[&str] = &[
    "DEBUG",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "TARGET",
];

/// A cargo command with a clean environment and the device compiler.
pub(crate) fn command(compiler: &Compiler) -> Command {
    let mut command = Command::new(compiler.cargo());
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if (starts(CLEARED) && !starts(KEPT)) || CLEARED_NAMES.contains(&&*name) {
            command.env_remove(&*name);
        }
    }
    // Stable compilers take the unstable flags of the device build only so.
    command
        .env("RUSTC", &compiler.rustc)
        .env("RUSTC_BOOTSTRAP", "1");
    // Empty values also overrule a wrapper from a configuration file.
    command
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "");
    command
}

/// Runs `command` and gives its standard output; each line of standard error goes to `on_line` as it comes.
pub(crate) fn run(
    mut command: Command,
    what: &str,
    target: &str,
    on_line: &dyn Fn(&str),
) -> Result<String, BuildError> {
    let program = command.get_program().to_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(BuildError::io("run", Path::new(&program)))?;
    let mut stdout = child.stdout.take();
    // Standard output is read on the side, so that neither pipe can fill up while the other is read.
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(pipe) = stdout.as_mut() {
            pipe.read_to_end(&mut text)?;
        }
        Ok::<_, std::io::Error>(text)
    });
    let mut log = String::new();
    if let Some(pipe) = child.stderr.take() {
        for line in BufReader::new(pipe).split(b'\n') {
            let line = line.map_err(BuildError::io("read the output of", Path::new(&program)))?;
            let line = String::from_utf8_lossy(&line);
            on_line(&line);
            log.push_str(&line);
            log.push('\n');
        }
    }
    let status = child
        .wait()
        .map_err(BuildError::io("wait for", Path::new(&program)))?;
    let text = reader
        .join()
        .unwrap_or_else(|_| Ok(Vec::new()))
        .map_err(BuildError::io("read the output of", Path::new(&program)))?;
    if !status.success() {
        return Err(BuildError::Cargo {
            what: what.into(),
            target: target.into(),
            output: log.trim_end().into(),
        });
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
