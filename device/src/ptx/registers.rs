//! `setmaxnreg`: registers that roles give away or take.

use super::instructions;
use crate::law::law;

const fn legal(registers: u32) {
    law(
        registers >= 24 && registers <= 256 && registers.is_multiple_of(8),
        "a thread has 24 to 256 registers, in steps of 8",
    );
}

macro_rules! counts {
    ($($name:ident, $ptx:literal, $what:literal, $rule:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " REGISTERS;`")]
            ///
            /// # Threads
            /// All threads of a warp group (four warps, the first a multiple of four), converged warp by warp.
            ///
            /// # Safety
            #[doc = $rule]
            /// - The entry states how many registers a thread starts with ([`Shape::max_registers`](crate::catalogue::Shape::max_registers)); without that the assembler ignores this.
            ///
            /// sm_90a, PTX 8.0
            pub unsafe fn $name<const REGISTERS: u32>() where { legal(REGISTERS) } {
                // SAFETY: the caller's contract.
                unsafe { core::arch::asm!(concat!($ptx, " {};"), const REGISTERS, options(nostack, preserves_flags)) }
            }
        )+}
    };
}

counts! {
    setmaxnreg_dec, "setmaxnreg.dec.sync.aligned.u32", "Gives registers away until the thread has `REGISTERS`.",
    "- It has at least as many, and does not use the others.";
    setmaxnreg_inc, "setmaxnreg.inc.sync.aligned.u32", "Waits until the block has registers to give, and takes them until the thread has `REGISTERS`.",
    "- It has at most as many, and other warps give enough away.";
}
