//! Tensor maps and swizzles: every byte of a box has one place.

use proptest::prelude::*;

use crate::matrix::swizzle::Swizzle;
use crate::matrix::tensor_box::{BoxError, Direction, Piece};
use crate::matrix::tensor_map::{DataType, ENCODED_BYTES, Fill, TensorMap, TensorMapError, Tiling};

fn pieces(map: &TensorMap, direction: Direction, coordinates: &[i32], shared: u32) -> Vec<Piece> {
    map.pieces(direction, coordinates, shared)
        .expect("legal")
        .collect()
}

const PLAIN: Tiling<'static> = Tiling {
    data: DataType::F32,
    address: 0x1000,
    dimensions: &[100, 50],
    strides: &[400],
    extents: &[32, 8],
    steps: &[1, 1],
    swizzle: Swizzle::None,
    fill: Fill::Zero,
};

#[test]
fn a_box_inside_is_copied_line_by_line() {
    let map = TensorMap::new(&PLAIN).expect("legal");
    assert_eq!(
        (map.line_bytes(), map.box_bytes(), map.shared_bytes()),
        (128, 1024, 1024)
    );
    let pieces = pieces(&map, Direction::Load, &[8, 3], 0x400);
    assert_eq!(pieces.len(), 64);
    for (index, piece) in pieces.iter().enumerate() {
        let (line, chunk) = (index as u64 / 8, index as u64 % 8);
        assert_eq!(piece.shared as usize, 0x400 + 16 * index);
        assert_eq!(piece.bytes, 16);
        assert_eq!(piece.global, 0x1000 + (3 + line) * 400 + 8 * 4 + 16 * chunk);
    }
}

#[test]
fn what_is_outside_is_told_apart() {
    let map = TensorMap::new(&PLAIN).expect("legal");
    // One chunk before the first column, and three lines before the first.
    let load = pieces(&map, Direction::Load, &[-4, -3], 0);
    assert!(load[..25].iter().all(|piece| piece.bytes == 0));
    assert_eq!(
        load[25],
        Piece {
            shared: 3 * 128 + 16,
            global: 0x1000,
            bytes: 16
        }
    );
    // The last column is 98, in the second chunk.
    let narrow = TensorMap::new(&Tiling {
        dimensions: &[99, 50],
        ..PLAIN
    })
    .expect("legal");
    let load = pieces(&narrow, Direction::Load, &[92, 49], 0);
    assert_eq!(load[0].bytes, 16);
    assert_eq!(
        load[1],
        Piece {
            shared: 16,
            global: 0x1000 + 49 * 400 + 96 * 4,
            bytes: 12
        }
    );
    assert!(load[2..].iter().all(|piece| piece.bytes == 0));
    // A store writes the element after it as well.
    let store = pieces(&narrow, Direction::Store, &[92, 49], 0);
    assert_eq!(
        store[1],
        Piece {
            bytes: 16,
            ..load[1]
        }
    );
    assert!(store[2..].iter().all(|piece| piece.bytes == 0));
    for far in [i32::MIN, i32::MAX - 3] {
        assert!(
            pieces(&map, Direction::Load, &[far, far], 0)
                .iter()
                .all(|piece| piece.bytes == 0)
        );
    }
}

#[test]
fn boxes_that_the_hardware_refuses() {
    let map = TensorMap::new(&PLAIN).expect("legal");
    let refused =
        |direction, coordinates: &[i32]| map.pieces(direction, coordinates, 0).map(|_| ());
    assert_eq!(
        refused(Direction::Load, &[0]),
        Err(BoxError::Rank {
            got: 1,
            expected: 2
        })
    );
    for coordinate in [1, 2, 3, -1, 101] {
        let wanted = Err(BoxError::Misaligned {
            coordinate,
            bytes: 4 * i64::from(coordinate),
        });
        assert_eq!(refused(Direction::Load, &[coordinate, 0]), wanted);
    }
    assert_eq!(refused(Direction::Load, &[-4, -1]), Ok(()));
    assert_eq!(
        refused(Direction::Store, &[-4, 0]),
        Err(BoxError::Negative {
            dimension: 0,
            coordinate: -4
        })
    );
    assert_eq!(
        refused(Direction::Store, &[4, -1]),
        Err(BoxError::Negative {
            dimension: 1,
            coordinate: -1
        })
    );
    assert_eq!(refused(Direction::Store, &[96, 48]), Ok(()));
}

#[test]
fn steps_take_every_other_line_and_swizzles_move_chunks() {
    let tiling = Tiling {
        extents: &[16, 7],
        steps: &[1, 2],
        swizzle: Swizzle::B64,
        ..PLAIN
    };
    let map = TensorMap::new(&tiling).expect("legal");
    assert_eq!((map.box_bytes(), map.taken(1)), (64 * 4, 4));
    let pieces = pieces(&map, Direction::Load, &[0, 10], 512);
    for (index, piece) in pieces.iter().enumerate() {
        let (line, chunk) = (index as u32 / 4, index as u32 % 4);
        assert_eq!(
            piece.global,
            0x1000 + u64::from(10 + 2 * line) * 400 + u64::from(16 * chunk)
        );
        assert_eq!(piece.shared, 512 + 64 * line + 16 * (chunk ^ (line / 2)));
    }
}

