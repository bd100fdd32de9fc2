//! `cp.async.bulk`: one thread starts the copy of a whole line of bytes, which runs in the async proxy.
//!
//! Into shared memory, an [`mbarrier`](super::mbarrier) counts the bytes as they land; into global memory, the issuing thread waits by bulk groups.
//! Bytes that ordinary stores wrote, and that a bulk copy is to read, need [`fence_proxy_async_shared_cta`](super::fence_proxy_async_shared_cta) between the two, in the writing threads before they meet the issuing one.

use super::{CachePolicy, instructions};

macro_rules! bulk {
    ($(
        $name:ident ( $($arg:ident : $ty:ty = $reg:ident $value:expr),+ ), $ptx:expr, $operands:literal, $template:literal, $what:expr, $rules:literal;
    )+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " ", $operands, ";`")]
            ///
            /// # Threads
            /// One: each thread that executes it starts a copy of its own.
            ///
            /// # Safety
            /// - `bytes` is a multiple of 16, and so is every address; no range leaves its memory.
            #[doc = $rules]
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $name($($arg: $ty),+) {
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " ", $template, ";"),
                        $($arg = in($reg) $value,)+
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

bulk! {
    cp_async_bulk_g2s(dst: u32 = reg32 dst, src: *const u8 = reg64 src, bytes: u32 = reg32 bytes, mbar: u32 = reg32 mbar),
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "[dst], [src], bytes, [mbar]", "[{dst}], [{src}], {bytes}, [{mbar}]",
    "Starts to copy `bytes` bytes from global to shared memory; the barrier at `mbar` counts them as they land.",
    "- `dst` and `mbar` are in the shared memory of one block of the cluster, usually this one's; a barrier lives at `mbar` and expects the bytes.\n- Until its phase is complete, nobody writes the source or accesses the destination.";

    cp_async_bulk_g2s_hint(dst: u32 = reg32 dst, src: *const u8 = reg64 src, bytes: u32 = reg32 bytes, mbar: u32 = reg32 mbar, policy: CachePolicy = reg64 policy.to_bits()),
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint", "[dst], [src], bytes, [mbar], policy", "[{dst}], [{src}], {bytes}, [{mbar}], {policy}",
    "Starts to copy `bytes` bytes from global to shared memory under a cache policy; the barrier at `mbar` counts them as they land.",
    "- As for [`cp_async_bulk_g2s`].";

    cp_async_bulk_g2s_multicast(dst: u32 = reg32 dst, src: *const u8 = reg64 src, bytes: u32 = reg32 bytes, mbar: u32 = reg32 mbar, blocks: u16 = reg16 blocks),
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster", "[dst], [src], bytes, [mbar], blocks", "[{dst}], [{src}], {bytes}, [{mbar}], {blocks}",
    "Starts to copy `bytes` bytes from global to the shared memory of every block of the cluster whose bit is set in `blocks`, at the same place in each; in each, the barrier at the place of `mbar` counts them.",
    "- In every block named, a barrier lives at the place of `mbar` and expects the bytes, and nobody accesses the destination until its phase is complete.\n- `blocks` names blocks of this cluster, and they run until then.";

    cp_async_bulk_g2s_multicast_hint(dst: u32 = reg32 dst, src: *const u8 = reg64 src, bytes: u32 = reg32 bytes, mbar: u32 = reg32 mbar, blocks: u16 = reg16 blocks, policy: CachePolicy = reg64 policy.to_bits()),
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint", "[dst], [src], bytes, [mbar], blocks, policy", "[{dst}], [{src}], {bytes}, [{mbar}], {blocks}, {policy}",
    "As [`cp_async_bulk_g2s_multicast`], under a cache policy.",
    "- As for [`cp_async_bulk_g2s_multicast`].";

    cp_async_bulk_s2s(dst: u32 = reg32 dst, src: u32 = reg32 src, bytes: u32 = reg32 bytes, mbar: u32 = reg32 mbar),
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", "[dst], [src], bytes, [mbar]", "[{dst}], [{src}], {bytes}, [{mbar}]",
    "Starts to copy `bytes` bytes from this block's shared memory to another block's of the cluster, whose barrier at `mbar` counts them.",
    "- `dst` and `mbar` are in the shared memory of one other block of the cluster ([`mapa`](super::mapa)); a barrier lives at `mbar` and expects the bytes.\n- Until its phase is complete, nobody writes the source or accesses the destination.\n- Ordinary stores to the source are followed by a proxy fence.";

    cp_async_bulk_s2g(dst: *mut u8 = reg64 dst, src: u32 = reg32 src, bytes: u32 = reg32 bytes),
    "cp.async.bulk.global.shared::cta.bulk_group", "[dst], [src], bytes", "[{dst}], [{src}], {bytes}",
    "Starts to copy `bytes` bytes from shared to global memory, in the thread's running bulk group.",
    "- Until the group is waited for, nobody writes the source, nobody accesses the destination.\n- Ordinary stores to the source are followed by a proxy fence.";

    cp_async_bulk_s2g_hint(dst: *mut u8 = reg64 dst, src: u32 = reg32 src, bytes: u32 = reg32 bytes, policy: CachePolicy = reg64 policy.to_bits()),
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "[dst], [src], bytes, policy", "[{dst}], [{src}], {bytes}, {policy}",
    "As [`cp_async_bulk_s2g`], under a cache policy.",
    "- As for [`cp_async_bulk_s2g`].";

    cp_async_bulk_prefetch_l2(src: *const u8 = reg64 src, bytes: u32 = reg32 bytes),
    "cp.async.bulk.prefetch.L2.global", "[src], bytes", "[{src}], {bytes}",
    "Asks that `bytes` bytes of global memory be fetched into L2.",
    "- `src` is in global memory with `bytes` readable bytes.";

    cp_async_bulk_prefetch_l2_hint(src: *const u8 = reg64 src, bytes: u32 = reg32 bytes, policy: CachePolicy = reg64 policy.to_bits()),
    "cp.async.bulk.prefetch.L2.global.L2::cache_hint", "[src], bytes, policy", "[{src}], {bytes}, {policy}",
    "As [`cp_async_bulk_prefetch_l2`], under a cache policy.",
    "- `src` is in global memory with `bytes` readable bytes.";
}

