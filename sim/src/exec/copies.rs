//! Asynchronous element copies: the groups of a thread, and when they land.
//!
//! A copy is never carried out where it is issued, except when landing is early. It reads its source and writes its
//! destination when it lands; until then the destination keeps its old bytes.

use std::collections::VecDeque;

use super::access::{Region, addresses};
use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{CopyId, ElementCopies, Groups, Monitor, Pc};
use crate::lanes::{LANES, lanes_of};
use crate::launch::Landing;
use crate::memory::lanes::{clear, copy, extent};
use crate::memory::segment::{Segment, low_bits};
use crate::program::op::NONE;
use crate::report::Fault;

/// The `cp.async` of the lanes of one instruction that have not landed.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// Lanes still to land.
    mask: u32,
    bytes: u32,
    /// Source address by lane.
    sources: [u64; LANES],
    source_bytes: [u32; LANES],
    /// Destination offset by lane.
    destinations: [u64; LANES],
    /// The group of its thread that the copy belongs to, by lane.
    groups: [u32; LANES],
}

/// The copies of one warp.
#[derive(Debug)]
pub(crate) struct CopyQueue {
    pending: VecDeque<Pending>,
    /// Groups committed so far, by lane: the number of the one that is open.
    committed: [u32; LANES],
}

impl Default for CopyQueue {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            committed: [0; LANES],
        }
    }
}

