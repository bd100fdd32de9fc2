//! Bulk copies of boxes of tensors.

use nstage::ptx::*;

forms! {
    "sm_90_prefetch_tensormap" => (map: *const TensorMap) prefetch_tensormap(map);
}

macro_rules! tensors {
    ($($load:ident $multicast:ident $store:ident $add:ident $min:ident $max:ident $prefetch:ident, $count:literal;)+) => {$(
        forms! {
            concat!("sm_90_", stringify!($load)) => (d: u32, map: *const TensorMap, c: i32, m: u32) $load(d, map, [c; $count], m);
            concat!("sm_90_", stringify!($multicast)) => (d: u32, map: *const TensorMap, c: i32, m: u32, b: u16) $multicast(d, map, [c; $count], m, b);
            concat!("sm_90_", stringify!($store)) => (map: *const TensorMap, c: i32, s: u32) $store(map, [c; $count], s);
            concat!("sm_90_", stringify!($add)) => (map: *const TensorMap, c: i32, s: u32) $add(map, [c; $count], s);
            concat!("sm_90_", stringify!($min)) => (map: *const TensorMap, c: i32, s: u32) $min(map, [c; $count], s);
            concat!("sm_90_", stringify!($max)) => (map: *const TensorMap, c: i32, s: u32) $max(map, [c; $count], s);
            concat!("sm_90_", stringify!($prefetch)) => (map: *const TensorMap, c: i32) $prefetch(map, [c; $count]);
        }
    )+};
}

tensors! {
    cp_async_bulk_tensor_1d_g2s cp_async_bulk_tensor_1d_g2s_multicast cp_async_bulk_tensor_1d_s2g cp_reduce_async_bulk_tensor_1d_add cp_reduce_async_bulk_tensor_1d_min cp_reduce_async_bulk_tensor_1d_max cp_async_bulk_prefetch_tensor_1d, 1;
    cp_async_bulk_tensor_2d_g2s cp_async_bulk_tensor_2d_g2s_multicast cp_async_bulk_tensor_2d_s2g cp_reduce_async_bulk_tensor_2d_add cp_reduce_async_bulk_tensor_2d_min cp_reduce_async_bulk_tensor_2d_max cp_async_bulk_prefetch_tensor_2d, 2;
    cp_async_bulk_tensor_3d_g2s cp_async_bulk_tensor_3d_g2s_multicast cp_async_bulk_tensor_3d_s2g cp_reduce_async_bulk_tensor_3d_add cp_reduce_async_bulk_tensor_3d_min cp_reduce_async_bulk_tensor_3d_max cp_async_bulk_prefetch_tensor_3d, 3;
    cp_async_bulk_tensor_4d_g2s cp_async_bulk_tensor_4d_g2s_multicast cp_async_bulk_tensor_4d_s2g cp_reduce_async_bulk_tensor_4d_add cp_reduce_async_bulk_tensor_4d_min cp_reduce_async_bulk_tensor_4d_max cp_async_bulk_prefetch_tensor_4d, 4;
    cp_async_bulk_tensor_5d_g2s cp_async_bulk_tensor_5d_g2s_multicast cp_async_bulk_tensor_5d_s2g cp_reduce_async_bulk_tensor_5d_add cp_reduce_async_bulk_tensor_5d_min cp_reduce_async_bulk_tensor_5d_max cp_async_bulk_prefetch_tensor_5d, 5;
}
