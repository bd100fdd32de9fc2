//! `ldmatrix`, `stmatrix` and `movmatrix`: which lane names a row, which register receives it.

use crate::matrix::Row;
use crate::matrix::rows::{addressing_lanes, load, store, transpose};

/// Element (row, column) of matrix `matrix`, as 16 bits that tell where it came from.
const fn tag(matrix: usize, row: usize, column: usize) -> u32 {
    (matrix * 256 + row * 16 + column) as u32
}

fn words(matrices: usize) -> [Row; 4] {
    let mut words = [[0xdead_beef; 32]; 4];
    for lane in 0..addressing_lanes(matrices) {
        for (word, row) in words.iter_mut().enumerate() {
            let element = |column| tag(lane / 8, lane % 8, column);
            row[lane] = element(2 * word) | element(2 * word + 1) << 16;
        }
    }
    words
}

#[test]
fn a_lane_gets_two_neighbours_of_one_row() {
    for matrices in [1, 2, 4] {
        let plain = load(&words(matrices), matrices, false);
        let turned = load(&words(matrices), matrices, true);
        for matrix in 0..matrices {
            for lane in 0..32 {
                let (row, column) = (lane / 4, lane % 4 * 2);
                assert_eq!(
                    plain[matrix][lane],
                    tag(matrix, row, column) | tag(matrix, row, column + 1) << 16
                );
                assert_eq!(
                    turned[matrix][lane],
                    tag(matrix, column, row) | tag(matrix, column + 1, row) << 16
                );
            }
        }
    }
}

#[test]
fn storing_undoes_loading() {
    for matrices in [1, 2, 4] {
        for transposed in [false, true] {
            let registers = load(&words(matrices), matrices, transposed);
            let back = store(
                &registers.iter().take(matrices).collect::<Vec<_>>(),
                transposed,
            );
            for (back, words) in back.iter().zip(words(matrices)) {
                assert_eq!(
                    back[..addressing_lanes(matrices)],
                    words[..addressing_lanes(matrices)]
                );
            }
        }
    }
}

#[test]
fn moving_turns_rows_into_columns() {
    let [register, ..] = load(&words(1), 1, false);
    assert_eq!(transpose(&register), load(&words(1), 1, true)[0]);
    assert_eq!(transpose(&transpose(&register)), register);
}
