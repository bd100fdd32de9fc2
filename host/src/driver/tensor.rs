//! Tensor maps as the driver encodes them, which came to it after `cust`.

use std::ffi::{c_int, c_uint, c_void};

use cust::sys::CUresult;
use nstage_sim::matrix::swizzle::Swizzle;
use nstage_sim::matrix::tensor_map::{ENCODED_BYTES, Fill, MOST_RANK, TensorMap};

use super::{forward_result, resolve};

/// `CUtensorMap` of cuda.h, which the driver writes aligned.
#[repr(C, align(64))]
struct Encoded([u64; ENCODED_BYTES / 8]);

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B` of cuda.h: what is read brings its neighbours of 128 bytes along.
const PROMOTION: c_int = 2;

/// The map as the device wants it; `CUDA_ERROR_NOT_FOUND` under a driver older than CUDA 12.
pub fn encode(map: &TensorMap) -> Result<[u8; ENCODED_BYTES], CUresult> {
    type Function = unsafe extern "C" fn(
        *mut Encoded,
        c_int,
        c_uint,
        *mut c_void,
        *const u64,
        *const u64,
        *const c_uint,
        *const c_uint,
        c_int,
        c_int,
        c_int,
        c_int,
    ) -> c_int;
    // SAFETY: `Function` is the signature that cuda.h gives this name.
    let function = unsafe { resolve::<Function>("cuTensorMapEncodeTiled") };
    let mut encoded = Encoded([0; ENCODED_BYTES / 8]);
    let arguments = Arguments::of(map);
    let result = forward_result(function.map(|function| {
        // SAFETY: the arrays have as many numbers as the map has dimensions, and outlive the call, which writes nothing but the encoded map.
        unsafe {
            function(
                &mut encoded,
                arguments.data,
                map.rank() as c_uint,
                map.address() as usize as *mut c_void,
                arguments.dimensions.as_ptr(),
                arguments.strides[1..].as_ptr(),
                arguments.extents.as_ptr(),
                arguments.steps.as_ptr(),
                0,
                arguments.swizzle,
                PROMOTION,
                arguments.fill,
            )
        }
    }));
    match result {
        CUresult::CUDA_SUCCESS => {
            let mut bytes = [0; ENCODED_BYTES];
            for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(encoded.0) {
                *to = word.to_ne_bytes();
            }
            Ok(bytes)
        }
        refused => Err(refused),
    }
}

/// The map's fields as numbers of cuda.h.
struct Arguments {
    data: c_int,
    dimensions: [u64; MOST_RANK],
    strides: [u64; MOST_RANK],
    extents: [c_uint; MOST_RANK],
    steps: [c_uint; MOST_RANK],
    swizzle: c_int,
    fill: c_int,
}

impl Arguments {
    fn of(map: &TensorMap) -> Self {
        Self {
            // The types stand in cuda.h's order.
            data: map.data() as c_int,
            dimensions: std::array::from_fn(|dimension| map.elements(dimension)),
            strides: std::array::from_fn(|dimension| map.stride(dimension)),
            extents: std::array::from_fn(|dimension| map.extent(dimension)),
            steps: std::array::from_fn(|dimension| map.step(dimension)),
            swizzle: match map.swizzle() {
                Swizzle::None => 0,
                Swizzle::B32 => 1,
                Swizzle::B64 => 2,
                Swizzle::B128 => 3,
            },
            fill: c_int::from(map.fill() == Fill::Nan),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nstage_sim::matrix::tensor_map::{DataType, Tiling};

    #[test]
    fn fields_are_numbers_of_cuda_h() {
        let map = TensorMap::new(&Tiling {
            data: DataType::Bf16,
            address: 4096,
            dimensions: &[100, 7],
            strides: &[208],
            extents: &[64, 8],
            steps: &[1, 2],
            swizzle: Swizzle::B128,
            fill: Fill::Nan,
        })
        .unwrap();
        let arguments = Arguments::of(&map);
        assert_eq!(
            (arguments.data, arguments.swizzle, arguments.fill),
            (9, 3, 1)
        );
        assert_eq!(arguments.dimensions[..2], [100, 7]);
        assert_eq!(arguments.strides[1], 208);
        assert_eq!(
            (arguments.extents[..2].to_vec(), arguments.steps[1]),
            (vec![64, 8], 2)
        );
        assert_eq!(align_of::<Encoded>(), 64);
    }
}
