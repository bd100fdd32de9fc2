//! Static shared memory: its size is part of the program.

/// Declares static shared memory of a fixed size and yields it as a [`Region`](crate::shared::Region).
///
/// ```
/// // SAFETY: evaluated once, at the top of the kernel.
/// let scratch = unsafe { nstage::static_shared!(SUMS: [f32; 32]) };
/// assert_eq!(scratch.bytes().get(), 128);
/// ```
///
/// The name ends up in the PTX beside the line it stands on, so that two declarations do not meet.
///
/// # Safety
/// - Evaluated at most once a thread and kernel, by all threads of the block: evaluated twice, it yields the same bytes twice.
#[macro_export]
macro_rules! static_shared {
    ($name:ident : [$ty:ty; $len:expr]) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            ::core::arch::global_asm!(
                concat!(".shared .align 128 .b8 nstage_shared_", stringify!($name), "_", line!(), "_", column!(), "[{}];"),
                const $crate::shared::padded((size_of::<$ty>() * $len) as u32),
            );
            let address: u32;
            ::core::arch::asm!(
                concat!("mov.u32 {}, nstage_shared_", stringify!($name), "_", line!(), "_", column!(), ";"),
                out(reg32) address,
                options(pure, nomem, nostack, preserves_flags),
            );
            $crate::shared::Region::from_raw(address, $crate::shared::padded((size_of::<$ty>() * $len) as u32))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $crate::shared::Region::from_raw(0, $crate::shared::padded((size_of::<$ty>() * $len) as u32))
        }
    }};
}
