// y = A·x for a row-major bfloat16 matrix, summed in float, y in bfloat16: a warp for one row or several.
// A is read once, in 16-byte pieces past L1; x comes through L1. A width that is no multiple of 8 is read element by element.
#include "async.cuh"
#include <cuda_bf16.h>

__device__ __forceinline__ float dot_piece(uint4 a, uint4 b, float sum)
{
    const uint32_t u[4] = {a.x, a.y, a.z, a.w}, v[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        sum = fmaf(__uint_as_float(u[i] << 16), __uint_as_float(v[i] << 16), sum);
        sum = fmaf(__uint_as_float(u[i] & 0xffff0000u), __uint_as_float(v[i] & 0xffff0000u), sum);
    }
    return sum;
}

// Each lane's share of one row, where 16-byte accesses are not possible.
__device__ __forceinline__ float dot_elements(const __nv_bfloat16 *a, const __nv_bfloat16 *x, unsigned width)
{
    float sum = 0.0f;
    for (unsigned i = threadIdx.x % 32; i < width; i += 32) sum = fmaf(__bfloat162float(a[i]), __bfloat162float(x[i]), sum);
    return sum;
}

__device__ __forceinline__ void write_row(__nv_bfloat16 *y, unsigned row, unsigned rows, float sum)
{
#pragma unroll
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0 && row < rows) y[row] = __float2bfloat16(sum);
}

// Rows a warp, Unroll pieces of each in flight before the first product.
template <int Rows, int Unroll>
__device__ __forceinline__ void gemv_warp(__nv_bfloat16 *y, const __nv_bfloat16 *a, const __nv_bfloat16 *x, unsigned rows, unsigned width)
{
    unsigned first = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * Rows, pieces = width / 8;
    if (first >= rows) return;
    float sum[Rows] = {};
    if (width % 8 == 0) {
        const uint4 *x8 = reinterpret_cast<const uint4 *>(x), *row[Rows];
        // A row past the end repeats the last one, and its result is not written.
#pragma unroll
        for (int r = 0; r < Rows; ++r) row[r] = reinterpret_cast<const uint4 *>(a) + size_t(min(first + r, rows - 1)) * pieces;
        for (unsigned at = threadIdx.x % 32; at < pieces; at += 32 * Unroll) {
            uint4 u[Rows][Unroll], v[Unroll];
#pragma unroll
            for (int k = 0; k < Unroll; ++k) {
                bool valid = at + 32 * k < pieces;
#pragma unroll
                for (int r = 0; r < Rows; ++r) u[r][k] = valid ? load_once(row[r] + at + 32 * k) : make_uint4(0, 0, 0, 0);
                v[k] = valid ? __ldg(x8 + at + 32 * k) : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (int k = 0; k < Unroll; ++k)
#pragma unroll
                for (int r = 0; r < Rows; ++r) sum[r] = dot_piece(u[r][k], v[k], sum[r]);
        }
    } else {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (first + r < rows) sum[r] = dot_elements(a + size_t(first + r) * width, x, width);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) write_row(y, first + r, rows, sum[r]);
}

// Persistent warps, each with its own cp.async ring that runs on from row to row; a lane reads only what it copied.
// A stage holds one piece a lane.
template <int Stages>
__device__ __forceinline__ void gemv_ring(__nv_bfloat16 *y, const __nv_bfloat16 *a, const __nv_bfloat16 *x, unsigned rows, unsigned width)
{
    extern __shared__ __align__(128) uint4 ring[];
    unsigned first = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, stride = gridDim.x * (blockDim.x / 32);
    unsigned pieces = width / 8, lane = threadIdx.x % 32;
    if (width % 8 != 0) {
        for (unsigned row = first; row < rows; row += stride) write_row(y, row, rows, dot_elements(a + size_t(row) * width, x, width));
        return;
    }
    const uint4 *a8 = reinterpret_cast<const uint4 *>(a), *x8 = reinterpret_cast<const uint4 *>(x);
    unsigned next_row = first, next_at = 0;
    auto fetch = [&](int s) {
        if (next_row < rows) {
            bool valid = next_at + lane < pieces;
            copy_16_or_zero(ring + s * blockDim.x + threadIdx.x, valid ? a8 + size_t(next_row) * pieces + next_at + lane : a8, valid);
            next_at += 32;
            if (next_at >= pieces) next_at = 0, next_row += stride;
        }
        commit_group();
    };
    for (int s = 0; s < Stages; ++s) fetch(s);
    int s = 0;
    for (unsigned row = first; row < rows; row += stride) {
        float sum = 0.0f;
        for (unsigned at = 0; at < pieces; at += 32) {
            wait_group<Stages - 1>();
            uint4 u = ring[s * blockDim.x + threadIdx.x];
            fetch(s);
            s = s + 1 == Stages ? 0 : s + 1;
            sum = dot_piece(u, at + lane < pieces ? __ldg(x8 + at + lane) : make_uint4(0, 0, 0, 0), sum);
        }
        write_row(y, row, rows, sum);
    }
    wait_group<0>();
}

#define GEMV(variant, ...)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(512)                                                                              \
        cpp_gemv_##variant(__nv_bfloat16 *__restrict__ y, const __nv_bfloat16 *__restrict__ a, const __nv_bfloat16 *__restrict__ x, \
                           unsigned rows, unsigned width)                                                                          \
    {                                                                                                                              \
        __VA_ARGS__(y, a, x, rows, width);                                                                                         \
    }
GEMV(warp_r1, gemv_warp<1, 4>)
GEMV(warp_r1_u7, gemv_warp<1, 7>)
GEMV(warp_r2, gemv_warp<2, 4>)
GEMV(warp_r4, gemv_warp<4, 2>)
GEMV(ring_s4, gemv_ring<4>)
GEMV(ring_s8, gemv_ring<8>)
GEMV(ring_s16, gemv_ring<16>)
