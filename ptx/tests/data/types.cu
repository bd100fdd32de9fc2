// Numbers of every width, atomics, shuffles, votes and bit tricks.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void halves(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, __nv_fp8_e4m3 *q, float *f) {
    int i = threadIdx.x;
    h[i] = __hfma(h[i], h[i + 1], __float2half(1.5f));
    h2[i] = __hmul2(h2[i], h2[i + 1]);
    b[i] = __hadd(b[i], __float2bfloat16(2.0f));
    b2[i] = __hmax2(b2[i], b2[i + 1]);
    q[i] = __nv_fp8_e4m3(f[i]);
    f[i] = __half2float(hexp2(h[i])) + float(q[i + 1]);
    atomicAdd(h2, h2[3]);
}

__global__ void doubles(double *d, float *f, long long *l, int n) {
    int i = threadIdx.x;
    d[i] = sqrt(d[i]) / 3.0 + fma(d[i], 2.0, 1e-300) + __drcp_rn(d[i + 1]);
    f[i] = __frcp_rz(f[i]) + __fmaf_ru(f[i], 3.f, f[i + 1]) + rintf(f[i + 2]) + (float)l[i] + copysignf(1.f, f[i]);
    l[i] = __double2ll_rd(d[i]) / n + __mulhi(n, i) + __mul64hi(l[i], l[i + 1]);
}

__global__ void bits(unsigned *u, unsigned long long *v, int n) {
    int i = threadIdx.x;
    unsigned x = u[i];
    u[i] = __popc(x) + __clz(x) + __brev(x) + __ffs(x) + __byte_perm(x, i, 0x2143) + __funnelshift_l(x, i, n) + __dp4a((int)x, n, i)
         + (x ^ n & i | 5) + __sad(n, i, x) + min(n, i) + abs(n);
    v[i] = (v[i] << n) + __popcll(v[i]) + clock64() + x % 10;
}

__global__ void together(int *a, unsigned *u, float *f, cuda::atomic<int, cuda::thread_scope_device> *strong) {
    int i = threadIdx.x;
    unsigned all = ~0u;
    f[i] += __shfl_xor_sync(all, f[i], 1) + __shfl_down_sync(all, f[i], 2);
    u[i] = __ballot_sync(all, a[i] > 0) + __any_sync(all, a[i]) + __match_any_sync(all, a[i]) + __reduce_add_sync(all, a[i]) + __activemask();
    atomicAdd(f, 1.0f);
    atomicCAS(a, 1, 2);
    atomicMax(&u[1], 3u);
    atomicExch_block(a + 1, 5);
    strong->fetch_add(1, cuda::memory_order_acq_rel);
    u[2] = strong->load(cuda::memory_order_acquire);
    strong->store(4, cuda::memory_order_release);
    __threadfence();
    __syncwarp();
    u[3] = __syncthreads_count(a[i]);
    __nanosleep(100);
}
