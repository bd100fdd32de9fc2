// Times what CUB offers for the same jobs: DeviceReduce for the sum, DeviceTransform for copy, scale and triad.
// A program of its own, since CUB launches from the host. Prints one JSON object a line, like python_peers.py.
// Usage: cub_peers [log2 of the vector's length, 28 by default; the sum's is four times as long] [samples]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <cuda/std/tuple>
#include <functional>
#include <thrust/iterator/transform_iterator.h>
#include <vector>

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    std::exit(2);
}

// Repeatable values in [−1, 1) from the element's number.
__global__ void fill(float *x, size_t n, unsigned seed)
{
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
        unsigned h = unsigned(i) * 2654435761u ^ seed;
        h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u, h ^= h >> 16;
        x[i] = float(int(h)) * 0x1p-31f;
    }
}

// Counts the elements of y that are not a·x + b·z to within a rounding of float.
__global__ void compare(const float *y, const float *x, const float *z, double a, double b, size_t n, unsigned long long *wrong)
{
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
        if (!(fabs(y[i] - (a * x[i] + b * z[i])) <= 2.4e-7 * (fabs(a * x[i]) + fabs(b * z[i])))) atomicAdd(wrong, 1ull);
}

struct Widen {
    __device__ double operator()(float v) const { return v; }
};
struct Same {
    __device__ float operator()(float v) const { return v; }
};
struct Times {
    float a;
    __device__ float operator()(float v) const { return a * v; }
};
struct Triad {
    float a;
    __device__ float operator()(float x, float z) const { return fmaf(a, z, x); }
};

static bool report(const char *workload, const char *peer, size_t n, double bytes, bool verified, int samples, const std::function<void(int)> &call)
{
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    std::vector<float> times;
    for (int i = 0; i < samples + 3; ++i) {
        float ms = 0;
        check(cudaEventRecord(start), "record");
        call(i);
        check(cudaEventRecord(stop), "record");
        check(cudaEventSynchronize(stop), workload);
        check(cudaEventElapsedTime(&ms, start, stop), "elapsed time");
        if (i >= 3) times.push_back(ms);
    }
    std::vector<float> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    double median = samples % 2 ? sorted[samples / 2] : 0.5 * (sorted[samples / 2 - 1] + sorted[samples / 2]);
    std::printf("{\"workload\": \"%s\", \"peer\": \"%s\", \"elements\": %zu, \"bytes\": %.0f, \"verified\": %s, \"median_ms\": %.6f, "
                "\"gigabytes_per_second\": %.1f, \"samples_ms\": [",
                workload, peer, n, bytes, verified ? "true" : "false", median, bytes / median / 1e6);
    for (int i = 0; i < samples; ++i) std::printf("%s%.6f", i ? ", " : "", times[i]);
    std::printf("]}\n");
    return verified;
}

int main(int count, char **arguments)
{
    int shift = count > 1 ? std::atoi(arguments[1]) : 28, samples = count > 2 ? std::atoi(arguments[2]) : 20;
    if (shift < 4 || shift > 30 || samples < 1) {
        std::fprintf(stderr, "usage: cub_peers [4..30] [samples]\n");
        return 2;
    }
    size_t n = size_t(1) << shift, sum_n = std::min(4 * n, size_t(1) << 30);
    float *x, *y, *z, *result;
    double *reference;
    unsigned long long *wrong;
    check(cudaMalloc(&x, sum_n * sizeof(float)), "allocation");
    check(cudaMalloc(&y, n * sizeof(float)), "allocation");
    check(cudaMalloc(&z, n * sizeof(float)), "allocation");
    check(cudaMalloc(&result, sizeof(float)), "allocation");
    check(cudaMalloc(&reference, sizeof(double)), "allocation");
    check(cudaMalloc(&wrong, sizeof *wrong), "allocation");
    fill<<<1024, 256>>>(x, sum_n, 1);
    fill<<<1024, 256>>>(z, n, 2);

    bool good = true;
    auto elementwise = [&](const char *workload, double bytes, double a, double b, const std::function<void(int)> &call) {
        unsigned long long bad = 0;
        check(cudaMemset(wrong, 0, sizeof *wrong), "clear");
        check(cudaMemset(y, 0xff, n * sizeof(float)), "clear");
        call(0);
        compare<<<1024, 256>>>(y, x, z, a, b, n, wrong);
        check(cudaMemcpy(&bad, wrong, sizeof bad, cudaMemcpyDeviceToHost), workload);
        good &= report(workload, "cub", n, bytes, bad == 0, samples, call);
    };
    const float a = 2.5f;
    elementwise("copy", 8.0 * n, 1, 0, [&](int) { check(cub::DeviceTransform::Transform(x, y, n, Same{}), "copy"); });
    elementwise("scale", 8.0 * n, a, 0, [&](int) { check(cub::DeviceTransform::Transform(x, y, n, Times{a}), "scale"); });
    elementwise("triad", 12.0 * n, 1, a,
                [&](int) { check(cub::DeviceTransform::Transform(cuda::std::make_tuple(x, z), y, n, Triad{a}), "triad"); });

    size_t bytes = 0, exact_bytes = 0;
    auto wide = thrust::make_transform_iterator(static_cast<const float *>(x), Widen{});
    check(cub::DeviceReduce::Sum(nullptr, bytes, x, result, sum_n), "sum");
    check(cub::DeviceReduce::Sum(nullptr, exact_bytes, wide, reference, sum_n), "sum");
    void *scratch;
    check(cudaMalloc(&scratch, std::max(bytes, exact_bytes)), "allocation");
    auto sum = [&](int) { check(cub::DeviceReduce::Sum(scratch, bytes, x, result, sum_n), "sum"); };
    sum(0);
    check(cub::DeviceReduce::Sum(scratch, exact_bytes, wide, reference, sum_n), "sum");
    float got = 0;
    double want = 0;
    check(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost), "sum");
    check(cudaMemcpy(&want, reference, sizeof want, cudaMemcpyDeviceToHost), "sum");
    // The sum of n values of size 1 is near √n; a tree's rounding stays well below a thousandth of that.
    bool close = std::abs(got - want) <= 1e-3 * std::sqrt(double(sum_n));
    good &= report("sum", "cub", sum_n, 4.0 * sum_n, close, samples, sum);
    return good ? 0 : 1;
}
