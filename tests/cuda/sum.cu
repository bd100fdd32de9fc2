// Reduction and 5×5 blur in CUDA C++ with asynchronous copies: the peers of kernels/src/sum.rs and kernels/src/blur.rs.
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// One partial a block, four stages, each thread reading only what it copied itself.
extern "C" __global__ void __launch_bounds__(256)
cpp_sum_thread_s4(float *partials, const float4 *x, unsigned n4)
{
    constexpr int Stages = 4;
    __shared__ float4 ring[Stages][256];
    __shared__ float warp_sums[8];
    unsigned step = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x, next = first;
    for (int s = 0; s < Stages; ++s, next += step) {
        if (next < n4) __pipeline_memcpy_async(&ring[s][threadIdx.x], x + next, 16);
        __pipeline_commit();
    }
    float sum = 0;
    int use = 0;
    for (unsigned i = first; i < n4; i += step, next += step) {
        __pipeline_wait_prior(Stages - 1);
        float4 v = ring[use][threadIdx.x];
        sum += v.x + v.y + v.z + v.w;
        if (next < n4) __pipeline_memcpy_async(&ring[use][threadIdx.x], x + next, 16);
        __pipeline_commit();
        use = use + 1 == Stages ? 0 : use + 1;
    }
    __pipeline_wait_prior(0);
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0;
        for (float w : warp_sums) total += w;
        partials[blockIdx.x] = total;
    }
}

__device__ int clamp_to(int v, int size) { return v < 0 ? 0 : v >= size ? size - 1 : v; }

// A ring of three row strips of 128 columns and their halo; the five vertical taps are registers. Grid: column strips.
extern "C" __global__ void __launch_bounds__(128)
cpp_blur_rows_s3(float *y, const float *x, int width, int height)
{
    constexpr int Stages = 3, Strip = 128 + 4;
    __shared__ float ring[Stages][Strip];
    int left = blockIdx.x * 128 - 2, column = blockIdx.x * 128 + threadIdx.x;
    auto fill = [&](int row) {
        if (row < height + 2) {
            const float *source = x + size_t(clamp_to(row, height)) * width;
            for (int i = threadIdx.x; i < Strip; i += 128)
                __pipeline_memcpy_async(&ring[(row + 2) % Stages][i], source + clamp_to(left + i, width), 4);
        }
        __pipeline_commit();
    };
    for (int row = -2; row < -2 + Stages - 1; ++row) fill(row);
    float taps[5] = {};
    for (int row = -2; row < height + 2; ++row) {
        __pipeline_wait_prior(Stages - 2);
        __syncthreads();
        fill(row + Stages - 1);
        const float *s = ring[(row + 2) % Stages] + threadIdx.x;
        for (int t = 0; t < 4; ++t) taps[t] = taps[t + 1];
        taps[4] = (s[0] + s[4] + 4 * (s[1] + s[3]) + 6 * s[2]) / 16;
        if (row >= 2 && column < width)
            y[size_t(row - 2) * width + column] = (taps[0] + taps[4] + 4 * (taps[1] + taps[3]) + 6 * taps[2]) / 16;
    }
}
