// Ordinary CUDA C++ that is no pipeline: printf, assert, atomics, warp votes, half, recursion, constants, local arrays.
#include <cassert>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__constant__ float weights[4] = {0.5f, 0.25f, 0.125f, 0.0625f};
__device__ unsigned counter = 7;

extern "C" __global__ void misc_print(const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < 0) printf("x[%d] = %d is negative (%s, %.2f)\n", i, x[i], "a string", 0.5 * x[i]);
}

extern "C" __global__ void misc_assert(const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) assert(x[i] >= 0);
}

// Block sum by warp shuffles, then one atomic a block.
extern "C" __global__ void misc_sum(float *out, const float *x, int n)
{
    __shared__ float partial[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * weights[i & 3];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
        if (threadIdx.x == 0) { atomicAdd(out, sum); atomicInc(&counter, 1000); }
    }
}

extern "C" __global__ void misc_votes(unsigned *out, const unsigned *x)
{
    unsigned v = x[threadIdx.x], all = __ballot_sync(~0u, v & 1);
    unsigned same = __match_any_sync(~0u, v % 4), rank = __popc(same & ((1u << (threadIdx.x % 32)) - 1));
    out[threadIdx.x] = all ^ (rank << 24) ^ __brev(v) ^ __ffs(v) ^ __clz(v) ^ __reduce_add_sync(~0u, v);
}

extern "C" __global__ void misc_half(__half *y, const __half *x, __nv_bfloat16 *z, const float *w, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __hfma(x[i], __float2half(2.0f), __float2half(0.5f));
        z[i] = __float2bfloat16(w[i] * 3.0f);
    }
}

__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void misc_recursion(unsigned *out) { out[threadIdx.x] = fib(threadIdx.x % 12); }

// A local array indexed at run time.
extern "C" __global__ void misc_local(int *out, const int *x, int n)
{
    int bins[16] = {};
    for (int i = threadIdx.x; i < n; i += blockDim.x) bins[x[i] & 15] += x[i];
    int best = 0;
    for (int b = 0; b < 16; ++b) if (bins[b] > bins[best]) best = b;
    out[threadIdx.x] = best * 100000 + bins[best];
}

extern "C" __global__ void misc_double(double *y, const double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = sqrt(x[i]) / (1.0 + x[i]) + double(float(x[i])) + floor(x[i]) + fmod(x[i], 3.0);
}

extern "C" __global__ void misc_math(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = expf(x[i]) + logf(1.0f + fabsf(x[i])) + sinf(x[i]) + rsqrtf(1.0f + x[i] * x[i]) + tanhf(x[i]) / 3.0f;
}
