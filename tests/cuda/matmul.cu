// C = A·B in f32, 16×16 tiles, in the eight ways that differ only in how a tile reaches shared memory.
// The variants follow the list of NVIDIA's globalToShmemAsyncCopy sample by name; the code is ours.
// Sizes are multiples of 16. Block 16×16 threads, grid (n/16, m/16).
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>

#pragma nv_diag_suppress 20054

namespace cg = cooperative_groups;
constexpr int T = 16;
constexpr int Stages = 4;

struct Tile { float v[T][T]; };

__device__ float dot_tile(const Tile &a, const Tile &b, float sum)
{
#pragma unroll
    for (int k = 0; k < T; ++k) sum = fmaf(a.v[threadIdx.y][k], b.v[k][threadIdx.x], sum);
    return sum;
}

__device__ const float *a_at(const float *a, int k_size, int tile, int row, int col) { return a + size_t(blockIdx.y * T + row) * k_size + tile * T + col; }
__device__ const float *b_at(const float *b, int n_size, int tile, int row, int col) { return b + size_t(tile * T + row) * n_size + blockIdx.x * T + col; }
__device__ void put(float *c, int n_size, float sum) { c[size_t(blockIdx.y * T + threadIdx.y) * n_size + blockIdx.x * T + threadIdx.x] = sum; }

// 1. Plain loads, one element a thread.
extern "C" __global__ void mm_naive(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ Tile sa, sb;
    float sum = 0;
    for (int t = 0; t < k_size / T; ++t) {
        sa.v[threadIdx.y][threadIdx.x] = *a_at(a, k_size, t, threadIdx.y, threadIdx.x);
        sb.v[threadIdx.y][threadIdx.x] = *b_at(b, n_size, t, threadIdx.y, threadIdx.x);
        __syncthreads();
        sum = dot_tile(sa, sb, sum);
        __syncthreads();
    }
    put(c, n_size, sum);
}

// 2. Plain loads, a float4 by every fourth column.
extern "C" __global__ void mm_naive_large_chunk(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ alignas(16) Tile sa, sb;
    float sum = 0;
    for (int t = 0; t < k_size / T; ++t) {
        if (threadIdx.x < 4) {
            int col = threadIdx.x * 4;
            *reinterpret_cast<float4 *>(&sa.v[threadIdx.y][col]) = *reinterpret_cast<const float4 *>(a_at(a, k_size, t, threadIdx.y, col));
            *reinterpret_cast<float4 *>(&sb.v[threadIdx.y][col]) = *reinterpret_cast<const float4 *>(b_at(b, n_size, t, threadIdx.y, col));
        }
        __syncthreads();
        sum = dot_tile(sa, sb, sum);
        __syncthreads();
    }
    put(c, n_size, sum);
}

// 3. Asynchronous element copies, one stage.
extern "C" __global__ void mm_async_single_stage(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ Tile sa, sb;
    auto pipe = cuda::make_pipeline();
    float sum = 0;
    for (int t = 0; t < k_size / T; ++t) {
        pipe.producer_acquire();
        cuda::memcpy_async(&sa.v[threadIdx.y][threadIdx.x], a_at(a, k_size, t, threadIdx.y, threadIdx.x), cuda::aligned_size_t<4>(4), pipe);
        cuda::memcpy_async(&sb.v[threadIdx.y][threadIdx.x], b_at(b, n_size, t, threadIdx.y, threadIdx.x), cuda::aligned_size_t<4>(4), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        __syncthreads();
        sum = dot_tile(sa, sb, sum);
        __syncthreads();
        pipe.consumer_release();
    }
    put(c, n_size, sum);
}

// 4. Asynchronous large chunks, one stage.
extern "C" __global__ void mm_async_large_chunk(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ alignas(16) Tile sa, sb;
    auto pipe = cuda::make_pipeline();
    float sum = 0;
    for (int t = 0; t < k_size / T; ++t) {
        pipe.producer_acquire();
        if (threadIdx.x < 4) {
            int col = threadIdx.x * 4;
            cuda::memcpy_async(&sa.v[threadIdx.y][col], a_at(a, k_size, t, threadIdx.y, col), cuda::aligned_size_t<16>(16), pipe);
            cuda::memcpy_async(&sb.v[threadIdx.y][col], b_at(b, n_size, t, threadIdx.y, col), cuda::aligned_size_t<16>(16), pipe);
        }
        pipe.producer_commit();
        pipe.consumer_wait();
        __syncthreads();
        sum = dot_tile(sa, sb, sum);
        __syncthreads();
        pipe.consumer_release();
    }
    put(c, n_size, sum);
}

// 5. Asynchronous large chunks, completed on a cuda::barrier.
extern "C" __global__ void mm_async_large_chunk_barrier(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ alignas(16) Tile sa, sb;
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    if (threadIdx.x == 0 && threadIdx.y == 0) init(&ready, T * T);
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < k_size / T; ++t) {
        if (threadIdx.x < 4) {
            int col = threadIdx.x * 4;
            cuda::memcpy_async(&sa.v[threadIdx.y][col], a_at(a, k_size, t, threadIdx.y, col), cuda::aligned_size_t<16>(16), ready);
            cuda::memcpy_async(&sb.v[threadIdx.y][col], b_at(b, n_size, t, threadIdx.y, col), cuda::aligned_size_t<16>(16), ready);
        }
        ready.arrive_and_wait();
        sum = dot_tile(sa, sb, sum);
        ready.arrive_and_wait();
    }
    put(c, n_size, sum);
}

