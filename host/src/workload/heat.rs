//! A step of heat in a plane, `heat_2d` over each mechanism: y = center·x + side·(its four neighbours), and y = x on the border.
//!
//! A result passes through four rounded operations at most: two additions of neighbours, a product and a fused one.
//! With the weights positive, the error is at most 4 · ε · (center·|x| + side·Σ|neighbours|) to first order, with ε half a unit in the last place; one operation more covers the higher orders.

use nstage::catalogue::Kernel;
use nstage::{GlobalMut, GlobalPtr};
use nstage_kernels::HEAT_ROWS;

use super::compare::{self, Expected, OVERFLOW};
use super::elementwise::{self, HALF_ULP};
use super::job::JobError;
use super::patches::{self, Patches};
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, Prepared, Shaped};
use crate::io::{Array, shape_text};

/// The weights, whose products are really rounded; together they are less than 1.
const CENTER: f32 = 0.51;
const SIDE: f32 = 0.122;

/// Rounded operations on the longest path, and one more.
const OPERATIONS: f64 = 5.0;

/// The smallest positive `f32`: operations on subnormals round by up to half of it each.
const SUBNORMAL: f64 = f64::from_bits((1023 - 149) << 52);

/// Rows of a patch.
const ROWS: usize = HEAT_ROWS as usize;

elementwise::kernels! {
    (y: GlobalMut<f32>, x: GlobalPtr<f32>, width: u32, height: u32, center: f32, side: f32)
    heat_2d, heat_2d_mbarrier, heat_2d_bulk,
}

/// The workload.
pub(super) struct Heat;

impl Workload for Heat {
    fn name(&self) -> &'static str {
        "stencil5"
    }

    fn kernels(&self) -> &'static [&'static Kernel] {
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 301 * 333,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    /// A plane that is about as wide as high.
    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let width = elements.isqrt().max(1);
        generated((elements / width) as usize, width as usize, seed)
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        if array.shape.len() != 2 {
            return Err(Unsuitable {
                kernel: KERNELS[0].name,
                wanted: "a plane, which has 2 dimensions",
                shape: array.shape_text(),
            });
        }
        Ok(Box::new(Heating::new(array)))
    }

    /// Planes that are empty, all border, with one element inside, and around a strip's width and a patch's height.
    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let strip = shape.tile() as usize;
        let mut shapes = vec![
            (0, 0),
            (0, 7),
            (1, 1),
            (1, 13),
            (13, 1),
            (2, 3),
            (3, 3),
            (5, 4),
            (3, strip - 1),
            (4, strip),
            (6, strip + 1),
            (ROWS - 1, 7),
            (ROWS + 1, strip + 4),
            (ROWS + 2, 2 * strip + 8),
        ];
        if thorough {
            shapes.extend([(2 * ROWS + 3, 3 * strip + 5), (1023, 1025)]);
        }
        let mut problems: Vec<Box<dyn Problem>> = shapes
            .iter()
            .map(|&(height, width)| generated(height, width, (height + width) as u64))
            .collect();
        let mut special = input::floats(29 * 31, 3);
        input::sprinkle(&mut special, 3);
        problems.push(Box::new(Heating::new(plane(29, 31, special))));
        problems
    }
}

fn plane(height: usize, width: usize, values: Vec<f32>) -> Array {
    Array {
        shape: vec![height, width],
        values,
        image_bits: None,
    }
}

fn generated(height: usize, width: usize, seed: u64) -> Box<dyn Problem> {
    let values = input::floats(height * width, seed);
    Box::new(Heating::new(plane(height, width, values)))
}

struct Heating {
    x: Array,
    height: usize,
    width: usize,
}

impl Heating {
    fn new(x: Array) -> Self {
        let (height, width) = (x.shape[0], x.shape[1]);
        Self { x, height, width }
    }

    fn expected(&self, index: usize) -> Expected {
        let (row, column) = (index / self.width, index % self.width);
        let x = |at: usize| f64::from(self.x.values[at]);
        let inside = |at: usize, extent: usize| at > 0 && at + 1 < extent;
        if !inside(row, self.height) || !inside(column, self.width) {
            return Expected {
                value: x(index),
                bound: 0.0,
            };
        }
        let (center, side) = (f64::from(CENTER), f64::from(SIDE));
        let sides = [index - self.width, index + self.width, index - 1, index + 1].map(x);
        let neighbours: f64 = sides.iter().map(|x| x.abs()).sum();
        let magnitude = center * x(index).abs() + side * neighbours;
        let may_overflow = neighbours.is_finite() && neighbours >= OVERFLOW;
        Expected {
            value: center * x(index) + side * sides.iter().sum::<f64>(),
            bound: if may_overflow {
                f64::INFINITY
            } else {
                OPERATIONS * (HALF_ULP * magnitude + SUBNORMAL)
            },
        }
    }
}

impl Problem for Heating {
    fn elements(&self) -> u64 {
        self.x.values.len() as u64
    }

    fn title(&self) -> String {
        shape_text(&[self.height, self.width])
    }

    fn tiles(&self, shape: &Shaped) -> u64 {
        patches::count([self.height, self.width], ROWS, shape)
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
        let (width, height) = (self.width as u32, self.height as u32);
        Ok(vec![prepare(geometry, y, x, width, height, CENTER, SIDE)?])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let layout = Patches {
            width: self.width.max(1),
            strip: geometry.tile().max(1) as usize,
            rows: ROWS,
            reach: 1,
            patches: self.tiles(geometry.shape()),
            blocks: geometry.blocks().into(),
            stages: geometry.shape().variant.stages(),
            rows_a_stage: 1,
        };
        compare::compare(
            &floats_of(outputs[0]),
            &|index| self.expected(index),
            &layout,
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_spreads_to_four_neighbours_and_the_border_stays() {
        let mut values = vec![0.0; 30];
        values[2 * 6 + 1] = 1.0;
        let heating = Heating::new(plane(5, 6, values));
        for (index, expected) in [
            (2 * 6 + 1, CENTER),
            (6 + 1, SIDE),
            (3 * 6 + 1, SIDE),
            (2 * 6 + 2, SIDE),
            // On the border.
            (2 * 6, 0.0),
            (6 + 2, 0.0),
        ] {
            assert_eq!(
                heating.expected(index).value,
                f64::from(expected),
                "{index}"
            );
        }
    }
}