macro_rules! reductions {
    ($($name:ident, $op:literal, $what:literal;)+) => {
        bulk! {$(
            $name(dst: *mut u8 = reg64 dst, src: u32 = reg32 src, bytes: u32 = reg32 bytes),
            concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group", $op), "[dst], [src], bytes", "[{dst}], [{src}], {bytes}",
            concat!("Starts to combine `bytes` bytes of shared memory into global memory, element by element: ", $what, "; in the thread's running bulk group."),
            "- Until the group is waited for, nobody writes the source, nobody accesses the destination but by such reductions and atomics.\n- Ordinary stores to the source are followed by a proxy fence.";
        )+}
    };
}

reductions! {
    cp_reduce_async_bulk_add_u32, ".add.u32", "the sum, as `u32`";
    cp_reduce_async_bulk_add_s32, ".add.s32", "the sum, as `s32`";
    cp_reduce_async_bulk_add_u64, ".add.u64", "the sum, as `u64`";
    cp_reduce_async_bulk_add_f32, ".add.f32", "the sum, as `f32`";
    cp_reduce_async_bulk_add_f64, ".add.f64", "the sum, as `f64`";
    cp_reduce_async_bulk_min_u32, ".min.u32", "the smaller, as `u32`";
    cp_reduce_async_bulk_min_s32, ".min.s32", "the smaller, as `s32`";
    cp_reduce_async_bulk_min_u64, ".min.u64", "the smaller, as `u64`";
    cp_reduce_async_bulk_min_s64, ".min.s64", "the smaller, as `s64`";
    cp_reduce_async_bulk_max_u32, ".max.u32", "the larger, as `u32`";
    cp_reduce_async_bulk_max_s32, ".max.s32", "the larger, as `s32`";
    cp_reduce_async_bulk_max_u64, ".max.u64", "the larger, as `u64`";
    cp_reduce_async_bulk_max_s64, ".max.s64", "the larger, as `s64`";
    cp_reduce_async_bulk_and_b32, ".and.b32", "bitwise and, as `b32`";
    cp_reduce_async_bulk_and_b64, ".and.b64", "bitwise and, as `b64`";
    cp_reduce_async_bulk_or_b32, ".or.b32", "bitwise or, as `b32`";
    cp_reduce_async_bulk_or_b64, ".or.b64", "bitwise or, as `b64`";
    cp_reduce_async_bulk_xor_b32, ".xor.b32", "bitwise exclusive or, as `b32`";
    cp_reduce_async_bulk_xor_b64, ".xor.b64", "bitwise exclusive or, as `b64`";
    cp_reduce_async_bulk_inc_u32, ".inc.u32", "one more, 0 above the source, as `u32`";
    cp_reduce_async_bulk_dec_u32, ".dec.u32", "one less, the source below 0, as `u32`";
    cp_reduce_async_bulk_add_f16, ".add.noftz.f16", "the sum, as `f16`";
    cp_reduce_async_bulk_add_bf16, ".add.noftz.bf16", "the sum, as `bf16`";
    cp_reduce_async_bulk_min_f16, ".min.f16", "the smaller, as `f16`";
    cp_reduce_async_bulk_min_bf16, ".min.bf16", "the smaller, as `bf16`";
    cp_reduce_async_bulk_max_f16, ".max.f16", "the larger, as `f16`";
    cp_reduce_async_bulk_max_bf16, ".max.bf16", "the larger, as `bf16`";
}

instructions! {
    /// Closes the thread's running bulk group: its bulk copies out of shared memory since the last commit, also when there are none.
    ///
    /// # PTX
    /// `cp.async.bulk.commit_group;`
    ///
    /// # Threads
    /// The one that issued the copies.
    ///
    /// # Safety
    /// Nothing to keep.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn cp_async_bulk_commit_group() {
        // SAFETY: the instruction has no requirement.
        unsafe { core::arch::asm!("cp.async.bulk.commit_group;", options(nostack, preserves_flags)) }
    }

    /// Waits until at most `PENDING` of the thread's newest bulk groups are incomplete: sources read, destinations written.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group PENDING;`
    ///
    /// # Threads
    /// The one that issued the copies.
    ///
    /// # Safety
    /// - It makes the written bytes visible to the executing thread only.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn cp_async_bulk_wait_group<const PENDING: usize>() {
        // SAFETY: the instruction has no requirement.
        unsafe { core::arch::asm!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags)) }
    }

    /// Waits until at most `PENDING` of the thread's newest bulk groups still read their sources: older ones' shared memory may be written again.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group.read PENDING;`
    ///
    /// # Threads
    /// The one that issued the copies.
    ///
    /// # Safety
    /// - The destinations may not be written yet.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn cp_async_bulk_wait_group_read<const PENDING: usize>() {
        // SAFETY: the instruction has no requirement.
        unsafe { core::arch::asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags)) }
    }
}
