//! The one call: a crate and targets in, finished and checked PTX out.

use crate::built::{Built, BuiltPtx};
use crate::cache::{self, Finished, Lock, State};
use crate::checks::{self, Failure};
use crate::compiler::{Compiler, DEVICE_TARGET};
use crate::graph::{self, Package, Root};
use crate::inputs::Inputs;
use crate::shim::{Settings, Shim};
use crate::{BuildError, Refusal, Target, cargo, finish};
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// Is told what a build is doing. Targets build side by side, so it must be callable from any thread.
type OnProgress = Box<dyn Fn(&Progress<'_>) + Send + Sync>;

/// Names the folder to build in. Several workspaces may share one: `core` is then compiled once for all.
pub const WORK_DIR_VARIABLE: &str = "NSTAGE_WORK_DIR";

/// Builds one kernels crate to PTX.
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    crate_dir: PathBuf,
    targets: Vec<Target>,
    expected: Vec<String>,
    settings: Settings,
    work_dir: Option<PathBuf>,
    on_progress: OnProgress,
}

/// What one build works with, once all is found.
struct Session<'a> {
    builder: &'a Builder,
    compiler: Compiler,
    root: Root,
    /// The folder of this crate in the work folder.
    dir: PathBuf,
    work_dir: PathBuf,
}

