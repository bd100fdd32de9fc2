//! What a build hands back, and how a build script passes it on to its crate.

use crate::compiler::{COMPILER_VARIABLE, Compiler};
use crate::declaration::{self, Declaration};
use crate::inputs::Inputs;
use crate::{BuildError, Target, cache};
use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Finished and checked PTX, one file a target.
#[derive(Clone, Debug)]
pub struct Built {
    pub(crate) package: String,
    pub(crate) compiler: Compiler,
    pub(crate) ptx: Vec<BuiltPtx>,
    pub(crate) inputs: Inputs,
}

/// The PTX of one target.
#[derive(Clone, Debug)]
pub struct BuiltPtx {
    pub(crate) target: Target,
    pub(crate) path: PathBuf,
}

impl Built {
    /// The kernels crate's name.
    #[must_use]
    pub fn package(&self) -> &str {
        &self.package
    }

    /// What it was compiled with.
    #[must_use]
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// One file a target, in the order asked.
    #[must_use]
    pub fn ptx(&self) -> &[BuiltPtx] {
        &self.ptx
    }

    /// The files that the PTX was made from.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.files.iter().map(|(path, _)| path.as_path())
    }

    /// In a build script: tells cargo to run it again when a kernel, one of its crates or the choice of compiler changes.
    pub fn emit_rerun(&self) {
        for path in self.inputs() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        for (name, _) in &self.inputs.variables {
            println!("cargo::rerun-if-env-changed={name}");
        }
        println!("cargo::rerun-if-env-changed={COMPILER_VARIABLE}");
    }

    /// In a build script: writes `file` into `OUT_DIR`, a Rust expression of type `[(&str, &str); N]` with each target's name and PTX.
    ///
    /// ```text
    /// static PTX: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
    /// ```
    ///
    /// # Errors
    /// [`BuildError::NotABuildScript`] elsewhere, [`BuildError::Io`] where a file cannot be read or written.
    pub fn embed(&self, file: &str) -> Result<(), BuildError> {
        let out = env::var_os("OUT_DIR")
            .map(PathBuf::from)
            .ok_or(BuildError::NotABuildScript { what: "`embed`" })?;
        let mut text = String::from("[\n");
        for ptx in &self.ptx {
            // A copy of its own: the work folder may have moved on before the crate is compiled.
            let copy = out.join(format!("{}.{}.ptx", self.package, ptx.target));
            cache::write_if_changed(&copy, &ptx.text()?)?;
            // Writing to a String cannot fail; a path in debug form is a Rust string literal.
            let _ = writeln!(
                text,
                "    ({:?}, include_str!({:?})),",
                ptx.target.name(),
                copy.to_string_lossy()
            );
        }
        text.push(']');
        cache::write_if_changed(&out.join(file), &text)
    }
}

impl BuiltPtx {
    /// What it was built for.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Where it lies. The next build with other inputs replaces it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The PTX.
    ///
    /// # Errors
    /// [`BuildError::Io`] where the file cannot be read.
    pub fn text(&self) -> Result<String, BuildError> {
        std::fs::read_to_string(&self.path).map_err(BuildError::io("read", &self.path))
    }

    /// What the crate declared about its entries.
    ///
    /// # Errors
    /// [`BuildError::Io`] where the file cannot be read.
    pub fn declarations(&self) -> Result<Vec<Declaration>, BuildError> {
        // A declaration that cannot be read has stopped the build.
        Ok(declaration::read(&self.text()?).0)
    }
}
