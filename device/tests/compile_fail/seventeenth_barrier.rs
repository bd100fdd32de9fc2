//! A block has 16 barriers.

use nstage::ptx::bar_arrive;

fn main() {
    let law: unsafe fn(u32) = bar_arrive::<16>;
    let _ = law;
}
