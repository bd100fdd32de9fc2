//! Finds a compiler that can build `core` for the GPU.
//!
//! Any rustc since 1.95 can write PTX; what is usually missing is the source of its library, because no ready-made `core` is shipped for `nvptx64-nvidia-cuda`.
//! Two kinds of machine have both: one where rustup has the component `rust-src`, and a Debian with `rustc-web` and `rust-web-src`.
//! rustup leaves out a component that it cannot fetch without saying so, therefore the source itself is looked for, never the list of components.

use crate::BuildError;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names a compiler to use instead of the ones that are looked for.
pub const COMPILER_VARIABLE: &str = "NSTAGE_RUSTC";

/// The target that all kernels are built for.
pub const DEVICE_TARGET: &str = "nvptx64-nvidia-cuda";

/// The oldest compiler that the kernels are written for.
const OLDEST: (u32, u32) = (1, 95);

/// Where Debian's `rustc-web` puts the compiler.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A compiler with the source of its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The rustc to run; never a rustup proxy, which would choose again by the folder it runs in.
    pub rustc: PathBuf,
    /// What `rustc -vV` says: it identifies the compiler to the cache.
    pub identity: String,
    /// `1.96.0`, for people and for the names of golden files.
    pub release: String,
    /// The folder `library` of the compiler's source.
    pub library: PathBuf,
    /// How it was found.
    pub origin: Origin,
}

/// How a compiler was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Named by [`COMPILER_VARIABLE`].
    Variable,
    /// The toolchain that is active in the crate's folder, as rustup or the path chooses it.
    Active,
    /// Debian's package.
    Debian,
}

/// A place that was looked at, and why it will not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The compiler tried.
    pub what: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.origin {
            Origin::Variable => "named by NSTAGE_RUSTC",
            Origin::Active => "the active toolchain",
            Origin::Debian => "Debian's rustc-web",
        };
        write!(
            f,
            "rustc {} ({origin}, {})",
            self.release,
            self.rustc.display()
        )
    }
}

impl Compiler {
    /// Finds a compiler for a crate in `crate_dir`: the one that [`COMPILER_VARIABLE`] names, else the active toolchain, else Debian's.
    ///
    /// # Errors
    /// [`BuildError::NoCompiler`] lists what was looked at and the command that mends it.
    pub fn find(crate_dir: &Path) -> Result<Self, BuildError> {
        Search::of_this_process().find(crate_dir)
    }

    /// Takes `rustc` as the device compiler, if it will do.
    ///
    /// # Errors
    /// What it lacks.
    pub fn probe(rustc: &Path, crate_dir: &Path, origin: Origin) -> Result<Self, Looked> {
        Search::of_this_process().probe(rustc, crate_dir, origin)
    }

    /// The crates that the library depends on, where the compiler's source brings them: a build then needs no network.
    #[must_use]
    pub fn vendor(&self) -> Option<PathBuf> {
        let vendor = self.library.join("vendor");
        vendor.is_dir().then_some(vendor)
    }

    /// The cargo to build with: the one that runs us, else the one beside the compiler, else the one on the path.
    #[must_use]
    pub fn cargo(&self) -> PathBuf {
        if let Some(cargo) = env::var_os("CARGO") {
            return cargo.into();
        }
        let beside = self.rustc.with_file_name("cargo");
        if self.origin != Origin::Debian && beside.is_file() {
            beside
        } else {
            "cargo".into()
        }
    }
}

/// Where to look.
#[derive(Clone, Debug, Default)]
struct Search {
    /// What [`COMPILER_VARIABLE`] says.
    named: Option<PathBuf>,
    /// The rustc that cargo itself would run.
    active: PathBuf,
    /// Debian's.
    debian: PathBuf,
    /// What the compilers are told besides this process's environment.
    variables: Vec<(&'static str, OsString)>,
}

impl Search {
    fn of_this_process() -> Self {
        Self {
            named: env::var_os(COMPILER_VARIABLE)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from),
            // Cargo names it for build scripts. Where it is rustup's proxy, it obeys `cargo +NAME` and the toolchain file.
            active: env::var_os("RUSTC")
                .unwrap_or_else(|| "rustc".into())
                .into(),
            debian: DEBIAN_RUSTC.into(),
            variables: Vec::new(),
        }
    }

