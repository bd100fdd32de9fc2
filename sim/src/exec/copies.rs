//! Asynchronous element copies: the groups of a thread, and when they land.
//!
//! A copy is never carried out where it is issued, except when landing is early. It reads its source and writes its
//! destination when it lands; until then the destination keeps its old bytes.

use std::collections::VecDeque;
use std::ops::Range;

use super::access::{Region, addresses};
use super::group::{Group, Stop};
use super::mbarrier::At;
use super::warp::Warp;
use crate::event::{CopyId, ElementCopies, Groups, Monitor, Pc};
use crate::finding::Party;
use crate::lanes::{LANES, lanes_of, twice};
use crate::launch::Landing;
use crate::memory::lanes::{Extent, clear, copy, extent};
use crate::memory::segment::{Segment, low_bits};
use crate::program::op::NONE;
use crate::report::Fault;

/// What the lanes of one instruction have begun and the system has not finished.
#[derive(Clone, Debug)]
enum Pending {
    Copies(Box<Copies>),
    /// `cp.async.mbarrier.arrive`: arrivals when all copies before are done.
    Arrivals(Box<Arrivals>),
}

/// The lanes whose arrivals are to come, and the objects they arrive on.
#[derive(Clone, Debug)]
struct Arrivals {
    mask: u32,
    objects: [At; LANES],
}

/// The `cp.async` of one instruction.
#[derive(Clone, Debug)]
struct Copies {
    /// The instruction.
    pc: Pc,
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

impl Pending {
    fn mask(&self) -> u32 {
        match self {
            Self::Copies(copies) => copies.mask,
            Self::Arrivals(arrivals) => arrivals.mask,
        }
    }
}

/// The copies of one warp.
#[derive(Debug)]
pub(crate) struct CopyQueue {
    pending: VecDeque<Pending>,
    /// Boxes to be used again.
    #[allow(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Copies>>,
    /// Groups committed so far, by lane: the number of the one that is open.
    committed: [u32; LANES],
    /// The same for bulk groups.
    pub(crate) bulk_committed: [u32; LANES],
}

impl Default for CopyQueue {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            spare: Vec::new(),
            committed: [0; LANES],
            bulk_committed: [0; LANES],
        }
    }
}

impl CopyQueue {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
        self.bulk_committed = [0; LANES];
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The instruction and the lane of a copy in flight that writes some of these bytes of its block's shared memory.
    fn writer_of(&self, bytes: &Range<u64>) -> Option<(Pc, usize)> {
        self.pending.iter().find_map(|pending| {
            let Pending::Copies(copies) = pending else {
                return None;
            };
            let here = |lane: &usize| {
                let at = copies.destinations[*lane];
                at < bytes.end && bytes.start < at + u64::from(copies.bytes)
            };
            let lane = lanes_of(copies.mask).find(here)?;
            Some((copies.pc, lane))
        })
    }

    /// Drops what has landed from the front.
    fn trim(&mut self) {
        while self
            .pending
            .front()
            .is_some_and(|pending| pending.mask() == 0)
        {
            if let Some(Pending::Copies(copies)) = self.pending.pop_front() {
                self.spare.push(copies);
            }
        }
    }
}

