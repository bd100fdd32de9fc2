//! Bulk copies: the async proxy's way between global and shared memory.
//!
//! A copy into shared memory completes on an mbarrier, one out of shared memory through the bulk groups of its thread.
//! Each has two milestones, its source read and its destination written, which may be far apart.

use std::ops::Range;
use std::sync::Arc;

use super::access::{Region, addresses};
use super::group::{Group, Stop};
use super::mbarrier::{At, place};
use super::tensor::Boxed;
use super::warp::Warp;
use crate::event::{Copy, CopyId, CopyKind, Monitor, Pc, Window};
use crate::finding::Party;
use crate::lanes::lanes_of;
use crate::launch::Landing;
use crate::memory::lanes::copy;
use crate::memory::segment::{Segment, low_bits};
use crate::program::op::{AtomicOp, AtomicType, CopyBulk, NONE, Space};
use crate::report::Fault;

/// Bytes that addresses and sizes are multiples of.
const UNIT: u64 = 16;

/// A bulk copy in flight.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(super) id: CopyId,
    /// The instruction.
    pub(super) pc: Pc,
    pub(super) source: (Region, u64),
    pub(super) destination: (Region, u64),
    pub(super) bytes: u32,
    /// The object that it completes on.
    pub(crate) object: Option<At>,
    /// The thread whose group it is in, and the group.
    pub(super) thread: (u16, u32, u32),
    pub(super) group: u32,
    /// What it does with bytes that are there already.
    pub(super) reduce: Option<(AtomicOp, AtomicType, u32)>,
    /// The source's bytes, and which of them are written, once they are read.
    pub(super) taken: Option<(Vec<u64>, Vec<u64>)>,
    /// The box, for copies of tensors; the addresses then are its first in shared memory and the tensor's.
    pub(super) boxed: Option<Arc<Boxed>>,
}

impl Flight {
    /// A copy between these places that completes on nothing and is in its thread's first group.
    pub(super) fn between(
        pc: Pc,
        source: (Region, u64),
        destination: (Region, u64),
        bytes: u32,
        thread: (u16, u32, u32),
    ) -> Self {
        Self {
            id: CopyId(0),
            pc,
            source,
            destination,
            bytes,
            object: None,
            thread,
            group: 0,
            reduce: None,
            taken: None,
            boxed: None,
        }
    }
}

