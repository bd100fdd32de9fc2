// Arithmetic of every width: intrinsics, rounding modes, 64 and 128 bits, half, bfloat16, double.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void numbers_u64(uint64_t *out, const uint64_t *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    uint64_t a = x[i], b = x[i + 1] | 1;
    int64_t s = int64_t(a), t = int64_t(b);
    uint64_t r = a / b + 3 * (a % b) + uint64_t(s / t) + 5 * uint64_t(s % t) + __umul64hi(a, b) + uint64_t(__mul64hi(s, t));
    r ^= __popcll(a) + __clzll(a) * 64 + __ffsll(b) * 4096 + __brevll(a);
    unsigned __int128 wide = (unsigned __int128)a * b + a;
    r += uint64_t(wide >> 64) + uint64_t(wide / (b >> 32 | 1));
    out[i] = r + (a >> (b & 63)) + uint64_t(s >> (a & 63)) + (a << (b & 31));
}

extern "C" __global__ void numbers_u32(unsigned *out, const unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    unsigned a = x[i], b = x[i + 1];
    int s = int(a), t = int(b);
    unsigned r = __umulhi(a, b) + unsigned(__mulhi(s, t)) + __umul24(a, b) + __byte_perm(a, b, 0x5241) + __funnelshift_l(a, b, 7) + __funnelshift_r(a, b, 13);
    r += __sad(s, t, 5u) + __usad(a, b, 7u) + unsigned(__dp4a(s, t, 9)) + __dp4a(a, b, 11u) + unsigned(__hadd(s, t)) + __urhadd(a, b);
    r += __vadd4(a, b) + __vsub2(a, b) + __vmaxu4(a, b) + __vcmpgts2(a, b);
    r += a / (b | 1) + a % (b | 1) + unsigned(s / (t | 1)) + unsigned(s % (t | 1)) + unsigned(min(s, t)) + max(a, b) + unsigned(abs(s));
    r += __popc(a) + __clz(b) + __ffs(s) + __brev(b) + (a >> 3 & 0x1f) + (unsigned(s) << 7) + unsigned(short(a)) + unsigned(char(b)) + (unsigned char)(a >> 8);
    out[i] = r;
}

extern "C" __global__ void numbers_rounding(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    float a = x[i], b = x[i + 1] + 2.5f;
    float r = __fadd_rz(a, b) + __fmul_ru(a, b) + __fmaf_rd(a, b, a) + __fdiv_rz(a, b) + __fsqrt_rd(fabsf(a)) + __frcp_ru(b) + __fsub_rd(a, b);
    r += __float2int_rd(a) + __float2int_ru(a) + __float2int_rn(a) + __float2int_rz(a) + __int2float_rd(__float_as_int(a)) * 1e-10f + __uint2float_ru(__float_as_uint(b)) * 1e-10f;
    r += floorf(a) + ceilf(a) + truncf(a) + rintf(a) + roundf(a) + fminf(a, b) + fmaxf(a, b) + copysignf(a, b) + __saturatef(a) + fmodf(a, b);
    r += isnan(a) + isinf(b) + signbit(a) + fdimf(a, b);
    out[i] = r;
}

extern "C" __global__ void numbers_double(double *out, const double *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    double a = x[i], b = x[i + 1] + 2.5;
    double r = exp(a) + log(fabs(a) + 1) + sin(a) + pow(fabs(a) + 0.5, b) + fma(a, b, a) + a / b + sqrt(fabs(a)) + cbrt(a) + atan2(a, b) + tanh(a);
    r += __dadd_rz(a, b) + __dmul_ru(a, b) + __ddiv_rd(a, b) + __drcp_rn(b) + __double2int_rn(a) + __double2ll_rd(a * 1e6) + double(__double2float_rn(a)) + hypot(a, b) + erf(a) + lgamma(b);
    out[i] = r;
}

extern "C" __global__ void numbers_half(__half2 *out, const __half2 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    __half2 a = x[i], b = x[i + 1];
    __half2 r = __hfma2(a, b, a);
    r = __hadd2(r, __hmul2(a, b));
    r = __hsub2(r, __hmin2(a, b));
    r = __hmax2(r, __hneg2(b));
    if (__hgt(__low2half(a), __high2half(b))) r = __lowhigh2highlow(r);
    r = __hadd2(r, __float22half2_rn(make_float2(__half2float(__low2half(a)) * 1.5f, __half2float(__high2half(b)) - 0.25f)));
    r = __hadd2(r, __half2half2(__int2half_rn(__half2int_rz(__low2half(a)))));
    r = __hadd2(r, __hadd2_sat(a, b));
    out[i] = __habs2(r);
}

extern "C" __global__ void numbers_bf16(__nv_bfloat162 *out, const __nv_bfloat162 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    __nv_bfloat162 a = x[i], b = x[i + 1];
    __nv_bfloat162 r = __hfma2(a, b, a);
    r = __hadd2(r, __hmul2(a, b));
    r = __hmax2(r, __hsub2(b, a));
    r = __hadd2(r, __floats2bfloat162_rn(__low2float(a) * 1.5f, __high2float(b)));
    out[i] = r;
}

extern "C" __global__ void numbers_fast(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __expf(x[i]) + __logf(x[i] + 20) + __sinf(x[i]) + __cosf(x[i]) + __fdividef(x[i], 3.0f) + __powf(2.0f, x[i]) + __tanf(x[i] * 0.1f) + rsqrtf(x[i] + 20) + exp2f(x[i]) + sinf(x[i] * 1000.0f) + powf(x[i] + 20, 1.3f) + erff(x[i]) + sqrtf(x[i] + 20);
}
