// Control flow: switches, recursion, calls through pointers and tables, local arrays, early ends, block votes.
#include <cstdint>

// A dense switch, which becomes a table of branches where the cases are many.
extern "C" __global__ void control_switch(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i], r;
    switch (v) {
    case 0: r = v + 17; break;
    case 1: r = v * 3; break;
    case 2: r = v ^ 85; break;
    case 3: for (r = 0; r < v * 10; r += 7) {} break;
    case 4: r = v << 5;
    case 5: r = v - 1000; break;
    case 6: r = x[(i + 1) % n]; break;
    case 7: r = -v; break;
    case 8: r = v / 3 + x[0]; break;
    case 9: r = v % 7 - 3 * v; break;
    case 10: out[i] = 4242; return;
    default: r = 99;
    }
    out[i] = r;
}

struct Shape { __device__ virtual int area(int s) const = 0; };
struct Square : Shape { __device__ int area(int s) const override { return s * s; } };
struct Strip : Shape { int width; __device__ Strip(int w) : width(w) {} __device__ int area(int s) const override { return s * width; } };
extern "C" __global__ void control_virtual(int *out, const int *x)
{
    Square square;
    Strip strip(x[0]);
    const Shape *shape = x[threadIdx.x] & 1 ? (const Shape *)&square : &strip;
    out[threadIdx.x] = shape->area(threadIdx.x);
}

__device__ int twice(int v) { return 2 * v; }
__device__ int square(int v) { return v * v; }
__device__ int less(int v) { return v - 3; }
__device__ int (*const table[3])(int) = {twice, square, less};
extern "C" __global__ void control_pointers(int *out, const int *x) { out[threadIdx.x] = table[x[threadIdx.x] % 3](threadIdx.x); }

// Recursion with state: quicksort of a local array.
__device__ void quicksort(int *v, int low, int high)
{
    if (low >= high) return;
    int pivot = v[high], at = low;
    for (int i = low; i < high; ++i)
        if (v[i] < pivot) { int w = v[i]; v[i] = v[at]; v[at++] = w; }
    int w = v[high]; v[high] = v[at]; v[at] = w;
    quicksort(v, low, at - 1);
    quicksort(v, at + 1, high);
}
extern "C" __global__ void control_sort(int *out, const int *x)
{
    int v[12];
    for (int i = 0; i < 12; ++i) v[i] = x[threadIdx.x * 12 + i];
    quicksort(v, 0, 11);
    for (int i = 0; i < 12; ++i) out[threadIdx.x * 12 + i] = v[i];
}

// A struct by value, one returned, one copied through local memory.
struct Particle { float x, y, z; int id; double mass; };
__device__ __noinline__ Particle moved(Particle p, float d) { p.x += d; p.y *= d; p.id ^= 3; p.mass /= 2; return p; }
extern "C" __global__ void control_structs(Particle *out, const Particle *in, Particle extra, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = moved(in[i], extra.x); out[i].z = extra.z + in[i].z; }
}

// Who has nothing to do leaves before the barriers.
extern "C" __global__ void control_early(int *out, const int *x, int n)
{
    __shared__ int tile[128];
    if (threadIdx.x >= n) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    int v = tile[n - 1 - threadIdx.x];
    int evens = __syncthreads_count(v % 2 == 0), any = __syncthreads_or(v == 50), all = __syncthreads_and(v < 1000);
    out[threadIdx.x] = v + 1000 * evens + 100000 * (any != 0) + 200000 * (all != 0);
}

// Loops of different lengths, breaks and continues.
extern "C" __global__ void control_collatz(int *out, const int *x)
{
    int steps = 0;
    for (uint32_t v = x[threadIdx.x]; v != 1; ++steps) {
        if (steps > 500) break;
        if (v % 2 == 0) { v /= 2; continue; }
        v = 3 * v + 1;
    }
    out[threadIdx.x] = steps;
}

// Dynamic shared memory carved into two arrays, and a static one beside it.
extern __shared__ unsigned char arena[];
extern "C" __global__ void control_arena(float *out, const float *x, int n)
{
    float *floats = reinterpret_cast<float *>(arena);
    short *shorts = reinterpret_cast<short *>(floats + n);
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { floats[i] = x[i]; shorts[i] = short(n - 1 - i); }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i] = floats[shorts[i]] * 2; atomicAdd(&total, int(floats[i])); }
    __syncthreads();
    if (threadIdx.x == 0) out[n] = float(total);
}

template <int N, class F> __device__ __forceinline__ void unroll(F f) { if constexpr (N > 0) { unroll<N - 1>(f); f(N - 1); } }
extern "C" __global__ void control_templates(float *out, const float *x)
{
    float r[8];
    unroll<8>([&](int i) { r[i] = x[threadIdx.x + 32 * i]; });
    float sum = 0;
    unroll<8>([&](int i) { sum = sum * 0.5f + r[7 - i]; });
    out[threadIdx.x] = sum;
}

// memset, memcpy and byte accesses, through generic pointers.
extern "C" __global__ void control_bytes(unsigned char *out, const unsigned char *x)
{
    __shared__ unsigned char tile[256];
    unsigned char mine[24];
    memset(mine, 7 + threadIdx.x, sizeof(mine));
    memcpy(mine + 3, x + threadIdx.x * 16, 16);
    for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = mine[i * 3];
    __syncthreads();
    for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = tile[255 - threadIdx.x * 8 - i];
}
