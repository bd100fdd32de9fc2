//! The one call: a crate and targets in, finished and checked PTX out.

use crate::built::Built;
use crate::compiler::Compiler;
use crate::graph;
use crate::session::Session;
use crate::shim::Settings;
use crate::{BuildError, Target};
use std::env;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What a build is doing; [`fmt::Display`] gives a line for people.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Another build uses the work folder.
    Waiting,
    /// The compiler is chosen and something must be compiled.
    Compiling {
        /// The compiler.
        compiler: &'a Compiler,
        /// The package's name.
        package: &'a str,
        /// For which target.
        target: Target,
    },
    /// A line that cargo wrote.
    Cargo {
        /// For which target.
        target: Target,
        /// The line.
        line: &'a str,
    },
    /// A target is built and checked.
    Built {
        /// Which.
        target: Target,
        /// How long it took.
        took: Duration,
    },
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for another build of device code"),
            Self::Compiling {
                compiler,
                package,
                target,
            } => write!(f, "building {package} for {target} with {compiler}"),
            Self::Cargo { target, line } => write!(f, "{target}: {line}"),
            Self::Built { target, took } => {
                write!(f, "built {target} in {:.1} s", took.as_secs_f64())
            }
        }
    }
}

/// Is told what a build is doing.
type OnProgress = Box<dyn Fn(&Progress<'_>) + Send + Sync>;

/// Names the folder to build in. Several workspaces may share one: `core` is then compiled once for all.
pub const WORK_DIR_VARIABLE: &str = "NSTAGE_WORK_DIR";

/// Builds one kernels crate to PTX.
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    crate_dir: PathBuf,
    pub(crate) targets: Vec<Target>,
    pub(crate) expected: Vec<String>,
    pub(crate) settings: Settings,
    work_dir: Option<PathBuf>,
    on_progress: OnProgress,
}

impl Builder {
    /// A build of the crate whose Cargo.toml lies in `crate_dir`, for `sm_80` and `sm_90`.
    pub fn new(crate_dir: impl Into<PathBuf>) -> Self {
        Self {
            crate_dir: crate_dir.into(),
            targets: vec![Target::SM_80, Target::SM_90],
            expected: Vec::new(),
            settings: Settings {
                default_features: true,
                ..Settings::default()
            },
            work_dir: None,
            on_progress: Box::new(|_| ()),
        }
    }

    /// What to build for, instead of `sm_80` and `sm_90`. PTX for `sm_80` also runs on everything later.
    ///
    /// The code is compiled once, for the lowest of them, and comes out under the header of each: rustc has no `cfg` by which a source could differ between architectures, and a driver chooses the machine instructions in any case.
    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.targets.clear();
        for target in targets {
            // Twice would be the same file twice.
            if !self.targets.contains(&target) {
                self.targets.push(target);
            }
        }
        self
    }

    /// Names of entries that must come out; without them, whatever the crate exports is right.
    pub fn expect_entries<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.expected = names.into_iter().map(Into::into).collect();
        self
    }

    /// Features of the kernels crate to switch on.
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.settings.features = features.into_iter().map(Into::into).collect();
        self
    }

    /// Whether the kernels crate's default features are on; they are unless this says otherwise.
    pub fn default_features(mut self, on: bool) -> Self {
        self.settings.default_features = on;
        self
    }

    /// Whether the PTX says which source line each instruction comes from. The paths in it are those of this machine, so it is off unless asked for.
    pub fn debug_lines(mut self, on: bool) -> Self {
        self.settings.debug_lines = on;
        self
    }

    /// Where to build. The default is what [`WORK_DIR_VARIABLE`] names, else `nstage` in the target folder: build scripts and tasks then share what they have built.
    pub fn work_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.work_dir = Some(dir.into());
        self
    }

    /// Calls `tell` with what is going on.
    pub fn on_progress(mut self, tell: impl Fn(&Progress<'_>) + Send + Sync + 'static) -> Self {
        self.on_progress = Box::new(tell);
        self
    }

    /// Builds what is out of date.
    ///
    /// # Errors
    /// Every message names the thing and says what to do; [`BuildError::is_no_compiler`] tells whether only the compiler is missing.
    pub fn build(self) -> Result<Built, BuildError> {
        let compiler = Compiler::find(&self.crate_dir)?;
        self.build_with(compiler)
    }

    /// As [`Builder::build`], with a compiler already found.
    ///
    /// # Errors
    /// As for [`Builder::build`].
    pub fn build_with(self, compiler: Compiler) -> Result<Built, BuildError> {
        let root = graph::root(&compiler, &self.crate_dir)?;
        let work_dir = self
            .work_dir
            .clone()
            .or_else(|| env::var_os(WORK_DIR_VARIABLE).map(PathBuf::from))
            .or_else(work_dir_of_build_script)
            .unwrap_or_else(|| root.target_dir.join("nstage"));
        Session::new(&self, compiler, root, work_dir).run()
    }

    pub(crate) fn tell(&self, progress: &Progress<'_>) {
        (self.on_progress)(progress);
    }
}

/// In a build script, the folder `nstage` in the target folder: the nearest folder above `OUT_DIR` that cargo has tagged as its own.
fn work_dir_of_build_script() -> Option<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let tagged = out
        .ancestors()
        .find(|dir| dir.join("CACHEDIR.TAG").is_file());
    Some(tagged.unwrap_or(&out).join("nstage"))
}
