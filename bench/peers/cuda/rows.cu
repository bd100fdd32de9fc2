// RMSNorm of bfloat16 rows, y = x / sqrt(mean(x²) + eps), and softmax of float rows. Every variant reads a row once.
//
// registers: a block a row, the row in registers. staged: a block a row, the row in shared memory with plain loads.
// prefetch: persistent blocks; while a row is reduced and written from registers, cp.async brings the next one into the
// shared memory it came from. Each thread reads only the pieces that it copied, so no barrier is needed for the data.
// Rows whose width is no multiple of 16 bytes take element-wise accesses instead of 16-byte ones.
#include "async.cuh"
#include <cfloat>
#include <cuda_bf16.h>

// 16 bytes of a row as floats.
template <class T> struct Piece;

template <> struct Piece<float> {
    static constexpr int Elements = 4;
    float v[4];
    __device__ __forceinline__ void unpack(uint4 raw)
    {
        v[0] = __uint_as_float(raw.x), v[1] = __uint_as_float(raw.y), v[2] = __uint_as_float(raw.z), v[3] = __uint_as_float(raw.w);
    }
    __device__ __forceinline__ uint4 pack() const
    {
        return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
    }
};

template <> struct Piece<__nv_bfloat16> {
    static constexpr int Elements = 8;
    float v[8];
    __device__ __forceinline__ void unpack(uint4 raw)
    {
        const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) v[2 * i] = __uint_as_float(words[i] << 16), v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
    __device__ __forceinline__ uint4 pack() const
    {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            __nv_bfloat162 pair = __floats2bfloat162_rn(v[2 * i], v[2 * i + 1]);
            words[i] = *reinterpret_cast<uint32_t *>(&pair);
        }
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
};

// Piece number `at` of a row; what lies past the row's end reads as the operation's neutral element.
template <class Op> __device__ __forceinline__ uint4 load_piece(const typename Op::Element *row, unsigned at, unsigned width, bool aligned)
{
    using T = typename Op::Element;
    constexpr int E = Piece<T>::Elements;
    __align__(16) T v[E];
#pragma unroll
    for (int i = 0; i < E; ++i) v[i] = T(Op::neutral());
    if (aligned) return at * E < width ? load_once(reinterpret_cast<const uint4 *>(row) + at) : *reinterpret_cast<uint4 *>(v);
#pragma unroll
    for (int i = 0; i < E; ++i)
        if (at * E + i < width) v[i] = row[at * E + i];
    return *reinterpret_cast<uint4 *>(v);
}

template <class T> __device__ __forceinline__ void store_piece(T *row, unsigned at, unsigned width, bool aligned, const Piece<T> &piece)
{
    constexpr int E = Piece<T>::Elements;
    if (aligned) {
        reinterpret_cast<uint4 *>(row)[at] = piece.pack();
        return;
    }
#pragma unroll
    for (int i = 0; i < E; ++i)
        if (at * E + i < width) row[at * E + i] = T(piece.v[i]);
}

struct RmsNorm {
    using Element = __nv_bfloat16;
    using State = float; // the sum of squares
    float eps;
    __device__ static float neutral() { return 0.0f; }
    __device__ static State empty() { return 0.0f; }
    __device__ static State merge(State a, State b) { return a + b; }
    __device__ static State shuffle(State s, int d) { return __shfl_xor_sync(~0u, s, d); }

    template <int V, int E> __device__ __forceinline__ State reduce(Piece<Element> (&row)[V]) const
    {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < V; ++i)
#pragma unroll
            for (int e = 0; e < E; ++e) sum = fmaf(row[i].v[e], row[i].v[e], sum);
        return sum;
    }
    // What every value is multiplied with, once the row's state is known.
    __device__ __forceinline__ float factor(State, State whole, unsigned width) const { return rsqrtf(whole / width + eps); }
};

struct Softmax {
    using Element = float;
    struct State {
        float max, sum; // of exp(x − max)
    };
    __device__ static float neutral() { return -INFINITY; }
    // A finite least value: differences of two of them are 0 and not NaN.
    __device__ static State empty() { return {-FLT_MAX, 0.0f}; }
    __device__ static State merge(State a, State b)
    {
        float max = fmaxf(a.max, b.max);
        return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
    }
    __device__ static State shuffle(State s, int d) { return {__shfl_xor_sync(~0u, s.max, d), __shfl_xor_sync(~0u, s.sum, d)}; }

