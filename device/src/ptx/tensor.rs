//! `cp.async.bulk.tensor`: bulk copies of boxes of a tensor of 1 to 5 dimensions that a tensor map describes.
//!
//! Coordinates are elements, the innermost dimension first, and may lie outside: what is read there is the map's fill value, and what would be written there is not.

use super::instructions;

/// A tensor map, as the driver encodes it: 128 bytes that say where a tensor lies, its extents and strides, the box that a copy moves, and the swizzle.
///
/// A copy takes its address, which is in global, constant or parameter memory and a multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

impl TensorMap {
    /// The map of these words.
    ///
    /// # Safety
    /// - They were encoded by the driver (`cuTensorMapEncodeTiled`), for memory that outlives every copy.
    pub const unsafe fn from_words(words: [u64; 16]) -> Self {
        Self(words)
    }

    /// The words.
    pub const fn words(self) -> [u64; 16] {
        self.0
    }
}

instructions! {
    /// Asks that a tensor map be fetched before the first copy needs it.
    ///
    /// # PTX
    /// `prefetch.tensormap [map];`
    ///
    /// # Threads
    /// One.
    ///
    /// # Safety
    /// - `map` is a multiple of 64, in constant or parameter memory, or in global memory by its generic address.
    ///
    /// sm_90, PTX 8.0
    pub unsafe fn prefetch_tensormap(map: *const TensorMap) {
        // SAFETY: the caller's contract.
        unsafe { core::arch::asm!("prefetch.tensormap [{}];", in(reg64) map, options(nostack, preserves_flags)) }
    }
}

