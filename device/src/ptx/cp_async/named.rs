//! The plain forms by name.

use super::super::instructions;
#[cfg(target_arch = "nvptx64")]
use super::forms::{CacheAll, CacheGlobal, cp_async, cp_async_ignore_src, cp_async_zfill};

macro_rules! named {
    ($($whole:ident, $zfill:ident, $ignore:ident, $cache:ident, $bytes:literal, $cop:literal, $how:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Starts to copy ", $bytes, " bytes from global to shared memory, ", $how, ".")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.", $cop, ".shared.global [dst], [src], ", $bytes, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// As for [`cp_async`](super::cp_async()).
            ///
            /// sm_80
            pub unsafe fn $whole(dst: u32, src: *const u8) {
                // SAFETY: the caller's contract.
                unsafe { cp_async::<$cache, $bytes>(dst, src) }
            }

            #[doc = concat!("Starts to copy the first `src_size` of ", $bytes, " bytes from global to shared memory, ", $how, ", and fills the rest with zeros.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.", $cop, ".shared.global [dst], [src], ", $bytes, ", src_size;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// As for [`cp_async_zfill`](super::cp_async_zfill()).
            ///
            /// sm_80
            pub unsafe fn $zfill(dst: u32, src: *const u8, src_size: u32) {
                // SAFETY: the caller's contract.
                unsafe { cp_async_zfill::<$cache, $bytes>(dst, src, src_size) }
            }

            #[doc = concat!("Starts to copy ", $bytes, " bytes from global to shared memory, ", $how, ", or zeros if `ignore_src`.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.", $cop, ".shared.global [dst], [src], ", $bytes, ", ignore_src;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// As for [`cp_async_ignore_src`](super::cp_async_ignore_src()).
            ///
            /// sm_80, PTX 7.5
            pub unsafe fn $ignore(dst: u32, src: *const u8, ignore_src: bool) {
                // SAFETY: the caller's contract.
                unsafe { cp_async_ignore_src::<$cache, $bytes>(dst, src, ignore_src) }
            }
        )+}
    };
}

named! {
    cp_async_ca_4, cp_async_ca_4_zfill, cp_async_ca_4_ignore_src, CacheAll, 4, "ca", "cached at all levels";
    cp_async_ca_8, cp_async_ca_8_zfill, cp_async_ca_8_ignore_src, CacheAll, 8, "ca", "cached at all levels";
    cp_async_ca_16, cp_async_ca_16_zfill, cp_async_ca_16_ignore_src, CacheAll, 16, "ca", "cached at all levels";
    cp_async_cg_16, cp_async_cg_16_zfill, cp_async_cg_16_ignore_src, CacheGlobal, 16, "cg", "cached in L2 only";
}
