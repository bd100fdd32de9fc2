// Bulk copies on sm_90: through libcu++'s barrier and through cuda::ptx; and clusters.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

#pragma nv_diag_suppress 20054

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// The example of the programming guide: in, change, out.
extern "C" __global__ void bulk_add_one(int *data, size_t offset)
{
    __shared__ alignas(16) int tile[1024];
    __shared__ Barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    offset += blockIdx.x * 1024;
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(tile, data + offset, cuda::aligned_size_t<16>(sizeof(tile)), bar);
        token = bar.arrive();
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] += 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + offset, tile, sizeof(tile));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// The same with an explicit expectation.
extern "C" __global__ void bulk_expect_tx(float *out, const float *in, int tiles)
{
    constexpr int Stages = 3;
    __shared__ alignas(128) float ring[Stages][256];
    __shared__ Barrier full[Stages];
    if (threadIdx.x == 0) {
        for (auto &bar : full) init(&bar, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    Barrier::arrival_token tokens[Stages];
    auto fill = [&](int t) {
        int s = t % Stages;
        if (threadIdx.x == 0) {
            cuda::device::memcpy_async_tx(ring[s], in + t * 256, cuda::aligned_size_t<16>(sizeof(ring[s])), full[s]);
            tokens[s] = cuda::device::barrier_arrive_tx(full[s], 1, sizeof(ring[s]));
        } else {
            tokens[s] = full[s].arrive();
        }
    };
    for (int t = 0; t < Stages - 1 && t < tiles; ++t) fill(t);
    for (int t = 0; t < tiles; ++t) {
        if (t + Stages - 1 < tiles) fill(t + Stages - 1);
        full[t % Stages].wait(std::move(tokens[t % Stages]));
        for (int i = threadIdx.x; i < 256; i += blockDim.x) out[t * 256 + i] = 2 * ring[t % Stages][255 - i];
        __syncthreads();
    }
}

// A ring by cuda::ptx: one producer warp, parities, full and empty.
extern "C" __global__ void bulk_ring_ptx(float *out, const float *in, int tiles)
{
    constexpr int Stages = 4;
    __shared__ alignas(128) float ring[Stages][128];
    __shared__ uint64_t full[Stages], empty[Stages];
    if (threadIdx.x == 0) {
        for (int s = 0; s < Stages; ++s) { ptx::mbarrier_init(&full[s], 1); ptx::mbarrier_init(&empty[s], 128); }
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int t = 0; t < tiles; ++t) {
                int s = t % Stages;
                while (!ptx::mbarrier_try_wait_parity(&empty[s], (t / Stages & 1) ^ 1)) {}
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], sizeof(ring[s]));
                ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring[s], in + t * 128, sizeof(ring[s]), &full[s]);
            }
    } else {
        for (int t = 0; t < tiles; ++t) {
            int s = t % Stages;
            while (!ptx::mbarrier_try_wait_parity(&full[s], t / Stages & 1)) {}
            out[t * 128 + threadIdx.x] = ring[s][127 - threadIdx.x] + 1;
            ptx::mbarrier_arrive(&empty[s]);
        }
    }
}

// A reduction into global memory by a bulk copy.
extern "C" __global__ void bulk_reduce(int *out, const int *in)
{
    __shared__ alignas(16) int tile[128];
    tile[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof(tile));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Each block of a cluster reads its neighbour's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_neighbour(int *out, const int *in)
{
    __shared__ int tile[64];
    auto cluster = cg::this_cluster();
    tile[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    cluster.sync();
    int *other = cluster.map_shared_rank(tile, (cluster.block_rank() + 1) % cluster.num_blocks());
    int v = other[63 - threadIdx.x];
    cluster.sync();
    out[blockIdx.x * 64 + threadIdx.x] = v + 1000 * cluster.block_rank();
}

// A histogram spread over the cluster's shared memories.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(int *out, const unsigned *in, int n)
{
    __shared__ int bins[32];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
        unsigned bin = in[i] % 64;
        atomicAdd(cluster.map_shared_rank(bins, bin / 32) + bin % 32, 1);
    }
    cluster.sync();
    if (threadIdx.x < 32) out[cluster.block_rank() * 32 + threadIdx.x] = bins[threadIdx.x];
}

// Split arrival on the cluster's barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_split(int *out, const int *in)
{
    __shared__ int tile[32];
    auto cluster = cg::this_cluster();
    tile[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
    auto token = cluster.barrier_arrive();
    int own = threadIdx.x * 10;
    cluster.barrier_wait(std::move(token));
    int v = *cluster.map_shared_rank(&tile[threadIdx.x], cluster.block_rank() ^ 1);
    cluster.sync();
    out[blockIdx.x * 32 + threadIdx.x] = v + own;
}

// One block copies for all of the cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_multicast(int *out, const int *in)
{
    __shared__ alignas(16) int tile[256];
    __shared__ uint64_t bar;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(tile));
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof(tile), &bar, uint16_t(3));
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[blockIdx.x * 256 + i] = tile[255 - i] + blockIdx.x;
    cluster.sync();
}

// Elements into the neighbour's shared memory, counted on its barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_store_async(int *out, const int *in)
{
    __shared__ int tile[64];
    __shared__ uint64_t bar;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cluster.sync();
    unsigned other = cluster.block_rank() ^ 1;
    int *at = cluster.map_shared_rank(tile, other);
    uint64_t *there = cluster.map_shared_rank(&bar, other);
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar, sizeof(tile));
    ptx::st_async(at + threadIdx.x, in[blockIdx.x * 64 + threadIdx.x], there);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    cluster.sync();
}
