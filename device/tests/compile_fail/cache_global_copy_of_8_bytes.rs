//! Copies through L2 alone are 16 bytes.

use nstage::ptx::{CacheGlobal, cp_async};

fn main() {
    let law: unsafe fn(u32, *const u8) = cp_async::<CacheGlobal, 8>;
    let _ = law;
}
