// What the stencils share: four neighbouring columns a thread, at any width.
#pragma once
#include "async.cuh"

// Four elements from column c of a row. Whole says that rows start at multiples of 16 bytes (width % 4 == 0),
// so that a float4 is either inside the row or outside. Columns outside read as zero.
template <bool Whole> __device__ __forceinline__ float4 load_columns(const float *row, int c, int width)
{
    if constexpr (Whole) {
        return c >= 0 && c < width ? *reinterpret_cast<const float4 *>(row + c) : make_float4(0, 0, 0, 0);
    } else {
        auto at = [&](int i) { return c + i >= 0 && c + i < width ? row[c + i] : 0.0f; };
        return make_float4(at(0), at(1), at(2), at(3));
    }
}

template <bool Whole> __device__ __forceinline__ void store_columns(float *row, int c, int width, float4 v)
{
    if constexpr (Whole) {
        if (c < width) *reinterpret_cast<float4 *>(row + c) = v;
    } else {
        if (c < width) row[c] = v.x;
        if (c + 1 < width) row[c + 1] = v.y;
        if (c + 2 < width) row[c + 2] = v.z;
        if (c + 3 < width) row[c + 3] = v.w;
    }
}

// Keeps the input where the stencil would reach over the row's ends.
__device__ __forceinline__ float4 keep_ends(float4 out, float4 in, int c, int width, int radius)
{
    if (c < radius || c + 3 >= width - radius) {
        auto pick = [&](int i, float o, float v) { return c + i < radius || c + i >= width - radius ? v : o; };
        out = make_float4(pick(0, out.x, in.x), pick(1, out.y, in.y), pick(2, out.z, in.z), pick(3, out.w, in.w));
    }
    return out;
}
