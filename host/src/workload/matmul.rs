//! c = a·b: `matmul` and its kin.
//!
//! Each element is a chain of `k` fused multiply-adds, so its error is at most about `k` half units in the last place of the sum of the terms' magnitudes.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};

use super::compare::{self, Expected, Layout, Place};
use super::job::JobError;
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, OtherKernel, Prepared, Shaped};
use crate::io::Array;

/// Rows and columns of a tile of the product.
const TILE: usize = nstage_kernels::MATMUL_TILE as usize;

/// Half a unit in the last place, relative.
const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// The smallest positive `f32`, which bounds what one step loses where it is subnormal.
const SUBNORMAL: f64 = f64::from_bits((1023 - 149) << 52);

macro_rules! kernels {
    ($($kernel:ident),+ $(,)?) => {
        /// The kernels of this workload.
        static KERNELS: &[&Kernel] = &[$(&nstage_kernels::$kernel::KERNEL),+];

        /// The launch of one of them: they take the same parameters, each with its own type.
        fn prepare(
            geometry: &Geometry,
            [c, a, b]: [u64; 3],
            [m, n, k]: [u32; 3],
        ) -> Result<Prepared, OtherKernel> {
            let (c, a, b) = (GlobalMut::new(c), GlobalPtr::new(a), GlobalPtr::new(b));
            let name = geometry.shape().kernel.name;
            $(
                if name == nstage_kernels::$kernel::KERNEL.name {
                    return Prepared::new(*geometry, &nstage_kernels::$kernel::Args { c, a, b, m, n, k });
                }
            )+
            Err(OtherKernel::of(geometry, KERNELS[0]))
        }
    };
}

kernels! { matmul_naive, matmul, matmul_mbarrier, matmul_roles }

/// The workload.
pub(super) struct Matmul;

impl Workload for Matmul {
    fn kernels(&self) -> &'static [&'static Kernel] {
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 132 * 132,
            DeviceKind::Gpu => 1024 * 1024,
        }
    }

    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let side = elements.isqrt() as usize;
        Box::new(Product::new([side, side, side], seed))
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        let [rows, columns] = array.shape[..] else {
            return Err(Unsuitable {
                kernel: KERNELS[0].name,
                wanted: "a matrix, which has 2 dimensions",
                shape: array.shape_text(),
            });
        };
        // A few columns show all that many would.
        let mut product = Product::new([rows, columns.min(TILE), columns], 1);
        product.a = array.values;
        Ok(Box::new(product))
    }

    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let ring = 16 * shape.variant.stages().max(1) as usize;
        let mut sizes = vec![
            [1, 1, 1],
            [3, 5, 0],
            [64, 64, 16],
            [65, 63, ring + 1],
            [4, 132, ring - 1],
            [68, 8, 2 * ring + 4],
        ];
        if thorough {
            sizes.push([517, 390, 331]);
            sizes.push([512, 384, 328]);
        }
        let problems = sizes.into_iter();
        problems
            .map(|size| Box::new(Product::new(size, 7)) as Box<dyn Problem>)
            .collect()
    }
}

struct Product {
    a: Vec<f32>,
    b: Vec<f32>,
    m: usize,
    n: usize,
    k: usize,
}

impl Product {
    fn new([m, n, k]: [usize; 3], seed: u64) -> Self {
        Self {
            a: input::floats(m * k, seed),
            b: input::floats(k * n, seed + 1),
            m,
            n,
            k,
        }
    }

    fn expected(&self, index: usize) -> Expected {
        let (row, column) = (index / self.n, index % self.n);
        let (mut value, mut size) = (0.0, 0.0);
        for term in 0..self.k {
            let product =
                f64::from(self.a[row * self.k + term]) * f64::from(self.b[term * self.n + column]);
            value += product;
            size += product.abs();
        }
        let steps = self.k as f64 + 1.0;
        Expected {
            value,
            // A little more than the steps' own errors: those multiply up, and the reference is rounded too.
            bound: 1.01 * steps * (HALF_ULP * size + SUBNORMAL),
        }
    }
}

impl Problem for Product {
    fn elements(&self) -> u64 {
        self.a.len() as u64
    }

    fn title(&self) -> String {
        format!("{} × {} × {}", self.m, self.n, self.k)
    }

    fn tiles(&self, _: &Shaped) -> u64 {
        (self.m.div_ceil(TILE) * self.n.div_ceil(TILE)) as u64
    }

    fn inputs(&self) -> Vec<&[u8]> {
        vec![bytemuck::cast_slice(&self.a), bytemuck::cast_slice(&self.b)]
    }

    fn outputs(&self, _: &Geometry) -> Vec<u64> {
        vec![4 * (self.m * self.n) as u64]
    }

    fn launches(
        &self,
        geometry: &Geometry,
        _: &Limits,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<Prepared>, JobError> {
        let sizes = [self.m as u32, self.n as u32, self.k as u32];
        let addresses = [outputs[0], inputs[0], inputs[1]];
        Ok(vec![prepare(geometry, addresses, sizes)?])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let tiles = Tiles {
            rows: self.m,
            columns: self.n,
            blocks: u64::from(geometry.blocks()),
        };
        compare::compare(
            &floats_of(outputs[0]),
            &|index| self.expected(index),
            &tiles,
        )
    }

    fn output_shape(&self) -> Vec<usize> {
        vec![self.m, self.n]
    }

    fn output(&self, outputs: &[&[u8]]) -> Array {
        let mut array = Array::line(floats_of(outputs[0]).into_owned());
        array.shape = self.output_shape();
        array
    }

    fn traffic(&self) -> u64 {
        4 * (self.m * self.k + self.k * self.n + self.m * self.n) as u64
    }
}

/// The product cut into square tiles, row after row, which blocks take in turns. Every stage goes into every element, so none is told.
struct Tiles {
    rows: usize,
    columns: usize,
    blocks: u64,
}

impl Tiles {
    fn across(&self) -> usize {
        self.columns.div_ceil(TILE)
    }
}

impl Layout for Tiles {
    fn tile_elements(&self) -> usize {
        TILE * TILE
    }

    fn place(&self, index: usize) -> Place {
        let (row, column) = (index / self.columns, index % self.columns);
        let tile = (row / TILE * self.across() + column / TILE) as u64;
        Place {
            tile,
            block: tile % self.blocks,
            stage: None,
            thread: Some((row % TILE / 4 * (TILE / 4) + column % TILE / 4) as u32),
        }
    }

    fn elements_of(&self, tile: u64) -> usize {
        let (row, column) = (tile as usize / self.across(), tile as usize % self.across());
        let left = |size: usize, at: usize| size.saturating_sub(at * TILE).min(TILE);
        left(self.rows, row) * left(self.columns, column)
    }

    fn tiles(&self) -> u64 {
        (self.rows.div_ceil(TILE) * self.across()) as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        0
    }
}
