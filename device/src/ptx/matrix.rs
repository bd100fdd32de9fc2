//! Matrix instructions of a warp: its loads and stores of 8 × 8 matrices, and its products.
//!
//! A matrix of 8 × 8 elements of 2 bytes lies in a register of each lane: lane `l` holds the elements 2·(l mod 4) and the next of row l / 4; transposed, those of column l / 4.
//! All are `.aligned`: whole warps reach them together, which the builder proves of the built PTX.

use super::instructions;

macro_rules! loads {
    ($($name:ident, $ptx:literal, $count:literal, [$($lane:ident)+], $list:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " {…}, [row];`")]
            ///
            /// # Threads
            /// All of a warp; the lanes 8·i to 8·i + 7 give the rows of matrix i, others' addresses do not count.
            ///
            /// # Safety
            /// - The whole warp makes this call.
            /// - `row`, where it counts, is a multiple of 16 in the block's shared memory with 16 bytes behind it, which were written and published.
            ///
            /// sm_80
            #[must_use = "a load's result is its purpose"]
            pub unsafe fn $name(row: u32) -> [u32; $count] {
                $(let $lane: u32;)+
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " ", $list, ", [{row}];"),
                        row = in(reg32) row, $($lane = lateout(reg32) $lane,)+
                        options(nostack, preserves_flags),
                    );
                }
                [$($lane),+]
            }
        )+}
    };
}

macro_rules! stores {
    ($($name:ident, $ptx:literal, $count:literal, [$($lane:ident)+], $list:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [row], {…};`")]
            ///
            /// # Threads
            /// All of a warp; the lanes 8·i to 8·i + 7 give the rows of matrix i, others' addresses do not count.
            ///
            /// # Safety
            /// - The whole warp makes this call.
            /// - `row`, where it counts, is a multiple of 16 in the block's shared memory with 16 bytes behind it; no other thread accesses them, and no asynchronous copy of them is pending, until a barrier.
            ///
            /// sm_90, PTX 7.8
            pub unsafe fn $name(row: u32, values: [u32; $count]) {
                let [$($lane),+] = values;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " [{row}], ", $list, ";"),
                        row = in(reg32) row, $($lane = in(reg32) $lane,)+
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

loads! {
    ldmatrix_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1, [a], "{{{a}}}", "Loads a matrix.";
    ldmatrix_x2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16", 2, [a b], "{{{a}, {b}}}", "Loads two matrices.";
    ldmatrix_x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4, [a b c d], "{{{a}, {b}, {c}, {d}}}", "Loads four matrices.";
    ldmatrix_x1_trans, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, [a], "{{{a}}}", "Loads a matrix, transposed.";
    ldmatrix_x2_trans, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, [a b], "{{{a}, {b}}}", "Loads two matrices, transposed.";
    ldmatrix_x4_trans, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, [a b c d], "{{{a}, {b}, {c}, {d}}}", "Loads four matrices, transposed.";
}

stores! {
    stmatrix_x1, "stmatrix.sync.aligned.m8n8.x1.shared.b16", 1, [a], "{{{a}}}", "Stores a matrix.";
    stmatrix_x2, "stmatrix.sync.aligned.m8n8.x2.shared.b16", 2, [a b], "{{{a}, {b}}}", "Stores two matrices.";
    stmatrix_x4, "stmatrix.sync.aligned.m8n8.x4.shared.b16", 4, [a b c d], "{{{a}, {b}, {c}, {d}}}", "Stores four matrices.";
    stmatrix_x1_trans, "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, [a], "{{{a}}}", "Stores a matrix, transposed.";
    stmatrix_x2_trans, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, [a b], "{{{a}, {b}}}", "Stores two matrices, transposed.";
    stmatrix_x4_trans, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, [a b c d], "{{{a}, {b}, {c}, {d}}}", "Stores four matrices, transposed.";
}

macro_rules! products {
    ($($name:ident, $ptx:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Multiplies a left matrix by a right one, both of ", $what, ", and adds the sums `c`.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " d, a, b, c;`")]
            ///
            /// # Threads
            /// All of a warp, each with its fragments.
            ///
            /// # Safety
            /// - The whole warp makes this call.
            ///
            /// sm_80
            #[must_use = "a product's result is its purpose"]
            pub unsafe fn $name(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
                let ([a0, a1, a2, a3], [b0, b1], [mut c0, mut c1, mut c2, mut c3]) = (a, b, c);
                // Not `pure`: a product must not sink into a branch of some lanes.
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " {{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};"),
                        c0 = inout(reg32) c0, c1 = inout(reg32) c1, c2 = inout(reg32) c2, c3 = inout(reg32) c3,
                        a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,
                        b0 = in(reg32) b0, b1 = in(reg32) b1,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                [c0, c1, c2, c3]
            }
        )+}
    };
}

products! {
    mma_m16n8k16_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "`bf16`: 16 rows by 16, by 8 columns";
    mma_m16n8k16_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "`f16`: 16 rows by 16, by 8 columns";
    mma_m16n8k8_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "`tf32`: 16 rows by 8, by 8 columns";
}
