//! Builds the kernels' PTX and embeds it, so that the program needs no file beside it.
//!
//! Where there is no device compiler, the program is built without PTX and says so when a kernel is asked for: `check`, `devices` and `--ptx DIR` still work.

use std::path::{Path, PathBuf};

use nstage_builder::{Builder, Target};

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kernels = here.join("../kernels");
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        // `cust` asks for libcuda; this folder's is empty, and `driver` defines what is asked of it.
        println!(
            "cargo::rustc-link-search=native={}",
            here.join("cuda-stub/lib64").display()
        );
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={REQUIRED_VARIABLE}");
    let reason = if kernels.join("Cargo.toml").is_file() {
        build(&kernels)
    } else {
        Err("the kernels' sources are not beside this crate".to_owned())
    };
    if let Err(reason) = &reason {
        println!("cargo::warning=no kernels are built in: {reason}");
        write_empty_table();
    }
    // One line: it becomes part of an error message.
    let reason = reason.err().unwrap_or_default();
    let words: Vec<&str> = reason.split_whitespace().collect();
    println!("cargo::rustc-env=NSTAGE_NOT_EMBEDDED={}", words.join(" "));
}

/// Set by whoever wants no program without kernels, the repository's tasks for one.
const REQUIRED_VARIABLE: &str = "NSTAGE_REQUIRE_PTX";

/// Builds and embeds. Only a missing compiler is an `Err`; a kernel that does not build stops the build here.
fn build(kernels: &Path) -> Result<(), String> {
    let built = Builder::new(kernels)
        .targets([Target::SM_80, Target::SM_90])
        .build();
    match built {
        Ok(built) => {
            built.emit_rerun();
            if let Err(error) = built.embed("ptx.rs") {
                stop(&error);
            }
            Ok(())
        }
        Err(error) if error.is_no_compiler() && std::env::var_os(REQUIRED_VARIABLE).is_none() => {
            // A path that is never there makes cargo look again at the next build: a compiler may have come.
            println!("cargo::rerun-if-changed=no-device-compiler");
            Err(error.to_string())
        }
        Err(error) => stop(&error),
    }
}

fn stop(error: &nstage_builder::BuildError) -> ! {
    for line in error.to_string().lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1);
}

fn write_empty_table() {
    let out = std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    if let Err(error) = std::fs::write(out.join("ptx.rs"), "[]") {
        println!("cargo::error={}: cannot be written: {error}", out.display());
        std::process::exit(1);
    }
}