    fn find(&self, crate_dir: &Path) -> Result<Compiler, BuildError> {
        if let Some(named) = &self.named {
            return self
                .probe(named, crate_dir, Origin::Variable)
                .map_err(|looked| BuildError::NoCompiler {
                    looked: vec![looked],
                    remedy: format!(
                        "unset {COMPILER_VARIABLE}, or let it name a rustc with its library source"
                    ),
                });
        }
        let mut looked = Vec::new();
        for (rustc, origin) in [
            (&self.active, Origin::Active),
            (&self.debian, Origin::Debian),
        ] {
            match self.probe(rustc, crate_dir, origin) {
                Ok(compiler) => return Ok(compiler),
                Err(why) => looked.push(why),
            }
        }
        Err(BuildError::NoCompiler {
            looked,
            remedy: remedy(),
        })
    }

    fn probe(&self, rustc: &Path, crate_dir: &Path, origin: Origin) -> Result<Compiler, Looked> {
        let fail = |why: String| Looked {
            what: rustc.display().to_string(),
            why,
        };
        let ask = |program: &Path, arguments: &[&str]| {
            self.ask(program, crate_dir, arguments).map_err(fail)
        };
        let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?.trim());
        let identity = ask(rustc, &["-vV"])?;
        let release = field(&identity, "release")
            .ok_or_else(|| fail("does not say its release".into()))?
            .to_owned();
        if major_minor(&release).is_none_or(|version| version < OLDEST) {
            return Err(fail(format!(
                "is {release}, needs {}.{} or newer",
                OLDEST.0, OLDEST.1
            )));
        }
        let library = sysroot.join("lib/rustlib/src/rust/library");
        if !library.join("core/src/lib.rs").is_file() {
            return Err(fail(format!(
                "{release} has no library source ({} is missing)",
                library.join("core").display()
            )));
        }
        let inner = sysroot.join("bin/rustc");
        let inner = if inner.is_file() {
            inner
        } else {
            rustc.to_owned()
        };
        let cpus = ask(
            &inner,
            &["--print", "target-cpus", "--target", DEVICE_TARGET],
        );
        if !cpus.is_ok_and(|cpus| cpus.contains("sm_80")) {
            return Err(fail(format!(
                "{release} was built without the target {DEVICE_TARGET}"
            )));
        }
        Ok(Compiler {
            rustc: inner,
            identity,
            release,
            library,
            origin,
        })
    }

    /// What a compiler answers on standard output.
    fn ask(&self, rustc: &Path, crate_dir: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(rustc);
        command
            .args(arguments)
            .current_dir(crate_dir)
            .envs(self.variables.iter().cloned());
        let output = command
            .output()
            .map_err(|error| format!("cannot be run: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "`{}` failed: {}",
            arguments.join(" "),
            text.lines().next().unwrap_or("no message")
        ))
    }
}

/// The one command that gives this machine a device compiler.
fn remedy() -> String {
    let on_path = |name: &str| {
        env::var_os("PATH")
            .is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(name).is_file()))
    };
    if on_path("rustup") {
        "run `rustup component add rust-src`".into()
    } else if on_path("apt-get") {
        "run `sudo apt-get install --no-install-recommends rustc-web rust-web-src`".into()
    } else {
        format!(
            "install rustup (https://rustup.rs), then run `rustup component add rust-src`, or set {COMPILER_VARIABLE}"
        )
    }
}

/// The value of `key: value` in what `rustc -vV` prints.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// `1.96.0-nightly` as (1, 96).
fn major_minor(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
