//! `mbarrier`: barriers in shared memory that count threads and bytes.
//!
//! A phase completes when as many arrivals as expected have come and as many bytes as expected have landed; the next phase begins at once, with the same number of arrivals.
//! A wait is for a phase by its parity, 0 for the first, or by the state that an arrival returned; only the running phase and the one before it can be told apart.
//!
//! Until [`mbarrier_inval`], nothing but these instructions may touch the barrier's 8 bytes.

use super::instructions;

instructions! {
    /// Makes 8 bytes a barrier whose phases take `count` arrivals.
    ///
    /// # PTX
    /// `mbarrier.init.shared.b64 [mbar], count;`
    ///
    /// # Threads
    /// One.
    ///
    /// # Safety
    /// - `mbar` is an address of the block's own shared memory, a multiple of 8, and no barrier lives there.
    /// - `count` is 1 to 2²⁰ − 1.
    /// - Other threads learn of it by a barrier of the block before they use it; other blocks of a cluster by [`fence_mbarrier_init`](super::fence_mbarrier_init) and a barrier of the cluster.
    ///
    /// sm_80
    pub unsafe fn mbarrier_init(mbar: u32, count: u32) {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("mbarrier.init.shared.b64 [{}], {};", in(reg32) mbar, in(reg32) count, options(nostack, preserves_flags)) }
    }

    /// Ends a barrier: its 8 bytes are memory again.
    ///
    /// # PTX
    /// `mbarrier.inval.shared.b64 [mbar];`
    ///
    /// # Threads
    /// One.
    ///
    /// # Safety
    /// - A barrier lives at `mbar`, in the block's own shared memory; nobody waits for it, and nothing more will arrive at it.
    ///
    /// sm_80
    pub unsafe fn mbarrier_inval(mbar: u32) {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("mbarrier.inval.shared.b64 [{}];", in(reg32) mbar, options(nostack, preserves_flags)) }
    }

    /// Arrivals that the phase of `state` was still missing when the state was returned.
    ///
    /// # PTX
    /// `mbarrier.pending_count.b64 d, state;`
    ///
    /// # Threads
    /// Each for itself.
    ///
    /// # Safety
    /// - `state` was returned by an arrival.
    ///
    /// sm_80
    #[must_use = "asking has no effect"]
    pub unsafe fn mbarrier_pending_count(state: u64) -> u32 {
        let count: u32;
        // SAFETY: the caller's contract; the instruction touches no memory.
        unsafe { core::arch::asm!("mbarrier.pending_count.b64 {}, {};", out(reg32) count, in(reg64) state, options(pure, nomem, nostack, preserves_flags)) };
        count
    }

    /// Expects `bytes` more bytes in the running phase; it is no arrival.
    ///
    /// # PTX
    /// `mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [mbar], bytes;`
    ///
    /// # Threads
    /// One of those that arrive in the phase, before its arrival.
    ///
    /// # Safety
    /// - A barrier lives at `mbar`, in the block's own shared memory, and its running phase cannot complete before this.
    /// - The bytes that are expected and not yet there stay within 2²⁰ − 1.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn mbarrier_expect_tx(mbar: u32, bytes: u32) {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{}], {};", in(reg32) mbar, in(reg32) bytes, options(nostack, preserves_flags)) }
    }

    /// Counts `bytes` bytes as landed, as a bulk copy does; no data moves.
    ///
    /// # PTX
    /// `mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [mbar], bytes;`
    ///
    /// # Threads
    /// One.
    ///
    /// # Safety
    /// - A barrier lives at `mbar`, in the block's own shared memory, and its running phase expects the bytes or will.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn mbarrier_complete_tx(mbar: u32, bytes: u32) {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{}], {};", in(reg32) mbar, in(reg32) bytes, options(nostack, preserves_flags)) }
    }
}

macro_rules! arrivals {
    ($($name:ident($($arg:ident: u32),*), $ptx:literal, $operands:literal, $what:literal, $rule:literal, $since:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// Returns the state of the phase before it, which a wait takes.
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " state, [mbar]", $operands, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - A barrier lives at `mbar`, in the block's own shared memory.
            /// - Its running phase still expects the arrival, and somebody has seen the phase before it complete.
            /// - It publishes what this thread did before, not what the other lanes of its warp did, and completes no asynchronous copy.
            #[doc = $rule]
            ///
            #[doc = $since]
            pub unsafe fn $name(mbar: u32 $(, $arg: u32)*) -> u64 {
                let state: u64;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " {state}, [{mbar}]", arrivals!(@template $($arg)*), ";"),
                        state = out(reg64) state,
                        mbar = in(reg32) mbar,
                        $($arg = in(reg32) $arg,)*
                        options(nostack, preserves_flags),
                    );
                }
                state
            }
        )+}
    };
    (@template) => { "" };
    (@template count) => { ", {count}" };
    (@template bytes) => { ", {bytes}" };
}

