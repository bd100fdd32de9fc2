// 2-D 5-point stencil: y = center·x + side·(north + south + west + east) inside, y = x on the border.
#include "stencil.cuh"

struct Grid2 {
    float *__restrict__ y;
    const float *__restrict__ x;
    int width, height, chunk;
    float center, side;

    __device__ __forceinline__ const float *in(int r) const { return x + size_t(r) * width; }
    __device__ __forceinline__ float *out(int r) const { return y + size_t(r) * width; }

    __device__ __forceinline__ float4 five(float4 up, float4 v, float4 down, float left, float right) const
    {
        return make_float4(center * v.x + side * ((up.x + down.x) + (left + v.y)), center * v.y + side * ((up.y + down.y) + (v.x + v.z)),
                           center * v.z + side * ((up.z + down.z) + (v.y + v.w)), center * v.w + side * ((up.w + down.w) + (v.z + right)));
    }

    template <bool Whole>
    __device__ __forceinline__ void write(int r, int c, float4 up, float4 v, float4 down, float left, float right) const
    {
        float4 o = r > 0 && r + 1 < height ? keep_ends(five(up, v, down, left, right), v, c, width, 1) : v;
        store_columns<Whole>(out(r), c, width, o);
    }
};

// One element a thread, 32 × (blockDim / 32) of them a block.
extern "C" __global__ void __launch_bounds__(1024) cpp_stencil5_naive(
    float *__restrict__ y, const float *__restrict__ x, unsigned width, unsigned height, unsigned, float center, float side)
{
    unsigned across = (width + 31) / 32, c = blockIdx.x % across * 32 + threadIdx.x % 32;
    unsigned r = blockIdx.x / across * (blockDim.x / 32) + threadIdx.x / 32;
    if (c >= width || r >= height) return;
    size_t i = size_t(r) * width + c;
    bool border = c == 0 || r == 0 || c + 1 == width || r + 1 == height;
    y[i] = border ? x[i] : center * x[i] + side * ((x[i - width] + x[i + width]) + (x[i - 1] + x[i + 1]));
}

// One float4 a thread, 128 × (blockDim / 32) elements a block; neighbours come through L1.
template <bool Whole> __device__ __forceinline__ void vector(const Grid2 &g)
{
    int across = (g.width + 127) / 128, c = blockIdx.x % across * 128 + threadIdx.x % 32 * 4;
    int r = blockIdx.x / across * (blockDim.x / 32) + threadIdx.x / 32;
    if (c >= g.width || r >= g.height) return;
    float4 v = load_columns<Whole>(g.in(r), c, g.width), none = make_float4(0, 0, 0, 0);
    float4 up = r > 0 ? load_columns<Whole>(g.in(r - 1), c, g.width) : none;
    float4 down = r + 1 < g.height ? load_columns<Whole>(g.in(r + 1), c, g.width) : none;
    float left = c > 0 ? g.in(r)[c - 1] : 0.0f, right = c + 4 < g.width ? g.in(r)[c + 4] : 0.0f;
    g.write<Whole>(r, c, up, v, down, left, right);
}

// The strip of columns and the chunk of rows of this block: 4 · blockDim columns, `chunk` rows.
struct Strip {
    int c0, from, to;
    __device__ __forceinline__ explicit Strip(const Grid2 &g)
    {
        int wide = 4 * blockDim.x, across = (g.width + wide - 1) / wide;
        c0 = blockIdx.x % across * wide;
        from = blockIdx.x / across * g.chunk;
        to = min(g.height, from + g.chunk);
    }
};

// 2.5-D: marches down its strip with three rows in registers; west and east come from the neighbouring lanes.
template <bool Whole> __device__ __forceinline__ void march(const Grid2 &g)
{
    Strip s(g);
    int c = s.c0 + 4 * threadIdx.x, lane = threadIdx.x % 32;
    auto row = [&](int r) { return r >= 0 && r < g.height ? load_columns<Whole>(g.in(r), c, g.width) : make_float4(0, 0, 0, 0); };
    float4 up = row(s.from - 1), v = row(s.from);
#pragma unroll 4
    for (int r = s.from; r < s.to; ++r) {
        float4 down = row(r + 1);
        float left = __shfl_up_sync(~0u, v.w, 1), right = __shfl_down_sync(~0u, v.x, 1);
        if (lane == 0) left = c > 0 && c <= g.width ? g.in(r)[c - 1] : 0.0f;
        if (lane == 31) right = c + 4 < g.width ? g.in(r)[c + 4] : 0.0f;
        g.write<Whole>(r, c, up, v, down, left, right);
        up = v, v = down;
    }
}

