//! L2 is asked for 64, 128 or 256 bytes.

use nstage::ptx::{CacheAll, L2Prefetch, cp_async};

fn main() {
    let law: unsafe fn(u32, *const u8) = cp_async::<L2Prefetch<CacheAll, 32>, 16>;
    let _ = law;
}