#[test]
fn five_dimensions_count_from_the_inside() {
    let tiling = Tiling {
        data: DataType::U8,
        address: 0,
        dimensions: &[64, 6, 5, 4, 3],
        strides: &[64, 384, 1920, 7680],
        extents: &[16, 2, 3, 2, 2],
        steps: &[1; 5],
        ..PLAIN
    };
    let map = TensorMap::new(&tiling).expect("legal");
    let mut wanted = Vec::new();
    for e in 1..3u64 {
        for d in 2..4u64 {
            for c in 0..3u64 {
                for b in 3..5u64 {
                    wanted.push(16 + b * 64 + c * 384 + d * 1920 + e * 7680);
                }
            }
        }
    }
    let pieces = pieces(&map, Direction::Load, &[16, 3, 0, 2, 1], 0);
    assert_eq!(
        pieces.iter().map(|piece| piece.global).collect::<Vec<_>>(),
        wanted
    );
    assert_eq!(
        pieces.iter().map(|piece| piece.shared).collect::<Vec<_>>(),
        (0..24).map(|i| 16 * i).collect::<Vec<_>>()
    );
}

#[test]
fn illegal_maps_are_refused_with_numbers() {
    let table: &[(Tiling<'_>, &str)] = &[
        (
            Tiling {
                dimensions: &[],
                ..PLAIN
            },
            "0 dimensions, 1 to 5",
        ),
        (
            Tiling {
                dimensions: &[1; 6],
                ..PLAIN
            },
            "6 dimensions",
        ),
        (
            Tiling {
                strides: &[],
                ..PLAIN
            },
            "0 strides given, 1 expected for 2",
        ),
        (
            Tiling {
                extents: &[4],
                ..PLAIN
            },
            "1 box extents given, 2 expected",
        ),
        (
            Tiling {
                steps: &[1],
                ..PLAIN
            },
            "1 steps given, 2 expected",
        ),
        (
            Tiling {
                address: 0x1008,
                ..PLAIN
            },
            "0x1008 is not a multiple of 16",
        ),
        (
            Tiling {
                dimensions: &[100, 0],
                ..PLAIN
            },
            "dimension 1 has 0 elements",
        ),
        (
            Tiling {
                dimensions: &[(1 << 32) + 1, 1],
                ..PLAIN
            },
            "dimension 0 has 4294967297",
        ),
        (
            Tiling {
                strides: &[404],
                ..PLAIN
            },
            "dimension 1 is 404 bytes",
        ),
        (
            Tiling {
                strides: &[1 << 40],
                ..PLAIN
            },
            "dimension 1 is 1099511627776 bytes",
        ),
        (
            Tiling {
                extents: &[32, 257],
                ..PLAIN
            },
            "257 elements in dimension 1",
        ),
        (
            Tiling {
                extents: &[0, 8],
                ..PLAIN
            },
            "0 elements in dimension 0",
        ),
        (
            Tiling {
                steps: &[1, 9],
                ..PLAIN
            },
            "step 9 in dimension 1",
        ),
        (
            Tiling {
                extents: &[33, 8],
                ..PLAIN
            },
            "132 bytes, a multiple of 16",
        ),
        (
            Tiling {
                extents: &[36, 8],
                swizzle: Swizzle::B128,
                ..PLAIN
            },
            "144 bytes, at most 128",
        ),
        (
            Tiling {
                data: DataType::S32,
                fill: Fill::Nan,
                ..PLAIN
            },
            "integers cannot be filled",
        ),
    ];
    for (tiling, wanted) in table {
        let message = TensorMap::new(tiling).expect_err(wanted).to_string();
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn fills_are_zeros_or_nan() {
    let fill = |data, fill| {
        TensorMap::new(&Tiling {
            data,
            fill,
            ..PLAIN
        })
        .expect("legal")
        .fill_bytes()
    };
    assert_eq!(fill(DataType::F32, Fill::Zero), [0; 16]);
    for data in [DataType::F16, DataType::Bf16, DataType::F32, DataType::Tf32] {
        assert_eq!(
            fill(data, Fill::Nan),
            [0xf7, 0x7f].repeat(8)[..],
            "{data:?}"
        );
    }
}

#[test]
fn loads_round_tf32_and_leave_the_rest() {
    let from = [0x0000_1001, 0x3f80_1000, 0x3f80_3000, 0xc49f_5678];
    let rounded = [0x0000_2000, 0x3f80_0000, 0x3f80_4000, 0xc49f_6000];
    let bytes = |words: [u32; 4]| -> [u8; 16] {
        std::array::from_fn(|at| words[at / 4].to_le_bytes()[at % 4])
    };
    for (data, wanted) in [
        (DataType::F32, from),
        (DataType::F32Ftz, from),
        (DataType::Tf32, rounded),
        (DataType::Tf32Ftz, rounded),
    ] {
        let map = TensorMap::new(&Tiling { data, ..PLAIN }).expect("legal");
        assert_eq!(map.loaded(bytes(from)), bytes(wanted), "{data:?}");
    }
}

#[test]
fn foreign_bytes_are_refused() {
    assert_eq!(
        TensorMap::decode(&[0; ENCODED_BYTES]),
        Err(TensorMapError::Foreign)
    );
    let good = TensorMap::new(&PLAIN).expect("legal").encode();
    for at in 0..12 {
        let mut bytes = good;
        bytes[at] = 0xff;
        // The last of these is the fill, where anything but zero is NaN.
        assert_eq!(TensorMap::decode(&bytes).is_err(), at != 11, "{at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(mut bytes: [[u8; 32]; 4], magic: bool) {
        if magic {
            bytes[0][..8].copy_from_slice(b"nstageTM");
            bytes[0][8] %= 14;
            bytes[0][9] %= 7;
            bytes[0][10] %= 5;
        }
        let bytes: &[u8; ENCODED_BYTES] = bytes.as_flattened().try_into().expect("four times 32");
        if let Ok(map) = TensorMap::decode(bytes) {
            let pieces = map.pieces(Direction::Load, &[-16; 5][..map.rank()], u32::MAX).expect("sixteen elements are whole chunks");
            prop_assert!(pieces.take(1000).count() > 0);
        }
    }

    /// A box of any shape at any place: against a loop over its elements.
    #[test]
    fn boxes_agree_with_a_loop_over_elements(
        dimensions in prop::collection::vec(1u64..40, 1..=5),
        extents in prop::collection::vec(1u32..6, 5),
        steps in prop::collection::vec(1u32..4, 5),
        starts in prop::collection::vec(-8i32..40, 5),
        wide in 0usize..4,
        swizzle in 0usize..4,
        data in 0usize..4,
    ) {
        let data = [DataType::U8, DataType::F16, DataType::S32, DataType::F64][data];
        let swizzle = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128][swizzle];
        let rank = dimensions.len();
        let size = u64::from(data.bytes());
        // Boxes start at whole chunks.
        let mut starts = starts[..rank].to_vec();
        starts[0] -= starts[0].rem_euclid(16 / size as i32);
        let mut extents = extents[..rank].to_vec();
        extents[0] = 16 / size as u32 * ([1, 2, 4, 8][wide]).min(swizzle.span().max(16) / 16);
        let mut strides = Vec::new();
        let mut stride = (dimensions[0] * size).next_multiple_of(16);
        for dimension in &dimensions[1..] {
            strides.push(stride);
            stride *= dimension + 1;
        }
        let tiling = Tiling {
            data,
            address: 0x4000,
            dimensions: &dimensions,
            strides: &strides,
            extents: &extents,
            steps: &steps[..rank],
            swizzle,
            fill: Fill::Zero,
        };
        let map = TensorMap::new(&tiling).expect("legal");
        prop_assert_eq!(TensorMap::decode(&map.encode()), Ok(map));

        let mut wanted = vec![None; map.shared_bytes() as usize];
        let taken: Vec<u32> = (0..5).map(|d| map.taken(d)).collect();
        let lines: u32 = taken[1..].iter().product();
        for line in 0..lines {
            let mut rest = line;
            let mut at = 0x4000u64;
            let mut inside = true;
            for d in 1..rank {
                let x = i64::from(starts[d]) + i64::from(rest % taken[d]) * i64::from(steps[d]);
                rest /= taken[d];
                inside &= (0..dimensions[d] as i64).contains(&x);
                at = at.wrapping_add((x as u64).wrapping_mul(strides[d - 1]));
            }
            for byte in 0..map.line_bytes() {
                let x = i64::from(starts[0]) + i64::from(byte) / size as i64;
                let there = swizzle.apply(line * map.line_pitch() + byte) as usize;
                let inside = inside && (0..dimensions[0] as i64).contains(&x);
                let global = at.wrapping_add((x as u64).wrapping_mul(size)).wrapping_add(u64::from(byte) % size);
                prop_assert!(wanted[there].is_none());
                wanted[there] = Some(inside.then_some(global));
            }
        }
        let mut got = vec![None; wanted.len()];
        for piece in map.pieces(Direction::Load, &starts, 0).expect("legal") {
            for byte in 0..16 {
                let global = piece.global.wrapping_add(byte.into());
                got[(piece.shared + byte) as usize] = Some((byte < piece.bytes).then_some(global));
            }
        }
        // Rows that are narrower than the swizzle leave gaps, which neither has.
        prop_assert_eq!(got, wanted);
    }
}