    // Leaves exp(x − own max) in the registers, so that no element is exponentiated twice.
    template <int V, int E> __device__ __forceinline__ State reduce(Piece<Element> (&row)[V]) const
    {
        State s = empty();
#pragma unroll
        for (int i = 0; i < V; ++i)
#pragma unroll
            for (int e = 0; e < E; ++e) s.max = fmaxf(s.max, row[i].v[e]);
#pragma unroll
        for (int i = 0; i < V; ++i)
#pragma unroll
            for (int e = 0; e < E; ++e) s.sum += row[i].v[e] = __expf(row[i].v[e] - s.max);
        return s;
    }
    __device__ __forceinline__ float factor(State own, State whole, unsigned) const { return __expf(own.max - whole.max) / whole.sum; }
};

// The whole block's state, in every thread. Two buffers alternate, so that one barrier a row is enough.
template <class Op> __device__ __forceinline__ typename Op::State block_merge(typename Op::State s, unsigned turn)
{
    __shared__ typename Op::State warps[2][32];
#pragma unroll
    for (int d = 16; d; d >>= 1) s = Op::merge(s, Op::shuffle(s, d));
    if (threadIdx.x % 32 == 0) warps[turn % 2][threadIdx.x / 32] = s;
    __syncthreads();
    s = threadIdx.x % 32 < blockDim.x / 32 ? warps[turn % 2][threadIdx.x % 32] : Op::empty();
#pragma unroll
    for (int d = 16; d; d >>= 1) s = Op::merge(s, Op::shuffle(s, d));
    return s;
}

template <class T> __device__ __forceinline__ bool rows_aligned(unsigned width) { return width * sizeof(T) % 16 == 0; }

// Reduces the row that is in registers, scales it and writes it.
template <int V, class Op>
__device__ __forceinline__ void finish_row(const Op &op, Piece<typename Op::Element> (&piece)[V], typename Op::Element *y, unsigned width,
                                           unsigned turn)
{
    using T = typename Op::Element;
    constexpr int E = Piece<T>::Elements;
    auto own = op.template reduce<V, E>(piece);
    float factor = op.factor(own, block_merge<Op>(own, turn), width);
#pragma unroll
    for (int i = 0; i < V; ++i) {
#pragma unroll
        for (int e = 0; e < E; ++e) piece[i].v[e] *= factor;
        unsigned at = i * blockDim.x + threadIdx.x;
        if (at * E < width) store_piece(y, at, width, rows_aligned<T>(width), piece[i]);
    }
}

template <int V, class Op>
__device__ __forceinline__ void rows_registers(const Op &op, typename Op::Element *y, const typename Op::Element *x, unsigned rows, unsigned width)
{
    using T = typename Op::Element;
    if (blockIdx.x >= rows) return;
    size_t row = size_t(blockIdx.x) * width;
    uint4 raw[V];
#pragma unroll
    for (int i = 0; i < V; ++i) raw[i] = load_piece<Op>(x + row, i * blockDim.x + threadIdx.x, width, rows_aligned<T>(width));
    Piece<T> piece[V];
#pragma unroll
    for (int i = 0; i < V; ++i) piece[i].unpack(raw[i]);
    finish_row(op, piece, y + row, width, 0);
}

extern __shared__ __align__(128) uint4 row_memory[];

