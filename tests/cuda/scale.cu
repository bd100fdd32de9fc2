// y = a·x in CUDA C++, the way a C++ programmer writes it: the peer of kernels/src/scale.rs.
// Compiled to PTX for the simulator's tests, and timed beside ours on a GPU.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>

// Both objects are initialised by hand before use.
#pragma nv_diag_suppress 20054

namespace cg = cooperative_groups;

// One float4 a thread, staged through shared memory without asynchronous copies.
extern "C" __global__ void __launch_bounds__(256)
cpp_scale_sync(float4 *y, const float4 *x, float a, unsigned n4)
{
    __shared__ float4 tile[256];
    for (unsigned base = blockIdx.x * blockDim.x; base < n4; base += gridDim.x * blockDim.x) {
        unsigned i = base + threadIdx.x;
        if (i < n4) tile[threadIdx.x] = x[i];
        __syncthreads();
        float4 v = tile[blockDim.x - 1 - threadIdx.x];
        unsigned o = base + blockDim.x - 1 - threadIdx.x;
        if (o < n4) y[o] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
        __syncthreads();
    }
}

// Copy, wait, barrier, use: one stage, nothing overlaps.
extern "C" __global__ void __launch_bounds__(256)
cpp_scale_primitives(float4 *y, const float4 *x, float a, unsigned n4)
{
    __shared__ float4 tile[256];
    for (unsigned base = blockIdx.x * blockDim.x; base < n4; base += gridDim.x * blockDim.x) {
        unsigned i = base + threadIdx.x;
        __pipeline_memcpy_async(&tile[threadIdx.x], i < n4 ? &x[i] : x, 16, i < n4 ? 0 : 16);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        float4 v = tile[blockDim.x - 1 - threadIdx.x];
        unsigned o = base + blockDim.x - 1 - threadIdx.x;
        if (o < n4) y[o] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
        __syncthreads();
    }
}

// An N-stage cuda::pipeline of the whole block.
template <int Stages>
__device__ void block_pipeline(float4 *y, const float4 *x, float a, unsigned n4)
{
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
    __shared__ alignas(16) float4 ring[Stages][256];
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned tiles = n4 / 256, next = blockIdx.x;
    for (int s = 0; s < Stages - 1; ++s, next += gridDim.x) {
        pipe.producer_acquire();
        if (next < tiles)
            cuda::memcpy_async(block, ring[s], x + size_t(next) * 256,
                               cuda::aligned_size_t<16>(sizeof(float4) * 256), pipe);
        pipe.producer_commit();
    }
    int fill = Stages - 1, use = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, next += gridDim.x) {
        pipe.producer_acquire();
        if (next < tiles)
            cuda::memcpy_async(block, ring[fill], x + size_t(next) * 256,
                               cuda::aligned_size_t<16>(sizeof(float4) * 256), pipe);
        pipe.producer_commit();
        fill = fill + 1 == Stages ? 0 : fill + 1;
        pipe.consumer_wait();
        float4 v = ring[use][255 - threadIdx.x];
        y[size_t(t) * 256 + 255 - threadIdx.x] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
        pipe.consumer_release();
        use = use + 1 == Stages ? 0 : use + 1;
    }
    for (int s = 0; s < Stages - 1; ++s) {
        pipe.consumer_wait();
        pipe.consumer_release();
    }
}

extern "C" __global__ void __launch_bounds__(256) cpp_scale_pipeline_s2(float4 *y, const float4 *x, float a, unsigned n4) { block_pipeline<2>(y, x, a, n4); }
extern "C" __global__ void __launch_bounds__(256) cpp_scale_pipeline_s4(float4 *y, const float4 *x, float a, unsigned n4) { block_pipeline<4>(y, x, a, n4); }

// An N-stage pipeline of one thread's own copies: no barrier is needed.
template <int Stages>
__device__ void thread_pipeline(float4 *y, const float4 *x, float a, unsigned n4)
{
    __shared__ float4 ring[Stages][256];
    auto pipe = cuda::make_pipeline();
    unsigned step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x, next = first;
    for (int s = 0; s < Stages; ++s, next += step) {
        pipe.producer_acquire();
        if (next < n4) cuda::memcpy_async(&ring[s][threadIdx.x], x + next, cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
    }
    int use = 0;
    for (unsigned i = first; i < n4; i += step, next += step) {
        cuda::pipeline_consumer_wait_prior<Stages - 1>(pipe);
        float4 v = ring[use][threadIdx.x];
        y[i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
        pipe.consumer_release();
        pipe.producer_acquire();
        if (next < n4) cuda::memcpy_async(&ring[use][threadIdx.x], x + next, cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
        use = use + 1 == Stages ? 0 : use + 1;
    }
    cuda::pipeline_consumer_wait_prior<0>(pipe);
}

extern "C" __global__ void __launch_bounds__(256) cpp_scale_thread_s3(float4 *y, const float4 *x, float a, unsigned n4) { thread_pipeline<3>(y, x, a, n4); }

// A cuda::barrier carries the completion of the block's copies.
extern "C" __global__ void __launch_bounds__(256)
cpp_scale_barrier(float4 *y, const float4 *x, float a, unsigned n4)
{
    __shared__ alignas(16) float4 tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&ready, block.size());
    block.sync();
    for (unsigned base = blockIdx.x * 256; base + 256 <= n4; base += gridDim.x * 256) {
        cuda::memcpy_async(block, tile, x + base, cuda::aligned_size_t<16>(sizeof(tile)), ready);
        ready.arrive_and_wait();
        float4 v = tile[255 - threadIdx.x];
        y[base + 255 - threadIdx.x] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
        block.sync();
    }
}
