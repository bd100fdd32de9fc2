//! Global memory: allocations with guard gaps, as the host sees it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::storage::Storage;

/// First address handed out. Bits 40 and up stay clear: there the shared and local windows begin.
const FIRST: u64 = 0x10_0000_0000;
/// One past the last address that can be handed out.
const LIMIT: u64 = 1 << 40;
/// Alignment of every allocation, as `cudaMalloc` promises.
const ALIGN: u64 = 256;
/// Unmapped bytes after each allocation, so that running off its end is seen and not another allocation's data.
const GUARD: u64 = 64 << 10;
/// The byte of memory that nobody wrote.
pub(crate) const POISON: u8 = 0xA5;

/// An address in simulated global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePointer(pub u64);

impl DevicePointer {
    /// The address `bytes` further on.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// What a new allocation holds.
#[derive(Clone, Copy, Debug)]
pub enum Fill<'a> {
    /// The byte 0xA5 throughout, and uninitialised to the checker.
    Poison,
    /// Zero bytes.
    Zero,
    /// So many bytes of poison, zero bytes behind them.
    ZeroFrom(u64),
    /// These bytes; poison after them when they are fewer than the allocation.
    Bytes(&'a [u8]),
}

/// Why the host could not allocate, read or write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The request cannot be met.
    #[error(
        "{requested} bytes of simulated global memory are more than this machine has; ask for less"
    )]
    Exhausted {
        /// Bytes asked for.
        requested: u64,
    },
    /// Fewer bytes than the fill has.
    #[error("{given} bytes do not fit an allocation of {allocated}")]
    FillTooLong {
        /// Bytes given.
        given: u64,
        /// Bytes of the allocation.
        allocated: u64,
    },
    /// The range is not inside one allocation.
    #[error("bytes {address:#x}..{end:#x} are not inside one allocation; the nearest is {nearest}")]
    OutOfBounds {
        /// First byte.
        address: u64,
        /// One past the last byte.
        end: u64,
        /// The nearest allocation, as text.
        nearest: String,
    },
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) len: u64,
    pub(crate) bytes: Storage,
    /// One bit a byte, set where somebody wrote; `None` where all is written.
    pub(crate) valid: Option<Box<[AtomicU64]>>,
    /// The variable it belongs to, for messages.
    pub(crate) name: Option<String>,
}

impl Allocation {
    fn end(&self) -> u64 {
        self.base + self.len
    }
}

/// Simulated global memory.
#[derive(Debug, Default)]
pub struct GlobalMemory {
    /// In order of address.
    allocations: Vec<Allocation>,
    /// Variables of modules that ran here, by the module's fingerprint and their name: they keep their values between launches.
    variables: HashMap<(u64, String), u64>,
}

impl GlobalMemory {
    /// Memory without allocations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `bytes` bytes, aligned to 256, with a guard gap behind them.
    ///
    /// # Errors
    /// When the host has not enough memory, or the fill is longer than the allocation.
    pub fn alloc(&mut self, bytes: u64, fill: Fill<'_>) -> Result<DevicePointer, MemoryError> {
        self.alloc_named(bytes, fill, None)
    }

