//! Shared memory of one block.

use super::mbarrier::Objects;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::memory::segment::{Segment, Segments};
use crate::memory::{POISON, Storage};
use crate::program::Program;
use crate::program::layout::RESERVED;

/// Shared memory of one block: its bytes, which of them are written, and where its variables are.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes: Storage,
    valid: Box<[AtomicU64]>,
    pub(crate) segments: Segments,
    /// The system's own bytes, if the program uses them.
    reserved: Option<u32>,
    /// The mbarriers in it.
    pub(crate) objects: Objects,
}

impl SharedMemory {
    /// Memory for the program's variables; `None` when the host has not enough.
    pub(crate) fn new(program: &Program, dynamic: u32) -> Option<Self> {
        let layout = &program.shared;
        let size = layout.end.max(if dynamic > 0 {
            layout.dynamic + dynamic
        } else {
            0
        }) as usize;
        let bytes = Storage::zeroed(size)?;
        let valid: Box<[AtomicU64]> = (0..size / 64 + 2).map(|_| AtomicU64::new(0)).collect();
        let mut ranges: Vec<(u32, u32)> = layout
            .variables
            .iter()
            .filter(|variable| !variable.dynamic)
            .map(|variable| (variable.offset, variable.bytes))
            .collect();
        if dynamic > 0 {
            ranges.push((layout.dynamic, dynamic));
        }
        ranges.sort_unstable();
        let segments = ranges
            .into_iter()
            .map(|(base, len)| Segment {
                base: base.into(),
                len: len.into(),
                host: bytes.pointer().wrapping_add(base as usize),
                valid: valid.as_ptr(),
                valid_base: 0,
                writable: true,
            })
            .collect();
        let mut memory = Self {
            bytes,
            valid,
            segments: Segments::new(segments),
            reserved: layout.reserved,
            objects: Objects::default(),
        };
        memory.clear();
        Some(memory)
    }

    /// Back to what a block starts with: bytes that nobody wrote.
    pub(crate) fn clear(&mut self) {
        self.bytes.as_mut_slice().fill(POISON);
        self.objects.clear();
        for word in &self.valid {
            word.store(0, Relaxed);
        }
        // Whatever the system left there, it is not the kernel's fault to read it.
        if let Some(start) = self.reserved {
            let range = start as usize..(start + RESERVED) as usize;
            self.bytes.as_mut_slice()[range].fill(0);
            for at in (start..start + RESERVED).step_by(64) {
                self.mark_valid(at, 64);
            }
        }
    }

    /// Marks bytes as written.
    pub(crate) fn mark_valid(&self, from: u32, len: u32) {
        if let Some(segment) = self
            .segments
            .find(from.into(), u64::from(from + len), &mut 0)
        {
            segment.mark_valid(from.into(), len, false);
        }
    }
}