impl<M: Monitor> Group<'_, M> {
    twice! {
    /// `cp.async`.
    pub(crate) fn issue_elements / issue_elements_wide / issue_elements_body(&mut self, warp: &mut Warp, pc: Pc, index: u32, mask: u32) -> Result<(), Stop> {
        let op = self.machine.program.tables.copies[index as usize];
        let mut copies = warp
            .copies
            .spare
            .pop()
            .unwrap_or_else(|| Box::new(Copies::NONE));
        copies.pc = pc;
        copies.mask = mask;
        copies.bytes = op.bytes;
        copies.destinations = addresses(&warp.registers, op.destination);
        copies.sources = addresses(&warp.registers, op.source);
        copies.groups = warp.copies.committed;
        copies.source_bytes = if op.source_bytes == NONE {
            [op.bytes; LANES]
        } else {
            *warp.registers.row32(op.source_bytes)
        };
        if let Some(ignore) = op.ignore {
            for lane in lanes_of(warp.registers.pred[ignore.pred as usize] ^ ignore.flip) {
                copies.source_bytes[lane] = 0;
            }
        }
        self.check_elements(warp, pc, &copies)?;
        let first = CopyId(self.next_copy);
        self.next_copy = self.next_copy.wrapping_add(mask.count_ones());
        self.monitor.issue_elements(
            self.site(pc, mask),
            &ElementCopies {
                first,
                rank: self.rank,
                bytes: op.bytes,
                sources: &copies.sources,
                source_bytes: &copies.source_bytes,
                destinations: &copies.destinations,
            },
        );
        if self.machine.options.landing == Landing::Early {
            self.land(&mut copies, mask);
            warp.copies.spare.push(copies);
        } else {
            warp.copies.pending.push_back(Pending::Copies(copies));
        }
        Ok(())
    }
    }

    #[inline(always)]
    fn check_elements(&mut self, warp: &Warp, pc: Pc, copies: &Copies) -> Result<(), Stop> {
        let size = u64::from(copies.bytes);
        let Extent {
            low, high, bits, ..
        } = extent(&copies.destinations, copies.mask, size);
        let shared = Region::Shared { rank: self.rank };
        if bits & (size - 1) != 0 || self.segment(shared, low, high).is_none() {
            for lane in lanes_of(copies.mask) {
                self.check_range(
                    warp,
                    pc,
                    lane,
                    shared,
                    copies.destinations[lane],
                    size,
                    size,
                    "writes",
                )?;
            }
        }
        let (mut reading, mut odd) = (0u32, 0u32);
        for lane in 0..LANES {
            reading |= u32::from(copies.source_bytes[lane] != 0) << lane;
            odd |= u32::from(copies.source_bytes[lane] > copies.bytes) << lane;
        }
        (reading, odd) = (reading & copies.mask, odd & copies.mask);
        if odd != 0 {
            let given = copies.source_bytes[odd.trailing_zeros() as usize];
            return Err(self.fault(
                warp,
                pc,
                odd,
                Fault::SourceSize {
                    given,
                    bytes: copies.bytes,
                },
            ));
        }
        if reading == 0 {
            return Ok(());
        }
        let Extent {
            low, high, bits, ..
        } = extent(&copies.sources, reading, size);
        if bits & (size - 1) != 0 || self.segment(Region::Global, low, high).is_none() {
            for lane in lanes_of(reading) {
                let len = u64::from(copies.source_bytes[lane]);
                self.check_range(
                    warp,
                    pc,
                    lane,
                    Region::Global,
                    copies.sources[lane],
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
        let committed = match groups {
            Groups::Element => &mut warp.copies.committed,
            Groups::Bulk { .. } => &mut warp.copies.bulk_committed,
            // Those are counted by warpgroup.
            Groups::Product => return,
        };
        for (lane, committed) in committed.iter_mut().enumerate() {
            *committed += mask >> lane & 1;
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
        match groups {
            Groups::Element => self.land_groups(warp, pending, mask),
            Groups::Bulk { read } => self.wait_bulk(warp, pending.unwrap_or(0), read, mask),
            Groups::Product => {}
        }
        self.monitor.wait(self.site(pc, mask), groups, pending);
    }

    /// Lands the groups of these lanes that are older than their newest `allowed`; with `None`, uncommitted copies as well.
    fn land_groups(&mut self, warp: &mut Warp, allowed: Option<u32>, mask: u32) {
        let committed = warp.copies.committed;
        for at in 0..warp.copies.pending.len() {
            let Pending::Copies(copies) = &mut warp.copies.pending[at] else {
                continue;
            };
            let mut due = 0u32;
            for (lane, (group, committed)) in copies.groups.iter().zip(committed).enumerate() {
                let old = allowed.is_none_or(|allowed| group.saturating_add(allowed) < committed);
                due |= u32::from(old) << lane;
            }
            due &= copies.mask & mask;
            if due != 0 {
                self.land(copies, due);
            }
        }
        warp.copies.trim();
    }

    /// Remembers arrivals for when the copies before them are done.
    pub(crate) fn queue_arrival(&mut self, warp: &mut Warp, objects: [At; LANES], mask: u32) {
        warp.copies
            .pending
            .push_back(Pending::Arrivals(Box::new(Arrivals { mask, objects })));
        if self.machine.options.landing == Landing::Early {
            self.land_all(warp);
        }
    }

    /// Lands everything of a warp, in order.
    pub(crate) fn land_all(&mut self, warp: &mut Warp) {
        while let Some(mut pending) = warp.copies.pending.pop_front() {
            let mask = pending.mask();
            self.land_pending(&mut pending, mask);
            if let Pending::Copies(copies) = pending {
                warp.copies.spare.push(copies);
            }
        }
    }

    fn land_pending(&mut self, pending: &mut Pending, lanes: u32) {
        match pending {
            Pending::Copies(copies) => {
                let due = copies.mask & lanes;
                if due != 0 {
                    self.land(copies, due);
                }
            }
            Pending::Arrivals(arrivals) => {
                let due = arrivals.mask & lanes;
                arrivals.mask &= !due;
                for lane in lanes_of(due) {
                    self.arrive_for_copies(arrivals.objects[lane], lane);
                }
            }
        }
    }

    /// Makes the first arrival on an object (on any, without one) that waits for copies of this warp, having landed those. Whether there was one.
    pub(crate) fn land_arrival(&mut self, warp: &mut Warp, object: Option<At>) -> bool {
        let wanted = |at: &At| object.is_none_or(|object| object == *at);
        let found =
            warp.copies
                .pending
                .iter()
                .enumerate()
                .find_map(|(index, pending)| match pending {
                    Pending::Arrivals(arrivals) => {
                        let lanes = lanes_of(arrivals.mask)
                            .filter(|lane| wanted(&arrivals.objects[*lane]))
                            .fold(0u32, |all, lane| all | 1 << lane);
                        (lanes != 0).then_some((index, lanes))
                    }
                    Pending::Copies(_) => None,
                });
        let Some((index, lanes)) = found else {
            return false;
        };
        for at in 0..=index {
            self.land_pending(&mut warp.copies.pending[at], lanes);
        }
        warp.copies.trim();
        true
    }

    /// Lands one lane's copy somewhere in the queue, for landing at random.
    pub(crate) fn land_some(&mut self, warp: &mut Warp, choice: u64) {
        let count = warp.copies.pending.len();
        if count == 0 {
            return;
        }
        let at = (choice % count as u64) as usize;
        let lanes = (choice >> 32) as u32;
        if let Pending::Copies(copies) = &mut warp.copies.pending[at] {
            let due = copies.mask & lanes;
            if due != 0 {
                self.land(copies, due);
            }
        } else {
            // An arrival needs all copies before it.
            self.land_arrival(warp, None);
        }
        warp.copies.trim();
    }

    /// Who issued a copy in flight that writes some of these bytes of a block's shared memory; `running` is the warp that asks.
    pub(crate) fn in_flight_into(
        &self,
        running: &Warp,
        rank: u16,
        bytes: &Range<u64>,
    ) -> Option<Party> {
        let own = (rank == self.rank)
            .then(|| running.copies.writer_of(bytes))
            .flatten()
            .map(|(pc, lane)| self.party_of((rank, self.warp), pc, 1 << lane));
        let others = || {
            let warps = self.blocks[usize::from(rank)].warps.iter().enumerate();
            warps
                .filter_map(|(warp, state)| Some((warp, state.copies.writer_of(bytes)?)))
                .map(|(warp, (pc, lane))| self.party_of((rank, warp as u32), pc, 1 << lane))
                .next()
        };
        own.or_else(others)
            .or_else(|| self.flight_into(rank, bytes))
    }

    /// Reads the sources and writes the destinations of these lanes.
    fn land(&mut self, copies: &mut Copies, mask: u32) {
        copies.mask &= !mask;
        self.writes += 1;
        let shared = Region::Shared { rank: self.rank };
        let size = u64::from(copies.bytes);
        let Extent { low, high, .. } = extent(&copies.destinations, mask, size);
        let to = self.segment(shared, low, high);
        let Extent { low, high, .. } = extent(&copies.sources, mask, size);
        let from = self.segment(Region::Global, low, high);
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (at, source) = (copies.destinations[lane], copies.sources[lane]);
            let reads = u64::from(copies.source_bytes[lane]);
            if let (Some(to), Some(from), true) = (to, from, reads == size) {
                // Neighbours in both places go together.
                let mut count = 1;
                while (rest >> ((lane + count) % LANES)) & 1 == 1
                    && copies.follows(lane, count, size)
                {
                    count += 1;
                }
                rest &= !(low_bits((lane + count) as u32) as u32);
                land_run(&to, at, &from, source, count as u64 * size);
                continue;
            }
            // Lanes in different variables or allocations are found one by one.
            let Some(to) = to.or_else(|| self.segment(shared, at, at + size)) else {
                continue;
            };
            let from = match reads {
                0 => None,
                _ => from.or_else(|| self.segment(Region::Global, source, source + reads)),
            };
            land_one(&to, at, from.as_ref(), source, reads, size);
        }
    }
}

impl Copies {
    /// Whether the copy of the lane that comes `count` lanes later goes on where those of `lane` and the lanes between end.
    #[inline(always)]
    fn follows(&self, lane: usize, count: usize, size: u64) -> bool {
        let (next, bytes) = (lane + count, count as u64 * size);
        next < LANES
            && self.destinations[next] == self.destinations[lane].wrapping_add(bytes)
            && self.sources[next] == self.sources[lane].wrapping_add(bytes)
            && u64::from(self.source_bytes[next]) == size
    }

    const NONE: Self = Self {
        pc: 0,
        mask: 0,
        bytes: 0,
        sources: [0; LANES],
        source_bytes: [0; LANES],
        destinations: [0; LANES],
        groups: [0; LANES],
    };
}

/// Copies of neighbouring lanes, all of whose bytes are read.
fn land_run(to: &Segment, at: u64, from: &Segment, source: u64, bytes: u64) {
    // SAFETY: both ranges were checked when the copies were issued, and segments live as long as the run.
    unsafe {
        copy(
            from.biased().wrapping_add(source as usize),
            to.biased().wrapping_add(at as usize),
            bytes as usize,
        )
    };
    let mut done = 0;
    while done < bytes {
        let len = (bytes - done).min(64) as u32;
        let valid = if from.valid.is_null() {
            u64::MAX
        } else {
            from.valid_bits(source + done, len)
        };
        to.set_valid(at + done, len, valid & low_bits(len));
        done += u64::from(len);
    }
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