    pub(crate) fn alloc_named(
        &mut self,
        bytes: u64,
        fill: Fill<'_>,
        name: Option<String>,
    ) -> Result<DevicePointer, MemoryError> {
        let exhausted = || MemoryError::Exhausted { requested: bytes };
        let after = self
            .allocations
            .last()
            .map_or(FIRST, |last| last.end() + GUARD);
        let base = after.next_multiple_of(ALIGN);
        if bytes > LIMIT - GUARD || base > LIMIT - GUARD - bytes {
            return Err(exhausted());
        }
        let size = usize::try_from(bytes).map_err(|_| exhausted())?;
        let mut storage = Storage::zeroed(size).ok_or_else(exhausted)?;
        let written = match fill {
            Fill::Zero => 0..size,
            Fill::ZeroFrom(from) => size.min(from as usize)..size,
            Fill::Poison => 0..0,
            Fill::Bytes(given) => {
                let target = storage.as_mut_slice().get_mut(..given.len()).ok_or(
                    MemoryError::FillTooLong {
                        given: given.len() as u64,
                        allocated: bytes,
                    },
                )?;
                target.copy_from_slice(given);
                0..given.len()
            }
        };
        let mut valid = None;
        if written != (0..size) {
            storage.as_mut_slice()[..written.start].fill(POISON);
            storage.as_mut_slice()[written.end..].fill(POISON);
            let bitmap: Box<[AtomicU64]> =
                (0..size.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
            mark(&bitmap, written.start, written.len());
            valid = Some(bitmap);
        }
        self.allocations.push(Allocation {
            base,
            len: bytes,
            bytes: storage,
            valid,
            name,
        });
        Ok(DevicePointer(base))
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn read(&self, from: DevicePointer, into: &mut [u8]) -> Result<(), MemoryError> {
        let (index, offset) = self.locate(from.0, into.len() as u64)?;
        into.copy_from_slice(
            &self.allocations[index].bytes.as_slice()[offset..offset + into.len()],
        );
        Ok(())
    }

    /// Copies bytes in; they count as initialised.
    ///
    /// # Errors
    /// When the range is not inside one allocation.
    pub fn write(&mut self, to: DevicePointer, bytes: &[u8]) -> Result<(), MemoryError> {
        let (index, offset) = self.locate(to.0, bytes.len() as u64)?;
        let allocation = &mut self.allocations[index];
        allocation.bytes.as_mut_slice()[offset..offset + bytes.len()].copy_from_slice(bytes);
        if let Some(valid) = &allocation.valid {
            mark(valid, offset, bytes.len());
        }
        Ok(())
    }

    /// Address of a module's variable, if the module ran here before.
    pub(crate) fn variable(&self, module: u64, name: &str) -> Option<u64> {
        self.variables.get(&(module, name.to_owned())).copied()
    }

    /// Remembers where a module's variable is.
    pub(crate) fn remember(&mut self, module: u64, name: &str, address: u64) {
        self.variables.insert((module, name.to_owned()), address);
    }

    pub(crate) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The allocation that an address is in or nearest to, in words.
    pub(crate) fn describe_nearest(&self, address: u64) -> String {
        let distance = |a: &Allocation| {
            if address < a.base {
                a.base - address
            } else {
                address.saturating_sub(a.end().saturating_sub(1))
            }
        };
        match self.allocations.iter().min_by_key(|a| distance(a)) {
            None => "none: nothing is allocated".to_owned(),
            Some(a) => {
                let name = a
                    .name
                    .as_deref()
                    .map_or_else(String::new, |name| format!(" ({name})"));
                format!("{:#x}..{:#x}, {} bytes{name}", a.base, a.end(), a.len)
            }
        }
    }

    fn locate(&self, address: u64, len: u64) -> Result<(usize, usize), MemoryError> {
        let end = address.saturating_add(len);
        let index = self
            .allocations
            .partition_point(|a| a.base <= address)
            .checked_sub(1);
        match index {
            Some(index) if end <= self.allocations[index].end() => {
                Ok((index, (address - self.allocations[index].base) as usize))
            }
            _ => Err(MemoryError::OutOfBounds {
                address,
                end,
                nearest: self.describe_nearest(address),
            }),
        }
    }
}

/// Marks `len` bytes from `from` as written.
fn mark(bitmap: &[AtomicU64], from: usize, len: usize) {
    let mut at = from;
    let end = from + len;
    while at < end {
        let (word, bit) = (at / 64, at % 64);
        let bits = (64 - bit).min(end - at);
        bitmap[word].fetch_or((u64::MAX >> (64 - bits)) << bit, Ordering::Relaxed);
        at += bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_begin_where_they_are_to() {
        let mut memory = GlobalMemory::new();
        for (from, expected) in [(0, [0, 0, 0]), (2, [POISON, POISON, 0]), (9, [POISON; 3])] {
            let at = memory.alloc(3, Fill::ZeroFrom(from)).unwrap();
            let mut read = [1; 3];
            memory.read(at, &mut read).unwrap();
            assert_eq!(read, expected, "{from}");
        }
    }

    #[test]
    fn allocations_are_aligned_and_apart() {
        let mut memory = GlobalMemory::new();
        let a = memory.alloc(10, Fill::Zero).unwrap();
        let b = memory.alloc(0, Fill::Poison).unwrap();
        let c = memory.alloc(300, Fill::Poison).unwrap();
        for pointer in [a, b, c] {
            assert_eq!(pointer.0 % 256, 0);
        }
        assert!(b.0 >= a.0 + 10 + GUARD && c.0 >= b.0 + GUARD);
    }

    #[test]
    fn bytes_come_back_and_what_is_unwritten_is_poison() {
        let mut memory = GlobalMemory::new();
        let a = memory.alloc(8, Fill::Bytes(&[1, 2, 3])).unwrap();
        let mut read = [0; 8];
        memory.read(a, &mut read).unwrap();
        assert_eq!(read, [1, 2, 3, POISON, POISON, POISON, POISON, POISON]);
        memory.write(a.offset(4), &[9, 9]).unwrap();
        memory.read(a, &mut read).unwrap();
        assert_eq!(read, [1, 2, 3, POISON, 9, 9, POISON, POISON]);
        let valid = memory.allocations()[0].valid.as_ref().unwrap();
        assert_eq!(valid[0].load(Ordering::Relaxed), 0b11_0111);
    }

    #[test]
    fn a_range_outside_is_refused_with_its_numbers() {
        let mut memory = GlobalMemory::new();
        let a = memory.alloc(16, Fill::Zero).unwrap();
        let error = memory.read(a.offset(8), &mut [0; 9]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bytes 0x1000000008..0x1000000011 are not inside one allocation; the nearest is 0x1000000000..0x1000000010, 16 bytes"
        );
        assert!(memory.write(DevicePointer(0), &[0]).is_err());
        assert!(matches!(
            memory.alloc(u64::MAX, Fill::Zero),
            Err(MemoryError::Exhausted { .. })
        ));
        assert!(matches!(
            memory.alloc(1, Fill::Bytes(&[1, 2])),
            Err(MemoryError::FillTooLong { .. })
        ));
    }
}
