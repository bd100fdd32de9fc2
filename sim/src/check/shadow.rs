//! Shadow memory: for every 128-byte line, who wrote it last and who read it since.
//!
//! [`Line::clashes`] finds accesses that overlap and are not ordered; which of them are hazards, and of which class, is not decided here.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::event::Scope;

use super::clock::{Clock, Tick};
use super::copies::{Batches, Side};
use super::notes::BlockNotes;
use super::quick::{GlobalSummaries, Prior, SharedSummary};
use super::record::{Actor, Lanes, Record, Strength, bits, lanes};
use super::threads::Known;

/// Records of one kind that a line keeps at most; the oldest goes first, which may miss a hazard and never invents one.
const KEPT: usize = 64;

/// Reads of one line by different instructions that are told apart.
const DISTINCT: usize = 16;

/// Who makes an access, as far as order is concerned.
#[derive(Clone, Copy)]
pub(crate) struct Viewer<'a> {
    /// The warp.
    pub(crate) warp: u16,
    /// Warps of a block; warps of a cluster are numbered through.
    pub(crate) block_warps: u16,
    /// What its lanes know.
    pub(crate) known: &'a Known,
    /// All copies.
    pub(crate) batches: &'a Batches,
    /// Everybody knows everything up to here.
    pub(crate) common: Tick,
    /// Whether records that everybody knows must stay, because a copy through the async proxy may still ask for a fence.
    pub(crate) keep: bool,
}

/// An earlier access that the new one is not ordered after.
#[derive(Clone, Debug)]
pub(crate) struct Clash {
    /// First byte in the line and how many.
    pub(crate) bytes: (u32, u32),
    /// Lane of the earlier access.
    pub(crate) earlier_lane: u32,
    /// Lane of the new access.
    pub(crate) lane: u32,
    /// The earlier access, without its table.
    pub(crate) earlier: Earlier,
}

/// The facts of a record that a rule or a report needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    /// Whether it wrote.
    pub(crate) wrote: bool,
    /// When.
    pub(crate) tick: Tick,
    /// The instruction.
    pub(crate) pc: u32,
    /// How many times the warp had come to it.
    pub(crate) execution: u32,
    /// The warp.
    pub(crate) warp: u16,
    /// The threads or their copies.
    pub(crate) actor: Actor,
    /// Whether it is a read-modify-write.
    pub(crate) atomic: bool,
    /// What was there before it.
    pub(crate) prior: Prior,
}

impl Earlier {
    fn of(record: &Record, wrote: bool) -> Self {
        Self {
            wrote,
            tick: record.tick,
            pc: record.pc,
            execution: record.execution,
            warp: record.warp,
            actor: record.actor,
            atomic: record.atomic,
            prior: record.prior,
        }
    }
}

/// Shadow of 128 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    writes: SmallVec<[Record; 1]>,
    reads: SmallVec<[Record; 1]>,
}

/// Whether two strong accesses of different threads exclude a race by themselves.
fn morally_strong(a: Strength, b: Strength, same_block: bool) -> bool {
    match (a.scope, b.scope) {
        (Some(a_scope), Some(b_scope)) => {
            a.size == b.size && (same_block || (a_scope > Scope::Cta && b_scope > Scope::Cta))
        }
        _ => false,
    }
}

impl Line {
    /// Calls `found` for each earlier access that overlaps `new` and is not ordered before it: writes, and for a new write reads too.
    pub(crate) fn clashes(
        &self,
        new: &Record,
        writes: bool,
        viewer: Viewer<'_>,
        mut found: impl FnMut(Clash),
    ) {
        for record in &self.writes {
            if let Some(clash) = clash(record, true, new, viewer) {
                found(clash);
            }
        }
        if writes {
            for record in &self.reads {
                if let Some(clash) = clash(record, false, new, viewer) {
                    found(clash);
                }
            }
        }
    }

