// What CUDA's own headers bring along: sums of byte differences, CUB's algorithms of a block, and a halo that a barrier of the block completes.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/barrier>

extern "C" __global__ void headers_bytes(unsigned *out, const unsigned *a, const unsigned *b)
{
    unsigned x = a[threadIdx.x], y = b[threadIdx.x];
    out[threadIdx.x] = __vabsdiffu4(x, y) + 3 * __vsadu4(x, y) + 5 * __vabsdiffs4(x, y);
}

// For 128 threads, of which each has four elements.
extern "C" __global__ void headers_cub(int *sums, int *scans, unsigned *sorted, const int *in)
{
    using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Reduce = cub::BlockReduce<int, 128>;
    using Scan = cub::BlockScan<int, 128>;
    using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
    __shared__ union {
        Load::TempStorage load;
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
        Sort::TempStorage sort;
    } memory;
    int values[4], before[4];
    unsigned keys[4];
    Load(memory.load).Load(in + blockIdx.x * 512, values);
    __syncthreads();
    int sum = Reduce(memory.reduce).Sum(values);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    __syncthreads();
    Scan(memory.scan).InclusiveSum(values, before);
    __syncthreads();
    for (int i = 0; i < 4; i++) keys[i] = (unsigned)values[i];
    Sort(memory.sort).Sort(keys);
    for (int i = 0; i < 4; i++) {
        int at = blockIdx.x * 512 + threadIdx.x * 4 + i;
        scans[at] = before[i];
        sorted[at] = keys[i];
    }
}

// Sums of nine neighbours in tiles of 128 with a halo, the next tile's copies under way while one is used.
extern "C" __global__ void headers_halo(float *out, const float *in, int n)
{
    constexpr int TILE = 128, HALO = 4;
    __shared__ alignas(16) float tile[2][TILE + 2 * HALO];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2];
    if (threadIdx.x == 0) {
        init(&ready[0], blockDim.x);
        init(&ready[1], blockDim.x);
    }
    __syncthreads();
    auto fetch_one = [&](int to, int from, int stage) {
        if (from >= 0 && from < n)
            cuda::memcpy_async(&tile[stage][to], in + from, sizeof(float), ready[stage]);
        else
            tile[stage][to] = 0;
    };
    auto fetch = [&](int number, int stage) {
        int t = threadIdx.x, start = number * TILE;
        fetch_one(HALO + t, start + t, stage);
        if (t < HALO) {
            fetch_one(t, start - HALO + t, stage);
            fetch_one(HALO + TILE + t, start + TILE + t, stage);
        }
        return ready[stage].arrive();
    };
    cuda::barrier<cuda::thread_scope_block>::arrival_token token[2];
    int tiles = n / TILE;
    if (tiles > 0) token[0] = fetch(0, 0);
    for (int number = 0; number < tiles; number++) {
        int stage = number % 2;
        if (number + 1 < tiles) token[stage ^ 1] = fetch(number + 1, stage ^ 1);
        ready[stage].wait(std::move(token[stage]));
        float sum = 0;
        for (int k = 0; k <= 2 * HALO; k++) sum += tile[stage][threadIdx.x + k];
        out[number * TILE + threadIdx.x] = sum;
        __syncthreads();
    }
}
