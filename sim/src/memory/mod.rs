//! The memories of the machine.

mod global;
pub(crate) mod lanes;
pub(crate) mod segment;
mod storage;
pub(crate) mod window;

pub(crate) use global::POISON;
pub use global::{DevicePointer, Fill, GlobalMemory, MemoryError};
pub(crate) use storage::Storage;
