//! Builds small crates as a user would, with the device compiler of this machine.
//!
//! The work folder is the one of the repository's kernels, so that `core` is not compiled again; the crates are new each time.

use nstage_builder::{Builder, Progress, Target};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};

const MANIFEST: &str = r#"
[package]
name = "small-kernels"
version = "0.1.0"
edition = "2024"

[features]
twice = []
"#;

const SOURCE: &str = r#"
#![no_std]

mod body;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap touches no memory.
    unsafe { core::arch::asm!("trap;", options(noreturn)) }
}

core::arch::global_asm!("// nstage-entry: scale maxntid=128 minnctapersm=2");

#[unsafe(export_name = "scale")]
pub unsafe extern "ptx-kernel" fn scale(x: *const f32, y: *mut f32, n: u32) {
    let thread: u32;
    // SAFETY: it reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %tid.x;", out(reg32) thread, options(pure, nomem, nostack)) };
    if thread < n {
        // SAFETY: the launch gives `n` elements to both.
        unsafe { *y.add(thread as usize) = body::FACTOR * *x.add(thread as usize) };
    }
}
"#;

/// One at a time: they share a work folder, and its lock would only make them wait.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Small {
    dir: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Small {
    fn new() -> Self {
        let turn = ONE_AT_A_TIME
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let dir = tempfile::tempdir().expect("a temporary folder");
        let small = Self { dir, _turn: turn };
        small.write("Cargo.toml", MANIFEST);
        small.write("src/lib.rs", SOURCE);
        small.write(
            "src/body.rs",
            "pub const FACTOR: f32 = if cfg!(feature = \"twice\") { 4.0 } else { 3.0 };\n",
        );
        small
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("created");
        std::fs::write(path, text).expect("written");
    }

    /// A build of this crate, and a counter of the targets that were compiled.
    fn builder(&self) -> (Builder, Arc<AtomicUsize>) {
        let compiled = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&compiled);
        let builder = Builder::new(self.dir.path())
            .targets([Target::SM_80])
            .work_dir(work_dir())
            .on_progress(move |progress| {
                eprintln!("{progress}");
                if matches!(progress, Progress::Compiling { .. }) {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        (builder, compiled)
    }

    fn build(&self) -> (String, usize) {
        let (builder, compiled) = self.builder();
        let built = builder.build().unwrap_or_else(|error| panic!("{error}"));
        (
            built.ptx()[0].text().expect("read"),
            compiled.load(Ordering::Relaxed),
        )
    }
}

/// Leaves of the crate's builds only what the next ones can use.
impl Drop for Small {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(work_dir())
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
        {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with("small-kernels-")
            {
                // Best effort: what stays is small, and in the target folder.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The folder in which this repository's own kernels are built: `core` is there already.
fn work_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("nstage")
}

#[test]
fn a_crate_without_any_settings_builds_and_is_rebuilt_only_when_it_changes() {
    let small = Small::new();
    let (first, compiled) = small.build();
    assert_eq!(compiled, 1);
    assert!(first.contains(".visible .entry scale("), "{first}");
    assert!(
        first.contains("\n.maxntid 128\n.minnctapersm 2\n{"),
        "the declared bounds are in it:\n{first}"
    );
    assert!(
        first.contains("0f40400000"),
        "the factor 3.0 is in it:\n{first}"
    );
    assert!(
        !small.dir.path().join("Cargo.lock").exists(),
        "the crate's folder is left as it was"
    );
    assert!(
        !small.dir.path().join("target").exists(),
        "the crate's folder is left as it was"
    );

    assert_eq!(small.build(), (first.clone(), 0), "nothing has changed");

    small.write("src/body.rs", "pub const FACTOR: f32 = 5.0;\n");
    let (second, compiled) = small.build();
    assert_eq!(compiled, 1, "a module of the crate has changed");
    assert!(
        second.contains("0f40A00000"),
        "the factor 5.0 is in it:\n{second}"
    );
}

#[test]
fn builds_at_the_same_time_do_not_disturb_each_other() {
    let small = Small::new();
    let (results, compiled): (Vec<String>, Vec<usize>) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| small.build())).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .unzip()
    });
    assert!(results.iter().all(|text| *text == results[0]));
    assert_eq!(
        compiled.iter().sum::<usize>(),
        1,
        "one builds, the others wait and find it done"
    );
}

#[test]
fn features_build_side_by_side() {
    let small = Small::new();
    let (plain, _) = small.build();
    let (builder, _) = small.builder();
    let built = builder
        .features(["twice"])
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let twice = built.ptx()[0].text().expect("read");
    assert!(
        plain.contains("0f40400000") && twice.contains("0f40800000"),
        "{plain}\n{twice}"
    );
    assert_eq!(small.build(), (plain, 0), "the plain build is still there");
}

#[test]
fn a_compile_error_is_shown_as_rustc_says_it() {
    let small = Small::new();
    small.write("src/body.rs", "pub const FACTOR: f32 = 3;\n");
    let error = small
        .builder()
        .0
        .build()
        .expect_err("an integer is no float")
        .to_string();
    assert!(
        error.contains("building small-kernels failed for sm_80"),
        "{error}"
    );
    assert!(
        error.contains("mismatched types") && error.contains("src/body.rs"),
        "{error}"
    );
}

#[test]
fn what_compiles_and_cannot_run_is_refused() {
    let small = Small::new();
    let source = r#"
unsafe extern "C" {
    fn missing(x: f32) -> f32;
}

#[unsafe(export_name = "faulty")]
pub unsafe extern "ptx-kernel" fn faulty(y: *mut f32) {
    let thread: u32;
    // SAFETY: nobody runs it.
    unsafe {
        core::arch::asm!("mov.u32 {}, %tid.x;", out(reg32) thread, options(pure, nomem, nostack));
        if thread == 0 {
            core::arch::asm!("bar.sync 0;");
        }
        *y = missing(*y);
    }
}
"#;
    small.write("src/lib.rs", &format!("{SOURCE}{source}"));
    for _ in 0..2 {
        let error = small
            .builder()
            .0
            .build()
            .expect_err("two faults")
            .to_string();
        assert!(
            error.starts_with("2 faults in the PTX for sm_80 ("),
            "{error}"
        );
        assert!(
            error.contains("entry `faulty`")
                && error.contains("it needs `missing`, which is defined nowhere"),
            "{error}"
        );
        assert!(
            error.contains("`bar.sync 0;` is reached by some threads of a block only"),
            "{error}"
        );
    }
}

#[test]
fn a_folder_without_a_library_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let build = || {
        Builder::new(dir.path())
            .work_dir(work_dir())
            .build()
            .expect_err("not a kernels crate")
            .to_string()
    };
    assert!(build().contains("it has no Cargo.toml"));
    std::fs::write(
        dir.path().join("Cargo.toml"),
        "[package]\nname = \"a\"\nedition = \"2024\"\n",
    )
    .expect("written");
    std::fs::create_dir(dir.path().join("src")).expect("created");
    std::fs::write(dir.path().join("src/main.rs"), "fn main() {}\n").expect("written");
    assert!(build().contains("it has no library"));
}
