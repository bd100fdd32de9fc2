//! Tensor maps: what `cp.async.bulk.tensor` is told about a tensor in global memory and about the boxes that are copied.
//!
//! The 128 bytes that CUDA's driver makes of this are nobody's business but the hardware's. The simulator's maps have
//! 128 bytes too, so that kernels pass them alike, but their content is ours: it starts with [`MAGIC`], then follow the fields
//! of [`TensorMap`] in the order of [`TensorMap::encode`], little-endian, and zeros. A map that the driver made is refused by name.
//!
//! Tiled maps without interleaving are modelled. Dimension 0 is the innermost, whose elements are neighbours.

use super::swizzle::Swizzle;

/// Most dimensions of a tensor.
pub const MOST_RANK: usize = 5;
/// Bytes of an encoded map.
pub const ENCODED_BYTES: usize = 128;
/// The first bytes of an encoded map.
pub const MAGIC: [u8; 8] = *b"nstageTM";
/// Addresses, strides and lines of a box are multiples of this.
const GRAIN: u64 = 16;

/// Type of a tensor's elements, in the order of CUDA's `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is its CUDA word")]
pub enum DataType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl DataType {
    /// Every type, in order.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Its name in arguments of launches.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::S32 => "i32",
            Self::U64 => "u64",
            Self::S64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::F32Ftz => "f32ftz",
            Self::Tf32 => "tf32",
            Self::Tf32Ftz => "tf32ftz",
        }
    }

    /// The type of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data| data.name() == name)
    }

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Whether the elements are floats.
    #[must_use]
    pub const fn is_float(self) -> bool {
        !matches!(
            self,
            Self::U8 | Self::U16 | Self::U32 | Self::S32 | Self::U64 | Self::S64
        )
    }
}

/// What stands in a box where the tensor has nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// A NaN, for floats only.
    Nan,
}

/// A tensor and its boxes, as they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Tiling<'a> {
    /// Type of the elements.
    pub data: DataType,
    /// Address of the first element.
    pub address: u64,
    /// Elements in each dimension, innermost first.
    pub dimensions: &'a [u64],
    /// Bytes from one element to the next in each dimension but the innermost.
    pub strides: &'a [u64],
    /// Elements in each dimension of a box, those stepped over included.
    pub extents: &'a [u32],
    /// Every how many elements of each dimension one is taken; the innermost's is ignored.
    pub steps: &'a [u32],
    /// Where the chunks of a line go in shared memory.
    pub swizzle: Swizzle,
    /// What stands outside the tensor.
    pub fill: Fill,
}

/// Why there is no such tensor map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message names each field")]
pub enum TensorMapError {
    #[error("tensor map: {got} dimensions, 1 to 5 expected")]
    Rank { got: usize },
    #[error("tensor map: {got} {what} given, {expected} expected for {rank} dimensions")]
    Count {
        what: &'static str,
        got: usize,
        expected: usize,
        rank: usize,
    },
    #[error("tensor map: address {address:#x} is not a multiple of 16; align the tensor")]
    Address { address: u64 },
    #[error("tensor map: dimension {dimension} has {got} elements, 1 to 4294967296 expected")]
    Dimension { dimension: usize, got: u64 },
    #[error(
        "tensor map: stride of dimension {dimension} is {got} bytes, a multiple of 16 below 1099511627776 expected; pad the rows"
    )]
    Stride { dimension: usize, got: u64 },
    #[error("tensor map: the box has {got} elements in dimension {dimension}, 1 to 256 expected")]
    Extent { dimension: usize, got: u32 },
    #[error("tensor map: step {got} in dimension {dimension}, 1 to 8 expected")]
    Step { dimension: usize, got: u32 },
    #[error("tensor map: a line of the box has {got} bytes, a multiple of 16 expected")]
    Line { got: u32 },
    #[error(
        "tensor map: a line of the box has {got} bytes, at most {most} fit this swizzle; use a narrower box or a wider swizzle"
    )]
    WideLine { got: u32, most: u32 },
    #[error("tensor map: integers cannot be filled with NaN; fill with zeros")]
    NanIntegers,
    #[error(
        "tensor map: the 128 bytes are not a map of the simulator; encode the map for the device that runs the kernel"
    )]
    Foreign,
}

