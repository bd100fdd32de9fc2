//! Bulk copies, clusters, fences.

use nstage::ptx::*;

forms! {
    "sm_90_bulk_g2s" => (d: u32, s: *const u8, n: u32, m: u32) cp_async_bulk_g2s(d, s, n, m);
    "sm_90_bulk_g2s_hint" => (d: u32, s: *const u8, n: u32, m: u32) cp_async_bulk_g2s_hint(d, s, n, m, createpolicy_fractional_evict_first(1.0));
    "sm_90_bulk_g2s_multicast" => (d: u32, s: *const u8, n: u32, m: u32, b: u16) cp_async_bulk_g2s_multicast(d, s, n, m, b);
    "sm_90_bulk_g2s_multicast_hint" => (d: u32, s: *const u8, n: u32, m: u32, b: u16) cp_async_bulk_g2s_multicast_hint(d, s, n, m, b, createpolicy_fractional_evict_first(1.0));
    "sm_90_bulk_s2s" => (d: u32, s: u32, n: u32, m: u32) cp_async_bulk_s2s(d, s, n, m);
    "sm_90_bulk_s2g" => (d: *mut u8, s: u32, n: u32) cp_async_bulk_s2g(d, s, n);
    "sm_90_bulk_s2g_hint" => (d: *mut u8, s: u32, n: u32) cp_async_bulk_s2g_hint(d, s, n, createpolicy_fractional_evict_first(1.0));
    "sm_90_bulk_prefetch" => (s: *const u8, n: u32) cp_async_bulk_prefetch_l2(s, n);
    "sm_90_bulk_prefetch_hint" => (s: *const u8, n: u32) cp_async_bulk_prefetch_l2_hint(s, n, createpolicy_fractional_evict_first(1.0));
    "sm_90_bulk_commit" => () cp_async_bulk_commit_group();
    "sm_90_bulk_wait" => () cp_async_bulk_wait_group::<1>();
    "sm_90_bulk_wait_read" => () cp_async_bulk_wait_group_read::<0>();
    "sm_90_cluster_ctarank" => (out: *mut u32) *out = cluster_ctarank();
    "sm_90_cluster_nctarank" => (out: *mut u32) *out = cluster_nctarank();
    "sm_90_cluster_ctaid" => (out: *mut u32) *out = cluster_ctaid_x();
    "sm_90_cluster_nctaid" => (out: *mut u32) *out = cluster_nctaid_x();
    "sm_90_clusterid" => (out: *mut u32) *out = clusterid_x();
    "sm_90_nclusterid" => (out: *mut u32) *out = nclusterid_x();
    "sm_90_cluster_arrive" => () barrier_cluster_arrive();
    "sm_90_cluster_arrive_relaxed" => () barrier_cluster_arrive_relaxed();
    "sm_90_cluster_wait" => () barrier_cluster_wait();
    "sm_90_mapa" => (out: *mut u32, a: u32, r: u32) *out = mapa(a, r);
    "sm_90_getctarank" => (out: *mut u32, a: u32) *out = getctarank(a);
    "sm_90_ld_cluster_u32" => (out: *mut u32, a: u32) *out = ld_shared_cluster_u32(a);
    "sm_90_ld_cluster_f32" => (out: *mut f32, a: u32) *out = ld_shared_cluster_f32(a);
    "sm_90_ld_cluster_u64" => (out: *mut u64, a: u32) *out = ld_shared_cluster_u64(a);
    "sm_90_ld_cluster_f64" => (out: *mut f64, a: u32) *out = ld_shared_cluster_f64(a);
    "sm_90_st_cluster_u32" => (a: u32, v: u32) st_shared_cluster_u32(a, v);
    "sm_90_st_cluster_f32" => (a: u32, v: f32) st_shared_cluster_f32(a, v);
    "sm_90_st_cluster_u64" => (a: u32, v: u64) st_shared_cluster_u64(a, v);
    "sm_90_st_cluster_f64" => (a: u32, v: f64) st_shared_cluster_f64(a, v);
    "fence_acq_rel_cta" => () fence_acq_rel_cta();
    "fence_acq_rel_gpu" => () fence_acq_rel_gpu();
    "fence_acq_rel_sys" => () fence_acq_rel_sys();
    "sm_90_fence_acq_rel_cluster" => () fence_acq_rel_cluster();
    "sm_90_fence_mbarrier_init" => () fence_mbarrier_init();
    "sm_90_fence_proxy_async" => () fence_proxy_async();
    "sm_90_fence_proxy_async_global" => () fence_proxy_async_global();
    "sm_90_fence_proxy_async_shared_cta" => () fence_proxy_async_shared_cta();
    "sm_90_fence_proxy_async_shared_cluster" => () fence_proxy_async_shared_cluster();
    "sm_90a_setmaxnreg_dec" => () setmaxnreg_dec::<40>();
    "sm_90a_setmaxnreg_inc" => () setmaxnreg_inc::<232>();
}

macro_rules! reductions {
    ($($call:ident)+) => {$(
        forms! { concat!("sm_90_", stringify!($call)) => (d: *mut u8, s: u32, n: u32) $call(d, s, n); }
    )+};
}

reductions! {
    cp_reduce_async_bulk_add_u32 cp_reduce_async_bulk_add_s32 cp_reduce_async_bulk_add_u64 cp_reduce_async_bulk_add_f32 cp_reduce_async_bulk_add_f64
    cp_reduce_async_bulk_min_u32 cp_reduce_async_bulk_min_s32 cp_reduce_async_bulk_min_u64 cp_reduce_async_bulk_min_s64
    cp_reduce_async_bulk_max_u32 cp_reduce_async_bulk_max_s32 cp_reduce_async_bulk_max_u64 cp_reduce_async_bulk_max_s64
    cp_reduce_async_bulk_and_b32 cp_reduce_async_bulk_and_b64 cp_reduce_async_bulk_or_b32 cp_reduce_async_bulk_or_b64
    cp_reduce_async_bulk_xor_b32 cp_reduce_async_bulk_xor_b64 cp_reduce_async_bulk_inc_u32 cp_reduce_async_bulk_dec_u32
    cp_reduce_async_bulk_add_f16 cp_reduce_async_bulk_add_bf16 cp_reduce_async_bulk_min_f16 cp_reduce_async_bulk_min_bf16
    cp_reduce_async_bulk_max_f16 cp_reduce_async_bulk_max_bf16
}