/// What all targets share when something must be compiled.
struct Plan {
    shim: Shim,
    packages: Vec<Package>,
    /// The library's own dependencies, if they alone are enough.
    vendor: Option<PathBuf>,
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
    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.targets = targets.into_iter().collect();
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
        let key = cache::hash_of((&root.dir, &self.settings));
        let session = Session {
            dir: work_dir.join(format!("{}-{key:016x}", root.name)),
            builder: &self,
            compiler,
            root,
            work_dir,
        };
        session.run()
    }

    fn tell(&self, progress: &Progress<'_>) {
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

impl Session<'_> {
    fn run(&self) -> Result<Built, BuildError> {
        let _lock = Lock::take(&self.work_dir, || self.builder.tell(&Progress::Waiting))?;
        let targets = &self.builder.targets;
        let mut states: Vec<Option<State>> = targets
            .iter()
            .map(|&target| self.unchanged(target))
            .collect();
        if states.iter().any(Option::is_none) {
            let plan = self.plan()?;
            let missing = targets
                .iter()
                .zip(&mut states)
                .filter(|(_, state)| state.is_none());
            std::thread::scope(|scope| {
                let plan = &plan;
                let threads: Vec<_> = missing
                    .map(|(&target, state)| {
                        (state, scope.spawn(move || self.compile(plan, target)))
                    })
                    .collect();
                for (state, thread) in threads {
                    *state = Some(
                        thread
                            .join()
                            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
                    );
                }
                Ok::<_, BuildError>(())
            })?;
        }
        let mut inputs = Inputs::default();
        let mut ptx = Vec::new();
        let mut refusals = Vec::new();
        for (&target, state) in targets.iter().zip(states.into_iter().flatten()) {
            match self.finish(target, &state) {
                Ok(path) => ptx.push(BuiltPtx { target, path }),
                Err(BuildError::Refused(refused)) => refusals.extend(refused),
                Err(error) => return Err(error),
            }
            inputs.merge(state.inputs);
        }
        if !refusals.is_empty() {
            return Err(BuildError::Refused(refusals));
        }
        Ok(Built {
            package: self.root.name.clone(),
            compiler: self.compiler.clone(),
            ptx,
            inputs,
        })
    }

    /// The last state of a target, if nothing that it was made from has changed.
    fn unchanged(&self, target: Target) -> Option<State> {
        let state = State::load(&self.state_path(target))?;
        let fresh = !state.ask_cargo
            && state.compile_key == self.compile_key(target)
            && cache::hash_file(&self.raw_path(target)).is_ok_and(|raw| raw == state.raw)
            && state.inputs.unchanged();
        fresh.then_some(state)
    }

    /// Whatever this crate itself contributes is in it by the hash of its source; cargo finds out whether that matters.
    fn compile_key(&self, target: Target) -> u64 {
        cache::hash_of((
            env!("NSTAGE_BUILDER_SOURCE"),
            &self.compiler.identity,
            &self.compiler.rustc,
            rustc_flags(target),
            &self.root.dir,
            &self.builder.settings,
        ))
    }

    fn plan(&self) -> Result<Plan, BuildError> {
        let shim = Shim::new(self.dir.clone());
        shim.write(&self.root, &self.builder.settings, &[])?;
        let packages = graph::packages(&self.compiler, &shim.manifest())?;
        shim.write(&self.root, &self.builder.settings, &packages)?;
        // Replacing the registry by a folder is right only where nothing else is wanted from the registry.
        let vendor = self
            .compiler
            .vendor()
            .filter(|_| packages.iter().all(|package| !package.fetched));
        Ok(Plan {
            shim,
            packages,
            vendor,
        })
    }

    /// Compiles the crate and everything below it into one PTX text.
    fn compile(&self, plan: &Plan, target: Target) -> Result<State, BuildError> {
        self.builder.tell(&Progress::Compiling {
            compiler: &self.compiler,
            package: &self.root.name,
            target,
        });
        let started = Instant::now();
        let Some(package) = plan
            .packages
            .iter()
            .find(|package| package.dir == self.root.dir)
        else {
            return Err(BuildError::Unexpected {
                what: "cargo metadata".into(),
                problem: format!("{} is not in it", self.root.name),
            });
        };
        let target_dir = self.work_dir.join(format!("target-{target}"));
        let raw = self.raw_path(target);
        if !raw.is_file() && target_dir.is_dir() {
            // Cargo does not know this file: a crate that it takes for fresh would not write it again.
            let mut clean = self.cargo("clean", plan, package, &target_dir);
            clean.args(["--offline"]);
            cargo::run(clean, "cargo clean", target.name(), &|_| ())?;
        }
        let mut command = self.cargo("rustc", plan, package, &target_dir);
        command.args(["--lib", "--crate-type", "staticlib", "-Zbuild-std=core"]);
        command.env(
            "CARGO_ENCODED_RUSTFLAGS",
            rustc_flags(target).join("\u{1f}"),
        );
        if let Some(vendor) = &plan.vendor {
            let vendor = serde_json::Value::from(&*vendor.to_string_lossy());
            command.args(["--config", "source.crates-io.replace-with='nstage-vendor'"]);
            command.args([
                "--config",
                &format!("source.nstage-vendor.directory={vendor}"),
            ]);
        }
        let mut emit = std::ffi::OsString::from("--emit=asm=");
        emit.push(&raw);
        command.arg("--").arg(emit);
        let on_line = |line: &str| self.builder.tell(&Progress::Cargo { target, line });
        cargo::run(
            command,
            &format!("building {}", self.root.name),
            target.name(),
            &on_line,
        )?;

        let profile_dir = target_dir.join(DEVICE_TARGET).join("device");
        let library = package.library.as_deref().unwrap_or_default();
        let mut inputs = Inputs::collect(&profile_dir, library, &plan.packages)?;
        inputs.add_file(&self.root.workspace_manifest)?;
        if let Some(lock) = self
            .root
            .lock_file
            .as_ref()
            .filter(|_| plan.packages.iter().any(|package| package.fetched))
        {
            inputs.add_file(lock)?;
        }
        let state = State {
            compile_key: self.compile_key(target),
            inputs,
            ask_cargo: plan.packages.iter().any(|package| package.build_script),
            raw: cache::hash_file(&raw)?,
            finished: None,
        };
        state.store(&self.state_path(target))?;
        self.builder.tell(&Progress::Built {
            target,
            took: started.elapsed(),
        });
        Ok(state)
    }

    /// A cargo command on the kernels crate in the shim's graph. It runs in the crate's folder, so that the user's cargo configuration holds.
    fn cargo(
        &self,
        verb: &str,
        plan: &Plan,
        package: &Package,
        target_dir: &Path,
    ) -> std::process::Command {
        let mut command = cargo::command(&self.compiler);
        command
            .current_dir(&self.root.dir)
            .arg(verb)
            .arg("--manifest-path")
            .arg(plan.shim.manifest());
        command
            .args([
                "--package",
                &package.id,
                "--profile",
                "device",
                "--target",
                DEVICE_TARGET,
                "--target-dir",
            ])
            .arg(target_dir);
        command
    }

    /// Finishes and checks what the compiler wrote, unless that is done already.
    fn finish(&self, target: Target, state: &State) -> Result<PathBuf, BuildError> {
        let path = self.dir.join(format!("{}.ptx", stem(target)));
        let key = cache::hash_of((env!("NSTAGE_BUILDER_SOURCE"), state.raw));
        let done = state
            .finished
            .as_ref()
            .filter(|finished| finished.key == key && path.is_file());
        let (entries, mut failures) = match done {
            Some(finished) => (finished.entries.clone(), Vec::new()),
            None => self.finish_anew(target, state, key, &path)?,
        };
        failures.extend(checks::missing(&entries, &self.builder.expected));
        if failures.is_empty() {
            return Ok(path);
        }
        Err(BuildError::Refused(vec![Refusal {
            target,
            path,
            failures,
        }]))
    }

    fn finish_anew(
        &self,
        target: Target,
        state: &State,
        key: u64,
        path: &Path,
    ) -> Result<(Vec<String>, Vec<Failure>), BuildError> {
        let raw = self.raw_path(target);
        let text = std::fs::read_to_string(&raw).map_err(BuildError::io("read", &raw))?;
        let finish::Output {
            text,
            entries,
            failures,
        } = finish::finish_and_check(&text, target).map_err(|errors| BuildError::Unreadable {
            target,
            path: raw,
            errors,
        })?;
        // Also what is refused is written, so that the lines in the failures can be looked at.
        cache::write(path, &text)?;
        let finished = failures.is_empty().then(|| Finished {
            key,
            entries: entries.clone(),
        });
        State {
            finished,
            ..state.clone()
        }
        .store(&self.state_path(target))?;
        Ok((entries, failures))
    }

    fn state_path(&self, target: Target) -> PathBuf {
        self.dir.join(format!("{}.json", stem(target)))
    }

    fn raw_path(&self, target: Target) -> PathBuf {
        self.dir.join(format!("{}.raw.ptx", stem(target)))
    }
}

/// `sm_80-7.0`: two versions of one target do not overwrite each other.
fn stem(target: Target) -> String {
    format!(
        "{target}-{}.{}",
        target.version().major,
        target.version().minor
    )
}

/// Flags for every device crate, the library included.
fn rustc_flags(target: Target) -> Vec<String> {
    let mut flags = target.rustc_flags();
    // This pass copies aligned barriers into both arms of a branch, which hangs a GPU.
    flags.push("-Zmir-enable-passes=-JumpThreading".into());
    flags
}
