// 3-D star stencils of radius 1 (7 points) and 4 (25 points):
// y = c0·x + Σ_d c_d·(the six neighbours at distance d) inside, y = x within the radius of a face.
#include "stencil.cuh"

template <int Radius> struct Grid3 {
    float *__restrict__ y;
    const float *__restrict__ x;
    int nx, ny, nz, chunk;
    float c[Radius + 1];

    __device__ __forceinline__ size_t at(int z, int r) const { return (size_t(z) * ny + r) * nx; }
    __device__ __forceinline__ bool inside(int z, int r) const { return z >= Radius && z < nz - Radius && r >= Radius && r < ny - Radius; }

    // Four outputs from the column of planes `q`, this plane's rows (given by d = ±1 … ±Radius) and columns.
    template <class Row> __device__ __forceinline__ float4 star(const float4 (&q)[2 * Radius + 1], float4 left, float4 right, Row row) const
    {
        float4 v = q[Radius];
        const float line[12] = {left.x, left.y, left.z, left.w, v.x, v.y, v.z, v.w, right.x, right.y, right.z, right.w};
        float o[4] = {c[0] * v.x, c[0] * v.y, c[0] * v.z, c[0] * v.w};
#pragma unroll
        for (int d = 1; d <= Radius; ++d) {
            float4 a = q[Radius - d], b = q[Radius + d], n = row(-d), s = row(d);
            const float around[4] = {(a.x + b.x) + (n.x + s.x), (a.y + b.y) + (n.y + s.y), (a.z + b.z) + (n.z + s.z), (a.w + b.w) + (n.w + s.w)};
#pragma unroll
            for (int i = 0; i < 4; ++i) o[i] = fmaf(c[d], around[i] + (line[4 + i - d] + line[4 + i + d]), o[i]);
        }
        return make_float4(o[0], o[1], o[2], o[3]);
    }
};

// One element a thread, 32 × (blockDim / 32) of one plane a block; all neighbours from global memory.
template <int Radius> __device__ __forceinline__ void naive(const Grid3<Radius> &g)
{
    int across = (g.nx + 31) / 32, lines = blockDim.x / 32, down = (g.ny + lines - 1) / lines;
    int b = blockIdx.x, c = b % across * 32 + threadIdx.x % 32, r = b / across % down * lines + threadIdx.x / 32, z = b / across / down;
    if (c >= g.nx || r >= g.ny || z >= g.nz) return;
    size_t i = g.at(z, r) + c, plane = size_t(g.nx) * g.ny;
    float v = g.x[i];
    if (g.inside(z, r) && c >= Radius && c < g.nx - Radius) {
        v *= g.c[0];
#pragma unroll
        for (int d = 1; d <= Radius; ++d)
            v += g.c[d] * ((g.x[i - d] + g.x[i + d]) + (g.x[i - d * g.nx] + g.x[i + d * g.nx]) + (g.x[i - d * plane] + g.x[i + d * plane]));
    }
    g.y[i] = v;
}

// The block's tile of 128 columns × (blockDim / 32) rows and its chunk of planes; a thread has four columns of one row.
template <int Radius> struct Column {
    int c0, r0, c, r, from, to;
    __device__ __forceinline__ explicit Column(const Grid3<Radius> &g)
    {
        int across = (g.nx + 127) / 128, lines = blockDim.x / 32, down = (g.ny + lines - 1) / lines, b = blockIdx.x;
        c0 = b % across * 128, r0 = b / across % down * lines;
        c = c0 + threadIdx.x % 32 * 4, r = r0 + threadIdx.x / 32;
        from = b / across / down * g.chunk, to = min(g.nz, from + g.chunk);
    }
};

