//! One build: what is out of date is compiled, what came out is finished and checked.

use crate::builder::{Builder, Progress};
use crate::built::{Built, BuiltPtx};
use crate::cache::{self, Finished, Lock, State};
use crate::checks::{self, Failure};
use crate::compiler::{Compiler, DEVICE_TARGET};
use crate::graph::{self, Package, Root};
use crate::inputs::Inputs;
use crate::shim::Shim;
use crate::{BuildError, Refusal, Target, cargo, finish};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What one build works with, once all is found.
pub(crate) struct Session<'a> {
    builder: &'a Builder,
    compiler: Compiler,
    root: Root,
    /// The folder of this crate in the work folder.
    dir: PathBuf,
    work_dir: PathBuf,
}

/// What is found out when something must be compiled.
struct Plan {
    shim: Shim,
    packages: Vec<Package>,
    /// The library's own dependencies, if they alone are enough.
    vendor: Option<PathBuf>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        builder: &'a Builder,
        compiler: Compiler,
        root: Root,
        work_dir: PathBuf,
    ) -> Self {
        let key = cache::hash_of((&root.dir, &builder.settings));
        let dir = work_dir.join(format!("{}-{key:016x}", root.name));
        Self {
            builder,
            compiler,
            root,
            dir,
            work_dir,
        }
    }

    pub(crate) fn run(&self) -> Result<Built, BuildError> {
        let _lock = Lock::take(&self.work_dir, || self.builder.tell(&Progress::Waiting))?;
        let code = self.code_target()?;
        let mut state = match self.unchanged(code) {
            Some(state) => state,
            None => self.compile(&self.plan()?, code)?,
        };
        let mut ptx = Vec::new();
        let mut refusals = Vec::new();
        for &target in &self.builder.targets {
            match self.finish(code, target, &mut state) {
                Ok(path) => ptx.push(BuiltPtx { target, path }),
                Err(BuildError::Refused(refused)) => refusals.extend(refused),
                Err(error) => return Err(error),
            }
        }
        if !refusals.is_empty() {
            return Err(BuildError::Refused(refusals));
        }
        Ok(Built {
            package: self.root.name.clone(),
            compiler: self.compiler.clone(),
            ptx,
            inputs: state.inputs,
        })
    }

    /// What the code is compiled for: the lowest of the targets. It runs on all of them, so one compilation serves them all.
    fn code_target(&self) -> Result<Target, BuildError> {
        let lowest = self.builder.targets.iter().min().copied();
        lowest.ok_or(BuildError::NoTarget)
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
        let mut emit = OsString::from("--emit=asm=");
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
            finished: BTreeMap::new(),
        };
        state.store(&self.state_path(target))?;
        self.builder.tell(&Progress::Built {
            target,
            took: started.elapsed(),
        });
        Ok(state)
    }

    /// A cargo command on the kernels crate in the shim's graph. It runs in the crate's folder, so that the user's cargo configuration holds.
    fn cargo(&self, verb: &str, plan: &Plan, package: &Package, target_dir: &Path) -> Command {
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

    /// Finishes for `target` what the compiler wrote for `code`, and checks it, unless that is done already.
    fn finish(
        &self,
        code: Target,
        target: Target,
        state: &mut State,
    ) -> Result<PathBuf, BuildError> {
        let path = self.dir.join(format!("{}.ptx", stem(target)));
        let key = cache::hash_of((env!("NSTAGE_BUILDER_SOURCE"), state.raw));
        let done = state
            .finished
            .get(&stem(target))
            .filter(|finished| finished.key == key && path.is_file());
        let (entries, mut failures) = match done {
            Some(finished) => (finished.entries.clone(), Vec::new()),
            None => self.finish_anew(code, target, state, key, &path)?,
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
        code: Target,
        target: Target,
        state: &mut State,
        key: u64,
        path: &Path,
    ) -> Result<(Vec<String>, Vec<Failure>), BuildError> {
        let raw = self.raw_path(code);
        let text = std::fs::read_to_string(&raw).map_err(BuildError::io("read", &raw))?;
        let finish::Output {
            text,
            entries,
            failures,
        } = finish::finish_and_check(&text, code, target).map_err(|errors| {
            BuildError::Unreadable {
                target,
                path: raw,
                errors,
            }
        })?;
        // Also what is refused is written, so that the lines in the failures can be looked at.
        cache::write(path, &text)?;
        if failures.is_empty() {
            let entries = entries.clone();
            state
                .finished
                .insert(stem(target), Finished { key, entries });
            state.store(&self.state_path(code))?;
        }
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
