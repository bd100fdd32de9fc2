// Tiles through cuda::pipeline and cuda::barrier, the two ways libcu++ has of copying asynchronously.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

template <int STAGES> __global__ void __launch_bounds__(128, 2) scale(const float *x, float *y, float factor, int tiles) {
    __shared__ __align__(16) float ring[STAGES][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int fetched = 0;
    for (int tile = 0; tile < tiles; tile++) {
        for (; fetched < tiles && fetched < tile + STAGES; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, ring[fetched % STAGES], x + fetched * 128, cuda::aligned_size_t<16>(512), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        y[tile * 128 + threadIdx.x] = factor * ring[tile % STAGES][127 - threadIdx.x];
        pipe.consumer_release();
    }
}
template __global__ void scale<2>(const float *, float *, float, int);

__global__ void reverse(const int *x, int *y) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int tile[256];
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(block, tile, x, sizeof tile, ready);
    ready.arrive_and_wait();
    y[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void primitives(const float4 *x, float4 *y) {
    extern __shared__ float4 pieces[];
    auto pipe = cuda::make_pipeline();
    for (int i = 0; i < 3; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&pieces[i * 32 + threadIdx.x], &x[i * 32 + threadIdx.x], cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
    }
    for (int i = 0; i < 3; i++) {
        pipe.consumer_wait();
        y[i * 32 + threadIdx.x] = pieces[i * 32 + threadIdx.x];
        pipe.consumer_release();
    }
}