arrivals! {
    mbarrier_arrive(), "mbarrier.arrive.shared.b64", "",
    "Arrives.", "", "sm_80";

    mbarrier_arrive_count(count: u32), "mbarrier.arrive.release.cta.shared::cta.b64", ", count",
    "Arrives `count` times.", "- `count` is 1 to the arrivals that the phase still expects.", "sm_90, PTX 8.0";

    mbarrier_arrive_no_complete(count: u32), "mbarrier.arrive.noComplete.shared.b64", ", count",
    "Arrives `count` times, without completing the phase.", "- `count` is at least 1 and less than the arrivals that the phase still expects.", "sm_80";

    mbarrier_arrive_expect_tx(bytes: u32), "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", ", bytes",
    "Expects `bytes` more bytes and arrives, in this order.", "- The bytes that are expected and not yet there stay within 2²⁰ − 1.", "sm_90, PTX 8.0";

    mbarrier_arrive_drop(), "mbarrier.arrive_drop.shared.b64", "",
    "Arrives, and is not expected in later phases.", "- At least one arrival stays expected in later phases.", "sm_80";

    mbarrier_arrive_drop_count(count: u32), "mbarrier.arrive_drop.release.cta.shared::cta.b64", ", count",
    "Arrives `count` times, which are not expected in later phases.", "- At least one arrival stays expected in later phases.", "sm_90, PTX 8.0";

    mbarrier_arrive_drop_no_complete(count: u32), "mbarrier.arrive_drop.noComplete.shared.b64", ", count",
    "Arrives `count` times, which are not expected in later phases, without completing this one.", "- At least one arrival stays expected, in this phase and in later ones.", "sm_80";

    mbarrier_arrive_drop_expect_tx(bytes: u32), "mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64", ", bytes",
    "Expects `bytes` more bytes and arrives, in this order, and is not expected in later phases.", "- At least one arrival stays expected in later phases.", "sm_90, PTX 8.0";
}

