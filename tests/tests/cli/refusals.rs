//! Every mistake ends in one line that names the thing and the remedy, with exit code 2, and leaves nothing behind.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use crate::{command, data, nstage};

/// Asserts that the program refuses these arguments with a line that holds `expected`.
#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let ran = nstage(arguments).ends(2);
    let lines: Vec<&str> = ran
        .err
        .lines()
        .filter(|line| !line.starts_with("notice: "))
        .collect();
    assert_eq!(lines.len(), 1, "{arguments:?}: {}", ran.err);
    assert!(
        lines[0].starts_with("error: "),
        "{arguments:?}: {}",
        ran.err
    );
    assert!(
        lines[0].contains(expected),
        "{arguments:?}: {}\nwants {expected}",
        lines[0]
    );
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

#[test]
fn bad_arguments() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "no command given; nstage --help lists them"),
        (
            &["rnu"],
            "unrecognized subcommand 'rnu'; nstage --help lists the commands",
        ),
        (
            &["devcies"],
            "some similar subcommands exist: 'advise', 'devices'",
        ),
        (
            &["run", "kernel_snyc"],
            "kernel_snyc: no kernel to run is called so; did you mean kernel_sync?",
        ),
        (
            &["run", "--stages", "0"],
            "a pipeline has 1 to 8 stages; pass one of these or all",
        ),
        (&["run", "--stages", "9"], "a pipeline has 1 to 8 stages"),
        (&["run", "--stages", "abc"], "a pipeline has 1 to 8 stages"),
        (&["run", "--stages", "-1"], "a pipeline has 1 to 8 stages"),
        (
            &["run", "kernel_sync", "--stages", "4"],
            "kernel_sync: is synchronous and has no stages; leave --stages out",
        ),
        (
            &["run", "simple_async", "--stages", "2"],
            "simple_async: has no variant of 2 stages; it has 1",
        ),
        (
            &["run", "--elements", "-1"],
            "invalid value '-1' for '--elements <N>'",
        ),
        (
            &["run", "--elements", "1e6"],
            "invalid value '1e6' for '--elements <N>'",
        ),
        (&["run", "--elements", "99999999999999"], "ask for at most"),
        (
            &["run", "--elements", "18446744073709551615"],
            "ask for at most",
        ),
        (
            &["run", "--device", "gpu"],
            "pass auto, cuda, cuda:INDEX or sim",
        ),
        (
            &["run", "--device", "cuda"],
            "no CUDA driver: /nonexistent/libcuda.so.1 not found",
        ),
        (&["run", "--device", "cuda:99"], "no CUDA driver"),
        (&["selftest", "--device", "cuda"], "no CUDA driver"),
        (
            &["run", "--block", "0"],
            "invalid value '0' for '--block <N>'",
        ),
        (
            &["run", "kernel_sync", "--block", "100"],
            "a block of 100 threads is not possible; take a multiple of 32 from 32 to 1024",
        ),
        (
            &["run", "--block", "2048"],
            "a block of 2048 threads is not possible",
        ),
        (
            &["run", "kernel_sync", "--tile", "7"],
            "kernel_sync: no launch has tiles of 7 elements",
        ),
        (
            &["run", "--tile", "0"],
            "invalid value '0' for '--tile <N>'",
        ),
        (
            &["run", "--blocks-per-sm", "0"],
            "invalid value '0' for '--blocks-per-sm <N|fit>'",
        ),
        (
            &[
                "run",
                "kernel_async_pipeline",
                "--stages",
                "8",
                "--block",
                "1024",
                "--tile",
                "16384",
                "--device",
                "sim",
            ],
            "524,288 B shared needed, device limit is 232,448 B; the largest stage count that fits is 3",
        ),
        (
            &["run", "--schedule", "three"],
            "[possible values: one, two]",
        ),
        (&["run", "--format", "xml"], "[possible values: text, json]"),
        (
            &["run", "--ptx", "/nonexistent"],
            "/nonexistent: cannot be read",
        ),
        (&["selftest", "blurr"], "no kernel to run is called so"),
    ];
    for (arguments, expected) in cases {
        refused(arguments, expected);
    }
}