    /// Earlier accesses through the generic proxy that overlap `new`, for the rule about proxy fences.
    pub(crate) fn overlapping<'s>(
        &'s self,
        new: &'s Record,
        writes: bool,
    ) -> impl Iterator<Item = (&'s Record, bool)> + 's {
        let reads = self.reads.iter().filter(move |_| writes);
        self.writes
            .iter()
            .map(|record| (record, true))
            .chain(reads.map(|record| (record, false)))
            .filter(|(record, _)| record.print.bytes & new.print.bytes != 0)
    }

    /// Remembers a write. What it covers is history: whoever is ordered after it is ordered after that, or it was told that the two race.
    ///
    /// Of two atomics neither holds, so one covers another only where its lanes made both.
    pub(crate) fn write(&mut self, new: Record, viewer: Viewer<'_>) {
        let covered = new.print.bytes;
        let same = |record: &&mut Record| record.is_same_moment(&new) && record.pc == new.pc;
        if let Some(same) = self.writes.iter_mut().find(same) {
            same.print.merge(&new.print);
            return;
        }
        let block = new.warp / viewer.block_warps;
        let outlives = |record: &Record| {
            let same_block = record.warp / viewer.block_warps == block;
            morally_strong(record.strength, new.strength, same_block) && !new.follows(record)
        };
        for records in [&mut self.reads, &mut self.writes] {
            records.retain(|record| {
                if !outlives(record) {
                    record.print.bytes &= !covered;
                }
                record.print.bytes != 0 && !viewer.is_history(record)
            });
        }
        keep(&mut self.writes, new);
    }

    /// Remembers a read.
    pub(crate) fn read(&mut self, new: Record, viewer: Viewer<'_>) {
        // Up to a number, instructions keep their own record, so that a report names the right line; beyond that the latest stands for all.
        let crowded = self.reads.len() >= DISTINCT;
        let same =
            |record: &&mut Record| record.is_same_moment(&new) && (crowded || record.pc == new.pc);
        if let Some(same) = self.reads.iter_mut().find(same) {
            if same.print != new.print {
                same.print.merge(&new.print);
            }
            (same.pc, same.execution) = (new.pc, new.execution);
            return;
        }
        self.reads.retain(|record| {
            if viewer.is_history(record) {
                return false;
            }
            if new.follows(record) {
                record.print.bytes &= !new.print.bytes;
            }
            record.print.bytes != 0
        });
        keep(&mut self.reads, new);
    }
}

impl Record {
    /// Whether `other` is the same actor at the same time, so that one record can hold both.
    fn is_same_moment(&self, other: &Self) -> bool {
        self.tick == other.tick
            && self.warp == other.warp
            && self.actor == other.actor
            && self.strength == other.strength
            && self.atomic == other.atomic
    }

    /// Whether the lanes that touch a byte here are those that did in `earlier`, so that each comes after itself.
    fn follows(&self, earlier: &Self) -> bool {
        self.actor == Actor::Thread
            && earlier.actor == Actor::Thread
            && self.warp == earlier.warp
            && self.print.lanes == earlier.print.lanes
    }
}

fn keep(records: &mut SmallVec<[Record; 1]>, new: Record) {
    if records.len() == KEPT {
        records.remove(0);
    }
    records.push(new);
}

impl Viewer<'_> {
    /// Whether every thread knows the record, so that no access can clash with it.
    fn is_history(&self, record: &Record) -> bool {
        match record.actor {
            Actor::Thread => record.tick <= self.common && !self.keep,
            Actor::Copy(batch) => self.batches.get(batch).is_none(),
        }
    }

    /// Those of `earlier`'s lanes that some lane with this clock is not ordered after; `own` says that each lane meets only itself.
    fn unknown_to_all(&self, earlier: &Record, wrote: bool, clock: &Clock, own: bool) -> u32 {
        match earlier.actor {
            Actor::Thread => {
                earlier.print.mask & !clock.known(earlier.warp, earlier.print.mask, earlier.tick)
            }
            Actor::Copy(batch) => {
                let side = if wrote {
                    Side::Destination
                } else {
                    Side::Source
                };
                self.batches
                    .unknown_to_all(batch, side, earlier.print.mask, clock, own)
            }
        }
    }

    /// Those of `earlier`'s lanes that `lane` is not ordered after.
    pub(crate) fn unknown_lanes(&self, earlier: &Record, wrote: bool, lane: u32) -> u32 {
        let clock = &self.known.of(lane).order;
        match earlier.actor {
            Actor::Thread => {
                let mut unknown = earlier.print.mask
                    & !clock.known(earlier.warp, earlier.print.mask, earlier.tick);
                if earlier.warp == self.warp {
                    unknown &= !(1 << lane);
                }
                unknown
            }
            Actor::Copy(batch) => {
                let side = if wrote {
                    Side::Destination
                } else {
                    Side::Source
                };
                self.batches
                    .unknown_to(batch, side, earlier.print.mask, clock, self.warp, lane)
            }
        }
    }
}

