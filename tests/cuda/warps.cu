// Work of one warp or a part of it: shuffles, votes, matches, scans, and the groups of cooperative_groups.
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// Every form of shuffle, at full and at partial width.
extern "C" __global__ void warp_shuffles(int *out, const int *x)
{
    int t = threadIdx.x, v = x[t];
    int sum = __shfl_sync(~0u, v, 5) + 3 * __shfl_up_sync(~0u, v, 2) + 5 * __shfl_down_sync(~0u, v, 7) + 7 * __shfl_xor_sync(~0u, v, 9);
    sum += 11 * __shfl_sync(~0u, v, 3, 8) + 13 * __shfl_up_sync(~0u, v, 1, 4) + 17 * __shfl_down_sync(~0u, v, 3, 16);
    long long wide = __shfl_xor_sync(~0u, (long long)v << 33, 16);
    double real = __shfl_down_sync(~0u, double(v), 1);
    out[t] = sum + int(wide >> 33) + int(real);
}

// Lanes of the two sides of a branch talk among themselves.
extern "C" __global__ void warp_halves(unsigned *out, const unsigned *x)
{
    unsigned t = threadIdx.x, v = x[t], r;
    if (t % 32 < 13) {
        unsigned mask = (1u << 13) - 1;
        r = __ballot_sync(mask, v > 10) + __shfl_sync(mask, v, 12);
        __syncwarp(mask);
    } else {
        unsigned mask = ~((1u << 13) - 1);
        r = __popc(__ballot_sync(mask, v & 2)) * 1000 + __shfl_sync(mask, v, 13);
    }
    __syncwarp();
    out[t] = r + __any_sync(~0u, v == 77) + 2 * __all_sync(~0u, v < 1000);
}

// Inclusive scan over a block: warps first, then the warps' totals.
extern "C" __global__ void warp_scan(int *out, const int *x)
{
    __shared__ int totals[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, v = x[blockIdx.x * blockDim.x + t];
    for (int d = 1; d < 32; d *= 2) {
        int n = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += n;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = lane < blockDim.x / 32 ? totals[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int n = __shfl_up_sync(~0u, w, d);
            if (lane >= d) w += n;
        }
        totals[lane] = w;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = v + (warp ? totals[warp - 1] : 0);
}

// Tiles of eight, reductions and scans by the library.
extern "C" __global__ void warp_groups(int *out, const int *x)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = x[block.thread_rank()];
    int sum = cg::reduce(tile, v, cg::plus<int>()), most = cg::reduce(tile, v, cg::greater<int>());
    int before = cg::exclusive_scan(tile, v);
    auto pair = cg::tiled_partition<2>(tile);
    int other = pair.shfl_xor(v, 1);
    tile.sync();
    int extra = 0;
    if (v % 3 == 0) {
        auto active = cg::coalesced_threads();
        extra = active.size() * 100 + active.thread_rank() + active.shfl(v, 0);
    }
    auto odd = cg::binary_partition(tile, v & 1);
    out[block.thread_rank()] = sum + 3 * most + 5 * before + 7 * other + 11 * extra + 13 * odd.size() + 17 * tile.any(v > 90);
}

// Threads add to one counter, one atomic for each group of lanes that are here together.
__device__ int take(int *counter)
{
    auto g = cg::coalesced_threads();
    int first = 0;
    if (g.thread_rank() == 0) first = atomicAdd(counter, g.size());
    return g.shfl(first, 0) + g.thread_rank();
}
extern "C" __global__ void warp_filter(int *out, int *counter, const int *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (x[i] > 0) out[take(counter)] = x[i];
}

// The warp's own tree in shared memory, with __syncwarp between its steps.
extern "C" __global__ void warp_tree(int *out, const int *x)
{
    __shared__ int tree[128];
    int t = threadIdx.x, lane = t % 32;
    tree[t] = x[t];
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        int v = lane < d ? tree[t + d] : 0;
        __syncwarp();
        if (lane < d) tree[t] += v;
        __syncwarp();
    }
    if (lane == 0) out[t / 32] = tree[t];
}

// Copies by a group, two stages.
extern "C" __global__ void group_copies(float *out, const float *x, int tiles)
{
    __shared__ alignas(16) float ring[2][128];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, ring[0], x, sizeof(ring[0]));
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            cg::memcpy_async(block, ring[(t + 1) % 2], x + (t + 1) * 128, cuda::aligned_size_t<16>(sizeof(ring[0])));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += ring[t % 2][127 - threadIdx.x];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void warp_matches(unsigned *out, const unsigned *x)
{
    unsigned t = threadIdx.x, v = x[t] / 16;
    int same;
    unsigned all = __match_all_sync(~0u, v / 100, &same);
    out[t] = __match_any_sync(~0u, v) + all * same + __reduce_max_sync(~0u, v) + __reduce_or_sync(~0u, v) * 3 + __reduce_min_sync(~0u, int(v) - 5) + __activemask();
}