/// A `.npy` file of version 1.0.
fn npy(path: &Path, header: &str, data: &[u8]) {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn bad_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let header = |dtype: &str, order: &str, shape: &str| {
        format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
    };
    std::fs::write(path("empty.npy"), "").unwrap();
    std::fs::write(path("text.npy"), "one, two, three").unwrap();
    npy(
        &path("truncated.npy"),
        &header("<f4", "False", "(100,)"),
        &[0; 40],
    );
    npy(
        &path("object.npy"),
        &header("|O", "False", "(2,)"),
        &[0; 40],
    );
    npy(
        &path("complex.npy"),
        &header("<c16", "False", "(2,)"),
        &[0; 32],
    );
    npy(
        &path("cube.npy"),
        &header("<f4", "False", "(2, 2, 2)"),
        &[0; 32],
    );
    npy(
        &path("fortran.npy"),
        &header("<f4", "True", "(2, 2)"),
        &[0; 16],
    );
    npy(&path("header.npy"), "{'descr': '<f4'", &[]);
    std::fs::write(path("broken.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
    for (name, expected) in [
        ("none.npy", "no such file"),
        ("empty.npy", "is empty (0 bytes)"),
        ("text.npy", "neither a .npy array nor a PNG image"),
        (
            "truncated.npy",
            "is truncated: 100 elements of float32 take 400 bytes, 40 are there",
        ),
        ("object.npy", "holds Python objects (dtype '|O')"),
        ("complex.npy", "holds complex numbers"),
        (
            "cube.npy",
            "has 3 dimensions (2 × 2 × 2), at most 2 are taken",
        ),
        (
            "fortran.npy",
            "is in Fortran order; save numpy.ascontiguousarray(array)",
        ),
        ("header.npy", "its .npy header cannot be read"),
        ("broken.png", "its PNG image cannot be decoded"),
        (".", "is a directory; name a .npy or .png file in it"),
    ] {
        let path = path(name);
        let path = path.to_str().unwrap();
        refused(
            &["run", "kernel_sync", "--device", "sim", "--input", path],
            expected,
        );
    }
}

#[test]
fn bad_outputs_are_refused_before_the_run_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(inside("folder.npy")).unwrap();
    for (output, expected) in [
        (
            inside("y.jpg"),
            "unknown output format; end the name in .npy or .png",
        ),
        (inside("folder.npy"), "is a directory; name a file in it"),
        (inside("missing/y.npy"), "cannot be written"),
        ("/proc/y.npy".to_owned(), "cannot be written"),
        (
            inside("line.png"),
            "an image has 2 dimensions, this output has 1",
        ),
    ] {
        let arguments = [
            "run",
            "kernel_sync",
            "--elements",
            "99",
            "--device",
            "sim",
            "--output",
            &output,
        ];
        refused(&arguments, expected);
    }
    refused(
        &["run", "--elements", "99", "--output", &inside("y.npy")],
        "--output takes the output of one kernel",
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn input_and_elements_exclude_each_other() {
    let input = data("ecg.npy");
    refused(
        &["run", "--input", &input, "--elements", "5"],
        "the argument '--input <FILE.npy|FILE.png>' cannot be used with '--elements <N>'",
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [
        &["devices"][..],
        &["--help"],
        &["run", "kernel_sync", "--elements", "9", "--device", "sim"],
    ] {
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Nobody reads: every write fails.
        drop(child.stdout.take());
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            Some(0),
            "{arguments:?}: {err}"
        );
        assert_eq!(err, "", "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_on_standard_output_is_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command(&["devices"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.starts_with("error: standard output cannot be written"),
        "{err}"
    );
}
