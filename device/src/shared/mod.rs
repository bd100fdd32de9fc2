//! Shared memory, owned: regions that are split, filled through a ring or a collective call, and given back.
//!
//! A [`Region`] is a value that every thread of the block holds alike.
//! It cannot be read or written as it is, since no type could tell which thread writes where; who takes a region
//! (a [`Pipeline`](crate::pipeline::Pipeline), a collective call) decides that, and gives the region back when done.

mod fixed;

use crate::{Uniform, ptx};

/// Every region starts at a multiple of this many bytes, which is what the widest copy engines want.
pub const GRAIN: u32 = 128;

/// `bytes` rounded up to whole grains: what an array of that size takes from a region.
pub const fn padded(bytes: u32) -> u32 {
    bytes.next_multiple_of(GRAIN)
}

// One declaration for the whole program: every kernel's dynamic shared memory has this name.
#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 128 .b8 nstage_dynamic_shared[];");

/// A piece of the block's shared memory.
#[derive(Debug)]
#[must_use = "a region that is dropped is lost for the rest of the kernel"]
pub struct Region {
    address: u32,
    bytes: u32,
}

impl Region {
    /// All dynamic shared memory of the launch.
    ///
    /// # Safety
    /// - Called once a thread, by all threads of the block: each byte belongs to one region.
    #[inline(always)]
    pub unsafe fn dynamic() -> Self {
        Self {
            address: dynamic_base(),
            bytes: dynamic_bytes(),
        }
    }

    /// The region of `bytes` bytes at `address`.
    ///
    /// # Safety
    /// - The bytes are the block's shared memory, and no other region or array holds any of them.
    /// - `address` is a multiple of [`GRAIN`], and both values are the same in all threads of the block.
    #[inline(always)]
    pub const unsafe fn from_raw(address: u32, bytes: u32) -> Self {
        Self { address, bytes }
    }

    /// Its first byte's address in the `.shared` window, for the instructions of [`crate::ptx`].
    #[inline(always)]
    pub fn address(&self) -> Uniform<u32> {
        // SAFETY: a region is the same in all threads of the block.
        unsafe { Uniform::assume(self.address) }
    }

    /// Its bytes.
    #[inline(always)]
    pub fn bytes(&self) -> Uniform<u32> {
        // SAFETY: as for the address.
        unsafe { Uniform::assume(self.bytes) }
    }

    /// Takes the first `bytes` bytes, rounded up to whole grains, and leaves the rest.
    ///
    /// Traps where the region is smaller: the launch gave the block less dynamic shared memory than the kernel declares.
    #[inline(always)]
    pub fn take(&mut self, bytes: Uniform<u32>) -> Self {
        let bytes = padded(bytes.get());
        if bytes > self.bytes {
            ptx::trap();
        }
        let taken = Self {
            address: self.address,
            bytes,
        };
        self.address += bytes;
        self.bytes -= bytes;
        taken
    }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn dynamic_base() -> u32 {
    let address: u32;
    // SAFETY: taking the address of a variable has no requirement.
    unsafe {
        core::arch::asm!("mov.u32 {}, nstage_dynamic_shared;", out(reg32) address, options(pure, nomem, nostack, preserves_flags));
    }
    address
}

#[cfg(not(target_arch = "nvptx64"))]
fn dynamic_base() -> u32 {
    ptx::only_on_the_device("nstage_dynamic_shared")
}

#[inline(always)]
fn dynamic_bytes() -> u32 {
    // SAFETY: reading a special register has no requirement.
    unsafe { ptx::dynamic_smem_size() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(bytes: u32) -> Region {
        // SAFETY: on the host a region is two numbers; nothing is accessed.
        unsafe { Region::from_raw(1024, bytes) }
    }

    fn uniform(value: u32) -> Uniform<u32> {
        // SAFETY: the test is one thread.
        unsafe { Uniform::assume(value) }
    }

    #[test]
    fn taken_regions_are_whole_grains_and_disjoint() {
        let mut rest = region(1000);
        let mut end = 1024;
        for (bytes, taken_bytes) in [(1, 128), (128, 128), (129, 256), (0, 0)] {
            let taken = rest.take(uniform(bytes));
            assert_eq!(
                (taken.address, taken.bytes),
                (end, taken_bytes),
                "{bytes} bytes"
            );
            end += taken_bytes;
        }
        assert_eq!((rest.address, rest.bytes), (end, 1000 - (end - 1024)));
    }

    #[test]
    #[should_panic(expected = "trap")]
    fn more_than_there_is_traps() {
        let _ = region(255).take(uniform(129));
    }
}
