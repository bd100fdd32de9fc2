//! Every instruction function of the device library, each in an entry of its own, so that its PTX can be looked at.
#![no_std]
#![allow(missing_docs, reason = "the entries are named after what they call")]

/// Makes an entry of each expression; a result goes to `*out`.
macro_rules! forms {
    ($($entry:expr => ($($arg:ident : $ty:ty),* $(,)?) $call:expr;)+) => {$(
        const _: () = {
            #[unsafe(export_name = $entry)]
            unsafe extern "ptx-kernel" fn entry($($arg: $ty),*) {
                // SAFETY: the entry is looked at, not run.
                unsafe { $call };
            }
        };
    )+};
}

mod bulk;
mod cp_async;
mod matrix;
mod mbarrier;
mod tensor;
mod warp;

nstage::panic_handler!();
