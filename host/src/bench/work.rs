//! What is timed, and what times it.
//!
//! [`Timer`] is all that the protocol of [`rounds`](super::rounds) needs, so a test gives it a list of times and sees every call.
//! [`Rig`] adds what it takes to prepare and verify: a GPU has it, and the tests' device.

use std::path::Path;

use crate::device::hardware::Hardware;
use crate::device::{Buffer, Device, DeviceError, Prepared, Resources};

/// A kernel loaded from a file that is not ours; a handle into the rig's own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(pub usize);

/// A launch of a kernel that the catalogue does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The kernel.
    pub function: Function,
    /// Its name, for messages.
    pub entry: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// One little-endian blob a parameter, in order.
    pub params: Vec<Vec<u8>>,
}

/// What goes between two events.
#[derive(Clone, Debug)]
pub enum Work {
    /// A copy of one buffer to another of the same size.
    Copy {
        /// The copy.
        to: Buffer,
        /// The original.
        from: Buffer,
    },
    /// Launches of our own kernels, one after the other.
    Launches(Vec<Prepared>),
    /// A launch of somebody else's.
    Foreign(Foreign),
}

/// Something with a clock.
pub trait Timer {
    /// Runs the work once and says how many milliseconds passed on the device.
    fn sample(&mut self, work: &Work) -> Result<f64, DeviceError>;

    /// One step of the clock, in milliseconds.
    fn resolution_ms(&self) -> f64;

    /// What the multiprocessors are clocked at now, where it can be read.
    fn clock_mhz(&mut self) -> Option<u32>;
}

/// A device that can be measured.
pub trait Rig: Device + Timer {
    /// What it can do at best.
    fn hardware(&self) -> &Hardware;

    /// Copies a buffer to another of the same size.
    fn copy(&mut self, to: &Buffer, from: &Buffer) -> Result<(), DeviceError>;

    /// How many 4-byte words of two buffers of the same size are not the same, compared where they are.
    fn differing(&mut self, a: &Buffer, b: &Buffer) -> Result<u64, DeviceError>;

    /// Loads a kernel from a file of PTX or machine code; the same handle for the same kernel.
    fn load(&mut self, file: &Path, entry: &str) -> Result<Function, DeviceError>;

    /// What a block of a loaded kernel takes.
    fn resources_of(
        &mut self,
        function: Function,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError>;
}
