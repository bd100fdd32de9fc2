//! Which compilers are taken, and what is said about the others.
//!
//! The compilers that must be refused are shell scripts. The one that must build something is Debian's, where this machine has it, in a folder laid out like a toolchain of rustup's.

use nstage_builder::compiler::{Compiler, Origin};
use nstage_builder::{Builder, Target};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const DEBIAN: &str = "/usr/bin/rustc";

/// A compiler that answers as told. `SYSROOT` stands for the folder it lies in.
fn script(folder: &Path, release: &str, cpus: &str) -> PathBuf {
    let path = folder.join("bin/rustc");
    fs::create_dir_all(folder.join("bin")).expect("created");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in\n*sysroot*) echo '{}' ;;\n-vV) echo 'release: {release}' ;;\n*target-cpus*) echo '{cpus}' ;;\nesac\n",
        folder.display()
    );
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
    path
}

fn give_source(folder: &Path) {
    let core = folder.join("lib/rustlib/src/rust/library/core/src");
    fs::create_dir_all(&core).expect("created");
    fs::write(core.join("lib.rs"), "").expect("written");
}

/// Notes that a test cannot run here; the summary of `cargo xtask test` shows it.
fn skip(test: &str, reason: &str) {
    println!("skipping: {reason}");
    if let Some(log) = std::env::var_os("NSTAGE_SKIP_LOG") {
        use std::io::Write;
        let file = fs::File::options().create(true).append(true).open(log);
        file.and_then(|mut file| writeln!(file, "{test}: {reason}"))
            .expect("the skip is noted");
    }
}

fn debian() -> Option<Compiler> {
    Compiler::probe(Path::new(DEBIAN), Path::new("/"), Origin::Debian).ok()
}

#[test]
fn what_a_compiler_lacks_is_said() {
    let cases = [
        ("1.80.0", "sm_80", true, "is 1.80.0, needs 1.95 or newer"),
        (
            "nonsense",
            "sm_80",
            true,
            "is nonsense, needs 1.95 or newer",
        ),
        ("1.95.0", "sm_80", false, "1.95.0 has no library source ("),
        (
            "1.95.0",
            "x86-64",
            true,
            "1.95.0 was built without the target nvptx64-nvidia-cuda",
        ),
    ];
    for (release, cpus, source, expected) in cases {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rustc = script(folder.path(), release, cpus);
        if source {
            give_source(folder.path());
        }
        let looked = Compiler::probe(&rustc, folder.path(), Origin::Active).expect_err(expected);
        assert!(
            looked.why.starts_with(expected),
            "{release}: {}",
            looked.why
        );
        assert_eq!(looked.what, rustc.display().to_string());
    }
    let missing = Compiler::probe(Path::new("/nowhere/rustc"), Path::new("/"), Origin::Active)
        .expect_err("not there");
    assert!(
        missing.why.starts_with("cannot be run: "),
        "{}",
        missing.why
    );
}

#[test]
fn a_compiler_with_all_of_it_is_taken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rustc = script(folder.path(), "1.97.0-nightly", "sm_80\nsm_90");
    give_source(folder.path());
    let compiler =
        Compiler::probe(&rustc, folder.path(), Origin::Active).expect("nothing is missing");
    assert_eq!(
        (compiler.release.as_str(), compiler.rustc.as_path()),
        ("1.97.0-nightly", rustc.as_path())
    );
    assert_eq!(compiler.vendor(), None);
}

/// Debian's compiler in a folder that is laid out like a toolchain of rustup's.
fn toolchain_of_symlinks(folder: &Path) -> PathBuf {
    let rustc = folder.join("bin/rustc");
    fs::create_dir_all(folder.join("bin")).expect("created");
    fs::create_dir_all(folder.join("lib")).expect("created");
    let library = folder.join("lib/rustlib");
    if !library.exists() {
        symlink("/usr/lib/rustlib", library).expect("linked");
    }
    fs::write(
        &rustc,
        format!(
            "#!/bin/sh\nexec {DEBIAN} --sysroot '{}' \"$@\"\n",
            folder.display()
        ),
    )
    .expect("written");
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).expect("made executable");
    rustc
}

#[test]
fn a_toolchain_with_its_source_builds_a_crate() {
    if debian().is_none() {
        return skip(
            "a_toolchain_with_its_source_builds_a_crate",
            "Debian's rustc-web is not installed",
        );
    }
    // Not a temporary folder: `core` need not be compiled again in the next run.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toolchain");
    let rustc = toolchain_of_symlinks(&folder);
    let compiler = Compiler::probe(&rustc, &folder, Origin::Active).expect("nothing is missing");
    assert!(compiler.library.starts_with(&folder), "{compiler:?}");

    let kernels = &folder.join("kernels");
    fs::create_dir_all(kernels.join("src")).expect("created");
    fs::write(
        kernels.join("Cargo.toml"),
        "[package]\nname = \"k\"\nedition = \"2024\"\n[workspace]\n",
    )
    .expect("written");
    let source = "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n#[unsafe(export_name = \"k\")]\nextern \"ptx-kernel\" fn k() {}\n";
    fs::write(kernels.join("src/lib.rs"), source).expect("written");
    let built = Builder::new(kernels)
        .targets([Target::SM_90A])
        .expect_entries(["k"])
        .work_dir(folder.join("work"))
        .build_with(compiler);
    let built = built.unwrap_or_else(|error| panic!("{error}"));
    let text = built.ptx()[0].text().expect("read");
    assert!(
        text.contains(".version 8.0\n.target sm_90a\n") && text.contains(".visible .entry k()"),
        "{text}"
    );
}
