//! `ptx`: builds the kernels and says what came out.

use crate::commands::setup;
use crate::{golden, workspace};
use anyhow::Result;
use clap::Args;
use nstage_builder::compiler::Compiler;
use nstage_builder::{Builder, Built, Progress, Target};
use std::time::Instant;

/// Builds the kernels to PTX and reports entries and sizes.
#[derive(Args)]
#[command(after_help = "Example: cargo xtask ptx --bless")]
pub(crate) struct Ptx {
    /// Take what was built as the new golden PTX.
    #[arg(long)]
    bless: bool,
    /// Another target beside sm_80 and sm_90, such as sm_90a.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
}

impl Ptx {
    pub(crate) fn run(self) -> Result<()> {
        let started = Instant::now();
        let extra = self
            .target
            .iter()
            .map(|name| Target::named(name))
            .collect::<Result<Vec<_>, _>>()?;
        let built = build(&extra)?;
        eprintln!("{:8} {:>8} {:>10}  file", "target", "entries", "bytes");
        for ptx in built.ptx() {
            let text = ptx.text()?;
            eprintln!(
                "{:8} {:>8} {:>10}  {}",
                ptx.target(),
                entries(&text).count(),
                text.len(),
                workspace::shown(ptx.path())
            );
        }
        eprintln!(
            "{} in {:.1} s",
            built.compiler(),
            started.elapsed().as_secs_f64()
        );
        golden::check(&built, self.bless)
    }
}

/// Builds the kernels for `sm_80`, `sm_90` and the targets given.
pub(crate) fn build(extra: &[Target]) -> Result<Built> {
    build_with(setup::device_compiler()?, extra)
}

/// As [`build`], with a compiler already found.
pub(crate) fn build_with(compiler: Compiler, extra: &[Target]) -> Result<Built> {
    let targets = [Target::SM_80, Target::SM_90].iter().chain(extra).copied();
    let variants = nstage_kernels::CATALOGUE
        .iter()
        .flat_map(|kernel| kernel.variants);
    let builder = Builder::new(workspace::root().join("kernels"))
        .expect_entries(variants.map(|variant| variant.entry))
        .targets(targets)
        .on_progress(|progress| match progress {
            // Of cargo's own lines, those about a crate tell that something moves; the rest is noise unless it fails.
            Progress::Cargo { line, .. } if !line.trim_start().starts_with("Compiling") => {}
            progress => eprintln!("{progress}"),
        });
    Ok(builder.build_with(compiler)?)
}

/// The names of the entries in a PTX text.
pub(crate) fn entries(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines()
        .filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('('))
}
