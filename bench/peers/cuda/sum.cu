// Sum of a float vector in one launch, in an order that only the launch decides: each block leaves a partial,
// and the block that finishes last adds the partials up. `ticket` starts at zero and is zero again afterwards.
#include "async.cuh"

// The block's sum, in thread 0.
__device__ __forceinline__ float block_sum(float v)
{
    __shared__ float warps[32];
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
        for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    }
    return v;
}

__device__ __forceinline__ void finish(float *result, float *partials, unsigned *ticket, float v)
{
    __shared__ bool last;
    v = block_sum(v);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    float total = 0.0f;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += __ldcg(partials + i);
    total = block_sum(total);
    if (threadIdx.x == 0) *result = total;
}

__device__ __forceinline__ void add(float4 &sum, float4 v)
{
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
}

__device__ __forceinline__ float across(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// What is left after the last full tile, by the last block.
__device__ __forceinline__ float tail(const float *x, unsigned long long n, size_t from)
{
    float sum = 0.0f;
    if (blockIdx.x + 1 == gridDim.x)
        for (size_t i = from + threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    return sum;
}

// Full tiles of `tile` float4. n is below 2^34, so that this division has 32 bits.
__device__ __forceinline__ unsigned tile_count(unsigned long long n, unsigned tile) { return static_cast<unsigned>(n / 4) / tile; }

// Unroll independent 16-byte loads a thread before the first addition.
template <int Unroll> __device__ __forceinline__ float sum_plain(const float *x, unsigned long long n)
{
    const uint4 *x4 = reinterpret_cast<const uint4 *>(x);
    unsigned tile = Unroll * blockDim.x, tiles = tile_count(n, tile);
    float4 sum[Unroll] = {};
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        uint4 v[Unroll];
#pragma unroll
        for (int u = 0; u < Unroll; ++u) v[u] = load_once(x4 + size_t(t) * tile + u * blockDim.x + threadIdx.x);
#pragma unroll
        for (int u = 0; u < Unroll; ++u)
            add(sum[u], make_float4(__uint_as_float(v[u].x), __uint_as_float(v[u].y), __uint_as_float(v[u].z), __uint_as_float(v[u].w)));
    }
#pragma unroll
    for (int u = 1; u < Unroll; ++u) add(sum[0], sum[u]);
    return across(sum[0]) + tail(x, n, size_t(tiles) * tile * 4);
}

extern __shared__ __align__(128) float4 ring[];

// cp.async ring of one thread's own pieces: no barrier in the loop.
template <int Stages, int Pieces> __device__ __forceinline__ float sum_ring(const float *x, unsigned long long n)
{
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    unsigned tile = Pieces * blockDim.x, tiles = tile_count(n, tile), next = blockIdx.x;
    auto fill = [&](int s) {
        if (next < tiles) {
#pragma unroll
            for (int p = 0; p < Pieces; ++p) {
                unsigned i = p * blockDim.x + threadIdx.x;
                copy_16(ring + s * tile + i, x4 + size_t(next) * tile + i);
            }
        }
        commit_group();
        next += gridDim.x;
    };
    for (int s = 0; s < Stages; ++s) fill(s);
    float4 sum[Pieces] = {};
    int s = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        wait_group<Stages - 1>();
#pragma unroll
        for (int p = 0; p < Pieces; ++p) add(sum[p], ring[s * tile + p * blockDim.x + threadIdx.x]);
        fill(s);
        s = s + 1 == Stages ? 0 : s + 1;
    }
    wait_group<0>();
#pragma unroll
    for (int p = 1; p < Pieces; ++p) add(sum[0], sum[p]);
    return across(sum[0]) + tail(x, n, size_t(tiles) * tile * 4);
}

// Bulk-copy ring: thread 0 refills a stage when the whole block has read it.
template <int Stages, int Pieces> __device__ __forceinline__ float sum_bulk(const float *x, unsigned long long n)
{
    __shared__ uint64_t full[Stages];
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    unsigned tile = Pieces * blockDim.x, tiles = tile_count(n, tile), next = blockIdx.x;
    if (threadIdx.x == 0) {
        for (int s = 0; s < Stages; ++s) mbarrier_init(full + s, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    auto fill = [&](int s) {
        if (threadIdx.x == 0 && next < tiles) {
            mbarrier_arrive_expect(full + s, tile * 16);
            bulk_load(ring + s * tile, x4 + size_t(next) * tile, tile * 16, full + s);
        }
        next += gridDim.x;
    };
    for (int s = 0; s < Stages; ++s) fill(s);
    float4 sum[Pieces] = {};
    int s = 0;
    unsigned parity = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        mbarrier_wait(full + s, parity);
#pragma unroll
        for (int p = 0; p < Pieces; ++p) add(sum[p], ring[s * tile + p * blockDim.x + threadIdx.x]);
        __syncthreads();
        fill(s);
        if (++s == Stages) s = 0, parity ^= 1;
    }
#pragma unroll
    for (int p = 1; p < Pieces; ++p) add(sum[0], sum[p]);
    return across(sum[0]) + tail(x, n, size_t(tiles) * tile * 4);
}

#define SUM(variant, ...)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(1024) cpp_sum_##variant(                                                          \
        float *__restrict__ result, float *__restrict__ partials, unsigned *__restrict__ ticket, const float *__restrict__ x,      \
        unsigned long long n)                                                                                                      \
    {                                                                                                                              \
        finish(result, partials, ticket, __VA_ARGS__(x, n));                                                                       \
    }
SUM(plain, sum_plain<1>)
SUM(plain_p2, sum_plain<2>)
SUM(plain_p4, sum_plain<4>)
SUM(plain_p8, sum_plain<8>)
SUM(ring_s2, sum_ring<2, 1>)
SUM(ring_s4, sum_ring<4, 1>)
SUM(ring_s8, sum_ring<8, 1>)
SUM(ring_s2_p2, sum_ring<2, 2>)
SUM(ring_s4_p2, sum_ring<4, 2>)
SUM(ring_s8_p2, sum_ring<8, 2>)
SUM(ring_s2_p4, sum_ring<2, 4>)
SUM(ring_s4_p4, sum_ring<4, 4>)
SUM(bulk_s2, sum_bulk<2, 1>)
SUM(bulk_s4, sum_bulk<4, 1>)
SUM(bulk_s8, sum_bulk<8, 1>)
SUM(bulk_s2_p4, sum_bulk<2, 4>)
SUM(bulk_s4_p4, sum_bulk<4, 4>)