// 2.5-D: marches through the planes with its column in registers; the plane's neighbours come through L1.
template <int Radius, bool Whole> __device__ __forceinline__ void march(const Grid3<Radius> &g)
{
    Column<Radius> k(g);
    if (k.c >= g.nx || k.r >= g.ny) return;
    auto plane = [&](int z) {
        return z >= 0 && z < g.nz ? load_columns<Whole>(g.x + g.at(z, k.r), k.c, g.nx) : make_float4(0, 0, 0, 0);
    };
    float4 q[2 * Radius + 1];
#pragma unroll
    for (int i = 0; i < 2 * Radius; ++i) q[i] = plane(k.from - Radius + i);
    for (int z = k.from; z < k.to; ++z) {
        q[2 * Radius] = plane(z + Radius);
        float4 o = q[Radius];
        if (g.inside(z, k.r)) {
            const float *row = g.x + g.at(z, k.r);
            float4 left = load_columns<Whole>(row, k.c - 4, g.nx), right = load_columns<Whole>(row, k.c + 4, g.nx);
            o = g.star(q, left, right, [&](int d) { return load_columns<Whole>(g.x + g.at(z, k.r + d), k.c, g.nx); });
            o = keep_ends(o, q[Radius], k.c, g.nx, Radius);
        }
        store_columns<Whole>(g.y + g.at(z, k.r), k.c, g.nx, o);
#pragma unroll
        for (int i = 0; i < 2 * Radius; ++i) q[i] = q[i + 1];
    }
}

// A plane's slot: (blockDim / 32 + 2·Radius) lines of 34 float4, the tile between one float4 of halo on either side.
constexpr int Line = 34;

template <int Radius, bool Whole>
__device__ __forceinline__ void fetch_plane(const Grid3<Radius> &g, const Column<Radius> &k, int z, float4 *slot)
{
    // The chunk's last plane needs Radius more behind it.
    if (z >= g.nz || z >= k.to + Radius) return;
    int lines = blockDim.x / 32;
    // Line and position in the slot, whose corner is row r0 − Radius, column c0 − 4.
    if constexpr (Whole) {
        auto piece = [&](int line, int i) {
            int r = k.r0 - Radius + line, c = k.c0 - 4 + 4 * i;
            bool valid = r >= 0 && r < g.ny && c >= 0 && c < g.nx;
            copy_16_or_zero(slot + line * Line + i, valid ? g.x + g.at(z, r) + c : g.x, valid);
        };
        piece(threadIdx.x / 32 + Radius, threadIdx.x % 32 + 1);
        // Above and below, then left and right.
        for (int i = threadIdx.x; i < 64 * Radius + 2 * lines; i += blockDim.x) {
            if (i < 64 * Radius)
                piece(i / 32 < Radius ? i / 32 : lines + i / 32, i % 32 + 1);
            else
                piece((i - 64 * Radius) / 2 + Radius, i % 2 ? Line - 1 : 0);
        }
    } else {
        constexpr int Wide = 128 + 2 * Radius;
        for (int i = threadIdx.x; i < (lines + 2 * Radius) * Wide; i += blockDim.x) {
            int line = i / Wide, r = k.r0 - Radius + line, c = k.c0 - Radius + i % Wide;
            bool valid = r >= 0 && r < g.ny && c >= 0 && c < g.nx;
            copy_4_or_zero(reinterpret_cast<float *>(slot + line * Line) + 4 - Radius + i % Wide, valid ? g.x + g.at(z, r) + c : g.x, valid);
        }
    }
}

