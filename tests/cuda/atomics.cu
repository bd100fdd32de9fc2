// Atomics of every kind, and what is built on them: histograms, locks, the last block of a grid.
#include <cuda/atomic>
#include <cuda/std/atomic>
#include <cuda_fp16.h>

extern "C" __global__ void atomic_kinds(unsigned *u, int *s, unsigned long long *w, float *f, double *d, const unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    atomicAdd(&u[0], v); atomicSub(&u[1], v); atomicMin(&u[2], v); atomicMax(&u[3], v);
    atomicAnd(&u[4], v | 0xff); atomicOr(&u[5], v & 0xf0f0); atomicXor(&u[6], v); atomicInc(&u[7], 12); atomicDec(&u[8], 20);
    atomicMin(&s[0], int(v) - 500); atomicMax(&s[1], int(v) - 500); atomicAdd(&s[2], int(v) - 500);
    atomicAdd(&w[0], (unsigned long long)v << 20); atomicMax(&w[1], (unsigned long long)v << 33); atomicXor(&w[2], (unsigned long long)v * v);
    atomicAdd(&f[0], float(v)); atomicAdd(&d[0], double(v) / 2);
    atomicAdd_system(&u[9], 2u);
}

// A histogram in shared memory, added to one in global memory.
extern "C" __global__ void atomic_histogram(unsigned *out, const unsigned char *x, int n)
{
    __shared__ unsigned bins[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i] & 63], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) atomicAdd(&out[b], bins[b]);
}

// The block that finishes last adds up what the others left.
__device__ unsigned finished;
extern "C" __global__ void atomic_last_block(float *total, float *partials, const float *x, int n)
{
    __shared__ float sums[128];
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += ((volatile float *)partials)[b];
        *total = all;
    }
}

// A compare-and-swap loop, the maximum of floats.
__device__ void max_of(float *at, float v)
{
    int *bits = reinterpret_cast<int *>(at), old = *reinterpret_cast<volatile int *>(bits), seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= v) return;
        old = atomicCAS(bits, seen, __float_as_int(v));
    } while (old != seen);
}
extern "C" __global__ void atomic_cas(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) max_of(out + i % 3, x[i]);
}

// A lock in global memory, taken by one thread of each block.
extern "C" __global__ void atomic_lock(int *lock, int *value)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        *(volatile int *)value = *(volatile int *)value + blockIdx.x + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// libcu++: relaxed counters, a release store that another block acquires.
extern "C" __global__ void atomic_ref_flag(int *data, int *flag, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x * 3;
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    } else {
        if (threadIdx.x == 0) while (ready.load(cuda::memory_order_acquire) == 0) {}
        __syncthreads();
        out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
    }
}

extern "C" __global__ void atomic_block_counter(int *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> counter;
    if (threadIdx.x == 0) new (&counter) cuda::atomic<int, cuda::thread_scope_block>(100);
    __syncthreads();
    counter.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    __syncthreads();
    out[threadIdx.x] = counter.load() + threadIdx.x;
}

extern "C" __global__ void atomic_half(__half2 *out, const __half2 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
}
