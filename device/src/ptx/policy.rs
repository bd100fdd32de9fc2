//! Cache policies: what L2 is asked to do with the lines that an access touches.

use super::instructions;

/// A policy for L2, made by one of the functions here; it has no effect on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePolicy(u64);

impl CachePolicy {
    /// The policy as the instructions take it.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// A policy from its bits.
    ///
    /// # Safety
    /// - The bits came from [`to_bits`](CachePolicy::to_bits) or from a `createpolicy`; the encoding is not documented.
    #[inline(always)]
    pub const unsafe fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

macro_rules! fractional {
    ($($name:ident, $priorities:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = concat!("A policy by which a `fraction` of the accesses ", $what, ".")]
            ///
            /// # PTX
            #[doc = concat!("`createpolicy.fractional", $priorities, ".b64 d, fraction;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `fraction` is above 0 and at most 1.
            ///
            /// sm_80, PTX 7.4
            #[must_use = "a policy has no effect until a copy takes it"]
            pub unsafe fn $name(fraction: f32) -> CachePolicy {
                let policy: u64;
                // SAFETY: the caller's contract; the instruction touches no memory.
                unsafe {
                    core::arch::asm!(
                        concat!("createpolicy.fractional", $priorities, ".b64 {}, {};"),
                        out(reg64) policy,
                        in(reg32) fraction,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                CachePolicy(policy)
            }
        )+}
    };
}

fractional! {
    createpolicy_fractional_evict_first, ".L2::evict_first", "leave lines that are evicted first, and the others ordinary ones";
    createpolicy_fractional_evict_last, ".L2::evict_last", "leave lines that are evicted last, and the others ordinary ones";
    createpolicy_fractional_evict_normal, ".L2::evict_normal", "leave ordinary lines, as the others do";
    createpolicy_fractional_evict_unchanged, ".L2::evict_unchanged", "leave lines as they are, and the others ordinary ones";
    createpolicy_fractional_evict_last_else_first, ".L2::evict_last.L2::evict_first", "leave lines that are evicted last, and the others lines that are evicted first";
    createpolicy_fractional_evict_last_else_unchanged, ".L2::evict_last.L2::evict_unchanged", "leave lines that are evicted last, and the others lines as they are";
    createpolicy_fractional_evict_normal_else_first, ".L2::evict_normal.L2::evict_first", "leave ordinary lines, and the others lines that are evicted first";
}

macro_rules! range {
    ($($name:ident, $priorities:literal, $what:literal;)+) => {
        instructions! {$(
            #[doc = concat!("A policy by which the first `primary` of `total` bytes at `address` leave ", $what, ".")]
            ///
            /// # PTX
            #[doc = concat!("`createpolicy.range.global", $priorities, ".b64 d, [address], primary, total;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `address` is in global memory, `primary` is at most `total`.
            ///
            /// sm_80, PTX 7.4
            #[must_use = "a policy has no effect until a copy takes it"]
            pub unsafe fn $name(address: *const u8, primary: u32, total: u32) -> CachePolicy {
                let policy: u64;
                // SAFETY: the caller's contract; the instruction touches no memory.
                unsafe {
                    core::arch::asm!(
                        concat!("createpolicy.range.global", $priorities, ".b64 {}, [{}], {}, {};"),
                        out(reg64) policy,
                        in(reg64) address,
                        in(reg32) primary,
                        in(reg32) total,
                        options(pure, nomem, nostack, preserves_flags),
                    );
                }
                CachePolicy(policy)
            }
        )+}
    };
}

range! {
    createpolicy_range_evict_first, ".L2::evict_first", "lines that are evicted first";
    createpolicy_range_evict_last, ".L2::evict_last", "lines that are evicted last";
    createpolicy_range_evict_last_else_first, ".L2::evict_last.L2::evict_first", "lines that are evicted last, and the others lines that are evicted first";
}