impl<M: Monitor> Group<'_, M> {
    /// `cp.async.bulk`, `cp.reduce.async.bulk`.
    pub(crate) fn issue_bulk(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let op = self.machine.program.tables.bulks[at as usize];
        let destinations = addresses(&warp.registers, op.destination);
        let sources = addresses(&warp.registers, op.source);
        let sizes = *warp.registers.row32(op.bytes);
        let objects = op.object.map(|object| addresses(&warp.registers, object));
        for lane in lanes_of(mask) {
            let bytes = sizes[lane];
            if !u64::from(bytes).is_multiple_of(UNIT) {
                return Err(self.fault(warp, pc, 1 << lane, Fault::BulkSize { bytes }));
            }
            let source = self.locate(op.source_space, sources[lane]);
            let destination = self.locate(op.destination_space, destinations[lane]);
            let object = match objects {
                Some(addresses) => {
                    Some(self.object(warp, pc, lane, op.destination_space, addresses[lane])?)
                }
                None => None,
            };
            self.check_range(
                warp,
                pc,
                lane,
                source.0,
                source.1,
                bytes.into(),
                UNIT,
                "reads",
            )?;
            if op.multicast == NONE {
                self.check_range(
                    warp,
                    pc,
                    lane,
                    destination.0,
                    destination.1,
                    bytes.into(),
                    UNIT,
                    "writes",
                )?;
                self.fly(warp, pc, lane, &op, source, destination, bytes, object);
                continue;
            }
            // The same offset in each block of the mask, and the object at the same offset there.
            let blocks = warp.registers.row32(op.multicast)[lane];
            for rank in 0..self.blocks.len() as u16 {
                if blocks >> rank & 1 == 0 {
                    continue;
                }
                let destination = (Region::Shared { rank }, destination.1);
                let object = object.map(|(_, offset)| (rank, offset));
                self.check_range(
                    warp,
                    pc,
                    lane,
                    destination.0,
                    destination.1,
                    bytes.into(),
                    UNIT,
                    "writes",
                )?;
                self.fly(warp, pc, lane, &op, source, destination, bytes, object);
            }
        }
        Ok(())
    }

    /// `st.async`, `red.async`: the source is registers, and read at issue.
    pub(crate) fn store_async(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let op = self.machine.program.tables.async_stores[at as usize];
        let list =
            &self.machine.program.tables.lists[op.first as usize..(op.first + op.count) as usize];
        let destinations = addresses(&warp.registers, op.address);
        let objects = addresses(&warp.registers, op.object);
        let bytes = op.bytes * op.count;
        for lane in lanes_of(mask) {
            let destination = self.locate(Space::Cluster, destinations[lane]);
            let object = self.object(warp, pc, lane, Space::Cluster, objects[lane])?;
            self.check_range(
                warp,
                pc,
                lane,
                destination.0,
                destination.1,
                bytes.into(),
                bytes.into(),
                "writes",
            )?;
            let mut words = vec![0u64; bytes.div_ceil(8) as usize];
            for (index, &register) in list.iter().enumerate() {
                if op.bytes == 8 {
                    words[index] = warp.registers.row64(register)[lane];
                } else {
                    words[index / 2] |=
                        u64::from(warp.registers.row32(register)[lane]) << (32 * (index % 2));
                }
            }
            let taken = Some((words, vec![u64::MAX]));
            let thread = (self.rank, self.warp, lane as u32);
            let flight = Flight {
                object: Some(object),
                reduce: op.reduce,
                taken,
                ..Flight::between(pc, (Region::Nowhere, 0), destination, bytes, thread)
            };
            self.take_off(pc, lane, flight);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn fly(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        op: &CopyBulk,
        source: (Region, u64),
        destination: (Region, u64),
        bytes: u32,
        object: Option<At>,
    ) {
        let thread = (self.rank, self.warp, lane as u32);
        let flight = Flight {
            object,
            group: warp.copies.bulk_committed[lane],
            reduce: op.reduce,
            ..Flight::between(pc, source, destination, bytes, thread)
        };
        self.take_off(pc, lane, flight);
    }

    /// Gives a flight its name, tells the monitor, and lets it land when landing is early.
    pub(crate) fn take_off(&mut self, pc: Pc, lane: usize, mut flight: Flight) {
        flight.id = CopyId(self.next_copy);
        self.next_copy += 1;
        let window = |(region, at): (Region, u64)| (region.window().unwrap_or(Window::Global), at);
        let loads = matches!(flight.destination.0, Region::Shared { .. });
        let reads = flight.taken.is_none() && flight.bytes != 0;
        let told = Copy {
            id: flight.id,
            lane: lane as u32,
            kind: if loads {
                CopyKind::BulkLoad
            } else {
                CopyKind::BulkStore
            },
            source: reads.then(|| window(flight.source)),
            source_bytes: if reads { flight.bytes } else { 0 },
            destination: window(flight.destination),
            bytes: flight.bytes,
            mbarrier: flight.object.map(place),
            reduces: flight.reduce.is_some(),
        };
        let site = self.site(pc, 1 << lane);
        match &flight.boxed {
            None => self.monitor.issue(site, &told),
            Some(boxed) => {
                let (global, shared) = (boxed.global_runs(), boxed.shared_runs());
                let (from, to) = if loads {
                    (&global, &shared)
                } else {
                    (&shared, &global)
                };
                self.monitor.issue_box(site, &told, from, to);
            }
        }
        if self.machine.options.landing == Landing::Early {
            self.land_flight(flight);
        } else {
            self.flights.push_back(flight);
        }
    }

    /// Bulk groups older than the newest `allowed` of these lanes land, or have their sources read.
    pub(crate) fn wait_bulk(&mut self, warp: &Warp, allowed: u32, read: bool, mask: u32) {
        let due = |group: &Self, flight: &Flight| {
            let (rank, index, lane) = flight.thread;
            (rank, index) == (group.rank, group.warp)
                && mask >> lane & 1 != 0
                && flight.object.is_none()
                && flight.group.saturating_add(allowed) < warp.copies.bulk_committed[lane as usize]
        };
        for at in 0..if read { self.flights.len() } else { 0 } {
            if !due(self, &self.flights[at]) {
                continue;
            }
            if let Some(mut flight) = self.flights.remove(at) {
                self.take_source(&mut flight);
                self.flights.insert(at, flight);
            }
        }
        if !read {
            let mut at = 0;
            while at < self.flights.len() {
                if due(self, &self.flights[at]) {
                    if let Some(flight) = self.flights.remove(at) {
                        self.land_flight(flight);
                    }
                } else {
                    at += 1;
                }
            }
        }
    }

    /// Lands the oldest flight that `wanted` picks. Whether there was one.
    pub(crate) fn land_flight_where(&mut self, wanted: impl FnMut(&Flight) -> bool) -> bool {
        let Some(at) = self.flights.iter().position(wanted) else {
            return false;
        };
        if let Some(flight) = self.flights.remove(at) {
            self.land_flight(flight);
        }
        true
    }

    /// Who issued a bulk copy in flight that writes some of these bytes of a block's shared memory.
    pub(crate) fn flight_into(&self, rank: u16, bytes: &Range<u64>) -> Option<Party> {
        let here = |flight: &&Flight| {
            let (region, at) = flight.destination;
            let boxed = flight.boxed.as_ref();
            let len = boxed.map_or(flight.bytes, |boxed| boxed.shared_bytes());
            region == Region::Shared { rank } && at < bytes.end && bytes.start < at + u64::from(len)
        };
        let flight = self.flights.iter().find(here)?;
        let (rank, warp, lane) = flight.thread;
        Some(self.party_of((rank, warp), flight.pc, 1 << lane))
    }

    /// Reads the source, if that has not happened.
    fn take_source(&mut self, flight: &mut Flight) {
        if flight.taken.is_some() {
            return;
        }
        if let Some(boxed) = &flight.boxed {
            flight.taken = Some(self.take_box(boxed, flight.source.0));
            return;
        }
        let words = flight.bytes.div_ceil(8) as usize;
        let mut bytes = vec![0u64; words];
        let mut valid = vec![u64::MAX; words.div_ceil(8)];
        let (region, at) = flight.source;
        if let Some(segment) = self.segment(region, at, at + u64::from(flight.bytes)) {
            let from = segment.biased().wrapping_add(at as usize);
            // SAFETY: the range was checked at issue, and segments live as long as the run.
            unsafe { copy(from, bytes.as_mut_ptr().cast(), flight.bytes as usize) };
            if !segment.valid.is_null() {
                for (index, word) in valid.iter_mut().enumerate() {
                    let done = index as u64 * 64;
                    let len = (u64::from(flight.bytes) - done).min(64) as u32;
                    *word = segment.valid_bits(at + done, len);
                }
            }
        }
        flight.taken = Some((bytes, valid));
    }

    /// Reads the source, writes the destination, and says so to the object.
    fn land_flight(&mut self, mut flight: Flight) {
        self.take_source(&mut flight);
        self.writes += 1;
        let (region, at) = flight.destination;
        let len = u64::from(flight.bytes);
        if let (Some(boxed), Some((bytes, valid))) = (&flight.boxed, &flight.taken) {
            self.put_box(boxed, region, (bytes, valid), flight.reduce);
        } else if let (Some(segment), Some((bytes, valid))) =
            (self.segment(region, at, at + len), &flight.taken)
        {
            let to = segment.biased().wrapping_add(at as usize);
            match flight.reduce {
                // SAFETY: the range was checked at issue, and segments live as long as the run.
                None => unsafe { copy(bytes.as_ptr().cast(), to, flight.bytes as usize) },
                Some((op, ty, size)) => reduce(
                    to,
                    bytes,
                    flight.bytes,
                    op,
                    ty,
                    size,
                    region == Region::Global,
                ),
            }
            spread_valid(&segment, at, len, valid, region == Region::Global);
        }
        if let Some(object) = flight.object {
            self.deliver(object, flight.bytes, flight.id);
        }
    }
}

/// Says of the destination which bytes are written.
fn spread_valid(segment: &Segment, at: u64, len: u64, valid: &[u64], shared: bool) {
    if segment.valid.is_null() {
        return;
    }
    for (index, word) in valid.iter().enumerate() {
        let done = index as u64 * 64;
        let len = (len - done).min(64) as u32;
        if shared {
            // Other workers may mark neighbours; unwritten bytes that were written before stay so.
            if word & low_bits(len) == low_bits(len) {
                segment.mark_valid(at + done, len, true);
            }
        } else {
            segment.set_valid(at + done, len, word & low_bits(len));
        }
    }
}

/// `cp.reduce.async.bulk`: each element atomically.
pub(super) fn reduce(
    to: *mut u8,
    bytes: &[u64],
    len: u32,
    op: AtomicOp,
    ty: AtomicType,
    size: u32,
    global: bool,
) {
    for at in (0..len).step_by(size as usize) {
        let operand = bytes[at as usize / 8] >> (8 * (at % 8)) & low_bits(8 * size);
        let new = |old: u64| super::atomic::apply(op, ty, size, old, operand, 0, global);
        // SAFETY: the range was checked at issue, and elements are aligned in it.
        unsafe { super::atomic::update(to.wrapping_add(at as usize), size, new) };
    }
}
