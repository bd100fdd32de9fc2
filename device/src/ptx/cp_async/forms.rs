//! Every form of `cp.async`, by type parameters.

use super::super::{CachePolicy, instructions};
use crate::law::law;
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::CacheAll {}
    impl Sealed for super::CacheGlobal {}
    impl<C: super::Cache, const L2_BYTES: u32> Sealed for super::L2Prefetch<C, L2_BYTES> {}
}

/// The way of a `cp.async` through the caches: [`CacheAll`], [`CacheGlobal`], or [`L2Prefetch`] of one of them.
pub trait Cache: sealed::Sealed {
    /// Whether the line is kept in L1 too.
    const ALL: bool;
    /// Bytes that are fetched into L2 around the source; 0 for no more than the source.
    const L2_BYTES: u32;
}

/// `.ca`: all levels.
#[derive(Clone, Copy, Debug)]
pub enum CacheAll {}

/// `.cg`: L2 only, 16-byte copies only.
#[derive(Clone, Copy, Debug)]
pub enum CacheGlobal {}

/// `.L2::64B`, `.L2::128B` or `.L2::256B`: as `C`, and asks that so many bytes around the source be fetched into L2.
///
/// A hint without effect on values. PTX 7.4.
#[derive(Clone, Copy, Debug)]
pub struct L2Prefetch<C, const L2_BYTES: u32>(PhantomData<C>);

impl Cache for CacheAll {
    const ALL: bool = true;
    const L2_BYTES: u32 = 0;
}

impl Cache for CacheGlobal {
    const ALL: bool = false;
    const L2_BYTES: u32 = 0;
}

impl<C: Cache, const L2_BYTES: u32> Cache for L2Prefetch<C, L2_BYTES> {
    const ALL: bool = C::ALL;
    const L2_BYTES: u32 = {
        law(
            L2_BYTES == 64 || L2_BYTES == 128 || L2_BYTES == 256,
            "a prefetch into L2 is 64, 128 or 256 bytes",
        );
        law(
            C::L2_BYTES == 0,
            "a copy has one prefetch size: `L2Prefetch` is applied once",
        );
        L2_BYTES
    };
}

/// Refuses the forms that PTX does not have.
const fn legal<C: Cache, const BYTES: usize>() {
    law(
        BYTES == 4 || BYTES == 8 || BYTES == 16,
        "a cp.async copies 4, 8 or 16 bytes",
    );
    law(
        C::ALL || BYTES == 16,
        "cache-global copies are 16 bytes: copy 4 or 8 bytes with `CacheAll`",
    );
    let _ = C::L2_BYTES;
}

/// The instruction, in the form that `$cache` and `$level` (the modifiers for a policy) name.
#[cfg(target_arch = "nvptx64")]
macro_rules! form {
    ($cache:ident, $level:literal, $before:literal, $operands:literal, $after:literal, $($arg:tt)+) => {
        match ($cache::ALL, $cache::L2_BYTES) {
            (true, 64) => form!(@ "ca", $level, ".L2::64B", $before, $operands, $after, $($arg)+),
            (true, 128) => form!(@ "ca", $level, ".L2::128B", $before, $operands, $after, $($arg)+),
            (true, 256) => form!(@ "ca", $level, ".L2::256B", $before, $operands, $after, $($arg)+),
            (true, _) => form!(@ "ca", $level, "", $before, $operands, $after, $($arg)+),
            (false, 64) => form!(@ "cg", $level, ".L2::64B", $before, $operands, $after, $($arg)+),
            (false, 128) => form!(@ "cg", $level, ".L2::128B", $before, $operands, $after, $($arg)+),
            (false, 256) => form!(@ "cg", $level, ".L2::256B", $before, $operands, $after, $($arg)+),
            (false, _) => form!(@ "cg", $level, "", $before, $operands, $after, $($arg)+),
        }
    };
    (@ $cop:literal, $level:literal, $prefetch:literal, $before:literal, $operands:literal, $after:literal, $($arg:tt)+) => {
        core::arch::asm!(
            concat!($before, "cp.async.", $cop, ".shared.global", $level, $prefetch, " [{dst}], [{src}], {bytes}", $operands, ";", $after),
            $($arg)+
            options(nostack, preserves_flags),
        )
    };
}

