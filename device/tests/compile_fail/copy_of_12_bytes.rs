//! A copy has 4, 8 or 16 bytes.

use nstage::ptx::{CacheAll, cp_async};

fn main() {
    let law: unsafe fn(u32, *const u8) = cp_async::<CacheAll, 12>;
    let _ = law;
}