// The row waits in shared memory between its two uses, in chunks of one piece a thread: any width that fits.
template <class Op>
__device__ __forceinline__ void rows_staged(const Op &op, typename Op::Element *y, const typename Op::Element *x, unsigned rows, unsigned width)
{
    using T = typename Op::Element;
    constexpr int E = Piece<T>::Elements;
    if (blockIdx.x >= rows) return;
    size_t row = size_t(blockIdx.x) * width;
    bool aligned = rows_aligned<T>(width);
    typename Op::State own = Op::empty();
    for (unsigned at = threadIdx.x; at * E < width; at += blockDim.x) {
        uint4 raw = load_piece<Op>(x + row, at, width, aligned);
        row_memory[at] = raw;
        Piece<T> piece[1];
        piece[0].unpack(raw);
        own = Op::merge(own, op.template reduce<1, E>(piece));
    }
    auto whole = block_merge<Op>(own, 0);
    for (unsigned at = threadIdx.x; at * E < width; at += blockDim.x) {
        Piece<T> piece[1];
        piece[0].unpack(row_memory[at]);
        // The values were not kept, so they are made again, relative to this piece's own state.
        auto state = op.template reduce<1, E>(piece);
        float factor = op.factor(state, whole, width);
#pragma unroll
        for (int e = 0; e < E; ++e) piece[0].v[e] *= factor;
        store_piece(y + row, at, width, aligned, piece[0]);
    }
}

template <int V, class Op>
__device__ __forceinline__ void rows_prefetch(const Op &op, typename Op::Element *y, const typename Op::Element *x, unsigned rows, unsigned width)
{
    using T = typename Op::Element;
    constexpr int E = Piece<T>::Elements;
    bool aligned = rows_aligned<T>(width);
    auto fetch = [&](unsigned row) {
        if (aligned && row < rows) {
#pragma unroll
            for (int i = 0; i < V; ++i) {
                unsigned at = i * blockDim.x + threadIdx.x;
                if (at * E < width) copy_16(row_memory + at, x + size_t(row) * width + at * E);
            }
        }
        commit_group();
    };
    fetch(blockIdx.x);
    unsigned turn = 0;
    for (unsigned row = blockIdx.x; row < rows; row += gridDim.x, ++turn) {
        Piece<T> piece[V];
        wait_group<0>();
#pragma unroll
        for (int i = 0; i < V; ++i) {
            unsigned at = i * blockDim.x + threadIdx.x;
            bool staged = aligned && at * E < width;
            piece[i].unpack(staged ? row_memory[at] : load_piece<Op>(x + size_t(row) * width, at, width, aligned));
        }
        fetch(row + gridDim.x);
        finish_row(op, piece, y + size_t(row) * width, width, turn);
    }
    wait_group<0>();
}

#define ROWS(variant, ...)                                                                                                         \
    extern "C" __global__ void __launch_bounds__(1024) cpp_rmsnorm_##variant(                                                      \
        __nv_bfloat16 *__restrict__ y, const __nv_bfloat16 *__restrict__ x, float eps, unsigned rows, unsigned width)              \
    {                                                                                                                              \
        __VA_ARGS__(RmsNorm{eps}, y, x, rows, width);                                                                              \
    }                                                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                                                             \
        cpp_softmax_##variant(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned width)                   \
    {                                                                                                                              \
        __VA_ARGS__(Softmax{}, y, x, rows, width);                                                                                 \
    }
// vN: at most N pieces of 16 bytes a thread.
ROWS(registers_v1, rows_registers<1>)
ROWS(registers_v2, rows_registers<2>)
ROWS(registers_v4, rows_registers<4>)
ROWS(staged, rows_staged)
ROWS(prefetch_v1, rows_prefetch<1>)
ROWS(prefetch_v2, rows_prefetch<2>)
ROWS(prefetch_v4, rows_prefetch<4>)

// Eight pieces of eight floats do not fit beside a full block's other registers, so these stop at 512 threads.
#define ROWS_8(variant, ...)                                                                                                       \
    extern "C" __global__ void __launch_bounds__(512) cpp_rmsnorm_##variant(                                                       \
        __nv_bfloat16 *__restrict__ y, const __nv_bfloat16 *__restrict__ x, float eps, unsigned rows, unsigned width)              \
    {                                                                                                                              \
        __VA_ARGS__(RmsNorm{eps}, y, x, rows, width);                                                                              \
    }                                                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                                                             \
        cpp_softmax_##variant(float *__restrict__ y, const float *__restrict__ x, unsigned rows, unsigned width)                   \
    {                                                                                                                              \
        __VA_ARGS__(Softmax{}, y, x, rows, width);                                                                                 \
    }
ROWS_8(registers_v8, rows_registers<8>)
ROWS_8(prefetch_v8, rows_prefetch<8>)
