//! The element copies: sizes, caches, prefetch, zeros, policies.

use nstage::ptx::*;

/// All six calls for one cache and size.
macro_rules! matrix {
    ($($name:literal, $cache:ty, $bytes:literal;)+) => {$(
        forms! {
            concat!("form_cp_async_", $name) => (dst: u32, src: *const u8)
                cp_async::<$cache, $bytes>(dst, src);
            concat!("form_cp_async_zfill_", $name) => (dst: u32, src: *const u8, size: u32)
                cp_async_zfill::<$cache, $bytes>(dst, src, size);
            concat!("form_cp_async_ignore_src_", $name) => (dst: u32, src: *const u8, ignore: u32)
                cp_async_ignore_src::<$cache, $bytes>(dst, src, ignore > 3);
            concat!("form_cp_async_hint_", $name) => (dst: u32, src: *const u8)
                cp_async_hint::<$cache, $bytes>(dst, src, createpolicy_fractional_evict_last(1.0));
            concat!("form_cp_async_zfill_hint_", $name) => (dst: u32, src: *const u8, size: u32)
                cp_async_zfill_hint::<$cache, $bytes>(dst, src, size, createpolicy_fractional_evict_first(1.0));
            concat!("form_cp_async_ignore_src_hint_", $name) => (dst: u32, src: *const u8, ignore: u32)
                cp_async_ignore_src_hint::<$cache, $bytes>(dst, src, ignore > 3, createpolicy_fractional_evict_normal(1.0));
        }
    )+};
}

matrix! {
    "ca_4", CacheAll, 4;
    "ca_8", CacheAll, 8;
    "ca_16", CacheAll, 16;
    "cg_16", CacheGlobal, 16;
    "ca_4_l2_64", L2Prefetch<CacheAll, 64>, 4;
    "ca_4_l2_128", L2Prefetch<CacheAll, 128>, 4;
    "ca_4_l2_256", L2Prefetch<CacheAll, 256>, 4;
    "ca_8_l2_64", L2Prefetch<CacheAll, 64>, 8;
    "ca_8_l2_128", L2Prefetch<CacheAll, 128>, 8;
    "ca_8_l2_256", L2Prefetch<CacheAll, 256>, 8;
    "ca_16_l2_64", L2Prefetch<CacheAll, 64>, 16;
    "ca_16_l2_128", L2Prefetch<CacheAll, 128>, 16;
    "ca_16_l2_256", L2Prefetch<CacheAll, 256>, 16;
    "cg_16_l2_64", L2Prefetch<CacheGlobal, 64>, 16;
    "cg_16_l2_128", L2Prefetch<CacheGlobal, 128>, 16;
    "cg_16_l2_256", L2Prefetch<CacheGlobal, 256>, 16;
}

macro_rules! named {
    ($($call:ident($($arg:ident: $ty:ty = $value:expr),*);)+) => {$(
        forms! {
            stringify!($call) => (dst: u32, src: *const u8 $(, $arg: $ty)*) $call(dst, src $(, $value)*);
        }
    )+};
}

named! {
    cp_async_ca_4();
    cp_async_ca_8();
    cp_async_ca_16();
    cp_async_cg_16();
    cp_async_ca_4_zfill(size: u32 = size);
    cp_async_ca_8_zfill(size: u32 = size);
    cp_async_ca_16_zfill(size: u32 = size);
    cp_async_cg_16_zfill(size: u32 = size);
    cp_async_ca_4_ignore_src(ignore: u32 = ignore > 3);
    cp_async_ca_8_ignore_src(ignore: u32 = ignore > 3);
    cp_async_ca_16_ignore_src(ignore: u32 = ignore > 3);
    cp_async_cg_16_ignore_src(ignore: u32 = ignore > 3);
}

forms! {
    "createpolicy_fractional_evict_unchanged" => (out: *mut u64, f: f32) *out = createpolicy_fractional_evict_unchanged(f).to_bits();
    "createpolicy_fractional_evict_last_else_first" => (out: *mut u64, f: f32) *out = createpolicy_fractional_evict_last_else_first(f).to_bits();
    "createpolicy_fractional_evict_last_else_unchanged" => (out: *mut u64, f: f32) *out = createpolicy_fractional_evict_last_else_unchanged(f).to_bits();
    "createpolicy_fractional_evict_normal_else_first" => (out: *mut u64, f: f32) *out = createpolicy_fractional_evict_normal_else_first(f).to_bits();
    "createpolicy_range_evict_first" => (out: *mut u64, a: *const u8, p: u32, t: u32) *out = createpolicy_range_evict_first(a, p, t).to_bits();
    "createpolicy_range_evict_last" => (out: *mut u64, a: *const u8, p: u32, t: u32) *out = createpolicy_range_evict_last(a, p, t).to_bits();
    "createpolicy_range_evict_last_else_first" => (out: *mut u64, a: *const u8, p: u32, t: u32) *out = createpolicy_range_evict_last_else_first(a, p, t).to_bits();
    "cp_async_commit_group" => () cp_async_commit_group();
    "cp_async_wait_group" => () cp_async_wait_group::<3>();
    "cp_async_wait_all" => () cp_async_wait_all();
}