// 6. Asynchronous element copies, N stages, thread scope.
extern "C" __global__ void mm_async_multi_stage(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ Tile sa[Stages], sb[Stages];
    auto pipe = cuda::make_pipeline();
    int tiles = k_size / T, next = 0;
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        for (; next < tiles && next < t + Stages; ++next) {
            int s = next % Stages;
            pipe.producer_acquire();
            cuda::memcpy_async(&sa[s].v[threadIdx.y][threadIdx.x], a_at(a, k_size, next, threadIdx.y, threadIdx.x), cuda::aligned_size_t<4>(4), pipe);
            cuda::memcpy_async(&sb[s].v[threadIdx.y][threadIdx.x], b_at(b, n_size, next, threadIdx.y, threadIdx.x), cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        __syncthreads();
        sum = dot_tile(sa[t % Stages], sb[t % Stages], sum);
        __syncthreads();
        pipe.consumer_release();
    }
    put(c, n_size, sum);
}

// 7. Asynchronous large chunks, N stages, thread scope, prior-wait with a constant depth.
extern "C" __global__ void mm_async_multi_stage_large_chunk(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ alignas(16) Tile sa[Stages], sb[Stages];
    auto pipe = cuda::make_pipeline();
    int tiles = k_size / T, next = 0, col = threadIdx.x * 4;
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        for (; next < t + Stages; ++next) {
            int s = next % Stages;
            pipe.producer_acquire();
            if (next < tiles && threadIdx.x < 4) {
                cuda::memcpy_async(&sa[s].v[threadIdx.y][col], a_at(a, k_size, next, threadIdx.y, col), cuda::aligned_size_t<16>(16), pipe);
                cuda::memcpy_async(&sb[s].v[threadIdx.y][col], b_at(b, n_size, next, threadIdx.y, col), cuda::aligned_size_t<16>(16), pipe);
            }
            pipe.producer_commit();
        }
        cuda::pipeline_consumer_wait_prior<Stages - 1>(pipe);
        __syncthreads();
        sum = dot_tile(sa[t % Stages], sb[t % Stages], sum);
        __syncthreads();
        pipe.consumer_release();
    }
    put(c, n_size, sum);
}

// 8. N stages with the pipeline's state in shared memory and fixed roles: the last warp copies, the others multiply.
// Block (16, 18): 256 consumers and 32 producers.
extern "C" __global__ void mm_async_shared_state_roles(float *c, const float *a, const float *b, int n_size, int k_size)
{
    __shared__ alignas(16) Tile sa[Stages], sb[Stages];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
    auto block = cg::this_thread_block();
    bool produces = block.thread_rank() >= T * T;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int tiles = k_size / T;
    if (produces) {
        int lane = block.thread_rank() - T * T;
        for (int t = 0; t < tiles; ++t) {
            int s = t % Stages;
            pipe.producer_acquire();
            for (int piece = lane; piece < T * T / 4; piece += 32) {
                int row = piece / 4, col = piece % 4 * 4;
                cuda::memcpy_async(&sa[s].v[row][col], a_at(a, k_size, t, row, col), cuda::aligned_size_t<16>(16), pipe);
                cuda::memcpy_async(&sb[s].v[row][col], b_at(b, n_size, t, row, col), cuda::aligned_size_t<16>(16), pipe);
            }
            pipe.producer_commit();
        }
    } else {
        float sum = 0;
        for (int t = 0; t < tiles; ++t) {
            pipe.consumer_wait();
            sum = dot_tile(sa[t % Stages], sb[t % Stages], sum);
            pipe.consumer_release();
        }
        put(c, n_size, sum);
    }
}
