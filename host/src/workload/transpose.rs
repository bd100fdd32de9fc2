//! y[c][r] = x[r][c]: `transpose` over each mechanism. Every element is exact.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};
use nstage_kernels::TRANSPOSE_TILE;

use super::compare::{self, Expected, Layout, Place};
use super::elementwise;
use super::job::JobError;
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, Prepared, Shaped};
use crate::io::{Array, shape_text};

/// Rows and columns of a tile.
const SIDE: usize = TRANSPOSE_TILE as usize;

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, rows: u32, columns: u32)
    transpose, transpose_mbarrier,
}

/// The workload.
pub(super) struct Transpose;

impl Workload for Transpose {
    fn kernels(&self) -> &'static [&'static Kernel] {
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 301 * 333,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    /// A matrix that is about as wide as high.
    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let columns = elements.isqrt().max(1);
        generated((elements / columns) as usize, columns as usize, seed)
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        if array.shape.len() != 2 {
            return Err(Unsuitable {
                kernel: KERNELS[0].name,
                wanted: "a matrix, which has 2 dimensions",
                shape: array.shape_text(),
            });
        }
        Ok(Box::new(Transposing { x: array }))
    }

    /// Matrices that are empty, a row, a column, and around one tile and a whole ring of them.
    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let ring = SIDE * shape.variant.stages().max(1) as usize;
        let mut shapes = vec![
            (0, 0),
            (0, 7),
            (1, 1),
            (1, 70),
            (70, 1),
            (3, 5),
            (SIDE - 1, SIDE + 1),
            (SIDE, SIDE),
            (SIDE + 4, 2 * ring + 8),
            (2 * SIDE + 1, ring + 2),
        ];
        if thorough {
            shapes.extend([(3 * SIDE + 4, 5 * ring + 12), (1023, 1025)]);
        }
        let mut problems: Vec<Box<dyn Problem>> = shapes
            .iter()
            .map(|&(rows, columns)| generated(rows, columns, (rows + columns) as u64))
            .collect();
        let mut special = input::floats(29 * 31, 3);
        input::sprinkle(&mut special, 3);
        problems.push(Box::new(Transposing {
            x: matrix(29, 31, special),
        }));
        problems
    }
}

fn matrix(rows: usize, columns: usize, values: Vec<f32>) -> Array {
    Array {
        shape: vec![rows, columns],
        values,
        image_bits: None,
    }
}

fn generated(rows: usize, columns: usize, seed: u64) -> Box<dyn Problem> {
    let values = input::floats(rows * columns, seed);
    Box::new(Transposing {
        x: matrix(rows, columns, values),
    })
}

struct Transposing {
    x: Array,
}

impl Transposing {
    fn rows(&self) -> usize {
        self.x.shape[0]
    }

    fn columns(&self) -> usize {
        self.x.shape[1]
    }

    /// What belongs at `index` of the output.
    fn expected(&self, index: usize) -> Expected {
        let (column, row) = (index / self.rows(), index % self.rows());
        Expected {
            value: f64::from(self.x.values[row * self.columns() + column]),
            bound: 0.0,
        }
    }
}

impl Problem for Transposing {
    fn elements(&self) -> u64 {
        self.x.values.len() as u64
    }

    fn title(&self) -> String {
        shape_text(&self.x.shape)
    }

    fn tiles(&self, _: &Shaped) -> u64 {
        (self.rows().div_ceil(SIDE) * self.columns().div_ceil(SIDE)) as u64
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
        let (y, x) = (GlobalMut::new(outputs[0]), GlobalPtr::new(inputs[0]));
        let (rows, columns) = (self.rows() as u32, self.columns() as u32);
        Ok(vec![prepare(geometry, y, x, rows, columns)?])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let tiles = Tiles {
            rows: self.rows(),
            columns: self.columns(),
            blocks: geometry.blocks().into(),
            stages: geometry.shape().variant.stages(),
        };
        compare::compare(
            &floats_of(outputs[0]),
            &|index| self.expected(index),
            &tiles,
        )
    }

    fn output_shape(&self) -> Vec<usize> {
        vec![self.columns(), self.rows()]
    }

    fn output(&self, outputs: &[&[u8]]) -> Array {
        Array {
            shape: self.output_shape(),
            values: floats_of(outputs[0]).into_owned(),
            ..self.x.clone()
        }
    }

    fn traffic(&self) -> u64 {
        8 * self.elements()
    }
}

/// The input's tiles, dealt to the blocks in turn, each into the next stage.
struct Tiles {
    rows: usize,
    columns: usize,
    blocks: u64,
    stages: u32,
}

impl Tiles {
    fn strips(&self) -> usize {
        self.columns.div_ceil(SIDE)
    }
}

impl Layout for Tiles {
    fn tile_elements(&self) -> usize {
        SIDE * SIDE
    }

    fn place(&self, index: usize) -> Place {
        let (column, row) = (index / self.rows, index % self.rows);
        let tile = (row / SIDE * self.strips() + column / SIDE) as u64;
        let step = (tile / self.blocks) as u32;
        Place {
            tile,
            block: tile % self.blocks,
            stage: step.checked_rem(self.stages),
            thread: Some((row % SIDE / 4 + column % SIDE / 4 * (SIDE / 4)) as u32),
        }
    }

    fn elements_of(&self, tile: u64) -> usize {
        let (row, column) = (
            tile as usize / self.strips() * SIDE,
            tile as usize % self.strips() * SIDE,
        );
        SIDE.min(self.rows - row) * SIDE.min(self.columns - column)
    }

    fn tiles(&self) -> u64 {
        (self.rows.div_ceil(SIDE) * self.strips()) as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        self.stages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_matrix_of_two_by_three_tiles() {
        let tiles = Tiles {
            rows: 100,
            columns: 130,
            blocks: 4,
            stages: 2,
        };
        // Row and column of the input, and where that element is made.
        for (row, column, tile, stage, thread) in [
            (0, 0, 0, 0, 0),
            (63, 64, 1, 0, 15),
            (64, 67, 4, 1, 0),
            (99, 129, 5, 1, 8),
            (5, 9, 0, 0, 33),
        ] {
            let place = tiles.place(column * 100 + row);
            let expected = Place {
                tile,
                block: tile % 4,
                stage: Some(stage),
                thread: Some(thread),
            };
            assert_eq!(place, expected, "{row}, {column}");
        }
        assert_eq!((tiles.elements_of(0), tiles.elements_of(5)), (4096, 36 * 2));
    }

    #[test]
    fn the_output_is_the_input_turned() {
        let x = matrix(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let turned = Transposing { x };
        let values: Vec<f64> = (0..6).map(|index| turned.expected(index).value).collect();
        assert_eq!(values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
