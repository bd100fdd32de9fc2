// Transpose of a rows × columns float matrix: y[c·rows + r] = x[r·columns + c]. Any shape; blocks of one dimension,
// numbered along the rows of tiles.
#include "async.cuh"

struct Matrix {
    float *y;
    const float *x;
    unsigned rows, columns;

    __device__ __forceinline__ const float *in(unsigned r, unsigned c) const { return x + size_t(r) * columns + c; }
    __device__ __forceinline__ float *out(unsigned r, unsigned c) const { return y + size_t(c) * rows + r; }
};

// Reads along rows, writes along columns. 32 × 8 threads for a 32 × 32 tile, as in the next.
extern "C" __global__ void __launch_bounds__(256)
cpp_transpose_naive(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned columns)
{
    Matrix m{y, x, rows, columns};
    unsigned across = (columns + 31) / 32, c = blockIdx.x % across * 32 + threadIdx.x % 32, r = blockIdx.x / across * 32 + threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (c < columns && r + i < rows) *m.out(r + i, c) = *m.in(r + i, c);
}

// A 32 × 33 tile: the pad column puts the elements of a column in different banks.
extern "C" __global__ void __launch_bounds__(256)
cpp_transpose_padded(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned columns)
{
    __shared__ float tile[32][33];
    Matrix m{y, x, rows, columns};
    unsigned across = (columns + 31) / 32, c0 = blockIdx.x % across * 32, r0 = blockIdx.x / across * 32;
    unsigned lane = threadIdx.x % 32, line = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (c0 + lane < columns && r0 + line + i < rows) tile[line + i][lane] = *m.in(r0 + line + i, c0 + lane);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (r0 + lane < rows && c0 + line + i < columns) *m.out(r0 + lane, c0 + line + i) = tile[lane][line + i];
}

// The 64 × 64 tile of the float4 variants, swizzled instead of padded so that its rows stay 16-byte aligned:
// float4 number g of row r lies at g ^ (r/4 mod 8), and eight threads that read four-row bundles k = 0..7 of one g
// hit all 32 banks.
constexpr unsigned Side = 64, Vectors = Side / 4, TileVectors = Side * Vectors;

__device__ __forceinline__ unsigned swizzled(unsigned r, unsigned g) { return r * Vectors + (g ^ (r / 4 % 8)); }

struct Tile {
    unsigned r0, c0;
    bool load_whole, store_whole; // inside the matrix, and its rows 16-byte aligned

    __device__ __forceinline__ Tile(const Matrix &m, unsigned number)
    {
        unsigned across = (m.columns + Side - 1) / Side;
        r0 = number / across * Side, c0 = number % across * Side;
        bool inside = r0 + Side <= m.rows && c0 + Side <= m.columns;
        load_whole = inside && m.columns % 4 == 0, store_whole = inside && m.rows % 4 == 0;
    }
};

__device__ __forceinline__ unsigned tile_count(const Matrix &m)
{
    return ((m.rows + Side - 1) / Side) * ((m.columns + Side - 1) / Side);
}

// Writes a tile from shared memory: each thread transposes 4 × 4 elements in registers and writes four float4.
__device__ __forceinline__ void write_tile(const Matrix &m, const Tile &t, const float4 *stage)
{
    unsigned k = threadIdx.x % 8 + threadIdx.x / 128 * 8, g = threadIdx.x / 8 % 16;
    float4 a = stage[swizzled(4 * k, g)], b = stage[swizzled(4 * k + 1, g)], c = stage[swizzled(4 * k + 2, g)], d = stage[swizzled(4 * k + 3, g)];
    unsigned row = t.r0 + 4 * k, column = t.c0 + 4 * g;
    float4 lines[4] = {{a.x, b.x, c.x, d.x}, {a.y, b.y, c.y, d.y}, {a.z, b.z, c.z, d.z}, {a.w, b.w, c.w, d.w}};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (t.store_whole) {
            *reinterpret_cast<float4 *>(m.out(row, column + i)) = lines[i];
        } else if (column + i < m.columns) {
            const float v[4] = {lines[i].x, lines[i].y, lines[i].z, lines[i].w};
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (row + j < m.rows) *m.out(row + j, column + i) = v[j];
        }
    }
}

// Plain float4 loads into the swizzled tile, one tile a block.
extern "C" __global__ void __launch_bounds__(256)
cpp_transpose_swizzle(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned columns)
{
    __shared__ float4 stage[TileVectors];
    Matrix m{y, x, rows, columns};
    Tile t(m, blockIdx.x);
    unsigned g = threadIdx.x % Vectors, line = threadIdx.x / Vectors;
    if (t.load_whole) {
        float4 v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = *reinterpret_cast<const float4 *>(m.in(t.r0 + line + 16 * i, t.c0 + 4 * g));
#pragma unroll
        for (int i = 0; i < 4; ++i) stage[swizzled(line + 16 * i, g)] = v[i];
    } else {
        for (unsigned i = threadIdx.x; i < Side * Side; i += 256) {
            unsigned r = i / Side, c = i % Side;
            float *to = reinterpret_cast<float *>(stage + swizzled(r, c / 4)) + c % 4;
            *to = t.r0 + r < rows && t.c0 + c < columns ? *m.in(t.r0 + r, t.c0 + c) : 0.0f;
        }
    }
    __syncthreads();
    write_tile(m, t, stage);
}

__device__ __forceinline__ void fetch_tile(const Matrix &m, unsigned number, float4 *stage)
{
    Tile t(m, number);
    if (t.load_whole) {
        unsigned g = threadIdx.x % Vectors, line = threadIdx.x / Vectors;
#pragma unroll
        for (int i = 0; i < 4; ++i) copy_16(stage + swizzled(line + 16 * i, g), m.in(t.r0 + line + 16 * i, t.c0 + 4 * g));
        return;
    }
    for (unsigned i = threadIdx.x; i < Side * Side; i += 256) {
        unsigned r = i / Side, c = i % Side;
        bool valid = t.r0 + r < m.rows && t.c0 + c < m.columns;
        copy_4_or_zero(reinterpret_cast<float *>(stage + swizzled(r, c / 4)) + c % 4, valid ? m.in(t.r0 + r, t.c0 + c) : m.x, valid);
    }
}

// Persistent blocks and a cp.async ring of tiles, one barrier a tile; Stages − 1 tiles are in flight.
template <int Stages> __device__ __forceinline__ void transpose_ring(const Matrix &m)
{
    extern __shared__ __align__(128) float4 ring[];
    unsigned tiles = tile_count(m), next = blockIdx.x;
    for (int s = 0; s < Stages - 1; ++s, next += gridDim.x) {
        if (next < tiles) fetch_tile(m, next, ring + s * TileVectors);
        commit_group();
    }
    int into = Stages - 1, from = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, next += gridDim.x) {
        wait_group<Stages - 2>();
        __syncthreads();
        if (next < tiles) fetch_tile(m, next, ring + into * TileVectors);
        commit_group();
        write_tile(m, Tile(m, t), ring + from * TileVectors);
        into = from;
        from = from + 1 == Stages ? 0 : from + 1;
    }
    wait_group<0>();
}

#define RING(stages)                                                                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                                                              \
        cpp_transpose_ring_s##stages(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned columns)          \
    {                                                                                                                              \
        transpose_ring<stages>(Matrix{y, x, rows, columns});                                                                       \
    }
RING(2)
RING(3)
RING(4)
