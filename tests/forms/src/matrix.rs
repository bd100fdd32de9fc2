//! Matrix instructions of a warp.

use nstage::ptx::*;

macro_rules! moves {
    ($($load:ident $store:ident, $count:literal;)+) => {$(
        forms! {
            stringify!($load) => (out: *mut [u32; $count], row: u32) *out = $load(row);
            concat!("sm_90_", stringify!($store)) => (values: *const [u32; $count], row: u32) $store(row, *values);
        }
    )+};
}

moves! {
    ldmatrix_x1 stmatrix_x1, 1;
    ldmatrix_x2 stmatrix_x2, 2;
    ldmatrix_x4 stmatrix_x4, 4;
    ldmatrix_x1_trans stmatrix_x1_trans, 1;
    ldmatrix_x2_trans stmatrix_x2_trans, 2;
    ldmatrix_x4_trans stmatrix_x4_trans, 4;
}

macro_rules! products {
    ($($name:ident;)+) => {$(
        forms! {
            stringify!($name) => (c: *mut [f32; 4], a: *const [u32; 4], b: *const [u32; 2]) *c = $name(*a, *b, *c);
        }
    )+};
}

products! {
    mma_m16n8k16_bf16;
    mma_m16n8k16_f16;
    mma_m16n8k8_tf32;
}
