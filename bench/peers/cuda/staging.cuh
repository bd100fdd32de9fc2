// Every way of moving a long vector through an element-wise function that the peers compare.
//
// A function `F` has `Inputs` (1 or 2) and maps one element of each to one result. A block's tile is
// Pieces × blockDim.x float4, piece p of thread t being float4 number p·blockDim.x + t. Full tiles go through the mechanism;
// what is left of n (less than one tile) is done with plain loads by the last block.
// The staged variants keep the barriers that a kernel needs whose threads read each other's pieces.
#pragma once
#include "async.cuh"
#include <cooperative_groups.h>
#include <cuda/pipeline>

// The pipeline's shared state is initialised by make_pipeline.
#pragma nv_diag_suppress 20054

template <class F> __device__ __forceinline__ float4 apply(const F &f, float4 x, float4 z)
{
    return make_float4(f(x.x, z.x), f(x.y, z.y), f(x.z, z.z), f(x.w, z.w));
}

// A vector job: where it reads and writes. `z` is read only by functions of two inputs.
template <class F> struct Job {
    float *y;
    const float *x, *z;
    unsigned long long n;
    F f;

    // n is below 2^34, so that this division has 32 bits.
    template <int Pieces> __device__ __forceinline__ unsigned full_tiles() const
    {
        return static_cast<unsigned>(n / 4) / (Pieces * blockDim.x);
    }

    __device__ __forceinline__ const float4 *input(int i, size_t at) const
    {
        return reinterpret_cast<const float4 *>(i == 0 ? x : z) + at;
    }

    // The elements after the last full tile, by the last block.
    template <int Pieces> __device__ __forceinline__ void tail(unsigned tiles) const
    {
        if (blockIdx.x + 1 != gridDim.x) return;
        for (size_t i = size_t(tiles) * 4 * Pieces * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
            y[i] = f(x[i], F::Inputs == 2 ? z[i] : 0.0f);
    }

    // Whether this block's tile is full, for the variants of one tile a block; a short block has no time for a division.
    template <int Pieces> __device__ __forceinline__ bool own_tile_full() const
    {
        return (size_t(blockIdx.x) + 1) * 4 * Pieces * blockDim.x <= n;
    }

    // One tile with plain loads; all of them are issued before the first store.
    template <int Pieces> __device__ __forceinline__ void direct(size_t tile) const
    {
        size_t at = tile * (Pieces * blockDim.x) + threadIdx.x;
        float4 u[Pieces], v[Pieces];
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
            u[p] = *input(0, at + p * blockDim.x);
            v[p] = F::Inputs == 2 ? *input(1, at + p * blockDim.x) : u[p];
        }
#pragma unroll
        for (int p = 0; p < Pieces; ++p) reinterpret_cast<float4 *>(y)[at + p * blockDim.x] = apply(f, u[p], v[p]);
    }

    // One tile from its stage, which holds the tile of x and then that of z.
    template <int Pieces> __device__ __forceinline__ void use(const float4 *stage, size_t tile) const
    {
        float4 *out = reinterpret_cast<float4 *>(y) + tile * (Pieces * blockDim.x) + threadIdx.x;
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
            unsigned i = p * blockDim.x + threadIdx.x;
            float4 u = stage[i];
            out[p * blockDim.x] = apply(f, u, F::Inputs == 2 ? stage[Pieces * blockDim.x + i] : u);
        }
    }

    // Issues this thread's pieces of a tile as cp.async.
    template <int Pieces> __device__ __forceinline__ void fill(float4 *stage, size_t tile) const
    {
        size_t at = tile * (Pieces * blockDim.x) + threadIdx.x;
#pragma unroll
        for (int i = 0; i < F::Inputs; ++i)
#pragma unroll
            for (int p = 0; p < Pieces; ++p)
                copy_16(stage + (i * Pieces + p) * blockDim.x + threadIdx.x, input(i, at + p * blockDim.x));
    }
};

// The stages, in dynamic shared memory; bulk copies want 128-byte alignment.
__device__ __forceinline__ float4 *ring_memory()
{
    extern __shared__ __align__(128) float4 ring[];
    return ring;
}

