//! The memories of the machine.

mod global;
mod storage;

pub use global::{DevicePointer, Fill, GlobalMemory, MemoryError};