impl CopyQueue {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

impl<M: Monitor> Group<'_, M> {
    /// `cp.async`.
    pub(crate) fn issue_elements(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        index: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let copies = self.machine.program.tables.copies[index as usize];
        let bytes = copies.bytes;
        let destinations = addresses(&warp.registers, copies.destination);
        let sources = addresses(&warp.registers, copies.source);
        let mut source_bytes = [bytes; LANES];
        if copies.source_bytes != NONE {
            source_bytes = *warp.registers.row32(copies.source_bytes);
        }
        if let Some(ignore) = copies.ignore {
            let ignored = warp.registers.pred[ignore.pred as usize] ^ ignore.flip;
            for lane in lanes_of(ignored) {
                source_bytes[lane] = 0;
            }
        }
        self.check_elements(
            warp,
            pc,
            mask,
            bytes,
            &destinations,
            &sources,
            &source_bytes,
        )?;
        let first = CopyId(self.next_copy);
        self.next_copy += mask.count_ones();
        self.monitor.issue_elements(
            self.site(pc, mask),
            &ElementCopies {
                first,
                rank: self.rank,
                bytes,
                sources: &sources,
                source_bytes: &source_bytes,
                destinations: &destinations,
            },
        );
        let groups = warp.copies.committed;
        let mut pending = Pending {
            mask,
            bytes,
            sources,
            source_bytes,
            destinations,
            groups,
        };
        if self.machine.options.landing == Landing::Early {
            self.land_elements(&mut pending, mask);
        } else {
            warp.copies.pending.push_back(pending);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn check_elements(
        &mut self,
        warp: &Warp,
        pc: Pc,
        mask: u32,
        bytes: u32,
        destinations: &[u64; LANES],
        sources: &[u64; LANES],
        source_bytes: &[u32; LANES],
    ) -> Result<(), Stop> {
        let size = u64::from(bytes);
        let (low, high, bits) = extent(destinations, mask, size);
        let shared = Region::Shared { rank: self.rank };
        if bits & (size - 1) != 0 || self.segment(shared, low, high).is_none() {
            for lane in lanes_of(mask) {
                self.check_range(
                    warp,
                    pc,
                    lane,
                    shared,
                    destinations[lane],
                    size,
                    size,
                    "writes",
                )?;
            }
        }
        let (mut reading, mut odd) = (0u32, 0u32);
        for lane in lanes_of(mask) {
            reading |= u32::from(source_bytes[lane] != 0) << lane;
            odd |= u32::from(source_bytes[lane] > bytes) << lane;
        }
        if odd != 0 {
            let given = source_bytes[odd.trailing_zeros() as usize];
            return Err(self.fault(warp, pc, odd, Fault::SourceSize { given, bytes }));
        }
        if reading == 0 {
            return Ok(());
        }
        let (low, high, bits) = extent(sources, reading, size);
        if bits & (size - 1) != 0 || self.segment(Region::Global, low, high).is_none() {
            for lane in lanes_of(reading) {
                let len = u64::from(source_bytes[lane]);
                self.check_range(
                    warp,
                    pc,
                    lane,
                    Region::Global,
                    sources[lane],
                    len,
                    size,
                    "reads",
                )?;
            }
        }
        Ok(())
    }

    /// Checks one lane's bytes: bounds and alignment.
    #[allow(clippy::too_many_arguments, reason = "a range and who asks")]
    pub(crate) fn check_range(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        region: Region,
        at: u64,
        len: u64,
        align: u64,
        verb: &'static str,
    ) -> Result<(), Stop> {
        let space = region.name();
        let bytes = at..at.saturating_add(len);
        if !at.is_multiple_of(align) {
            return Err(self.fault(
                warp,
                pc,
                1 << lane,
                Fault::Misaligned {
                    space,
                    bytes,
                    needed: align,
                },
            ));
        }
        if self.segment(region, bytes.start, bytes.end).is_none() {
            let nearest = self.describe(region, at);
            return Err(self.fault(
                warp,
                pc,
                1 << lane,
                Fault::OutOfBounds {
                    space,
                    bytes,
                    verb,
                    nearest,
                },
            ));
        }
        Ok(())
    }

    /// `cp.async.commit_group` and its bulk sister.
    pub(crate) fn commit(&mut self, warp: &mut Warp, pc: Pc, groups: Groups, mask: u32) {
        self.monitor.commit(self.site(pc, mask), groups);
        if groups == Groups::Element {
            for lane in 0..LANES {
                warp.copies.committed[lane] += mask >> lane & 1;
            }
        }
    }

    /// `cp.async.wait_group`, `wait_all`: what it waits for lands now.
    pub(crate) fn wait_groups(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        groups: Groups,
        pending: Option<u32>,
        mask: u32,
    ) {
        if groups == Groups::Element {
            self.land_groups(warp, pending, mask);
        }
        self.monitor.wait(self.site(pc, mask), groups, pending);
    }

    /// Lands the groups of these lanes that are older than their newest `allowed`; with `None`, uncommitted copies as well.
    fn land_groups(&mut self, warp: &mut Warp, allowed: Option<u32>, mask: u32) {
        let committed = warp.copies.committed;
        for at in 0..warp.copies.pending.len() {
            let mut pending = std::mem::replace(&mut warp.copies.pending[at], Pending::NONE);
            let mut due = 0u32;
            for lane in 0..LANES {
                let old = match allowed {
                    None => true,
                    Some(allowed) => pending.groups[lane].saturating_add(allowed) < committed[lane],
                };
                due |= u32::from(old) << lane;
            }
            due &= pending.mask & mask;
            if due != 0 {
                self.land_elements(&mut pending, due);
            }
            warp.copies.pending[at] = pending;
        }
        while warp
            .copies
            .pending
            .front()
            .is_some_and(|pending| pending.mask == 0)
        {
            warp.copies.pending.pop_front();
        }
    }

    /// Lands everything of a warp.
    pub(crate) fn land_all(&mut self, warp: &mut Warp) {
        while let Some(mut pending) = warp.copies.pending.pop_front() {
            let mask = pending.mask;
            self.land_elements(&mut pending, mask);
        }
    }

    /// Reads the sources and writes the destinations of these lanes.
    fn land_elements(&mut self, pending: &mut Pending, mask: u32) {
        pending.mask &= !mask;
        self.writes += 1;
        let shared = Region::Shared { rank: self.rank };
        let size = u64::from(pending.bytes);
        let (low, high, _) = extent(&pending.destinations, mask, size);
        let to = self.segment(shared, low, high);
        let (low, high, _) = extent(&pending.sources, mask, size);
        let from = self.segment(Region::Global, low, high);
        for lane in lanes_of(mask) {
            let (at, source) = (pending.destinations[lane], pending.sources[lane]);
            let reads = u64::from(pending.source_bytes[lane]);
            // Lanes in different variables or allocations are found one by one.
            let Some(to) = to.or_else(|| self.segment(shared, at, at + size)) else {
                continue;
            };
            let from = if reads == 0 {
                None
            } else {
                from.or_else(|| self.segment(Region::Global, source, source + reads))
            };
            land_one(&to, at, from.as_ref(), source, reads, size);
        }
    }
}

impl Pending {
    const NONE: Self = Self {
        mask: 0,
        bytes: 0,
        sources: [0; LANES],
        source_bytes: [0; LANES],
        destinations: [0; LANES],
        groups: [0; LANES],
    };
}

/// One copy: `reads` bytes, then zeros up to `size`.
fn land_one(to: &Segment, at: u64, from: Option<&Segment>, source: u64, reads: u64, size: u64) {
    let target = to.biased().wrapping_add(at as usize);
    let mut valid = low_bits(size as u32);
    if let Some(from) = from {
        // SAFETY: both ranges were checked when the copy was issued, and segments live as long as the run.
        unsafe {
            copy(
                from.biased().wrapping_add(source as usize),
                target,
                reads as usize,
            )
        };
        if !from.valid.is_null() {
            valid &= from.valid_bits(source, reads as u32) | !low_bits(reads as u32);
        }
    }
    let written = if from.is_some() { reads } else { 0 };
    // SAFETY: as above.
    unsafe {
        clear(
            target.wrapping_add(written as usize),
            (size - written) as usize,
        )
    };
    to.set_valid(at, size as u32, valid);
}
