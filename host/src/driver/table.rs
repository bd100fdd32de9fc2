//! The driver functions that `cust` refers to, each forwarding to the library opened at run time.
//!
//! Defining these symbols in the program is what lets it link without a CUDA toolkit and start without a driver: the loader finds nothing that it would need from `libcuda`.
//! Arguments are passed on as they come, so they are named by position only; what they mean stands in NVIDIA's driver API reference under the function's name.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ushort, c_void};

use cust::sys::*;

use super::{forward_result, resolve};

macro_rules! forwarders {
    ($( fn $name:ident($($arg:ident: $ty:ty),*); )*) => { $(
        /// Forwards to the driver's function of this name; `CUDA_ERROR_NO_DEVICE` without a driver.
        ///
        /// # Safety
        /// As the driver's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> CUresult {
            type Function = unsafe extern "C" fn($($ty),*) -> c_int;
            static FUNCTION: std::sync::OnceLock<Option<Function>> = std::sync::OnceLock::new();
            // SAFETY: `Function` is the signature that cuda.h gives this name.
            let function = *FUNCTION.get_or_init(|| unsafe { resolve::<Function>(stringify!($name)) });
            forward_result(function.map(|function| {
                // SAFETY: the caller keeps the contract of the driver's function, which is called with the caller's arguments.
                unsafe { function($($arg),*) }
            }))
        }
    )* };
}

