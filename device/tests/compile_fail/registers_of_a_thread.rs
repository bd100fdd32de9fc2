//! A thread's registers are counted in eights.

use nstage::ptx::setmaxnreg_inc;

fn main() {
    let law: unsafe fn() = setmaxnreg_inc::<100>;
    let _ = law;
}
