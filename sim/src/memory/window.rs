//! The windows of the generic address space.
//!
//! Each window starts at a multiple of 2^40, so that the top bits of an address name its window and its low 32 bits are the address inside it;
//! code that narrows a generic shared address to 32 bits works as on hardware. Window zero is global memory.

/// Shared memory of the executing block and, further on, of the other blocks of its cluster.
pub(crate) const SHARED: u64 = 1 << 40;
/// Local memory of the executing thread.
pub(crate) const LOCAL: u64 = 2 << 40;
/// The constant bank.
pub(crate) const CONST: u64 = 3 << 40;
/// Parameters of the entry.
pub(crate) const PARAM: u64 = 4 << 40;
/// Functions; nothing can be read there.
pub(crate) const CODE: u64 = 5 << 40;

/// Bytes of one block's part of the shared window; block `rank` of the cluster starts at `(rank + 1)` times this.
pub(crate) const SHARED_STRIDE: u64 = 1 << 24;