macro_rules! remote {
    ($($name:ident($($arg:ident: u32),*), $ptx:literal, $operands:literal, $what:literal, $rule:literal;)+) => {
        instructions! {$(
            #[doc = concat!($what, " The barrier may be another block's of the cluster.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, $operands, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - `mbar` is an address of the `.shared::cluster` window ([`mapa`](super::mapa)); a barrier lives there, its block knows so and runs until the end of the operation.
            #[doc = $rule]
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $name(mbar: u32 $(, $arg: u32)*) {
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, "[{mbar}]", remote!(@template $($arg)*), ";"),
                        mbar = in(reg32) mbar,
                        $($arg = in(reg32) $arg,)*
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
    (@template) => { "" };
    (@template count) => { ", {count}" };
    (@template bytes) => { ", {bytes}" };
}

remote! {
    mbarrier_arrive_cluster(), "mbarrier.arrive.release.cluster.shared::cluster.b64 _, ", "[mbar]",
    "Arrives, for waits of the whole cluster.", "- The phase still expects the arrival.";

    mbarrier_arrive_cluster_count(count: u32), "mbarrier.arrive.release.cluster.shared::cluster.b64 _, ", "[mbar], count",
    "Arrives `count` times, for waits of the whole cluster.", "- The phase still expects the arrivals.";

    mbarrier_arrive_expect_tx_cluster(bytes: u32), "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, ", "[mbar], bytes",
    "Expects `bytes` more bytes and arrives, for waits of the whole cluster.", "- The phase still expects the arrival.";

    mbarrier_arrive_drop_cluster(), "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, ", "[mbar]",
    "Arrives, for waits of the whole cluster, and is not expected in later phases.", "- The phase still expects the arrival, and later ones another one.";

    mbarrier_expect_tx_cluster(bytes: u32), "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 ", "[mbar], bytes",
    "Expects `bytes` more bytes in the running phase; it is no arrival.", "- The running phase cannot complete before this.";

    mbarrier_complete_tx_cluster(bytes: u32), "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 ", "[mbar], bytes",
    "Counts `bytes` bytes as landed; no data moves.", "- The running phase expects the bytes or will.";
}

macro_rules! waits {
    ($($name:ident($($arg:ident: $ty:ty = $reg:ident),+), $ptx:literal, $operands:literal, $template:literal, $what:literal, $since:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Whether ", $what)]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " d, [mbar], ", $operands, ";`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - A barrier lives at `mbar`, in the block's own shared memory.
            /// - The phase is the running one or the one before it.
            /// - Once it returned true, what the arriving threads did before they arrived is visible to this thread, and the copies that the phase counted have landed.
            ///
            #[doc = $since]
            #[must_use = "a test that is not looked at waits for nothing"]
            pub unsafe fn $name(mbar: u32 $(, $arg: $ty)+) -> bool {
                let complete: u32;
                // SAFETY: the caller's contract; a memory clobber keeps reads of what was waited for behind it.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .pred complete; ", $ptx, " complete, [{mbar}], ", $template, "; selp.u32 {complete}, 1, 0, complete; }}"),
                        complete = out(reg32) complete,
                        mbar = in(reg32) mbar,
                        $($arg = in($reg) $arg,)+
                        options(nostack, preserves_flags),
                    );
                }
                complete != 0
            }
        )+}
    };
}

waits! {
    mbarrier_test_wait(state: u64 = reg64), "mbarrier.test_wait.shared.b64", "state", "{state}",
    "the phase of `state` is complete; it does not wait.", "sm_80";

    mbarrier_test_wait_parity(parity: u32 = reg32), "mbarrier.test_wait.parity.shared.b64", "parity", "{parity}",
    "the phase of this parity is complete; it does not wait.", "sm_80, PTX 7.1";

    mbarrier_try_wait(state: u64 = reg64), "mbarrier.try_wait.shared.b64", "state", "{state}",
    "the phase of `state` is complete, waiting for it a while: false only says that the time was over.", "sm_90";

    mbarrier_try_wait_for(state: u64 = reg64, nanoseconds: u32 = reg32), "mbarrier.try_wait.shared.b64", "state, nanoseconds", "{state}, {nanoseconds}",
    "the phase of `state` is complete, waiting for it about so long.", "sm_90";

    mbarrier_try_wait_parity(parity: u32 = reg32), "mbarrier.try_wait.parity.shared.b64", "parity", "{parity}",
    "the phase of this parity is complete, waiting for it a while: false only says that the time was over.", "sm_90";

    mbarrier_try_wait_parity_for(parity: u32 = reg32, nanoseconds: u32 = reg32), "mbarrier.try_wait.parity.shared.b64", "parity, nanoseconds", "{parity}, {nanoseconds}",
    "the phase of this parity is complete, waiting for it about so long.", "sm_90";

    mbarrier_test_wait_parity_cluster(parity: u32 = reg32), "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64", "parity", "{parity}",
    "the phase of this parity is complete, with arrivals of the whole cluster; it does not wait.", "sm_90, PTX 8.0";

    mbarrier_try_wait_parity_cluster(parity: u32 = reg32), "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", "parity", "{parity}",
    "the phase of this parity is complete, with arrivals of the whole cluster, waiting for it a while.", "sm_90, PTX 8.0";
}

macro_rules! copies_arrive {
    ($($name:ident, $ptx:literal, $what:literal, $rule:literal;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [mbar];`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            /// - A barrier lives at `mbar`, in the block's own shared memory.
            #[doc = $rule]
            ///
            /// sm_80
            pub unsafe fn $name(mbar: u32) {
                // SAFETY: the caller's contract.
                unsafe { core::arch::asm!(concat!($ptx, " [{}];"), in(reg32) mbar, options(nostack, preserves_flags)) }
            }
        )+}
    };
}

copies_arrive! {
    cp_async_mbarrier_arrive, "cp.async.mbarrier.arrive.shared.b64",
    "Arrives at the barrier once all of this thread's earlier `cp.async` have landed; the arrival is one more than the barrier was made for.",
    "- The phase cannot complete before this: another arrival of this thread, or of one that follows it, is still expected.";

    cp_async_mbarrier_arrive_noinc, "cp.async.mbarrier.arrive.noinc.shared.b64",
    "Arrives at the barrier once all of this thread's earlier `cp.async` have landed; the arrival is one of those that the barrier was made for.",
    "- The running phase still expects the arrival, and somebody has seen the phase before it complete.";
}
