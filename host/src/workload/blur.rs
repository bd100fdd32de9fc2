//! A 5 × 5 Gaussian blur, `blur` and `blur_tensor`: the outer product of [1 4 6 4 1] / 16 with itself, with the nearest element for one beyond an edge.
//!
//! Each result passes through ten rounded operations at most: five along its rows, five down its columns, and a division by 256 that is exact.
//! All weights are positive, so the error is at most 10 · ε · Σ w|x| to first order, with ε half a unit in the last place; one operation more covers the higher orders.

use nstage::catalogue::Kernel;
use nstage::tensor::{Boxes, MAP_BYTES};
use nstage::{GlobalMut, GlobalPtr, TensorMap};
use nstage_kernels::{BLUR_ROWS, BlurBox, blur, blur_tensor};
use rayon::prelude::*;

use super::compare::{self, Expected, OVERFLOW};
use super::job::JobError;
use super::patches::{self, LANES, Patches};
use super::{Comparison, DeviceKind, Problem, Unsuitable, Workload, floats_of, input};
use crate::device::{Geometry, Limits, Prepared, Shaped};
use crate::io::{Array, shape_text};
use crate::tensor::{TensorMapError, TensorMapSpec};

const WEIGHTS: [f64; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];

/// The weights' sum, which the kernel divides by at the end, so that sums on the way are larger by it.
const SCALE: f64 = 256.0;

/// Rounded operations on the longest path, and one more.
const OPERATIONS: f64 = 11.0;

/// Half a unit in the last place, relative.
const HALF_ULP: f64 = f32::EPSILON as f64 / 2.0;

/// The smallest positive `f32`: operations on subnormals round by up to half of it each.
const SUBNORMAL: f64 = f64::from_bits((1023 - 149) << 52);

/// Rows of a patch.
const ROWS: usize = BLUR_ROWS as usize;

/// The workload.
pub(super) struct Blur;

impl Workload for Blur {
    fn kernels(&self) -> &'static [&'static Kernel] {
        static KERNELS: &[&Kernel] = &[&blur::KERNEL, &blur_tensor::KERNEL];
        KERNELS
    }

    fn default_elements(&self, kind: DeviceKind) -> u64 {
        match kind {
            DeviceKind::Simulator => 301 * 333,
            DeviceKind::Gpu => 1 << 26,
        }
    }

    /// An image that is about as wide as high.
    fn generate(&self, elements: u64, seed: u64) -> Box<dyn Problem> {
        let width = elements.isqrt().max(1);
        generated((elements / width) as usize, width as usize, seed)
    }

    fn take(&self, array: Array) -> Result<Box<dyn Problem>, Unsuitable> {
        if array.shape.len() != 2 {
            return Err(Unsuitable {
                kernel: blur::KERNEL.name,
                wanted: "an image, which has 2 dimensions",
                shape: array.shape_text(),
            });
        }
        Ok(Box::new(Blurring::new(array)))
    }

    /// Images that are empty, a dot, a line, narrower than the filter, and around a strip's width and a patch's height.
    fn self_test(&self, shape: &Shaped, thorough: bool) -> Vec<Box<dyn Problem>> {
        let strip = shape.tile() as usize;
        let mut shapes = vec![
            (0, 0),
            (0, 7),
            (1, 1),
            (1, 13),
            (13, 1),
            (2, 3),
            (5, 5),
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
        problems.push(Box::new(Blurring::new(image(29, 31, special))));
        problems
    }
}

fn image(height: usize, width: usize, values: Vec<f32>) -> Array {
    Array {
        shape: vec![height, width],
        values,
        image_bits: None,
    }
}

fn generated(height: usize, width: usize, seed: u64) -> Box<dyn Problem> {
    let values = input::floats(height * width, seed);
    Box::new(Blurring::new(image(height, width, values)))
}

struct Blurring {
    x: Array,
    height: usize,
    width: usize,
    /// The blurred image.
    values: Vec<f64>,
    /// The blurred image of magnitudes, which the bound is a multiple of.
    magnitudes: Vec<f64>,
}

impl Blurring {
    fn new(x: Array) -> Self {
        let (height, width) = (x.shape[0], x.shape[1]);
        let values = blurred(&x.values, height, width, f64::from);
        let magnitudes = blurred(&x.values, height, width, |value| f64::from(value.abs()));
        Self {
            x,
            height,
            width,
            values,
            magnitudes,
        }
    }

