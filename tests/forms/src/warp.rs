//! Votes, matches, reductions and elections of a warp.

use nstage::ptx::*;

forms! {
    "vote_sync_all" => (out: *mut u32, m: u32, x: u32) *out = u32::from(vote_sync_all(m, x > 7));
    "vote_sync_any" => (out: *mut u32, m: u32, x: u32) *out = u32::from(vote_sync_any(m, x > 7));
    "vote_sync_uni" => (out: *mut u32, m: u32, x: u32) *out = u32::from(vote_sync_uni(m, x > 7));
    "vote_sync_ballot" => (out: *mut u32, m: u32, x: u32) *out = vote_sync_ballot(m, x > 7);
    "match_any_sync" => (out: *mut u32, m: u32, x: u32) *out = match_any_sync(m, x);
    "sm_90_elect_sync" => (out: *mut u32, m: u32) *out = u32::from(elect_sync(m));
}

macro_rules! reductions {
    ($($name:ident, $ty:ty;)+) => {$(
        forms! {
            stringify!($name) => (out: *mut $ty, m: u32, x: $ty) *out = $name(m, x);
        }
    )+};
}

reductions! {
    redux_sync_add_u32, u32;
    redux_sync_min_u32, u32;
    redux_sync_max_u32, u32;
    redux_sync_min_s32, i32;
    redux_sync_max_s32, i32;
    redux_sync_and_b32, u32;
    redux_sync_or_b32, u32;
    redux_sync_xor_b32, u32;
}