template <int Pieces, class F> __device__ __forceinline__ unsigned stage_size() { return F::Inputs * Pieces * blockDim.x; }

// One tile a block, no staging.
template <int Pieces, class F> __device__ __forceinline__ void plain(const Job<F> &job)
{
    if (job.template own_tile_full<Pieces>())
        job.template direct<Pieces>(blockIdx.x);
    else
        job.template tail<Pieces>(blockIdx.x);
}

// Persistent blocks, no staging.
template <int Pieces, class F> __device__ __forceinline__ void stride(const Job<F> &job)
{
    unsigned tiles = job.template full_tiles<Pieces>();
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) job.template direct<Pieces>(t);
    job.template tail<Pieces>(tiles);
}

// Persistent blocks that stage each tile through registers and shared memory: load, store, barrier, use, barrier.
template <int Pieces, class F> __device__ __forceinline__ void synchronous(const Job<F> &job)
{
    float4 *stage = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>();
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        size_t at = size_t(t) * (Pieces * blockDim.x) + threadIdx.x;
        float4 v[F::Inputs * Pieces];
#pragma unroll
        for (int i = 0; i < F::Inputs * Pieces; ++i) v[i] = *job.input(i / Pieces, at + i % Pieces * blockDim.x);
#pragma unroll
        for (int i = 0; i < F::Inputs * Pieces; ++i) stage[i * blockDim.x + threadIdx.x] = v[i];
        __syncthreads();
        job.template use<Pieces>(stage, t);
        __syncthreads();
    }
    job.template tail<Pieces>(tiles);
}

// cuda::pipeline of the whole block, filled as far ahead as it has stages.
template <int Stages, int Pieces, class F> __device__ __forceinline__ void pipeline_block(const Job<F> &job)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float4 *ring = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>(), next = blockIdx.x, ahead = 0;
    unsigned size = stage_size<Pieces, F>(), half = Pieces * blockDim.x;
    int into = 0, from = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, --ahead) {
        for (; next < tiles && ahead < Stages; next += gridDim.x, ++ahead) {
            pipe.producer_acquire();
#pragma unroll
            for (int i = 0; i < F::Inputs; ++i)
                cuda::memcpy_async(block, ring + into * size + i * half, job.input(i, size_t(next) * half),
                                   cuda::aligned_size_t<16>(sizeof(float4) * half), pipe);
            pipe.producer_commit();
            into = into + 1 == Stages ? 0 : into + 1;
        }
        pipe.consumer_wait();
        job.template use<Pieces>(ring + from * size, t);
        pipe.consumer_release();
        from = from + 1 == Stages ? 0 : from + 1;
    }
    job.template tail<Pieces>(tiles);
}

// cuda::pipeline of one thread: its own pieces only, no barrier.
template <int Stages, int Pieces, class F> __device__ __forceinline__ void pipeline_thread(const Job<F> &job)
{
    auto pipe = cuda::make_pipeline();
    float4 *ring = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>(), next = blockIdx.x;
    unsigned size = stage_size<Pieces, F>();
    auto fill = [&](int s) {
        pipe.producer_acquire();
        if (next < tiles) {
#pragma unroll
            for (int i = 0; i < F::Inputs; ++i)
#pragma unroll
                for (int p = 0; p < Pieces; ++p)
                    cuda::memcpy_async(ring + s * size + (i * Pieces + p) * blockDim.x + threadIdx.x,
                                       job.input(i, (size_t(next) * Pieces + p) * blockDim.x + threadIdx.x),
                                       cuda::aligned_size_t<16>(16), pipe);
        }
        pipe.producer_commit();
        next += gridDim.x;
    };
    for (int s = 0; s < Stages; ++s) fill(s);
    int s = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
        cuda::pipeline_consumer_wait_prior<Stages - 1>(pipe);
        job.template use<Pieces>(ring + s * size, t);
        pipe.consumer_release();
        fill(s);
        s = s + 1 == Stages ? 0 : s + 1;
    }
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    job.template tail<Pieces>(tiles);
}