macro_rules! forms {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident ( $($arg:ident : $ty:ty),* ), $level:literal, $operands:literal, $readable:literal, $since:literal,
        $before:literal, $asm_operands:literal, $after:literal, { $($reg:tt)* };
    )+) => {
        instructions! {$(
            $(#[doc = $doc])+
            ///
            /// # PTX
            #[doc = concat!("`cp.async.{ca,cg}.shared.global", $level, "{.L2::64B,128B,256B} [dst], [src], BYTES", $operands, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `dst` is an address of the block's shared memory with `BYTES` bytes behind it.
            #[doc = concat!("- ", $readable)]
            /// - Both are multiples of `BYTES`.
            /// - Until the copy is complete, nobody writes the source, nobody accesses the destination, and no other copy goes there.
            ///
            #[doc = $since]
            pub unsafe fn $name[C: Cache, const BYTES: usize](dst: u32, src: *const u8 $(, $arg: $ty)*) where { legal::<C, BYTES>() } {
                // SAFETY: the caller's contract.
                unsafe {
                    form!(
                        C, $level, $before, $asm_operands, $after,
                        dst = in(reg32) dst,
                        src = in(reg64) src,
                        bytes = const BYTES,
                        $($reg)*
                    );
                }
            }
        )+}
    };
}

forms! {
    /// Starts to copy `BYTES` bytes from global to shared memory.
    cp_async(), "", "", "`src` is in global memory with `BYTES` readable bytes.", "sm_80",
    "", "", "", {};

    /// Starts to copy the first `src_size` of `BYTES` bytes from global to shared memory, and fills the rest with zeros.
    cp_async_zfill(src_size: u32), "", ", src_size",
    "`src_size` is at most `BYTES`; `src` is in global memory with `src_size` readable bytes (with 0, nothing is read).", "sm_80",
    "", ", {size}", "", { size = in(reg32) src_size, };

    /// Starts to copy `BYTES` bytes from global to shared memory, or, if `ignore_src`, to fill them with zeros.
    cp_async_ignore_src(ignore_src: bool), "", ", ignore_src",
    "`src` is in global memory with `BYTES` readable bytes, unless `ignore_src`: then nothing is read.", "sm_80, PTX 7.5",
    "{{ .reg .pred ignore; setp.ne.u32 ignore, {flag}, 0; ", ", ignore", " }}", { flag = in(reg32) u32::from(ignore_src), };

    /// Starts to copy `BYTES` bytes from global to shared memory under a cache policy.
    cp_async_hint(policy: CachePolicy), ".L2::cache_hint", ", policy",
    "`src` is in global memory with `BYTES` readable bytes.", "sm_80, PTX 7.4",
    "", ", {policy}", "", { policy = in(reg64) policy.to_bits(), };

    /// Starts to copy the first `src_size` of `BYTES` bytes from global to shared memory under a cache policy, and fills the rest with zeros.
    cp_async_zfill_hint(src_size: u32, policy: CachePolicy), ".L2::cache_hint", ", src_size, policy",
    "`src_size` is at most `BYTES`; `src` is in global memory with `src_size` readable bytes (with 0, nothing is read).", "sm_80, PTX 7.4",
    "", ", {size}, {policy}", "", { size = in(reg32) src_size, policy = in(reg64) policy.to_bits(), };

    /// Starts to copy `BYTES` bytes from global to shared memory under a cache policy, or, if `ignore_src`, to fill them with zeros.
    cp_async_ignore_src_hint(ignore_src: bool, policy: CachePolicy), ".L2::cache_hint", ", ignore_src, policy",
    "`src` is in global memory with `BYTES` readable bytes, unless `ignore_src`: then nothing is read.", "sm_80, PTX 7.5",
    "{{ .reg .pred ignore; setp.ne.u32 ignore, {flag}, 0; ", ", ignore, {policy}", " }}",
    { flag = in(reg32) u32::from(ignore_src), policy = in(reg64) policy.to_bits(), };
}