/// A checked tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    data: DataType,
    rank: usize,
    address: u64,
    dimensions: [u64; MOST_RANK],
    /// The innermost's is the element's size.
    strides: [u64; MOST_RANK],
    extents: [u32; MOST_RANK],
    steps: [u32; MOST_RANK],
    swizzle: Swizzle,
    fill: Fill,
}

impl TensorMap {
    /// Checks the tiling as the driver would.
    pub fn new(tiling: &Tiling<'_>) -> Result<Self, TensorMapError> {
        let rank = tiling.dimensions.len();
        if !(1..=MOST_RANK).contains(&rank) {
            return Err(TensorMapError::Rank { got: rank });
        }
        let counts = [
            ("strides", tiling.strides.len(), rank - 1),
            ("box extents", tiling.extents.len(), rank),
            ("steps", tiling.steps.len(), rank),
        ];
        if let Some(&(what, got, expected)) =
            counts.iter().find(|(_, got, expected)| got != expected)
        {
            return Err(TensorMapError::Count {
                what,
                got,
                expected,
                rank,
            });
        }
        if !tiling.address.is_multiple_of(GRAIN) {
            return Err(TensorMapError::Address {
                address: tiling.address,
            });
        }
        let mut map = Self {
            data: tiling.data,
            rank,
            address: tiling.address,
            dimensions: [1; MOST_RANK],
            strides: [0; MOST_RANK],
            extents: [1; MOST_RANK],
            steps: [1; MOST_RANK],
            swizzle: tiling.swizzle,
            fill: tiling.fill,
        };
        map.dimensions[..rank].copy_from_slice(tiling.dimensions);
        map.strides[0] = tiling.data.bytes().into();
        map.strides[1..rank].copy_from_slice(tiling.strides);
        map.extents[..rank].copy_from_slice(tiling.extents);
        map.steps[1..rank].copy_from_slice(&tiling.steps[1..]);
        for dimension in 0..rank {
            let (elements, stride) = (map.dimensions[dimension], map.strides[dimension]);
            let (extent, step) = (map.extents[dimension], map.steps[dimension]);
            if !(1..=1 << 32).contains(&elements) {
                return Err(TensorMapError::Dimension {
                    dimension,
                    got: elements,
                });
            }
            if dimension > 0 && (!stride.is_multiple_of(GRAIN) || stride >= 1 << 40) {
                return Err(TensorMapError::Stride {
                    dimension,
                    got: stride,
                });
            }
            if !(1..=256).contains(&extent) {
                return Err(TensorMapError::Extent {
                    dimension,
                    got: extent,
                });
            }
            if !(1..=8).contains(&step) {
                return Err(TensorMapError::Step {
                    dimension,
                    got: step,
                });
            }
        }
        let line = map.line_bytes();
        if !u64::from(line).is_multiple_of(GRAIN) {
            return Err(TensorMapError::Line { got: line });
        }
        if map.swizzle != Swizzle::None && line > map.swizzle.span() {
            return Err(TensorMapError::WideLine {
                got: line,
                most: map.swizzle.span(),
            });
        }
        if map.fill == Fill::Nan && !map.data.is_float() {
            return Err(TensorMapError::NanIntegers);
        }
        Ok(map)
    }

    /// Type of the elements.
    #[must_use]
    pub const fn data(&self) -> DataType {
        self.data
    }

    /// Dimensions of the tensor.
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// What stands outside the tensor.
    #[must_use]
    pub const fn fill(&self) -> Fill {
        self.fill
    }

    /// Address of the first element.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Elements of dimension `dimension`; one beyond the rank.
    #[must_use]
    pub const fn elements(&self, dimension: usize) -> u64 {
        if dimension < MOST_RANK {
            self.dimensions[dimension]
        } else {
            1
        }
    }

