//! y = a·x: `kernel_sync`, `simple_async`, `kernel_async_pipeline` over each mechanism.
//!
//! The kernels multiply once and round once, so an element may be off by half a unit in the last place of the exact product, which `f64` holds (24 + 24 bits).

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::{self, Expected};
use super::job::JobError;
use super::linear::{self, Line};
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, OtherKernel, Prepared, Shaped};
use crate::io::Array;

/// The factor: not a power of two, so that the product is really rounded, and odd in its last bit.
const FACTOR: f32 = 2.718_281_7;

/// Half a unit in the last place, relative.
const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// Half the smallest positive `f32`, which bounds the error where the product is subnormal.
const HALF_SUBNORMAL: f64 = f64::from_bits((1023 - 150) << 52);

macro_rules! kernels {
    ($($kernel:ident),+ $(,)?) => {
        /// The kernels of this workload.
        static KERNELS: &[&Kernel] = &[$(&nstage_kernels::$kernel::KERNEL),+];

        /// The launch of one of them: they take the same parameters, each with its own type.
        fn prepare(
            geometry: &Geometry,
            y: u64,
            x: u64,
            n: u64,
        ) -> Result<Prepared, OtherKernel> {
            let (y, x) = (GlobalMut::new(y), GlobalPtr::new(x));
            let name = geometry.shape().kernel.name;
            $(
                if name == nstage_kernels::$kernel::KERNEL.name {
                    return Prepared::new(*geometry, &nstage_kernels::$kernel::Args { y, x, a: FACTOR, n });
                }
            )+
            Err(OtherKernel::of(geometry, KERNELS[0]))
        }
    };
}

kernels! { kernel_sync, simple_async, kernel_async_pipeline, kernel_async_pipeline_mbarrier, kernel_async_pipeline_bulk, scale_roles, scale_roles_mbarrier, scale_roles_run_time, scale_verbs, scale_verbs_bulk, scale_bulk_out }

/// The workload.
pub(super) struct Scale;

impl Workload for Scale {
    fn name(&self) -> &'static str {
        "scale"
    }

    fn kernels(&self) -> &'static [&'static Kernel] {
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 262_147,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let x = input::floats(elements as usize, seed);
        Box::new(Scaling::new(Array::line(x)))
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        Ok(Box::new(Scaling::new(array)))
    }

    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let lengths = linear::self_test_lengths(shape, thorough);
        let mut problems: Vec<Box<dyn Problem>> = lengths
            .iter()
            .map(|&length| self.generate(length as u64, length as u64))
            .collect();
        let mut special = input::floats(shape.tile() as usize + 5, 3);
        input::sprinkle(&mut special, 3);
        problems.push(Box::new(Scaling::new(Array::line(special))));
        problems
    }
}

struct Scaling {
    x: Array,
}

impl Scaling {
    fn new(x: Array) -> Self {
        Self { x }
    }

    fn expected(&self, index: usize) -> Expected {
        let value = f64::from(FACTOR) * f64::from(self.x.values[index]);
        Expected {
            value,
            bound: value.abs() * HALF_ULP + HALF_SUBNORMAL,
        }
    }
}

impl Problem for Scaling {
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
        vec![bytemuck::cast_slice(&self.x.values)]
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
        Ok(vec![prepare(
            geometry,
            outputs[0],
            inputs[0],
            self.elements(),
        )?])
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
        8 * self.elements()
    }
}
