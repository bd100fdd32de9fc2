//! Arithmetic that Rust's operators do not reach, safe to call.
//!
//! Rust never contracts `a * b + c` into one rounding; say [`fma`] where that is meant.

use crate::ptx;

/// a·b + c with one rounding, to nearest even.
#[inline(always)]
#[must_use = "the result is the purpose"]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: the instruction has no requirement.
    unsafe { ptx::fma_rn_f32(a, b, c) }
}

/// 2 to the power of `value`, within about 2 ulp.
#[inline(always)]
#[must_use = "the result is the purpose"]
pub fn exp2_approx(value: f32) -> f32 {
    // SAFETY: the instruction has no requirement.
    unsafe { ptx::ex2_approx_f32(value) }
}

/// 1 / √`value`, with a relative error of about 2⁻²³.
#[inline(always)]
#[must_use = "the result is the purpose"]
pub fn rsqrt_approx(value: f32) -> f32 {
    // SAFETY: the instruction has no requirement.
    unsafe { ptx::rsqrt_approx_f32(value) }
}

/// 1 / `value`, within 1 ulp; subnormal inputs and results become zero.
#[inline(always)]
#[must_use = "the result is the purpose"]
pub fn recip_approx(value: f32) -> f32 {
    // SAFETY: the instruction has no requirement.
    unsafe { ptx::rcp_approx_ftz_f32(value) }
}
