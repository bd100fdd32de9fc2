//! y = a ⊗ x: `outer`.
//!
//! Each product is rounded once, so an element may be off by half a unit in the last place of the exact product, which `f64` holds (24 + 24 bits).

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::{self, Expected, Layout, Place};
use super::job::JobError;
use super::linear;
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, Prepared, Shaped};
use crate::io::Array;

/// Rows: not a multiple of the blocks of a cluster.
const ROWS: usize = 7;

/// Half a unit in the last place, relative.
const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// Half the smallest positive `f32`, which bounds the error where the product is subnormal.
const HALF_SUBNORMAL: f64 = f64::from_bits((1023 - 150) << 52);

/// The workload.
pub(super) struct Outer;

impl Workload for Outer {
    fn kernels(&self) -> &'static [&'static Kernel] {
        static KERNELS: &[&Kernel] = &[&nstage_kernels::outer::KERNEL];
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 65_540,
            DeviceKind::Gpu => 1 << 24,
        }
    }

    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let x = input::floats(elements as usize, seed);
        Box::new(Product::new(Array::line(x)))
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        Ok(Box::new(Product::new(Array::line(array.values))))
    }

    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let lengths = linear::self_test_lengths(shape, thorough);
        // Rows of a multiple of four are the ones that clusters fetch together.
        let mut lengths: Vec<usize> = lengths
            .into_iter()
            .flat_map(|length| [length, length.next_multiple_of(4)])
            .collect();
        lengths.dedup();
        lengths
            .iter()
            .map(|&length| self.generate(length as u64, length as u64))
            .collect()
    }
}

struct Product {
    x: Array,
    a: Vec<f32>,
}

impl Product {
    fn new(x: Array) -> Self {
        Self {
            x,
            a: input::floats(ROWS, 5),
        }
    }

    fn expected(&self, index: usize) -> Expected {
        let n = self.x.values.len();
        let value = f64::from(self.a[index / n]) * f64::from(self.x.values[index % n]);
        Expected {
            value,
            bound: value.abs() * HALF_ULP + HALF_SUBNORMAL,
        }
    }
}

impl Problem for Product {
    fn elements(&self) -> u64 {
        self.x.values.len() as u64
    }

    fn title(&self) -> String {
        format!("{ROWS} × {}", self.x.values.len())
    }

    fn tiles(&self, shape: &Shaped) -> u64 {
        linear::tiles(self.elements(), shape)
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![
            bytemuck::cast_slice(&self.x.values),
            bytemuck::cast_slice(&self.a),
        ]
    }

    fn outputs(&self, _: &Geometry) -> Vec<u64> {
        vec![4 * self.elements() * ROWS as u64]
    }

    fn launches(
        &self,
        geometry: &Geometry,
        _: &Limits,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<Prepared>, JobError> {
        let args = nstage_kernels::outer::Args {
            y: GlobalMut::new(outputs[0]),
            x: GlobalPtr::new(inputs[0]),
            a: GlobalPtr::new(inputs[1]),
            n: self.elements(),
            rows: ROWS as u32,
        };
        Ok(vec![Prepared::new(*geometry, &args)?])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let columns = Columns {
            columns: self.x.values.len(),
            tile: geometry.tile().max(1) as usize,
            cluster: u64::from(geometry.shape().variant.cluster()),
            blocks: u64::from(geometry.blocks()),
            stages: geometry.shape().variant.stages(),
        };
        compare::compare(
            &floats_of(outputs[0]),
            &|index| self.expected(index),
            &columns,
        )
    }

    fn output_shape(&self) -> Vec<usize> {
        vec![ROWS, self.x.values.len()]
    }

    fn output(&self, outputs: &[&[u8]]) -> Array {
        Array {
            values: floats_of(outputs[0]).into_owned(),
            shape: self.output_shape(),
            ..self.x.clone()
        }
    }

    fn traffic(&self) -> u64 {
        4 * self.elements() * (1 + ROWS as u64)
    }
}

/// Columns cut into tiles, each of which belongs to one cluster; its block `r` has the rows `r`, `r` + blocks of a cluster, and so on.
struct Columns {
    columns: usize,
    tile: usize,
    cluster: u64,
    blocks: u64,
    stages: u32,
}

impl Layout for Columns {
    fn tile_elements(&self) -> usize {
        self.tile * ROWS
    }

    fn place(&self, index: usize) -> Place {
        let (row, column) = (index / self.columns, index % self.columns);
        let tile = (column / self.tile) as u64;
        let clusters = (self.blocks / self.cluster).max(1);
        let step = tile / clusters;
        Place {
            tile,
            block: tile % clusters * self.cluster + row as u64 % self.cluster,
            stage: Some((step % u64::from(self.stages.max(1))) as u32),
            thread: None,
        }
    }

    fn elements_of(&self, tile: u64) -> usize {
        let before = tile as usize * self.tile;
        self.columns.saturating_sub(before).min(self.tile) * ROWS
    }

    fn tiles(&self) -> u64 {
        self.columns.div_ceil(self.tile) as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        self.stages
    }
}