macro_rules! tensor {
    ($($load:ident, $multicast:ident, $store:ident, $add:ident, $min:ident, $max:ident, $prefetch:ident, $dim:literal, $count:literal, [$($c:ident)+], $coords:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Starts to copy a box of a ", $count, "-dimensional tensor to shared memory; the barrier at `mbar` counts its bytes as they land.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.tensor.", $dim, ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [dst], [map, {coordinates}], [mbar];`")]
            ///
            /// # Threads
            /// One: each thread that executes it starts a copy of its own.
            ///
            /// # Safety
            #[doc = concat!("- `map` describes a tensor of ", $count, " dimensions that is readable, and nobody writes.")]
            /// - `dst` is a multiple of 128 in the shared memory of one block of the cluster, usually this one's, with room for the box; a barrier lives at `mbar` there and expects the box's bytes.
            /// - Until its phase is complete, nobody accesses the destination.
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $load(dst: u32, map: *const TensorMap, coordinates: [i32; $count], mbar: u32) {
                let [$($c),+] = coordinates;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.bulk.tensor.", $dim, ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [{dst}], [{map}, ", $coords, "], [{mbar}];"),
                        dst = in(reg32) dst, map = in(reg64) map, mbar = in(reg32) mbar, $($c = in(reg32) $c,)+
                        options(nostack, preserves_flags),
                    );
                }
            }

            #[doc = concat!("As [`", stringify!($load), "`], to the same place in every block of the cluster whose bit is set in `blocks`.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.tensor.", $dim, ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [dst], [map, {coordinates}], [mbar], blocks;`")]
            ///
            /// # Threads
            /// One.
            ///
            /// # Safety
            #[doc = concat!("- As for [`", stringify!($load), "`], in every block named, all of which belong to the cluster and run until then.")]
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $multicast(dst: u32, map: *const TensorMap, coordinates: [i32; $count], mbar: u32, blocks: u16) {
                let [$($c),+] = coordinates;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.bulk.tensor.", $dim, ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{dst}], [{map}, ", $coords, "], [{mbar}], {blocks};"),
                        dst = in(reg32) dst, map = in(reg64) map, mbar = in(reg32) mbar, blocks = in(reg16) blocks, $($c = in(reg32) $c,)+
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}

        out! {$(
            $store, $count, [$($c)+], concat!("cp.async.bulk.tensor.", $dim, ".global.shared::cta.tile.bulk_group"), $coords,
            concat!("Starts to copy a box from shared memory into a ", $count, "-dimensional tensor, in the thread's running bulk group.");
            $add, $count, [$($c)+], concat!("cp.reduce.async.bulk.tensor.", $dim, ".global.shared::cta.add.tile.bulk_group"), $coords,
            concat!("Starts to add a box in shared memory to a ", $count, "-dimensional tensor, in the thread's running bulk group.");
            $min, $count, [$($c)+], concat!("cp.reduce.async.bulk.tensor.", $dim, ".global.shared::cta.min.tile.bulk_group"), $coords,
            concat!("Starts to take the smaller of a box in shared memory and a ", $count, "-dimensional tensor into the tensor, in the thread's running bulk group.");
            $max, $count, [$($c)+], concat!("cp.reduce.async.bulk.tensor.", $dim, ".global.shared::cta.max.tile.bulk_group"), $coords,
            concat!("Starts to take the larger of a box in shared memory and a ", $count, "-dimensional tensor into the tensor, in the thread's running bulk group.");
        )+}

        instructions! {$(
            #[doc = concat!("Asks that a box of a ", $count, "-dimensional tensor be fetched into L2.")]
            ///
            /// # PTX
            #[doc = concat!("`cp.async.bulk.prefetch.tensor.", $dim, ".L2.global.tile [map, {coordinates}];`")]
            ///
            /// # Threads
            /// One.
            ///
            /// # Safety
            #[doc = concat!("- `map` describes a tensor of ", $count, " dimensions that is readable.")]
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $prefetch(map: *const TensorMap, coordinates: [i32; $count]) {
                let [$($c),+] = coordinates;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!("cp.async.bulk.prefetch.tensor.", $dim, ".L2.global.tile [{map}, ", $coords, "];"),
                        map = in(reg64) map, $($c = in(reg32) $c,)+
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

macro_rules! out {
    ($($name:ident, $count:literal, [$($c:ident)+], $ptx:expr, $coords:literal, $what:expr;)+) => {
        instructions! {$(
            #[doc = $what]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [map, {coordinates}], [src];`")]
            ///
            /// # Threads
            /// One: each thread that executes it starts a copy of its own.
            ///
            /// # Safety
            #[doc = concat!("- `map` describes a tensor of ", $count, " dimensions that is writable, of a type that the operation has.")]
            /// - `src` is a multiple of 128 in the block's shared memory with the box behind it; ordinary stores there are followed by a proxy fence.
            /// - Until the group is waited for, nobody writes the source, and nobody accesses the destination but by such reductions.
            ///
            /// sm_90, PTX 8.0
            pub unsafe fn $name(map: *const TensorMap, coordinates: [i32; $count], src: u32) {
                let [$($c),+] = coordinates;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " [{map}, ", $coords, "], [{src}];"),
                        map = in(reg64) map, src = in(reg32) src, $($c = in(reg32) $c,)+
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

tensor! {
    cp_async_bulk_tensor_1d_g2s, cp_async_bulk_tensor_1d_g2s_multicast, cp_async_bulk_tensor_1d_s2g, cp_reduce_async_bulk_tensor_1d_add, cp_reduce_async_bulk_tensor_1d_min, cp_reduce_async_bulk_tensor_1d_max, cp_async_bulk_prefetch_tensor_1d, "1d", 1, [c0], "{{{c0}}}";
    cp_async_bulk_tensor_2d_g2s, cp_async_bulk_tensor_2d_g2s_multicast, cp_async_bulk_tensor_2d_s2g, cp_reduce_async_bulk_tensor_2d_add, cp_reduce_async_bulk_tensor_2d_min, cp_reduce_async_bulk_tensor_2d_max, cp_async_bulk_prefetch_tensor_2d, "2d", 2, [c0 c1], "{{{c0}, {c1}}}";
    cp_async_bulk_tensor_3d_g2s, cp_async_bulk_tensor_3d_g2s_multicast, cp_async_bulk_tensor_3d_s2g, cp_reduce_async_bulk_tensor_3d_add, cp_reduce_async_bulk_tensor_3d_min, cp_reduce_async_bulk_tensor_3d_max, cp_async_bulk_prefetch_tensor_3d, "3d", 3, [c0 c1 c2], "{{{c0}, {c1}, {c2}}}";
    cp_async_bulk_tensor_4d_g2s, cp_async_bulk_tensor_4d_g2s_multicast, cp_async_bulk_tensor_4d_s2g, cp_reduce_async_bulk_tensor_4d_add, cp_reduce_async_bulk_tensor_4d_min, cp_reduce_async_bulk_tensor_4d_max, cp_async_bulk_prefetch_tensor_4d, "4d", 4, [c0 c1 c2 c3], "{{{c0}, {c1}, {c2}, {c3}}}";
    cp_async_bulk_tensor_5d_g2s, cp_async_bulk_tensor_5d_g2s_multicast, cp_async_bulk_tensor_5d_s2g, cp_reduce_async_bulk_tensor_5d_add, cp_reduce_async_bulk_tensor_5d_min, cp_reduce_async_bulk_tensor_5d_max, cp_async_bulk_prefetch_tensor_5d, "5d", 5, [c0 c1 c2 c3 c4], "{{{c0}, {c1}, {c2}, {c3}, {c4}}}";
}