    /// The map of the input at an address; where rows are not aligned the kernel looks at none.
    fn map(&self, address: u64) -> Result<TensorMap<BlurBox>, TensorMapError> {
        if self.x.values.is_empty()
            || !address.is_multiple_of(16)
            || !self.width.is_multiple_of(LANES)
        {
            return Ok(TensorMap::from_bytes(&[0; MAP_BYTES]));
        }
        TensorMapSpec::new(address, &[self.height as u64, self.width as u64]).build()
    }

    fn expected(&self, index: usize) -> Expected {
        let magnitude = self.magnitudes[index];
        let may_overflow = magnitude.is_finite() && SCALE * magnitude >= OVERFLOW;
        Expected {
            value: self.values[index],
            bound: if may_overflow {
                f64::INFINITY
            } else {
                OPERATIONS * (HALF_ULP * magnitude + SUBNORMAL)
            },
        }
    }
}

/// The filter in `f64`, along the rows and then down the columns.
fn blurred(x: &[f32], height: usize, width: usize, value: impl Fn(f32) -> f64 + Sync) -> Vec<f64> {
    if x.is_empty() {
        return Vec::new();
    }
    let filter = |at: &dyn Fn(usize) -> f64, center: usize, extent: usize| {
        let taps = WEIGHTS.iter().enumerate();
        // A tap lies two before to two after the center, clamped to the edges.
        let sum: f64 = taps
            .map(|(tap, weight)| weight * at((center + tap).saturating_sub(2).min(extent - 1)))
            .sum();
        sum / 16.0
    };
    let rows: Vec<f64> = x
        .par_chunks(width)
        .flat_map_iter(|row| {
            (0..width)
                .map(|column| filter(&|at| value(row[at]), column, width))
                .collect::<Vec<_>>()
        })
        .collect();
    (0..height)
        .into_par_iter()
        .flat_map_iter(|row| {
            let rows = &rows;
            (0..width)
                .map(|column| filter(&|at| rows[at * width + column], row, height))
                .collect::<Vec<_>>()
        })
        .collect()
}

impl Problem for Blurring {
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
        let prepared = if boxed(geometry.shape()) {
            let map = self.map(inputs[0])?;
            Prepared::new(
                *geometry,
                &blur_tensor::Args {
                    y,
                    x,
                    map,
                    width,
                    height,
                },
            )
        } else {
            Prepared::new(
                *geometry,
                &blur::Args {
                    y,
                    x,
                    width,
                    height,
                },
            )
        };
        Ok(vec![prepared?])
    }

    fn verify(&self, geometry: &Geometry, outputs: &[&[u8]]) -> Comparison {
        let layout = Patches {
            width: self.width.max(1),
            strip: geometry.tile().max(1) as usize,
            rows: ROWS,
            reach: 2,
            patches: self.tiles(geometry.shape()),
            blocks: geometry.blocks().into(),
            stages: geometry.shape().variant.stages(),
            rows_a_stage: if boxed(geometry.shape()) {
                BlurBox::EXTENTS[1]
            } else {
                1
            },
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

/// Whether the kernel takes its input through a tensor map.
fn boxed(shape: &Shaped) -> bool {
    shape.kernel.name == blur_tensor::KERNEL.name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_becomes_the_outer_product_of_the_weights() {
        let mut x = vec![0.0; 49];
        x[3 * 7 + 3] = 256.0;
        let values = blurred(&x, 7, 7, f64::from);
        for row in 0..7 {
            for column in 0..7 {
                let weight = |at: usize| {
                    if (1..=5).contains(&at) {
                        WEIGHTS[at - 1]
                    } else {
                        0.0
                    }
                };
                assert_eq!(
                    values[row * 7 + column],
                    weight(row) * weight(column),
                    "{row}, {column}"
                );
            }
        }
    }

    #[test]
    fn the_edges_are_repeated_and_a_constant_stays() {
        for (height, width) in [(1, 1), (1, 6), (6, 1), (2, 3), (9, 8)] {
            let values = blurred(&vec![0.7; height * width], height, width, f64::from);
            let expected = f64::from(0.7_f32);
            assert!(
                values.iter().all(|value| (value - expected).abs() < 1e-15),
                "{height} × {width}"
            );
        }
        // At the left edge of 1, 0, 0: taps 1 + 4 + 6 of 16 fall on the first element.
        assert_eq!(blurred(&[16.0, 0.0, 0.0], 1, 3, f64::from)[0], 11.0);
    }
}