// A ring of planes in shared memory, filled by cp.async, one barrier a plane. Plane z is read by all its neighbours at step z,
// plane z + Radius by its own thread; Slots − 1 − Radius planes are in flight.
template <int Radius, int Slots, bool Whole> __device__ __forceinline__ void plane_ring(const Grid3<Radius> &g)
{
    extern __shared__ __align__(128) float4 ring[];
    Column<Radius> k(g);
    int size = (blockDim.x / 32 + 2 * Radius) * Line, own = (threadIdx.x / 32 + Radius) * Line + threadIdx.x % 32 + 1, next = k.from;
    for (int s = 0; s < Slots - 1; ++s, ++next) {
        fetch_plane<Radius, Whole>(g, k, next, ring + s * size);
        commit_group();
    }
    float4 q[2 * Radius + 1];
#pragma unroll
    for (int i = 0; i < Radius; ++i) {
        int z = k.from - Radius + i;
        q[i] = z >= 0 && k.r < g.ny ? load_columns<Whole>(g.x + g.at(z, k.r), k.c, g.nx) : make_float4(0, 0, 0, 0);
    }
    wait_group<Slots - 1 - Radius>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Radius; ++i) q[Radius + i] = k.from + i < g.nz ? ring[i * size + own] : make_float4(0, 0, 0, 0);
    int into = Slots - 1, here = 0, ahead = Radius;
    for (int z = k.from; z < k.to; ++z, ++next) {
        wait_group<Slots - 2 - Radius>();
        __syncthreads();
        fetch_plane<Radius, Whole>(g, k, next, ring + into * size);
        commit_group();
        q[2 * Radius] = z + Radius < g.nz ? ring[ahead * size + own] : make_float4(0, 0, 0, 0);
        if (k.r < g.ny) {
            float4 o = q[Radius];
            if (g.inside(z, k.r)) {
                const float4 *p = ring + here * size + own;
                o = keep_ends(g.star(q, p[-1], p[1], [&](int d) { return p[d * Line]; }), q[Radius], k.c, g.nx, Radius);
            }
            store_columns<Whole>(g.y + g.at(z, k.r), k.c, g.nx, o);
        }
#pragma unroll
        for (int i = 0; i < 2 * Radius; ++i) q[i] = q[i + 1];
        into = here;
        here = here + 1 == Slots ? 0 : here + 1;
        ahead = ahead + 1 == Slots ? 0 : ahead + 1;
    }
    wait_group<0>();
}

#define STENCIL7(variant, body)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(512)                                                                              \
        cpp_stencil7_##variant(float *__restrict__ y, const float *__restrict__ x, unsigned nx, unsigned ny, unsigned nz,          \
                               unsigned chunk, float c0, float c1)                                                                 \
    {                                                                                                                              \
        Grid3<1> g{y, x, int(nx), int(ny), int(nz), int(chunk), {c0, c1}};                                                         \
        body                                                                                                                       \
    }
#define STENCIL25(variant, body)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(512)                                                                              \
        cpp_stencil25_##variant(float *__restrict__ y, const float *__restrict__ x, unsigned nx, unsigned ny, unsigned nz,         \
                                unsigned chunk, float c0, float c1, float c2, float c3, float c4)                                  \
    {                                                                                                                              \
        Grid3<4> g{y, x, int(nx), int(ny), int(nz), int(chunk), {c0, c1, c2, c3, c4}};                                             \
        body                                                                                                                       \
    }
#define MARCH(radius)                                                                                                              \
    if (nx % 4 == 0)                                                                                                               \
        march<radius, true>(g);                                                                                                    \
    else                                                                                                                           \
        march<radius, false>(g);
#define RING(radius, slots)                                                                                                        \
    if (nx % 4 == 0)                                                                                                               \
        plane_ring<radius, slots, true>(g);                                                                                        \
    else                                                                                                                           \
        plane_ring<radius, slots, false>(g);

STENCIL7(naive, naive<1>(g);)
STENCIL7(march, MARCH(1))
STENCIL7(ring_s3, RING(1, 3))
STENCIL7(ring_s4, RING(1, 4))
STENCIL7(ring_s6, RING(1, 6))
STENCIL7(ring_s8, RING(1, 8))
STENCIL25(naive, naive<4>(g);)
STENCIL25(march, MARCH(4))
STENCIL25(ring_s6, RING(4, 6))
STENCIL25(ring_s7, RING(4, 7))
STENCIL25(ring_s8, RING(4, 8))
