//! Loads and stores, alone and as vectors, of global memory (64-bit pointers) and shared memory (32-bit addresses of the `.shared` window).
//!
//! Names end in the Rust type: `ld_global_v4_f32` loads four `f32`.
//! Cache words: `nc` reads through the read-only path, `no_allocate` leaves no line in L1, `cs` marks a streaming access, evicted first.

use super::instructions;

macro_rules! loads {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $space:literal, $ptx:literal, $address:ty, $areg:ident, [$($lane:ident)+], $list:literal, $rules:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Loads ", $count, " × `", stringify!($ty), "` from ", $space, " memory.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " d, [address];`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            #[doc = $rules]
            ///
            /// sm_80
            #[must_use = "a load's result is its purpose"]
            pub unsafe fn $name(address: $address) -> [$ty; $count] {
                $(let $lane: $ty;)+
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " ", $list, ", [{address}];"),
                        $($lane = out($reg) $lane,)+
                        address = in($areg) address,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                [$($lane),+]
            }
        )+}
    };
}

macro_rules! stores {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $space:literal, $ptx:literal, $address:ty, $areg:ident, [$($lane:ident)+], $list:literal, $rules:literal;)+) => {
        instructions! {$(
            #[doc = concat!("Stores ", $count, " × `", stringify!($ty), "` to ", $space, " memory.")]
            ///
            /// # PTX
            #[doc = concat!("`", $ptx, " [address], values;`")]
            ///
            /// # Threads
            /// Each for itself.
            ///
            /// # Safety
            #[doc = $rules]
            ///
            /// sm_80
            pub unsafe fn $name(address: $address, values: [$ty; $count]) {
                let [$($lane),+] = values;
                // SAFETY: the caller's contract.
                unsafe {
                    core::arch::asm!(
                        concat!($ptx, " [{address}], ", $list, ";"),
                        $($lane = in($reg) $lane,)+
                        address = in($areg) address,
                        options(nostack, preserves_flags),
                    );
                }
            }
        )+}
    };
}

macro_rules! global_load {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $ptx:literal, $lanes:tt, $list:literal;)+) => {
        loads! {$(
            $name, $count, $ty, $reg, "global", $ptx, *const $ty, reg64, $lanes, $list,
            "- `address` is in global memory, aligned to the whole vector, and readable for all of it.\n- No thread writes there at the same time; with `nc`, none does during the whole launch.";
        )+}
    };
}

macro_rules! global_store {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $ptx:literal, $lanes:tt, $list:literal;)+) => {
        stores! {$(
            $name, $count, $ty, $reg, "global", $ptx, *mut $ty, reg64, $lanes, $list,
            "- `address` is in global memory, aligned to the whole vector, and writable for all of it.\n- No other thread accesses those bytes at the same time.";
        )+}
    };
}

macro_rules! shared_load {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $ptx:literal, $lanes:tt, $list:literal;)+) => {
        loads! {$(
            $name, $count, $ty, $reg, "shared", $ptx, u32, reg32, $lanes, $list,
            "- `address` is in the block's shared memory, aligned to the whole vector.\n- The bytes were written and published: by a barrier after the stores, or by a wait and a barrier after asynchronous copies.";
        )+}
    };
}

macro_rules! shared_store {
    ($($name:ident, $count:literal, $ty:ty, $reg:ident, $ptx:literal, $lanes:tt, $list:literal;)+) => {
        stores! {$(
            $name, $count, $ty, $reg, "shared", $ptx, u32, reg32, $lanes, $list,
            "- `address` is in the block's shared memory, aligned to the whole vector.\n- No other thread accesses those bytes, and no asynchronous copy of them is pending, until a barrier.";
        )+}
    };
}

