//! Launches with clusters, which came to the driver after `cust`.

use std::ffi::{c_int, c_uint, c_void};

use cust::sys::{self, CUfunction, CUresult, CUstream};

use super::{forward_result, resolve};

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; ones for a launch without clusters.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION` of cuda.h.
const CLUSTER_DIMENSION: c_uint = 4;

/// `CUlaunchAttribute` of cuda.h, as far as clusters go.
#[repr(C)]
struct Attribute {
    id: c_uint,
    padding: c_uint,
    /// A union of 64 bytes, whose members hold pointers too.
    value: [u64; 8],
}

/// `CUlaunchConfig` of cuda.h.
#[repr(C)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    stream: CUstream,
    attributes: *mut Attribute,
    attribute_count: c_uint,
}

/// Enqueues a launch; `CUDA_ERROR_NOT_FOUND` for clusters under a driver older than CUDA 11.8.
///
/// # Safety
/// As `cuLaunchKernel`: the function is loaded, and `params` points to one pointer a parameter, each to a value of its size.
pub unsafe fn launch(
    function: CUfunction,
    shape: &Shape,
    stream: CUstream,
    params: *mut *mut c_void,
) -> CUresult {
    let (grid, block, cluster) = (shape.grid, shape.block, shape.cluster);
    if cluster == [1; 3] {
        // SAFETY: the caller keeps the contract.
        return unsafe {
            sys::cuLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shape.dynamic_shared,
                stream,
                params,
                std::ptr::null_mut(),
            )
        };
    }
    type Function = unsafe extern "C" fn(
        *const Config,
        CUfunction,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> c_int;
    let mut attribute = cluster_attribute(cluster);
    let config = Config {
        grid,
        block,
        dynamic_shared: shape.dynamic_shared,
        stream,
        attributes: &mut attribute,
        attribute_count: 1,
    };
    // SAFETY: `Function` is the signature that cuda.h gives this name.
    let extended = unsafe { resolve::<Function>("cuLaunchKernelEx") };
    forward_result(extended.map(|extended| {
        // SAFETY: the configuration and its attribute outlive the call, and the caller keeps the rest of the contract.
        unsafe { extended(&config, function, params, std::ptr::null_mut()) }
    }))
}

/// The extents stand in the union as three 32-bit numbers in a row.
fn cluster_attribute([x, y, z]: [u32; 3]) -> Attribute {
    let mut value = [0; 8];
    let pair = |low: u32, high: u32| {
        let [a, b, c, d] = low.to_ne_bytes();
        let [e, f, g, h] = high.to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    };
    value[0] = pair(x, y);
    value[1] = pair(z, 0);
    Attribute {
        id: CLUSTER_DIMENSION,
        padding: 0,
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_layouts_are_those_of_cuda_h() {
        assert_eq!(
            (size_of::<Attribute>(), offset_of!(Attribute, value)),
            (72, 8)
        );
        assert_eq!(
            (
                size_of::<Config>(),
                offset_of!(Config, stream),
                offset_of!(Config, attributes),
                offset_of!(Config, attribute_count)
            ),
            (56, 32, 40, 48)
        );
    }

    #[test]
    fn the_extents_of_a_cluster_stand_in_a_row() {
        let bytes: Vec<u8> = cluster_attribute([2, 3, 4])
            .value
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        assert_eq!(words[..4], [2, 3, 4, 0]);
    }
}
