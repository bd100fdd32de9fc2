//! Barriers in shared memory.

use nstage::ptx::*;

forms! {
    "mbarrier_init" => (mbar: u32, n: u32) mbarrier_init(mbar, n);
    "mbarrier_inval" => (mbar: u32) mbarrier_inval(mbar);
    "mbarrier_pending_count" => (out: *mut u64, state: u64) *out = u64::from(mbarrier_pending_count(state));
    "mbarrier_arrive" => (out: *mut u64, mbar: u32) *out = mbarrier_arrive(mbar);
    "mbarrier_arrive_no_complete" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_no_complete(mbar, n);
    "mbarrier_arrive_drop" => (out: *mut u64, mbar: u32) *out = mbarrier_arrive_drop(mbar);
    "mbarrier_arrive_drop_no_complete" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_drop_no_complete(mbar, n);
    // With a state out of nowhere, ptxas 13.0 crashes for sm_80.
    "mbarrier_test_wait" => (out: *mut u64, mbar: u32) *out = u64::from(mbarrier_test_wait(mbar, mbarrier_arrive(mbar)));
    "mbarrier_test_wait_parity" => (out: *mut u64, mbar: u32, parity: u32) *out = u64::from(mbarrier_test_wait_parity(mbar, parity));
    "cp_async_mbarrier_arrive" => (mbar: u32) cp_async_mbarrier_arrive(mbar);
    "cp_async_mbarrier_arrive_noinc" => (mbar: u32) cp_async_mbarrier_arrive_noinc(mbar);

    "sm_90_mbarrier_arrive_count" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_count(mbar, n);
    "sm_90_mbarrier_arrive_expect_tx" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_expect_tx(mbar, n);
    "sm_90_mbarrier_arrive_drop_count" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_drop_count(mbar, n);
    "sm_90_mbarrier_arrive_drop_expect_tx" => (out: *mut u64, mbar: u32, n: u32) *out = mbarrier_arrive_drop_expect_tx(mbar, n);
    "sm_90_mbarrier_expect_tx" => (mbar: u32, n: u32) mbarrier_expect_tx(mbar, n);
    "sm_90_mbarrier_complete_tx" => (mbar: u32, n: u32) mbarrier_complete_tx(mbar, n);
    "sm_90_mbarrier_arrive_cluster" => (mbar: u32) mbarrier_arrive_cluster(mbar);
    "sm_90_mbarrier_arrive_cluster_count" => (mbar: u32, n: u32) mbarrier_arrive_cluster_count(mbar, n);
    "sm_90_mbarrier_arrive_expect_tx_cluster" => (mbar: u32, n: u32) mbarrier_arrive_expect_tx_cluster(mbar, n);
    "sm_90_mbarrier_arrive_drop_cluster" => (mbar: u32) mbarrier_arrive_drop_cluster(mbar);
    "sm_90_mbarrier_expect_tx_cluster" => (mbar: u32, n: u32) mbarrier_expect_tx_cluster(mbar, n);
    "sm_90_mbarrier_complete_tx_cluster" => (mbar: u32, n: u32) mbarrier_complete_tx_cluster(mbar, n);
    "sm_90_mbarrier_try_wait" => (out: *mut u64, mbar: u32, state: u64) *out = u64::from(mbarrier_try_wait(mbar, state));
    "sm_90_mbarrier_try_wait_for" => (out: *mut u64, mbar: u32, state: u64, ns: u32) *out = u64::from(mbarrier_try_wait_for(mbar, state, ns));
    "sm_90_mbarrier_try_wait_parity" => (out: *mut u64, mbar: u32, parity: u32) *out = u64::from(mbarrier_try_wait_parity(mbar, parity));
    "sm_90_mbarrier_try_wait_parity_for" => (out: *mut u64, mbar: u32, parity: u32, ns: u32) *out = u64::from(mbarrier_try_wait_parity_for(mbar, parity, ns));
    "sm_90_mbarrier_test_wait_parity_cluster" => (out: *mut u64, mbar: u32, parity: u32) *out = u64::from(mbarrier_test_wait_parity_cluster(mbar, parity));
    "sm_90_mbarrier_try_wait_parity_cluster" => (out: *mut u64, mbar: u32, parity: u32) *out = u64::from(mbarrier_try_wait_parity_cluster(mbar, parity));
}