// A ring of rows in shared memory, filled by cp.async; Slots − 1 rows are in flight. A slot is
// blockDim + 2 float4: the strip between one float4 of halo on either side. North and south stay in registers.
template <bool Whole> __device__ __forceinline__ void fetch_row(const Grid2 &g, const Strip &s, int r, float4 *slot)
{
    // The chunk's last row needs one more below it.
    if (r < 0 || r >= g.height || r > s.to) return;
    const float *row = g.in(r);
    if constexpr (Whole) {
        auto piece = [&](int i) {
            int c = s.c0 + 4 * (i - 1);
            bool valid = c >= 0 && c < g.width;
            copy_16_or_zero(slot + i, valid ? row + c : g.x, valid);
        };
        piece(threadIdx.x + 1);
        if (threadIdx.x < 2) piece(threadIdx.x == 0 ? 0 : blockDim.x + 1);
    } else {
        for (int i = threadIdx.x; i < 4 * int(blockDim.x) + 2; i += blockDim.x) {
            int c = s.c0 - 1 + i;
            bool valid = c >= 0 && c < g.width;
            copy_4_or_zero(reinterpret_cast<float *>(slot) + 3 + i, valid ? row + c : g.x, valid);
        }
    }
}

template <int Slots, bool Whole> __device__ __forceinline__ void row_ring(const Grid2 &g)
{
    extern __shared__ __align__(128) float4 ring[];
    Strip s(g);
    int size = blockDim.x + 2, own = threadIdx.x + 1, c = s.c0 + 4 * threadIdx.x;
    int next = s.from - 1;
    for (int i = 0; i < Slots; ++i, ++next) {
        fetch_row<Whole>(g, s, next, ring + i * size);
        commit_group();
    }
    wait_group<Slots - 2>();
    __syncthreads();
    float4 up = s.from > 0 ? ring[own] : make_float4(0, 0, 0, 0), v = ring[size + own];
    // At step r: `oldest` held row r − 1, which every thread has finished with once the step's barrier is met.
    int oldest = 0, here = 1;
    for (int r = s.from; r < s.to; ++r, ++next) {
        wait_group<Slots - 3>();
        __syncthreads();
        fetch_row<Whole>(g, s, next, ring + oldest * size);
        commit_group();
        int below = here + 1 == Slots ? 0 : here + 1;
        float4 down = r + 1 < g.height ? ring[below * size + own] : v;
        const float *line = reinterpret_cast<const float *>(ring + here * size + own);
        g.write<Whole>(r, c, up, v, down, line[-1], line[4]);
        up = v, v = down;
        oldest = here, here = below;
    }
    wait_group<0>();
}

// The kernel for rows of whole float4, and the one for any others.
#define STENCIL5(variant, whole, broken)                                                                                           \
    extern "C" __global__ void __launch_bounds__(1024) cpp_stencil5_##variant(                                                     \
        float *__restrict__ y, const float *__restrict__ x, unsigned width, unsigned height, unsigned chunk, float center, float side) \
    {                                                                                                                              \
        Grid2 g{y, x, int(width), int(height), int(chunk), center, side};                                                          \
        if (width % 4 == 0)                                                                                                        \
            whole(g);                                                                                                              \
        else                                                                                                                       \
            broken(g);                                                                                                             \
    }
STENCIL5(vector, vector<true>, vector<false>)
STENCIL5(march, march<true>, march<false>)
STENCIL5(ring_s3, (row_ring<3, true>), (row_ring<3, false>))
STENCIL5(ring_s4, (row_ring<4, true>), (row_ring<4, false>))
STENCIL5(ring_s8, (row_ring<8, true>), (row_ring<8, false>))
STENCIL5(ring_s16, (row_ring<16, true>), (row_ring<16, false>))
