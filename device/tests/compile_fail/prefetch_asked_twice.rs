//! A copy has one prefetch size.

use nstage::ptx::{CacheGlobal, L2Prefetch, cp_async_zfill};

fn main() {
    let law: unsafe fn(u32, *const u8, u32) =
        cp_async_zfill::<L2Prefetch<L2Prefetch<CacheGlobal, 64>, 128>, 16>;
    let _ = law;
}
