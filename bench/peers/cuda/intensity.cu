// The intensity sweep: each element of a staged tile goes through r dependent fused multiply-adds, v = v·a + b.
// r is a run-time parameter, so one entry serves the whole sweep; the four elements of a float4 are independent chains.
#include "staging.cuh"

struct Chain {
    static constexpr int Inputs = 1;
    float a, b;
    unsigned r;

    __device__ float operator()(float v, float) const
    {
        for (unsigned i = 0; i < r; ++i) v = fmaf(v, a, b);
        return v;
    }
};

// The four chains of a float4 advance together; the loop takes eight steps a turn.
template <> __device__ __forceinline__ float4 apply<Chain>(const Chain &f, float4 v, float4)
{
#pragma unroll 8
    for (unsigned i = 0; i < f.r; ++i) v = make_float4(fmaf(v.x, f.a, f.b), fmaf(v.y, f.a, f.b), fmaf(v.z, f.a, f.b), fmaf(v.w, f.a, f.b));
    return v;
}

#define INTENSITY(variant, call)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024) cpp_intensity_##variant(                                                    \
        float *__restrict__ y, const float *__restrict__ x, float a, float b, unsigned r, unsigned long long n)                    \
    {                                                                                                                              \
        call(Job<Chain>{y, x, x, n, {a, b, r}});                                                                                   \
    }

// A template argument list would split a macro's arguments at its comma.
#define CALL(...) __VA_ARGS__

INTENSITY(plain, CALL(plain<1>))
INTENSITY(stride, CALL(stride<1>))
INTENSITY(sync, CALL(synchronous<1>))
INTENSITY(pipeline_block_s1, CALL(pipeline_block<1, 1>))
INTENSITY(pipeline_block_s2, CALL(pipeline_block<2, 1>))
INTENSITY(pipeline_block_s4, CALL(pipeline_block<4, 1>))
INTENSITY(pipeline_block_s8, CALL(pipeline_block<8, 1>))
INTENSITY(pipeline_thread_s1, CALL(pipeline_thread<1, 1>))
INTENSITY(pipeline_thread_s2, CALL(pipeline_thread<2, 1>))
INTENSITY(pipeline_thread_s4, CALL(pipeline_thread<4, 1>))
INTENSITY(pipeline_thread_s8, CALL(pipeline_thread<8, 1>))
INTENSITY(ring_one_s2, CALL(ring_one<2, 1>))
INTENSITY(ring_one_s4, CALL(ring_one<4, 1>))
INTENSITY(ring_one_s8, CALL(ring_one<8, 1>))
INTENSITY(ring_two_s1, CALL(ring_two<1, 1>))
INTENSITY(ring_two_s2, CALL(ring_two<2, 1>))
INTENSITY(ring_two_s4, CALL(ring_two<4, 1>))
INTENSITY(ring_two_s8, CALL(ring_two<8, 1>))
INTENSITY(bulk_s1, CALL(bulk_ring<1, 1>))
INTENSITY(bulk_s2, CALL(bulk_ring<2, 1>))
INTENSITY(bulk_s4, CALL(bulk_ring<4, 1>))
INTENSITY(bulk_s8, CALL(bulk_ring<8, 1>))
INTENSITY(bulk_tile, CALL(bulk_tile<1>))