forwarders! {
    // The driver itself.
    fn cuInit(a: c_uint);
    fn cuDriverGetVersion(a: *mut c_int);
    // Devices and their primary contexts.
    fn cuDeviceGet(a: *mut CUdevice, b: c_int);
    fn cuDeviceGetAttribute(a: *mut c_int, b: CUdevice_attribute, c: CUdevice);
    fn cuDeviceGetCount(a: *mut c_int);
    fn cuDeviceGetName(a: *mut c_char, b: c_int, c: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(a: CUdevice);
    fn cuDevicePrimaryCtxReset_v2(a: CUdevice);
    fn cuDevicePrimaryCtxRetain(a: *mut CUcontext, b: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(a: CUdevice, b: c_uint);
    fn cuDeviceTotalMem_v2(a: *mut usize, b: CUdevice);
    // Contexts.
    fn cuCtxCreate_v2(a: *mut CUcontext, b: c_uint, c: CUdevice);
    fn cuCtxDestroy_v2(a: CUcontext);
    fn cuCtxGetApiVersion(a: CUcontext, b: *mut c_uint);
    fn cuCtxGetCacheConfig(a: *mut CUfunc_cache);
    fn cuCtxGetCurrent(a: *mut CUcontext);
    fn cuCtxGetDevice(a: *mut CUdevice);
    fn cuCtxGetFlags(a: *mut c_uint);
    fn cuCtxGetLimit(a: *mut usize, b: CUlimit);
    fn cuCtxGetSharedMemConfig(a: *mut CUsharedconfig);
    fn cuCtxGetStreamPriorityRange(a: *mut c_int, b: *mut c_int);
    fn cuCtxPopCurrent_v2(a: *mut CUcontext);
    fn cuCtxPushCurrent_v2(a: CUcontext);
    fn cuCtxSetCacheConfig(a: CUfunc_cache);
    fn cuCtxSetCurrent(a: CUcontext);
    fn cuCtxSetLimit(a: CUlimit, b: usize);
    fn cuCtxSetSharedMemConfig(a: CUsharedconfig);
    fn cuCtxSynchronize();
    // Modules.
    fn cuModuleGetFunction(a: *mut CUfunction, b: CUmodule, c: *const c_char);
    fn cuModuleGetGlobal_v2(a: *mut CUdeviceptr, b: *mut usize, c: CUmodule, d: *const c_char);
    fn cuModuleLoad(a: *mut CUmodule, b: *const c_char);
    fn cuModuleLoadData(a: *mut CUmodule, b: *const c_void);
    fn cuModuleLoadDataEx(a: *mut CUmodule, b: *const c_void, c: c_uint, d: *mut CUjit_option, e: *mut *mut c_void);
    fn cuModuleUnload(a: CUmodule);
    // The just-in-time linker.
    fn cuLinkAddData_v2(a: CUlinkState, b: CUjitInputType, c: *mut c_void, d: usize, e: *const c_char, f: c_uint, g: *mut CUjit_option, h: *mut *mut c_void);
    fn cuLinkComplete(a: CUlinkState, b: *mut *mut c_void, c: *mut usize);
    fn cuLinkCreate_v2(a: c_uint, b: *mut CUjit_option, c: *mut *mut c_void, d: *mut CUlinkState);
    fn cuLinkDestroy(a: CUlinkState);
    // Memory.
    fn cuMemAdvise(a: CUdeviceptr, b: usize, c: CUmem_advise, d: CUdevice);
    fn cuMemAllocAsync(a: *mut CUdeviceptr, b: usize, c: CUstream);
    fn cuMemAllocHost_v2(a: *mut *mut c_void, b: usize);
    fn cuMemAllocManaged(a: *mut CUdeviceptr, b: usize, c: c_uint);
    fn cuMemAlloc_v2(a: *mut CUdeviceptr, b: usize);
    fn cuMemFreeAsync(a: CUdeviceptr, b: CUstream);
    fn cuMemFreeHost(a: *mut c_void);
    fn cuMemFree_v2(a: CUdeviceptr);
    fn cuMemGetInfo_v2(a: *mut usize, b: *mut usize);
    fn cuMemPrefetchAsync(a: CUdeviceptr, b: usize, c: CUdevice, d: CUstream);
    fn cuMemcpy2D_v2(a: *const CUDA_MEMCPY2D);
    fn cuMemcpyAtoH_v2(a: *mut c_void, b: CUarray, c: usize, d: usize);
    fn cuMemcpyDtoDAsync_v2(a: CUdeviceptr, b: CUdeviceptr, c: usize, d: CUstream);
    fn cuMemcpyDtoD_v2(a: CUdeviceptr, b: CUdeviceptr, c: usize);
    fn cuMemcpyDtoHAsync_v2(a: *mut c_void, b: CUdeviceptr, c: usize, d: CUstream);
    fn cuMemcpyDtoH_v2(a: *mut c_void, b: CUdeviceptr, c: usize);
    fn cuMemcpyHtoA_v2(a: CUarray, b: usize, c: *const c_void, d: usize);
    fn cuMemcpyHtoDAsync_v2(a: CUdeviceptr, b: *const c_void, c: usize, d: CUstream);
    fn cuMemcpyHtoD_v2(a: CUdeviceptr, b: *const c_void, c: usize);
    fn cuMemsetD16Async(a: CUdeviceptr, b: c_ushort, c: usize, d: CUstream);
    fn cuMemsetD16_v2(a: CUdeviceptr, b: c_ushort, c: usize);
    fn cuMemsetD32Async(a: CUdeviceptr, b: c_uint, c: usize, d: CUstream);
    fn cuMemsetD32_v2(a: CUdeviceptr, b: c_uint, c: usize);
    fn cuMemsetD8Async(a: CUdeviceptr, b: c_uchar, c: usize, d: CUstream);
    fn cuMemsetD8_v2(a: CUdeviceptr, b: c_uchar, c: usize);
    // Arrays.
    fn cuArray3DCreate_v2(a: *mut CUarray, b: *const CUDA_ARRAY3D_DESCRIPTOR);
    fn cuArray3DGetDescriptor_v2(a: *mut CUDA_ARRAY3D_DESCRIPTOR, b: CUarray);
    fn cuArrayDestroy(a: CUarray);
    // Functions.
    fn cuFuncGetAttribute(a: *mut c_int, b: CUfunction_attribute, c: CUfunction);
    fn cuFuncSetAttribute(a: CUfunction, b: CUfunction_attribute, c: c_int);
    fn cuFuncSetCacheConfig(a: CUfunction, b: CUfunc_cache);
    fn cuFuncSetSharedMemConfig(a: CUfunction, b: CUsharedconfig);
    // Launches.
    fn cuLaunchHostFunc(a: CUstream, b: CUhostFn, c: *mut c_void);
    fn cuLaunchKernel(a: CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint, i: CUstream, j: *mut *mut c_void, k: *mut *mut c_void);
    // Occupancy.
    fn cuOccupancyAvailableDynamicSMemPerBlock(a: *mut usize, b: CUfunction, c: c_int, d: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(a: *mut c_int, b: CUfunction, c: c_int, d: usize);
    fn cuOccupancyMaxPotentialBlockSize(a: *mut c_int, b: *mut c_int, c: CUfunction, d: CUoccupancyB2DSize, e: usize, f: c_int);
    // Streams.
    fn cuStreamCreateWithPriority(a: *mut CUstream, b: c_uint, c: c_int);
    fn cuStreamDestroy_v2(a: CUstream);
    fn cuStreamGetFlags(a: CUstream, b: *mut c_uint);
    fn cuStreamGetPriority(a: CUstream, b: *mut c_int);
    fn cuStreamSynchronize(a: CUstream);
    fn cuStreamWaitEvent(a: CUstream, b: CUevent, c: c_uint);
    // Events.
    fn cuEventCreate(a: *mut CUevent, b: c_uint);
    fn cuEventDestroy_v2(a: CUevent);
    fn cuEventElapsedTime(a: *mut f32, b: CUevent, c: CUevent);
    fn cuEventQuery(a: CUevent);
    fn cuEventRecord(a: CUevent, b: CUstream);
    fn cuEventSynchronize(a: CUevent);
    // Graphs.
    fn cuGraphAddKernelNode(a: *mut CUgraphNode, b: CUgraph, c: *const CUgraphNode, d: usize, e: *const CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphCreate(a: *mut CUgraph, b: c_uint);
    fn cuGraphDebugDotPrint(a: CUgraph, b: *const c_char, c: c_uint);
    fn cuGraphDestroy(a: CUgraph);
    fn cuGraphGetEdges(a: CUgraph, b: *mut CUgraphNode, c: *mut CUgraphNode, d: *mut usize);
    fn cuGraphGetNodes(a: CUgraph, b: *mut CUgraphNode, c: *mut usize);
    fn cuGraphKernelNodeGetParams(a: CUgraphNode, b: *mut CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphNodeGetType(a: CUgraphNode, b: *mut CUgraphNodeType);
    // Texture objects.
    fn cuTexObjectCreate(a: *mut CUtexObject, b: *const CUDA_RESOURCE_DESC, c: *const CUDA_TEXTURE_DESC, d: *const CUDA_RESOURCE_VIEW_DESC);
    fn cuTexObjectDestroy(a: CUtexObject);
    fn cuTexObjectGetResourceDesc(a: *mut CUDA_RESOURCE_DESC, b: CUtexObject);
    fn cuTexObjectGetResourceViewDesc(a: *mut CUDA_RESOURCE_VIEW_DESC, b: CUtexObject);
    // Surface objects.
    fn cuSurfObjectCreate(a: *mut CUsurfObject, b: *const CUDA_RESOURCE_DESC);
    fn cuSurfObjectDestroy(a: CUsurfObject);
    fn cuSurfObjectGetResourceDesc(a: *mut CUDA_RESOURCE_DESC, b: CUsurfObject);
    // External memory.
    fn cuDestroyExternalMemory(a: CUexternalMemory);
    fn cuExternalMemoryGetMappedBuffer(a: *mut CUdeviceptr, b: CUexternalMemory, c: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
    fn cuImportExternalMemory(a: *mut CUexternalMemory, b: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
}
