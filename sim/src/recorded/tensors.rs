//! Tensor-map copies and swizzles as the device performed them.

use super::{digest, lines, number, words};
use crate::matrix::swizzle::Swizzle;
use crate::matrix::tensor_box::{CHUNK, Direction};
use crate::matrix::tensor_map::{DataType, Fill, TensorMap, Tiling};

/// Bytes of the shared memory that tensor copies were recorded with.
const IMAGE: usize = 65536;
/// Where the tensor is, for us.
const BASE: u64 = 1 << 30;
const TYPES: [DataType; 13] = [
    DataType::U8,
    DataType::U16,
    DataType::U32,
    DataType::S32,
    DataType::U64,
    DataType::S64,
    DataType::F16,
    DataType::F32,
    DataType::F64,
    DataType::Bf16,
    DataType::F32Ftz,
    DataType::Tf32,
    DataType::Tf32Ftz,
];

fn list<T: std::str::FromStr>(field: &str) -> Vec<T> {
    field
        .split(',')
        .filter(|item| *item != "-")
        .map(number)
        .collect()
}

fn digest_bytes(bytes: &[u8]) -> String {
    digest(
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word)),
    )
}

/// The bytes of the tensor, every eighth word a tie of tf32 and every eighth a subnormal number.
fn source(seed: u64, bytes: usize) -> Vec<u8> {
    let word = |raw: u32| match raw % 8 {
        0 => raw & 0xffff_e000 | 0x1000,
        1 => raw & 0x807f_ffff,
        _ => raw,
    };
    words(8 * seed, bytes / 4)
        .into_iter()
        .flat_map(|raw| word(raw).to_le_bytes())
        .collect()
}

#[test]
fn boxes_are_copied_as_recorded() {
    for line in lines("tensor") {
        let (dimensions, strides): (Vec<u64>, Vec<u64>) = (list(line[1]), list(line[2]));
        let kind: usize = number(line[0]);
        let swizzle: usize = number(line[6]);
        let tiling = Tiling {
            data: TYPES[kind],
            address: BASE,
            dimensions: &dimensions,
            strides: &strides,
            extents: &list(line[3]),
            steps: &list(line[4]),
            swizzle: [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128][swizzle],
            fill: if line[7] == "1" {
                Fill::Nan
            } else {
                Fill::Zero
            },
        };
        let map = TensorMap::new(&tiling).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(map.box_bytes(), number::<u32>(line[9]), "{line:?}");
        let (start, offset, seed): (Vec<i32>, u32, u64) =
            (list(line[5]), number(line[8]), number(line[10]));
        let outermost = strides.last().copied().unwrap_or_else(|| {
            (dimensions[0] * u64::from(TYPES[kind].bytes())).next_multiple_of(16)
        });
        let total = outermost
            * if strides.is_empty() {
                1
            } else {
                dimensions[dimensions.len() - 1]
            };
        let source = source(seed, total.next_multiple_of(1024) as usize);

        let mut shared = vec![0xa5; IMAGE];
        for piece in map
            .pieces(Direction::Load, &start, offset)
            .unwrap_or_else(|error| panic!("{line:?}: {error}"))
        {
            let mut chunk = [0; CHUNK as usize];
            let bytes = piece.bytes as usize;
            chunk[..bytes].copy_from_slice(
                &source[(piece.global.wrapping_sub(BASE) as usize).min(source.len())..][..bytes],
            );
            let mut chunk = map.loaded(chunk);
            chunk[bytes..].copy_from_slice(&map.fill_bytes()[bytes..]);
            shared[piece.shared as usize..][..CHUNK as usize].copy_from_slice(&chunk);
        }
        assert_eq!(digest_bytes(&shared), line[11], "load {line:?}");

        let start: Vec<i32> = start.into_iter().map(|at| at.max(0)).collect();
        let image: Vec<u8> = words(8 * seed + 1, IMAGE / 4)
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let mut tensor = vec![0xee; source.len()];
        for piece in map
            .pieces(Direction::Store, &start, offset)
            .unwrap_or_else(|error| panic!("{line:?}: {error}"))
        {
            if piece.bytes > 0 {
                let to = (piece.global - BASE) as usize;
                let from = piece.shared as usize;
                tensor[to..to + CHUNK as usize]
                    .copy_from_slice(&image[from..from + CHUNK as usize]);
            }
        }
        assert_eq!(digest_bytes(&tensor), line[12], "store {line:?}");
    }
}
