// What the language run time brings along: printf, assert, calls, tables, a switch, a local array.
#include <cassert>
#include <cstdio>

__constant__ float weights[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int counters[3] = {1, 2, 3};
__device__ const char *names[2] = {"even", "odd"};
__managed__ int managed = 7;

struct Pair {
    float value;
    short tag;
};

__noinline__ __device__ Pair twist(Pair pair, int rounds) {
    for (int i = 0; i < rounds; i++) pair.value = sinf(pair.value) + weights[i & 3];
    return pair;
}

typedef int (*Step)(int);
__noinline__ __device__ int up(int x) { return x + counters[0]; }
__noinline__ __device__ int down(int x) { return x - counters[1]; }
__device__ Step steps[2] = {up, down};

__global__ void speak(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n);
    Pair pair = twist({x[i], 3}, n);
    if (pair.tag == 3) printf("%s %d %f\n", names[i & 1], i, (double)pair.value);
    int local[24];
    for (int k = 0; k < 24; k++) local[k] = k * n;
    switch (n & 7) {
    case 0: y[1] = 1; break;
    case 1: y[2] = y[7] * 3; break;
    case 2: y[3] = __fdividef(x[1], x[2]); break;
    case 3: y[4] = tanhf(x[3]); break;
    case 4: y[5] = exp2f(x[4]); break;
    case 5: y[6] = rsqrtf(x[5]); break;
    }
    y[i] = pair.value + local[(n + i) % 24] + steps[i & 1](i) + managed;
}
