//! Floor 1: one function per instruction form, in PTX spelling.
//!
//! | module | instructions |
//! |---|---|
//! | [`mod@cp_async`] | `cp.async`, its groups and waits |
//! | [`policy`] | `createpolicy` |
//! | [`mbarrier`] | `mbarrier`, `cp.async.mbarrier.arrive` |
//! | [`bulk`] | `cp.async.bulk`, `cp.reduce.async.bulk`, bulk groups |
//! | [`tensor`] | `cp.async.bulk.tensor`, its reductions and prefetches |
//! | [`cluster`] | `barrier.cluster`, `mapa`, the cluster's shared memory |
//! | [`registers`] | `setmaxnreg` |
//! | [`memory`] | vector loads and stores of global and shared memory |
//! | [`barrier`] | `bar` and `barrier` of a block |
//! | [`warp`] | `shfl.sync`, `vote.sync`, `match.any.sync`, `redux.sync`, `elect.sync`, `bar.warp.sync` |
//! | [`matrix`] | `ldmatrix`, `stmatrix`, `mma.sync` |
//! | [`fence`] | `membar`, `fence`, `fence.proxy` |
//! | [`math`] | `fma`, `ex2`, `rcp`, `rsqrt` |
//! | [`special`] | special registers, `nanosleep`, `trap` |
//!
//! Every function is `unsafe` and documents, in this order: what it does, `# PTX`, `# Threads` (who must call it), `# Safety`, and the lowest architecture.
//! Shared memory is named by 32-bit addresses of the `.shared` window, since a generic pointer would cost generic loads.
//! On the host each function panics with its own name.
//!
//! Convergent instructions (barriers, shuffles, commits) go through LLVM's intrinsics, which the compiler may not duplicate or move across branches;
//! inline assembly serves where each thread acts for itself, and for `.aligned` instructions of a warp that need it: the builder proves of the built PTX that whole warps reach those.

pub mod barrier;
pub mod bulk;
pub mod cluster;
pub mod cp_async;
pub mod fence;
pub mod math;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod policy;
pub mod registers;
pub mod special;
pub mod tensor;
pub mod warp;

pub use barrier::*;
pub use bulk::*;
pub use cluster::*;
pub use cp_async::*;
pub use fence::*;
pub use math::*;
pub use matrix::*;
pub use mbarrier::*;
pub use memory::*;
pub use policy::*;
pub use registers::*;
pub use special::*;
pub use tensor::*;
pub use warp::*;

