// copy (y = x), scale (y = a·x) and triad (y = x + a·z) by every mechanism of staging.cuh.
#include "staging.cuh"

struct Copy {
    static constexpr int Inputs = 1;
    __device__ float operator()(float x, float) const { return x; }
};

struct Scale {
    static constexpr int Inputs = 1;
    float a;
    __device__ float operator()(float x, float) const { return a * x; }
};

struct Triad {
    static constexpr int Inputs = 2;
    float a;
    __device__ float operator()(float x, float z) const { return fmaf(a, z, x); }
};

#define ENTRIES(variant, call)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(1024)                                                                             \
        cpp_copy_##variant(float *__restrict__ y, const float *__restrict__ x, unsigned long long n)                               \
    {                                                                                                                              \
        call(Job<Copy>{y, x, x, n, {}});                                                                                           \
    }                                                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                                                             \
        cpp_scale_##variant(float *__restrict__ y, const float *__restrict__ x, float a, unsigned long long n)                     \
    {                                                                                                                              \
        call(Job<Scale>{y, x, x, n, {a}});                                                                                         \
    }                                                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024) cpp_triad_##variant(                                                        \
        float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ z, float a, unsigned long long n)            \
    {                                                                                                                              \
        call(Job<Triad>{y, x, z, n, {a}});                                                                                         \
    }

// A template argument list would split a macro's arguments at its comma.
#define CALL(...) __VA_ARGS__

#define EACH_PIECES(name, function)                                                                                                \
    ENTRIES(name, CALL(function<1>))                                                                                               \
    ENTRIES(name##_p2, CALL(function<2>))                                                                                          \
    ENTRIES(name##_p4, CALL(function<4>))

#define EACH_PIECES_OF(name, function, stages)                                                                                     \
    ENTRIES(name##_s##stages, CALL(function<stages, 1>))                                                                           \
    ENTRIES(name##_s##stages##_p2, CALL(function<stages, 2>))                                                                      \
    ENTRIES(name##_s##stages##_p4, CALL(function<stages, 4>))

#define STAGES_2_3_4_8(name, function)                                                                                             \
    EACH_PIECES_OF(name, function, 2)                                                                                              \
    EACH_PIECES_OF(name, function, 3)                                                                                              \
    EACH_PIECES_OF(name, function, 4)                                                                                              \
    EACH_PIECES_OF(name, function, 8)

EACH_PIECES(plain, plain)
EACH_PIECES(stride, stride)
EACH_PIECES(sync, synchronous)
STAGES_2_3_4_8(pipeline_block, pipeline_block)
STAGES_2_3_4_8(pipeline_thread, pipeline_thread)
STAGES_2_3_4_8(ring_one, ring_one)
STAGES_2_3_4_8(ring_two, ring_two)
STAGES_2_3_4_8(bulk, bulk_ring)
EACH_PIECES(bulk_tile, bulk_tile)

// A copy that no thread touches: bulk load, bulk store, both issued by thread 0 of a one-warp block.
// A stage is refilled when its store has read it; the newest store is left unfinished, so loads and stores overlap.
template <int Stages> __device__ __forceinline__ void bulk_through(const Job<Copy> &job)
{
    constexpr unsigned Piece = 32 * 16; // float4 a tile: 8 KiB
    __shared__ uint64_t full[Stages];
    float4 *ring = ring_memory();
    unsigned tiles = static_cast<unsigned>(job.n / (4 * Piece)), next = blockIdx.x;
    init_full<Stages>(full);
    if (threadIdx.x == 0) {
        auto fill = [&](int s) {
            if (next < tiles) {
                mbarrier_arrive_expect(full + s, Piece * sizeof(float4));
                bulk_load(ring + s * Piece, job.input(0, size_t(next) * Piece), Piece * sizeof(float4), full + s);
            }
            next += gridDim.x;
        };
        for (int s = 0; s < Stages - 1; ++s) fill(s);
        int s = 0, before = Stages - 1;
        unsigned parity = 0;
        for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
            mbarrier_wait(full + s, parity);
            bulk_store(reinterpret_cast<float4 *>(job.y) + size_t(t) * Piece, ring + s * Piece, Piece * sizeof(float4));
            bulk_commit();
            bulk_wait_read<1>();
            fill(before);
            before = s;
            if (++s == Stages) s = 0, parity ^= 1;
        }
        bulk_wait_all();
    }
    if (blockIdx.x + 1 == gridDim.x)
        for (size_t i = size_t(tiles) * 4 * Piece + threadIdx.x; i < job.n; i += blockDim.x) job.y[i] = job.x[i];
}

#define BULK_THROUGH(stages)                                                                                                       \
    extern "C" __global__ void __launch_bounds__(32)                                                                               \
        cpp_copy_bulk_through_s##stages(float *__restrict__ y, const float *__restrict__ x, unsigned long long n)                  \
    {                                                                                                                              \
        bulk_through<stages>(Job<Copy>{y, x, x, n, {}});                                                                           \
    }
BULK_THROUGH(2)
BULK_THROUGH(4)
BULK_THROUGH(8)