// cp.async ring with one barrier a tile: the stage used in the step before is refilled; Stages − 1 tiles are in flight.
template <int Stages, int Pieces, class F> __device__ __forceinline__ void ring_one(const Job<F> &job)
{
    float4 *ring = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>(), next = blockIdx.x, size = stage_size<Pieces, F>();
    for (int s = 0; s < Stages - 1; ++s, next += gridDim.x) {
        if (next < tiles) job.template fill<Pieces>(ring + s * size, next);
        commit_group();
    }
    int into = Stages - 1, from = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, next += gridDim.x) {
        wait_group<Stages - 2>();
        __syncthreads();
        if (next < tiles) job.template fill<Pieces>(ring + into * size, next);
        commit_group();
        job.template use<Pieces>(ring + from * size, t);
        into = from;
        from = from + 1 == Stages ? 0 : from + 1;
    }
    wait_group<0>();
    job.template tail<Pieces>(tiles);
}

// cp.async ring with two barriers a tile: refill first, then wait; Stages tiles are in flight.
template <int Stages, int Pieces, class F> __device__ __forceinline__ void ring_two(const Job<F> &job)
{
    float4 *ring = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>(), next = blockIdx.x, size = stage_size<Pieces, F>();
    for (int s = 0; s < Stages - 1; ++s, next += gridDim.x) {
        if (next < tiles) job.template fill<Pieces>(ring + s * size, next);
        commit_group();
    }
    int into = Stages - 1, from = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, next += gridDim.x) {
        if (next < tiles) job.template fill<Pieces>(ring + into * size, next);
        commit_group();
        wait_group<Stages - 1>();
        __syncthreads();
        job.template use<Pieces>(ring + from * size, t);
        __syncthreads();
        into = from;
        from = from + 1 == Stages ? 0 : from + 1;
    }
    wait_group<0>();
    job.template tail<Pieces>(tiles);
}

// Thread 0's part of a bulk load: announce the bytes, then copy each input's part of the tile.
template <int Pieces, class F> __device__ __forceinline__ void bulk_fill(const Job<F> &job, float4 *stage, uint64_t *full, size_t tile)
{
    unsigned half = Pieces * blockDim.x;
    mbarrier_arrive_expect(full, F::Inputs * half * sizeof(float4));
#pragma unroll
    for (int i = 0; i < F::Inputs; ++i) bulk_load(stage + i * half, job.input(i, tile * half), half * sizeof(float4), full);
}

template <int Stages> __device__ __forceinline__ void init_full(uint64_t *full)
{
    if (threadIdx.x == 0) {
        for (int s = 0; s < Stages; ++s) mbarrier_init(full + s, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
}

// Bulk-copy ring: one thread refills a stage as soon as the whole block has read it.
template <int Stages, int Pieces, class F> __device__ __forceinline__ void bulk_ring(const Job<F> &job)
{
    __shared__ uint64_t full[Stages];
    float4 *ring = ring_memory();
    unsigned tiles = job.template full_tiles<Pieces>(), size = stage_size<Pieces, F>(), next = blockIdx.x;
    init_full<Stages>(full);
    for (int s = 0; s < Stages; ++s, next += gridDim.x)
        if (threadIdx.x == 0 && next < tiles) bulk_fill<Pieces>(job, ring + s * size, full + s, next);
    int s = 0;
    unsigned parity = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, next += gridDim.x) {
        mbarrier_wait(full + s, parity);
        job.template use<Pieces>(ring + s * size, t);
        __syncthreads();
        if (threadIdx.x == 0 && next < tiles) bulk_fill<Pieces>(job, ring + s * size, full + s, next);
        if (++s == Stages) s = 0, parity ^= 1;
    }
    job.template tail<Pieces>(tiles);
}

// One short block a tile: one bulk copy, one wait. Resident blocks overlap one another, as in CUB's transform.
template <int Pieces, class F> __device__ __forceinline__ void bulk_tile(const Job<F> &job)
{
    __shared__ uint64_t full[1];
    float4 *stage = ring_memory();
    init_full<1>(full);
    if (job.template own_tile_full<Pieces>()) {
        if (threadIdx.x == 0) bulk_fill<Pieces>(job, stage, full, blockIdx.x);
        mbarrier_wait(full, 0);
        job.template use<Pieces>(stage, blockIdx.x);
    } else {
        job.template tail<Pieces>(blockIdx.x);
    }
}
