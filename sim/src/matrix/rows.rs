//! `ldmatrix`, `stmatrix` and `movmatrix`: 8 × 8 matrices of 16-bit elements between rows of 16 bytes and fragments.
//!
//! Lane `8i + r` gives the address of row `r` of matrix `i`. In registers, lane `4r + c` holds the elements `2c` and `2c + 1`
//! of row `r`, one register a matrix; `.trans` puts columns where rows would be.
//! Rows travel as four words: word `w` of the row that a lane addresses is `words[w][lane]`.

use super::Row;

/// The 32-bit words of the rows that the lanes address.
pub type Words = [Row; 4];

/// How many lanes' addresses count for so many matrices.
#[must_use]
pub const fn addressing_lanes(matrices: usize) -> usize {
    8 * matrices
}

/// `ldmatrix`: the registers of up to four matrices whose rows were read.
#[must_use]
pub fn load(words: &Words, matrices: usize, transpose: bool) -> [Row; 4] {
    let mut registers = [[0; 32]; 4];
    for (matrix, register) in registers.iter_mut().enumerate().take(matrices) {
        for (lane, value) in register.iter_mut().enumerate() {
            let (group, member) = (lane / 4, lane % 4);
            *value = if transpose {
                let element =
                    |row: usize| words[group / 2][8 * matrix + row] >> (16 * (group % 2)) & 0xffff;
                element(2 * member) | element(2 * member + 1) << 16
            } else {
                words[member][8 * matrix + group]
            };
        }
    }
    registers
}

/// `stmatrix`: the words of the rows that up to four registers make up.
#[must_use]
pub fn store(registers: &[&Row], transpose: bool) -> Words {
    let mut words = [[0; 32]; 4];
    for (matrix, register) in registers.iter().enumerate().take(4) {
        for row in 0..8 {
            for word in 0..4 {
                words[word][8 * matrix + row] = if transpose {
                    let element =
                        |column: usize| register[4 * column + row / 2] >> (16 * (row % 2)) & 0xffff;
                    element(2 * word) | element(2 * word + 1) << 16
                } else {
                    register[4 * row + word]
                };
            }
        }
    }
    words
}

/// `movmatrix.trans`: the fragment of the transposed matrix.
#[must_use]
pub fn transpose(register: &Row) -> Row {
    load(&store(&[register], false), 1, true)[0]
}