/// Declares instruction functions: the body on the device, a panic with the function's name on the host.
///
/// `<const N: u32>` or, where there are types among them, `[C: Cache, const N: u32]` are the function's parameters;
/// `where { … }` states the laws on them, which are checked on the host too.
macro_rules! instructions {
    ($(
        $(#[$meta:meta])*
        pub unsafe fn $name:ident $(<$(const $generic:ident : $generic_ty:ty),+>)? $([$($generics:tt)+])? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $(where $law:block)? $body:block
    )+) => {$(
        $(#[$meta])*
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        pub unsafe fn $name $(<$(const $generic: $generic_ty),+>)? $(<$($generics)+>)? ($($arg: $ty),*) $(-> $ret)? {
            $(const $law;)?
            $body
        }

        $(#[$meta])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub unsafe fn $name $(<$(const $generic: $generic_ty),+>)? $(<$($generics)+>)? ($($arg: $ty),*) $(-> $ret)? {
            $(const $law;)?
            $(let _ = $arg;)*
            $crate::ptx::only_on_the_device(stringify!($name))
        }
    )+};
}
pub(crate) use instructions;

/// What every instruction is on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
#[track_caller]
pub(crate) fn only_on_the_device(name: &str) -> ! {
    panic!("`{name}` is an instruction of the device: it exists only in code compiled for nvptx64")
}

/// LLVM's names of the convergent instructions.
#[cfg(target_arch = "nvptx64")]
pub(crate) mod llvm {
    #[allow(improper_ctypes, reason = "the signatures are LLVM's own")]
    unsafe extern "unadjusted" {
        #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
        pub(crate) fn barrier_cta_sync_aligned_all(id: i32);
        #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
        pub(crate) fn barrier_cta_sync_aligned_count(id: i32, threads: i32);
        #[link_name = "llvm.nvvm.barrier.cta.arrive.aligned.count"]
        pub(crate) fn barrier_cta_arrive_aligned_count(id: i32, threads: i32);
        #[link_name = "llvm.nvvm.barrier.cta.sync.all"]
        pub(crate) fn barrier_cta_sync_all(id: i32);
        #[link_name = "llvm.nvvm.barrier.cta.sync.count"]
        pub(crate) fn barrier_cta_sync_count(id: i32, threads: i32);
        #[link_name = "llvm.nvvm.barrier.cta.arrive.count"]
        pub(crate) fn barrier_cta_arrive_count(id: i32, threads: i32);
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        pub(crate) fn bar_warp_sync(mask: i32);
        #[link_name = "llvm.nvvm.cp.async.commit.group"]
        pub(crate) fn cp_async_commit_group();
        #[link_name = "llvm.nvvm.cp.async.wait.all"]
        pub(crate) fn cp_async_wait_all();
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        pub(crate) fn shfl_sync_down(mask: i32, value: i32, offset: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        pub(crate) fn shfl_sync_up(mask: i32, value: i32, offset: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        pub(crate) fn shfl_sync_bfly(mask: i32, value: i32, lanes: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        pub(crate) fn shfl_sync_idx(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
        #[link_name = "llvm.nvvm.vote.all.sync"]
        pub(crate) fn vote_all_sync(mask: i32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.any.sync"]
        pub(crate) fn vote_any_sync(mask: i32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.uni.sync"]
        pub(crate) fn vote_uni_sync(mask: i32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        pub(crate) fn vote_ballot_sync(mask: i32, predicate: bool) -> i32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        pub(crate) fn match_any_sync(mask: i32, value: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.add"]
        pub(crate) fn redux_sync_add_u32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        pub(crate) fn redux_sync_min_u32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        pub(crate) fn redux_sync_max_u32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.min"]
        pub(crate) fn redux_sync_min_s32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.max"]
        pub(crate) fn redux_sync_max_s32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        pub(crate) fn redux_sync_and_b32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        pub(crate) fn redux_sync_or_b32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        pub(crate) fn redux_sync_xor_b32(value: i32, mask: i32) -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
        pub(crate) fn tid_x() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.tid.y"]
        pub(crate) fn tid_y() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.tid.z"]
        pub(crate) fn tid_z() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
        pub(crate) fn ntid_x() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.y"]
        pub(crate) fn ntid_y() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.z"]
        pub(crate) fn ntid_z() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
        pub(crate) fn ctaid_x() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.y"]
        pub(crate) fn ctaid_y() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.z"]
        pub(crate) fn ctaid_z() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
        pub(crate) fn nctaid_x() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.y"]
        pub(crate) fn nctaid_y() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.z"]
        pub(crate) fn nctaid_z() -> i32;
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        pub(crate) fn laneid() -> i32;
        #[link_name = "llvm.nvvm.fma.rn.f"]
        pub(crate) fn fma_rn_f32(a: f32, b: f32, c: f32) -> f32;
        #[link_name = "llvm.nvvm.fma.rn.d"]
        pub(crate) fn fma_rn_f64(a: f64, b: f64, c: f64) -> f64;
        #[link_name = "llvm.nvvm.ex2.approx.f"]
        pub(crate) fn ex2_approx_f32(value: f32) -> f32;
        #[link_name = "llvm.nvvm.rcp.approx.ftz.f"]
        pub(crate) fn rcp_approx_ftz_f32(value: f32) -> f32;
        #[link_name = "llvm.nvvm.rcp.rn.f"]
        pub(crate) fn rcp_rn_f32(value: f32) -> f32;
        #[link_name = "llvm.nvvm.rsqrt.approx.f"]
        pub(crate) fn rsqrt_approx_f32(value: f32) -> f32;
        #[link_name = "llvm.nvvm.membar.cta"]
        pub(crate) fn membar_cta();
        #[link_name = "llvm.nvvm.membar.gl"]
        pub(crate) fn membar_gl();
        #[link_name = "llvm.nvvm.membar.sys"]
        pub(crate) fn membar_sys();
        #[link_name = "llvm.nvvm.nanosleep"]
        pub(crate) fn nanosleep(nanoseconds: i32);
    }
}
