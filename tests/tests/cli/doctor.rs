//! `nstage doctor`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{Ran, command};

/// The program on a machine with nothing but what is in `tools`.
fn doctor(tools: &Path, arguments: &[&str], library: &str) -> Ran {
    let mut command = command(arguments);
    command
        .env("NSTAGE_CUDA_BIN", tools)
        .env("NSTAGE_LIBCUDA", library)
        .env("NSTAGE_RUSTC", "/nonexistent/rustc")
        .env("PATH", tools);
    Ran::of(command)
}

/// A tool that says `said`.
fn write_tool(folder: &Path, name: &str, said: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\necho '{said}'\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

#[test]
fn what_is_missing_has_a_remedy_and_is_no_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    write_tool(
        folder.path(),
        "ptxas",
        "Cuda compilation tools, release 13.0, V13.0.88",
    );
    let ran = doctor(
        folder.path(),
        &["doctor", "--format", "json"],
        "/nonexistent/libcuda.so.1",
    )
    .ends(0);
    let checks = ran.json();
    let of = |part: &str| {
        let found = checks.iter().find(|check| check["part"] == part);
        found.unwrap_or_else(|| panic!("no {part} in {}", ran.out))
    };
    assert_eq!(of("kernels")["state"], "ok");
    assert_eq!(of("ptxas")["state"], "ok");
    assert!(
        of("ptxas")["found"]
            .as_str()
            .expect("text")
            .starts_with("13.0 (")
    );
    for (part, found, remedy) in [
        ("device compiler", "/nonexistent/rustc", "NSTAGE_RUSTC"),
        ("CUDA driver", "/nonexistent/libcuda.so.1", "--device sim"),
        ("nvcc", "NSTAGE_CUDA_BIN", "toolkit"),
    ] {
        let check = of(part);
        assert_eq!(check["state"], "missing", "{check}");
        assert!(
            check["found"].as_str().expect("text").contains(found),
            "{check}"
        );
        assert!(
            check["remedy"].as_str().expect("text").contains(remedy),
            "{check}"
        );
    }
}

#[test]
fn what_is_of_no_use_ends_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    write_tool(folder.path(), "cuobjdump", "usage: none");
    let library = folder.path().join("libcuda.so.1");
    std::fs::write(&library, "no library").expect("written");
    let ran = doctor(
        folder.path(),
        &["doctor"],
        library.to_str().expect("the path is text"),
    )
    .ends(1);
    for line in [
        "CUDA driver        BROKEN   no CUDA driver: ",
        "cuobjdump          BROKEN   ",
        "mend:   install NVIDIA's driver",
        "ptxas              missing  ",
    ] {
        assert!(ran.out.contains(line), "no {line} in\n{}", ran.out);
    }
    assert_eq!(ran.err, "");
}