/// The first bytes where a lane of `new` is not ordered after a lane of `earlier`.
fn clash(earlier: &Record, wrote: bool, new: &Record, viewer: Viewer<'_>) -> Option<Clash> {
    let overlap = earlier.print.bytes & new.print.bytes;
    if overlap == 0 {
        return None;
    }
    let same_block = earlier.warp / viewer.block_warps == new.warp / viewer.block_warps;
    if morally_strong(earlier.strength, new.strength, same_block) {
        return None;
    }
    if earlier.actor == Actor::Thread {
        if earlier.tick <= viewer.common {
            return None;
        }
        let own = earlier.warp == new.warp
            && earlier.print.lanes == new.print.lanes
            && matches!(earlier.print.lanes, Lanes::Affine { .. });
        if own {
            return None;
        }
    }
    if let Known::Same(known) = viewer.known {
        let same_lanes = earlier.warp == new.warp
            && earlier.print.lanes == new.print.lanes
            && matches!(earlier.print.lanes, Lanes::Affine { .. });
        if viewer.unknown_to_all(earlier, wrote, &known.order, same_lanes) == 0 {
            return None;
        }
    }
    // Each lane's view is asked for once; a warp that agrees has one view, apart from each lane's own past.
    let mut asked = 0u32;
    let mut unknown = [0u32; 32];
    let mut last = None;
    let mut hit: Option<(u32, u32, u32, u32)> = None;
    for byte in bits(overlap) {
        let pair = (earlier.print.lanes.at(byte), new.print.lanes.at(byte));
        if let Some((from, count, a, b)) = &mut hit {
            if *from + *count == byte && pair.0 >> *a & 1 == 1 && pair.1 >> *b & 1 == 1 {
                *count += 1;
                continue;
            }
            break;
        }
        if last == Some(pair) {
            continue;
        }
        last = Some(pair);
        for lane in lanes(pair.1) {
            if asked >> lane & 1 == 0 {
                asked |= 1 << lane;
                unknown[lane as usize] = viewer.unknown_lanes(earlier, wrote, lane);
            }
            let culprits = unknown[lane as usize] & pair.0;
            if culprits != 0 {
                hit = Some((byte, 1, culprits.trailing_zeros(), lane));
                break;
            }
        }
    }
    hit.map(|(from, count, earlier_lane, lane)| Clash {
        bytes: (from, count),
        earlier_lane,
        lane,
        earlier: Earlier::of(earlier, wrote),
    })
}

/// One window of shared memory, made as it is touched.
#[derive(Debug, Default)]
pub(crate) struct Window {
    summaries: Vec<SharedSummary>,
    lines: Vec<Line>,
}

impl Window {
    /// The summary of a line.
    #[inline]
    pub(crate) fn summary(&mut self, line: u64) -> &mut SharedSummary {
        let line = line as usize;
        if line >= self.summaries.len() {
            self.summaries.resize(line + 1, SharedSummary::default());
        }
        &mut self.summaries[line]
    }

    /// The shadow of a line.
    pub(crate) fn line(&mut self, line: u64) -> &mut Line {
        let line = line as usize;
        if line >= self.lines.len() {
            self.lines.resize_with(line + 1, Line::default);
        }
        &mut self.lines[line]
    }
}

/// The lines of global memory that one block touched.
#[derive(Debug, Default)]
pub(crate) struct GlobalLines {
    /// For the quick path.
    pub(crate) summaries: GlobalSummaries,
    /// For other blocks.
    pub(crate) notes: BlockNotes,
    lines: HashMap<u64, Line>,
}

impl GlobalLines {
    /// The shadow of a line.
    pub(crate) fn line(&mut self, line: u64) -> &mut Line {
        self.lines.entry(line).or_default()
    }
}
