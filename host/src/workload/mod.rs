//! What kernels compute: input, reference, error bound, comparison.
//!
//! A [`Workload`] is one file here and one line in [`ALL`]. It makes a [`Problem`] from a size or from a file, and the problem knows everything else:
//! what goes in, how it is launched, what must come out and how far off each element may be.
//! [`job`] runs a problem on a device; nothing else launches a kernel.

mod blur;
pub mod compare;
mod copy;
mod elementwise;
mod heat;
pub mod input;
mod intensity;
pub mod job;
mod linear;
mod matmul;
mod outer;
mod patches;
mod scale;
mod sum;
mod transpose;
mod triad;

use std::borrow::Cow;

use nstage::catalogue::Kernel;

use crate::device::{Geometry, Limits, Prepared, Shaped};
use crate::io::Array;
pub use compare::Comparison;
use job::JobError;

/// Every workload. A kernel of the catalogue belongs to one of them.
pub static ALL: &[&dyn Workload] = &[
    &elementwise::Each(scale::Scale),
    &elementwise::Each(copy::Copying),
    &elementwise::Each(triad::Triad),
    &elementwise::Each(intensity::Intensity::USUAL),
    &sum::Sum,
    &blur::Blur,
    &heat::Heat,
    &transpose::Transpose,
    &outer::Outer,
    &matmul::Matmul,
];

/// A computation that one or several kernels perform.
pub trait Workload: Sync {
    /// The kernels that perform it.
    fn kernels(&self) -> &'static [&'static Kernel];

    /// What the job is called among those who do it, peers included: the first kernel's name unless it says otherwise.
    fn name(&self) -> &'static str {
        self.kernels().first().map_or("", |kernel| kernel.name)
    }

    /// Kernels that do a part of it and mean nothing alone.
    fn helpers(&self) -> &'static [&'static Kernel] {
        &[]
    }

    /// Elements where nothing is asked for: enough for every stage of every block to be used several times, and not a multiple of a tile.
    fn default_elements(&self, kind: DeviceKind) -> u64;

    /// A problem of about `elements` elements.
    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem>;

    /// The same with `reuse` operations on each element, where the kernels let that be chosen.
    fn generate_reusing(
        &self,
        _elements: u64,
        _seed: u64,
        _reuse: u32,
    ) -> Option<Box<dyn Problem>> {
        None
    }

    /// A problem on the user's data.
    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable>;

    /// The problems that a self-test of this shape runs: empty, one element, around one tile, around a whole ring, and a larger one.
    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>>;
}

/// The kinds of device that default sizes differ for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The simulator, where a run should take a moment.
    Simulator,
    /// A GPU, where a run should be far larger than its caches.
    Gpu,
}

/// Data that a workload cannot take.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{kernel}: takes {wanted}, the input has the shape {shape}")]
pub struct Unsuitable {
    /// The kernel.
    pub kernel: &'static str,
    /// What it takes.
    pub wanted: &'static str,
    /// What was given.
    pub shape: String,
}

/// One computation on given data.
pub trait Problem: Sync {
    /// Elements of the input.
    fn elements(&self) -> u64;

    /// What it is, for messages: `n = 1025`, `37 × 12`.
    fn title(&self) -> String;

    /// Tiles that the grid shares out.
    fn tiles(&self, shape: &Shaped) -> u64;

    /// Each input's bytes.
    fn inputs(&self) -> Vec<&[u8]>;

    /// Each output's size in bytes.
    fn outputs(&self, geometry: &Geometry) -> Vec<u64>;

    /// The launches, in order, given the addresses of inputs and outputs.
    fn launches(
        &self,
        geometry: &Geometry,
        limits: &Limits,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<Prepared>, JobError>;

    /// Compares every element of the outputs with the reference.
    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison;

    /// The result where it is one number.
    fn result(&self, _outputs: &[&[u8]]) -> Option<f64> {
        None
    }

    /// Extents of the output, known before the run.
    fn output_shape(&self) -> Vec<usize>;

    /// The output as an array, for a file.
    fn output(&self, outputs: &[&[u8]]) -> Array;

    /// Bytes that a launch must read and write at the least: what its bandwidth is computed from.
    fn traffic(&self) -> u64;
}

/// Bytes as `f32`s, copied only where they are not aligned.
fn floats_of(bytes: &[u8]) -> Cow<'_, [f32]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(floats) => Cow::Borrowed(floats),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

/// A number of operations was chosen for a job that has no such number.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "--reuse {reuse}: {job} does the same to every element whatever is asked; leave --reuse out"
)]
pub struct NoReuse {
    job: &'static str,
    reuse: u32,
}

/// A problem of about `elements` elements, with `reuse` operations on each where that is asked for.
pub fn generate(
    workload: &dyn Workload,
    elements: u64,
    seed: u64,
    reuse: Option<u32>,
) -> Result<Box<dyn Problem>, NoReuse> {
    let Some(reuse) = reuse else {
        return Ok(workload.generate(elements, seed));
    };
    let problem = workload.generate_reusing(elements, seed, reuse);
    problem.ok_or(NoReuse {
        job: workload.name(),
        reuse,
    })
}

/// The workload of a kernel.
pub fn of(kernel: &Kernel) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| {
        let mut own = workload.kernels().iter();
        own.any(|own| own.name == kernel.name)
    })
}

/// A kernel name that does not exist.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name}: no kernel to run is called so; {hint}")]
pub struct UnknownKernel {
    name: String,
    hint: String,
}

/// Every kernel that can be run by itself.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    ALL.iter().flat_map(|workload| workload.kernels()).copied()
}

/// The kernel of this name, or the name that was probably meant.
pub fn kernel(name: &str) -> Result<&'static Kernel, UnknownKernel> {
    if let Some(kernel) = kernels().find(|kernel| kernel.name == name) {
        return Ok(kernel);
    }
    let unknown = |hint| UnknownKernel {
        name: name.to_owned(),
        hint,
    };
    let helped = ALL
        .iter()
        .find(|workload| workload.helpers().iter().any(|own| own.name == name));
    if let Some(whole) = helped.and_then(|workload| workload.kernels().first()) {
        return Err(unknown(format!("it is a part of {}; run that", whole.name)));
    }
    let nearest = kernels()
        .map(|kernel| (strsim::jaro_winkler(name, kernel.name), kernel.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.75);
    Err(unknown(match nearest {
        Some((_, nearest)) => format!("did you mean {nearest}?"),
        None => {
            let names: Vec<&str> = kernels().map(|kernel| kernel.name).collect();
            format!("there are {}", names.join(", "))
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_one_workload() {
        for kernel in nstage_kernels::CATALOGUE {
            let count = ALL
                .iter()
                .flat_map(|workload| workload.kernels().iter().chain(workload.helpers()))
                .filter(|own| own.name == kernel.name)
                .count();
            assert_eq!(count, 1, "{}", kernel.name);
        }
    }

    #[test]
    fn a_misspelled_kernel_is_guessed() {
        for (name, expected) in [
            (
                "kernel_snyc",
                "kernel_snyc: no kernel to run is called so; did you mean kernel_sync?",
            ),
            (
                "kernel_synch",
                "kernel_synch: no kernel to run is called so; did you mean kernel_sync?",
            ),
        ] {
            assert_eq!(kernel(name).unwrap_err().to_string(), expected);
        }
        let message = kernel("xyzzy").unwrap_err().to_string();
        assert!(message.contains("there are kernel_sync"), "{message}");
    }
}
