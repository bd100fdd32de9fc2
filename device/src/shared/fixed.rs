//! Static shared memory: its size is part of the program.

/// Declares static shared memory of a fixed size, and a function that yields it as a [`Region`](crate::shared::Region).
///
/// ```
/// nstage::static_shared! {
///     /// The sums of the warps.
///     fn warp_sums() -> [f32; 32];
/// }
///
/// # fn main() {
/// // SAFETY: called once, at the top of the kernel.
/// let scratch = unsafe { warp_sums() };
/// assert_eq!(scratch.bytes().get(), 128);
/// # }
/// ```
///
/// Written at the level of a module, since the memory is one for the whole program, however often the function is inlined.
/// The name ends up in the PTX beside the place where it stands, so that two declarations do not meet.
///
/// The function is `unsafe`: it is called at most once a thread and kernel, by all threads of the block, since each call yields the same bytes.
#[macro_export]
macro_rules! static_shared {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> [$ty:ty; $len:expr];) => {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(
            concat!(".shared .align 128 .b8 nstage_shared_", stringify!($name), "_", line!(), "_", column!(), "[{}];"),
            const $crate::shared::padded((size_of::<$ty>() * $len) as u32),
        );

        $(#[$meta])*
        ///
        /// # Safety
        /// - Called at most once a thread and kernel, by all threads of the block: each call yields the same bytes.
        #[inline(always)]
        $vis unsafe fn $name() -> $crate::shared::Region {
            let address: u32;
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: taking the address of a variable has no requirement.
            unsafe {
                ::core::arch::asm!(
                    concat!("mov.u32 {}, nstage_shared_", stringify!($name), "_", line!(), "_", column!(), ";"),
                    out(reg32) address,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                address = 0;
            }
            // SAFETY: the bytes were declared above, aligned to a grain, and the caller takes them once.
            unsafe { $crate::shared::Region::from_raw(address, $crate::shared::padded((size_of::<$ty>() * $len) as u32)) }
        }
    };
}
