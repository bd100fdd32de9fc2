// cuda::pipeline and cuda::barrier in the shapes that the programming guide teaches.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/utility>

#pragma nv_diag_suppress 20054

namespace cg = cooperative_groups;

// Two stages in dynamic shared memory, the state in static.
extern "C" __global__ void pipe_two_stages(int *out, const int *in, unsigned batches)
{
    extern __shared__ int shared[];
    auto block = cg::this_thread_block();
    unsigned size = block.size(), offset[2] = {0, size};
    constexpr auto scope = cuda::thread_scope_block;
    __shared__ cuda::pipeline_shared_state<scope, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    auto at = [&](unsigned batch) { return block.group_index().x * size + gridDim.x * size * batch; };
    pipe.producer_acquire();
    cuda::memcpy_async(block, shared + offset[0], in + at(0), sizeof(int) * size, pipe);
    pipe.producer_commit();
    for (unsigned batch = 1; batch < batches; ++batch) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, shared + offset[batch % 2], in + at(batch), sizeof(int) * size, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        out[at(batch - 1) + threadIdx.x] = 2 * shared[offset[(batch - 1) % 2] + size - 1 - threadIdx.x];
        pipe.consumer_release();
    }
    pipe.consumer_wait();
    out[at(batches - 1) + threadIdx.x] = 2 * shared[offset[(batches - 1) % 2] + size - 1 - threadIdx.x];
    pipe.consumer_release();
}

// Roles by thread: even threads copy, odd ones compute; element copies without a group.
extern "C" __global__ void pipe_roles_by_parity(int *out, const int *in, int tiles)
{
    constexpr int Stages = 3;
    __shared__ int ring[Stages][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
    auto block = cg::this_thread_block();
    auto role = threadIdx.x % 2 == 0 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int at = threadIdx.x / 2;
    if (role == cuda::pipeline_role::producer) {
        for (int t = 0; t < tiles; ++t) {
            pipe.producer_acquire();
            cuda::memcpy_async(&ring[t % Stages][at], in + t * 32 + at, sizeof(int), pipe);
            pipe.producer_commit();
        }
    } else {
        for (int t = 0; t < tiles; ++t) {
            pipe.consumer_wait();
            out[t * 32 + at] = ring[t % Stages][31 - at] + 1;
            pipe.consumer_release();
        }
    }
}

// The number of producers, not who they are; and quit.
extern "C" __global__ void pipe_partitioned_quit(int *out, const int *in, int tiles)
{
    __shared__ int ring[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state, 32);
    if (threadIdx.x < 32) {
        for (int t = 0; t < tiles; ++t) {
            pipe.producer_acquire();
            for (int i = threadIdx.x; i < 64; i += 32) cuda::memcpy_async(&ring[t % 2][i], in + t * 64 + i, cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        }
    } else {
        int lane = threadIdx.x - 32;
        for (int t = 0; t < tiles; ++t) {
            pipe.consumer_wait();
            out[t * 64 + lane] = ring[t % 2][63 - lane] * 3;
            pipe.consumer_release();
        }
    }
    pipe.quit();
}

// Objects with constructors, of a size that no single instruction copies.
struct Triple { int a, b, c; };
extern "C" __global__ void pipe_triples(int *out, const Triple *in, int tiles)
{
    __shared__ Triple tile[64];
    auto pipe = cuda::make_pipeline();
    auto block = cg::this_thread_block();
    for (int t = 0; t < tiles; ++t) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[threadIdx.x], in + t * 64 + threadIdx.x, sizeof(Triple), pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        block.sync();
        Triple v = tile[63 - threadIdx.x];
        out[t * 64 + threadIdx.x] = v.a + 10 * v.b + 100 * v.c;
        block.sync();
        pipe.consumer_release();
    }
}

// Arrive early, do something else, wait later.
extern "C" __global__ void barrier_split(int *out, const int *in)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int tile[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    auto token = bar.arrive();
    int own = in[threadIdx.x] * 7;
    bar.wait(cuda::std::move(token));
    own += tile[127 - threadIdx.x];
    bar.arrive_and_wait();
    tile[threadIdx.x] = own;
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % 128];
}

// Half of the threads drop out of the barrier and leave.
extern "C" __global__ void barrier_drop(int *out, const int *in)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x >= 32) { bar.arrive_and_drop(); return; }
    bar.arrive_and_wait();
    int v = tile[threadIdx.x] + tile[threadIdx.x + 32];
    bar.arrive_and_wait();
    tile[threadIdx.x] = v;
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

// Producer and consumer warps with two barriers a stage.
extern "C" __global__ void barrier_full_empty(float *out, const float *in, int tiles)
{
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) float ring[2][128];
    __shared__ Barrier full[2], empty[2];
    auto block = cg::this_thread_block();
    if (threadIdx.x < 2) { init(&full[threadIdx.x], blockDim.x); init(&empty[threadIdx.x], blockDim.x); }
    block.sync();
    if (threadIdx.x < 32) {
        for (int t = 0; t < tiles; ++t) {
            empty[t % 2].arrive_and_wait();
            cuda::memcpy_async(&ring[t % 2][threadIdx.x * 4], in + t * 128 + threadIdx.x * 4, cuda::aligned_size_t<16>(16), full[t % 2]);
            (void)full[t % 2].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int t = 0; t < tiles; ++t) {
            full[t % 2].arrive_and_wait();
            for (int i = threadIdx.x - 32; i < 128; i += blockDim.x - 32) out[t * 128 + i] = 2 * ring[t % 2][127 - i];
            (void)empty[t % 2].arrive();
        }
    }
}
