//! Tensor maps for kernels: a tensor in a device's memory, checked before it is launched with.
//!
//! A map goes through launches as its description; the device that runs the kernel makes its own bytes of it, the simulator by reading it, CUDA by asking the driver.

use nstage::TensorMap;
use nstage::param::{Element, Scalar};
use nstage::tensor::Boxes;
use nstage_sim::matrix::swizzle::Swizzle;
use nstage_sim::matrix::tensor_map::{self as described, DataType, Fill, Tiling};

pub use nstage_sim::matrix::tensor_map::TensorMapError;

/// A tensor whose map is wanted: its address, its shape, and how far its lines are apart.
///
/// ```
/// use nstage::tensor::Tile2;
/// use nstage_host::tensor::TensorMapSpec;
///
/// // 100 rows of 60 columns, each row padded to 256 bytes.
/// let spec = TensorMapSpec::new(0x1000, &[100, 60]).pitch(256);
/// assert!(spec.build::<Tile2<f32, 8, 32, 128>>().is_ok());
///
/// let error = TensorMapSpec::new(0x1004, &[100, 60]).build::<Tile2<f32, 8, 32>>().unwrap_err();
/// assert_eq!(error.to_string(), "tensor map: address 0x1004 is not a multiple of 16; align the tensor");
/// ```
#[derive(Clone, Debug)]
pub struct TensorMapSpec {
    address: u64,
    /// Innermost first.
    dimensions: Vec<u64>,
    pitch: Option<u64>,
    steps: Vec<u32>,
    fill: Fill,
}

impl TensorMapSpec {
    /// The tensor at a device address, with its shape, outermost dimension first, and no gaps between its lines.
    #[must_use]
    pub fn new(address: u64, shape: &[u64]) -> Self {
        Self {
            address,
            dimensions: shape.iter().rev().copied().collect(),
            pitch: None,
            steps: vec![1; shape.len()],
            fill: Fill::Zero,
        }
    }

    /// The lines of the innermost dimension lie `bytes` apart; the other dimensions follow without gaps.
    #[must_use]
    pub fn pitch(mut self, bytes: u64) -> Self {
        self.pitch = Some(bytes);
        self
    }

    /// Boxes take every so many elements of each dimension, outermost first; the innermost's is ignored.
    #[must_use]
    pub fn steps(mut self, steps: &[u32]) -> Self {
        self.steps = steps.iter().rev().copied().collect();
        self
    }

    /// NaNs stand outside of the tensor, and not zeros.
    #[must_use]
    pub fn outside_nan(mut self) -> Self {
        self.fill = Fill::Nan;
        self
    }

    /// The map for a kernel that copies boxes `B`.
    pub fn build<B: Boxes>(&self) -> Result<TensorMap<B>, TensorMapError> {
        if self.dimensions.len() != B::RANK {
            return Err(TensorMapError::Count {
                what: "dimensions",
                got: self.dimensions.len(),
                expected: B::RANK,
                rank: B::RANK,
            });
        }
        let data = data_type(B::Item::SCALAR);
        let mut stride = self
            .pitch
            .unwrap_or(self.dimensions[0].saturating_mul(data.bytes().into()));
        let mut strides = Vec::with_capacity(B::RANK - 1);
        for elements in &self.dimensions[1..] {
            strides.push(stride);
            stride = stride.saturating_mul(*elements);
        }
        // A box holds every `step`-th element, so that it reaches over so many more.
        let extents: Vec<u32> = B::EXTENTS[..B::RANK]
            .iter()
            .zip(&self.steps)
            .enumerate()
            .map(|(dimension, (extent, step))| match dimension {
                0 => *extent,
                _ => extent.saturating_mul(*step),
            })
            .collect();
        let map = described::TensorMap::new(&Tiling {
            data,
            address: self.address,
            dimensions: &self.dimensions,
            strides: &strides,
            extents: &extents,
            steps: &self.steps,
            swizzle: match B::SWIZZLE {
                32 => Swizzle::B32,
                64 => Swizzle::B64,
                128 => Swizzle::B128,
                _ => Swizzle::None,
            },
            fill: self.fill,
        })?;
        Ok(TensorMap::from_bytes(&map.encode()))
    }
}

/// The type that copies elements of a Rust type.
fn data_type(scalar: Scalar) -> DataType {
    match scalar {
        // Copies look at the bytes of integers alone.
        Scalar::U8 | Scalar::I8 => DataType::U8,
        Scalar::U16 | Scalar::I16 => DataType::U16,
        Scalar::U32 => DataType::U32,
        Scalar::I32 => DataType::S32,
        Scalar::U64 => DataType::U64,
        Scalar::I64 => DataType::S64,
        Scalar::F32 => DataType::F32,
        Scalar::F64 => DataType::F64,
    }
}

/// The description that a parameter's bytes are, if they are one.
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "only CUDA makes other bytes of it")
)]
pub(crate) fn description(bytes: &[u8]) -> Option<described::TensorMap> {
    described::TensorMap::decode(bytes.try_into().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nstage::param::KernelParam;
    use nstage::tensor::{Tile1, Tile2, Tile3};

    fn described(map: &impl KernelParam) -> described::TensorMap {
        let mut found = None;
        map.with_bytes(&mut |bytes| found = description(bytes));
        found.expect("a description")
    }

    #[test]
    fn a_map_describes_the_tensor_and_the_boxes_of_its_type() {
        let spec = TensorMapSpec::new(0x2000, &[5, 7, 64]).steps(&[2, 1, 1]);
        let map = described(&spec.build::<Tile3<f32, 2, 4, 32, 128>>().unwrap());
        assert_eq!((map.rank(), map.address()), (3, 0x2000));
        assert_eq!(
            [map.elements(0), map.elements(1), map.elements(2)],
            [64, 7, 5]
        );
        assert_eq!((map.stride(1), map.stride(2)), (256, 7 * 256));
        assert_eq!([map.taken(0), map.taken(1), map.taken(2)], [32, 4, 2]);
        assert_eq!((map.swizzle(), map.box_bytes()), (Swizzle::B128, 1024));
        let line = described(
            &TensorMapSpec::new(0, &[9])
                .build::<Tile1<i16, 64>>()
                .unwrap(),
        );
        assert_eq!((line.data(), line.rank()), (DataType::U16, 1));
    }

    #[test]
    fn what_no_map_can_be_made_of_is_told_with_numbers() {
        type Box = Tile2<f32, 4, 32>;
        for (spec, expected) in [
            (
                TensorMapSpec::new(8, &[4, 32]),
                "address 0x8 is not a multiple of 16",
            ),
            (
                TensorMapSpec::new(0, &[4, 33]),
                "stride of dimension 1 is 132 bytes",
            ),
            (
                TensorMapSpec::new(0, &[4, 32]).pitch(1 << 40),
                "below 1099511627776 expected",
            ),
            (TensorMapSpec::new(0, &[4, 0]), "dimension 0 has 0 elements"),
            (
                TensorMapSpec::new(0, &[32]),
                "1 dimensions given, 2 expected",
            ),
            (
                TensorMapSpec::new(0, &[4, 32]).steps(&[9, 1]),
                "step 9 in dimension 1",
            ),
            (
                TensorMapSpec::new(0, &[4, 32]).steps(&[1]),
                "1 box extents given",
            ),
        ] {
            let message = spec.build::<Box>().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let words = TensorMapSpec::new(0, &[4, 32]).outside_nan();
        let message = words.build::<Tile2<u32, 4, 32>>().unwrap_err().to_string();
        assert!(
            message.contains("integers cannot be filled with NaN"),
            "{message}"
        );
    }
}