    /// Bytes from one element of the dimension to the next.
    #[must_use]
    pub const fn stride(&self, dimension: usize) -> u64 {
        if dimension < MOST_RANK {
            self.strides[dimension]
        } else {
            0
        }
    }

    /// Every how many elements of the dimension one is taken.
    #[must_use]
    pub const fn step(&self, dimension: usize) -> u32 {
        if dimension < MOST_RANK {
            self.steps[dimension]
        } else {
            1
        }
    }

    /// Elements of the dimension that a box spans, those stepped over included.
    #[must_use]
    pub const fn extent(&self, dimension: usize) -> u32 {
        if dimension < MOST_RANK {
            self.extents[dimension]
        } else {
            1
        }
    }

    /// Elements of the dimension that a box holds, those stepped over not counted.
    #[must_use]
    pub const fn taken(&self, dimension: usize) -> u32 {
        if dimension < MOST_RANK {
            self.extents[dimension].div_ceil(self.steps[dimension])
        } else {
            1
        }
    }

    /// Where the chunks of a line go.
    #[must_use]
    pub const fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// Bytes of one line of a box.
    #[must_use]
    pub const fn line_bytes(&self) -> u32 {
        self.extents[0] * self.data.bytes()
    }

    /// The map as a kernel gets it.
    #[must_use]
    pub fn encode(&self) -> [u8; ENCODED_BYTES] {
        let mut bytes = [0; ENCODED_BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&MAGIC);
        put(&[
            self.data as u8,
            self.rank as u8,
            self.swizzle as u8,
            u8::from(self.fill == Fill::Nan),
        ]);
        put(&self.address.to_le_bytes());
        for dimension in 0..MOST_RANK {
            // 2^32 elements are allowed, none are not.
            put(&((self.dimensions[dimension] - 1) as u32).to_le_bytes());
            put(&self.strides[dimension].to_le_bytes());
            put(&[
                (self.extents[dimension] - 1) as u8,
                self.steps[dimension] as u8,
            ]);
        }
        bytes
    }

    /// The map in 128 bytes of a kernel's memory.
    pub fn decode(bytes: &[u8; ENCODED_BYTES]) -> Result<Self, TensorMapError> {
        let mut at = 0;
        let foreign = TensorMapError::Foreign;
        if take(bytes, &mut at) != MAGIC {
            return Err(foreign);
        }
        let [data, rank, swizzle, fill] = take(bytes, &mut at);
        let data = *DataType::ALL
            .get(usize::from(data))
            .ok_or(foreign.clone())?;
        let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        let swizzle = *swizzles.get(usize::from(swizzle)).ok_or(foreign.clone())?;
        let rank = usize::from(rank);
        if !(1..=MOST_RANK).contains(&rank) {
            return Err(foreign);
        }
        let address = u64::from_le_bytes(take(bytes, &mut at));
        let (mut dimensions, mut strides) = ([0; MOST_RANK], [0; MOST_RANK]);
        let (mut extents, mut steps) = ([0; MOST_RANK], [0; MOST_RANK]);
        for dimension in 0..MOST_RANK {
            dimensions[dimension] = u64::from(u32::from_le_bytes(take(bytes, &mut at))) + 1;
            strides[dimension] = u64::from_le_bytes(take(bytes, &mut at));
            let [extent, step] = take(bytes, &mut at);
            extents[dimension] = u32::from(extent) + 1;
            steps[dimension] = step.into();
        }
        Self::new(&Tiling {
            data,
            address,
            dimensions: &dimensions[..rank],
            strides: &strides[1..rank],
            extents: &extents[..rank],
            steps: &steps[..rank],
            swizzle,
            fill: if fill == 0 { Fill::Zero } else { Fill::Nan },
        })
    }
}

/// The next `N` bytes; zeros past the end, which the fields never reach.
fn take<const N: usize>(bytes: &[u8; ENCODED_BYTES], at: &mut usize) -> [u8; N] {
    let field = bytes
        .get(*at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N]);
    *at += N;
    field
}
