//! Jobs whose every result depends on the elements at its own place.

use nstage::catalogue::Kernel;

use super::compare::{self, Expected};
use super::job::JobError;
use super::linear::{self, Line};
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, OtherKernel, Prepared, Shaped};
use crate::io::Array;

/// Half a unit in the last place, relative.
pub(super) const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// Half the smallest positive `f32`, which bounds the error of a rounding to a subnormal.
pub(super) const HALF_SUBNORMAL: f64 = f64::from_bits((1023 - 150) << 52);

/// Where the first input's seed is the user's, each further one's is this much more.
const SEED_STEP: u64 = 0x5EED;

/// One such job.
pub(super) trait Elementwise: Copy + Sync + 'static {
    /// What it is called.
    const NAME: &'static str;
    /// Its inputs, all of the same length.
    const INPUTS: usize;

    /// Its kernels.
    fn kernels() -> &'static [&'static Kernel];

    /// The launch of one of them, from the addresses of the output and the inputs.
    fn prepare(
        self,
        geometry: &Geometry,
        y: u64,
        inputs: &[u64],
        n: u64,
    ) -> Result<Prepared, OtherKernel>;

    /// The result, from the element of each input at its place.
    fn expected(self, at: &[f32]) -> Expected;

    /// The same job with so many operations on each element, where that can be chosen.
    fn with_reuse(self, _reuse: u32) -> Option<Self> {
        None
    }
}

/// The workload of a job.
pub(super) struct Each<E>(pub(super) E);

impl<E: Elementwise> Each<E> {
    fn problem(&self, x: Array, seed: u64) -> Mapping<E> {
        let others = (1..E::INPUTS as u64).map(|number| {
            input::floats(
                x.values.len(),
                seed.wrapping_add(number.wrapping_mul(SEED_STEP)),
            )
        });
        Mapping {
            job: self.0,
            others: others.collect(),
            x,
        }
    }
}

impl<E: Elementwise> Workload for Each<E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn kernels(&self) -> &'static [&'static Kernel] {
        E::kernels()
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 262_147,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let x = input::floats(elements as usize, seed);
        Box::new(self.problem(Array::line(x), seed))
    }

    fn generate_reusing(&self, elements: u64, seed: u64, reuse: u32) -> Option<Box<dyn Problem>> {
        Some(Each(self.0.with_reuse(reuse)?).generate(elements, seed))
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        Ok(Box::new(self.problem(array, 1)))
    }

    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let lengths = linear::self_test_lengths(shape, thorough);
        let mut problems: Vec<Box<dyn Problem>> = lengths
            .iter()
            .map(|&length| self.generate(length as u64, length as u64))
            .collect();
        let mut special = input::floats(shape.tile() as usize + 5, 3);
        input::sprinkle(&mut special, 3);
        problems.push(Box::new(self.problem(Array::line(special), 3)));
        problems
    }
}

/// A job on given data.
struct Mapping<E> {
    job: E,
    x: Array,
    others: Vec<Vec<f32>>,
}

impl<E: Elementwise> Mapping<E> {
    fn expected(&self, index: usize) -> Expected {
        let x = self.x.values[index];
        match self.others.first() {
            None => self.job.expected(&[x]),
            Some(z) => self.job.expected(&[x, z[index]]),
        }
    }
}

impl<E: Elementwise> Problem for Mapping<E> {
    fn elements(&self) -> u64 {
        self.x.values.len() as u64
    }

    fn title(&self) -> String {
        format!("n = {}", self.x.values.len())
    }

    fn tiles(&self, shape: &Shaped) -> u64 {
        linear::tiles(self.elements(), shape)
    }

    fn inputs(&self) -> Vec<&[u8]> {
        let others = self.others.iter().map(Vec::as_slice);
        std::iter::once(self.x.values.as_slice())
            .chain(others)
            .map(bytemuck::cast_slice)
            .collect()
    }

    fn outputs(&self, _: &Geometry) -> Vec<u64> {
        vec![4 * self.elements()]
    }

    fn launches(
        &self,
        geometry: &Geometry,
        _: &Limits,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<Prepared>, JobError> {
        let launch = self
            .job
            .prepare(geometry, outputs[0], inputs, self.elements())?;
        Ok(vec![launch])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let line = Line::new(self.x.values.len(), geometry);
        compare::compare(&floats_of(outputs[0]), &|index| self.expected(index), &line)
    }

    fn output_shape(&self) -> Vec<usize> {
        self.x.shape.clone()
    }

    fn output(&self, outputs: &[&[u8]]) -> Array {
        Array {
            values: floats_of(outputs[0]).into_owned(),
            ..self.x.clone()
        }
    }

    fn traffic(&self) -> u64 {
        4 * (E::INPUTS as u64 + 1) * self.elements()
    }
}

/// The kernels of a job, and the launch of one of them: they take the same parameters, each with its own type.
macro_rules! kernels {
    ($params:tt $($kernel:ident),+ $(,)?) => {
        static KERNELS: &[&nstage::catalogue::Kernel] = &[$(&nstage_kernels::$kernel::KERNEL),+];

        $crate::workload::elementwise::kernels! { @prepare geometry $params { $(
            $crate::workload::elementwise::kernels! { @one geometry $params $kernel }
        )+ } }
    };
    (@prepare $geometry:ident ($($param:ident: $ty:ty),+) { $($each:tt)+ }) => {
        fn prepare(
            $geometry: &$crate::device::Geometry,
            $($param: $ty),+
        ) -> Result<$crate::device::Prepared, $crate::device::OtherKernel> {
            $($each)+
            Err($crate::device::OtherKernel::of($geometry, KERNELS[0]))
        }
    };
    (@one $geometry:ident ($($param:ident: $ty:ty),+) $kernel:ident) => {
        if $geometry.shape().kernel.name == nstage_kernels::$kernel::KERNEL.name {
            return $crate::device::Prepared::new(
                *$geometry,
                &nstage_kernels::$kernel::Args { $($param),+ },
            );
        }
    };
}

pub(super) use kernels;
