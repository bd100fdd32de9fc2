//! Arithmetic that plain Rust operators do not reach.

use super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::llvm;

macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $name:ident ($($arg:ident),+) -> $ty:ident, $ptx:literal;)+) => {
        instructions! {$(
            $(#[doc = $doc])+
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, "`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// Nothing to keep.
            ///
            /// sm_80
            #[must_use = "the result is the purpose"]
            pub unsafe fn $name($($arg: $ty),+) -> $ty {
                // SAFETY: the instruction has no requirement.
                unsafe { llvm::$name($($arg),+) }
            }
        )+}
    };
}

functions! {
    /// a·b + c with one rounding, to nearest even.
    fma_rn_f32(a, b, c) -> f32, "fma.rn.f32 d, a, b, c;";
    /// a·b + c with one rounding, to nearest even.
    fma_rn_f64(a, b, c) -> f64, "fma.rn.f64 d, a, b, c;";
    /// 2 to the power of `value`, within about 2 ulp.
    ex2_approx_f32(value) -> f32, "ex2.approx.f32 d, value;";
    /// 1 / `value`, correctly rounded.
    rcp_rn_f32(value) -> f32, "rcp.rn.f32 d, value;";
    /// 1 / `value`, within 1 ulp; subnormal inputs and results become zero.
    rcp_approx_ftz_f32(value) -> f32, "rcp.approx.ftz.f32 d, value;";
    /// 1 / √`value`, with a relative error of about 2⁻²³.
    rsqrt_approx_f32(value) -> f32, "rsqrt.approx.f32 d, value;";
}