global_load! {
    ld_global_v2_f32, 2, f32, reg32, "ld.global.v2.b32", [a b], "{{{a}, {b}}}";
    ld_global_v4_f32, 4, f32, reg32, "ld.global.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_global_v2_u32, 2, u32, reg32, "ld.global.v2.b32", [a b], "{{{a}, {b}}}";
    ld_global_v4_u32, 4, u32, reg32, "ld.global.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_global_v2_f64, 2, f64, reg64, "ld.global.v2.b64", [a b], "{{{a}, {b}}}";
    ld_global_cs_v4_f32, 4, f32, reg32, "ld.global.cs.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_global_nc_v2_f32, 2, f32, reg32, "ld.global.nc.v2.b32", [a b], "{{{a}, {b}}}";
    ld_global_nc_v4_f32, 4, f32, reg32, "ld.global.nc.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_global_nc_no_allocate_v4_f32, 4, f32, reg32, "ld.global.nc.L1::no_allocate.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_global_nc_no_allocate_v2_f64, 2, f64, reg64, "ld.global.nc.L1::no_allocate.v2.b64", [a b], "{{{a}, {b}}}";
    ld_global_nc_no_allocate_v4_u32, 4, u32, reg32, "ld.global.nc.L1::no_allocate.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
}

global_store! {
    st_global_v2_f32, 2, f32, reg32, "st.global.v2.b32", [a b], "{{{a}, {b}}}";
    st_global_v4_f32, 4, f32, reg32, "st.global.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_global_v2_u32, 2, u32, reg32, "st.global.v2.b32", [a b], "{{{a}, {b}}}";
    st_global_v4_u32, 4, u32, reg32, "st.global.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_global_v2_f64, 2, f64, reg64, "st.global.v2.b64", [a b], "{{{a}, {b}}}";
    st_global_cs_v4_f32, 4, f32, reg32, "st.global.cs.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_global_cs_v4_u32, 4, u32, reg32, "st.global.cs.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_global_no_allocate_v4_f32, 4, f32, reg32, "st.global.L1::no_allocate.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
}

shared_load! {
    ld_shared_f32, 1, f32, reg32, "ld.shared.b32", [a], "{a}";
    ld_shared_u32, 1, u32, reg32, "ld.shared.b32", [a], "{a}";
    ld_shared_f64, 1, f64, reg64, "ld.shared.b64", [a], "{a}";
    ld_shared_u64, 1, u64, reg64, "ld.shared.b64", [a], "{a}";
    ld_shared_v2_f32, 2, f32, reg32, "ld.shared.v2.b32", [a b], "{{{a}, {b}}}";
    ld_shared_v4_f32, 4, f32, reg32, "ld.shared.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_shared_v2_u32, 2, u32, reg32, "ld.shared.v2.b32", [a b], "{{{a}, {b}}}";
    ld_shared_v4_u32, 4, u32, reg32, "ld.shared.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    ld_shared_v2_f64, 2, f64, reg64, "ld.shared.v2.b64", [a b], "{{{a}, {b}}}";
}

shared_store! {
    st_shared_f32, 1, f32, reg32, "st.shared.b32", [a], "{a}";
    st_shared_u32, 1, u32, reg32, "st.shared.b32", [a], "{a}";
    st_shared_f64, 1, f64, reg64, "st.shared.b64", [a], "{a}";
    st_shared_u64, 1, u64, reg64, "st.shared.b64", [a], "{a}";
    st_shared_v2_f32, 2, f32, reg32, "st.shared.v2.b32", [a b], "{{{a}, {b}}}";
    st_shared_v4_f32, 4, f32, reg32, "st.shared.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_shared_v2_u32, 2, u32, reg32, "st.shared.v2.b32", [a b], "{{{a}, {b}}}";
    st_shared_v4_u32, 4, u32, reg32, "st.shared.v4.b32", [a b c d], "{{{a}, {b}, {c}, {d}}}";
    st_shared_v2_f64, 2, f64, reg64, "st.shared.v2.b64", [a b], "{{{a}, {b}}}";
}
