//! The quick path: most accesses of a well-synchronised kernel meet nothing that anybody could still be unordered with.
//!
//! For every line there is a summary: the latest tick and copy that read and wrote it. An access whose line is quiet (all of that is common knowledge)
//! cannot clash, so it is only logged. The log is played into the shadow when an access does meet something, and forgotten at the next barrier of all threads.

use smallvec::SmallVec;

use crate::event::Pc;

use super::clock::Tick;
use super::copies::{BatchId, Batches};
use super::hazard::{Deed, Place};
use super::lines::{each_line, is_run};
use super::record::{Actor, Bytes, Footprint, LINE, Record, Strength, lanes};

/// Accesses that are logged before the log is played without need.
const LOGGED: usize = 4096;
/// Entries of the table of summaries for global memory; lines that share one only take the slow path more often.
const TABLE: usize = 1 << 12;

/// The latest of what a line has seen. Copies are kept as the id after theirs, zero for none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    reads: Tick,
    writes: Tick,
    copies_from: BatchId,
    copies_into: BatchId,
}

impl Summary {
    /// Whether nothing that it has seen can clash with the deed.
    #[inline]
    pub(crate) fn is_quiet(&self, deed: Deed, common: Tick, oldest: BatchId) -> bool {
        let writes = self.writes <= common && self.copies_into <= oldest;
        if deed.writes() {
            writes && self.reads <= common && self.copies_from <= oldest
        } else {
            writes
        }
    }

    /// Takes note of an access.
    #[inline]
    pub(crate) fn note(&mut self, deed: Deed, tick: Tick, actor: Actor) {
        match (actor, deed.writes()) {
            (Actor::Thread, true) => self.writes = self.writes.max(tick),
            (Actor::Thread, false) => self.reads = self.reads.max(tick),
            (Actor::Copy(batch), true) => self.copies_into = self.copies_into.max(batch + 1),
            (Actor::Copy(batch), false) => self.copies_from = self.copies_from.max(batch + 1),
        }
    }
}

/// What is known of a line of shared memory without looking into its shadow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedSummary {
    /// For the quick path.
    pub(crate) summary: Summary,
    /// One bit for each warp (by its number modulo 32) that read since the last write.
    pub(crate) readers: u32,
    /// Whether anything was ever written, or is the destination of a copy.
    pub(crate) filled: bool,
    /// Bytes of live mbarrier objects.
    pub(crate) objects: Bytes,
}

/// Summaries of global memory, by a hash of the line.
#[derive(Debug)]
pub(crate) struct GlobalSummaries {
    table: Box<[Summary]>,
}

impl Default for GlobalSummaries {
    fn default() -> Self {
        Self {
            table: vec![Summary::default(); TABLE].into_boxed_slice(),
        }
    }
}

impl GlobalSummaries {
    /// The summary that stands for the line.
    #[inline]
    pub(crate) fn line(&mut self, line: u64) -> &mut Summary {
        let hash = line ^ line >> 12 ^ line >> 24;
        &mut self.table[hash as usize % TABLE]
    }
}

/// An access of the lanes of one warp, whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    /// The memory.
    pub(crate) place: Place,
    /// What is done.
    pub(crate) deed: Deed,
    /// The instruction.
    pub(crate) pc: Pc,
    /// How many times the warp has come to it.
    pub(crate) execution: u32,
    /// The warp.
    pub(crate) warp: u16,
    /// Its lanes.
    pub(crate) mask: u32,
    /// First byte by lane.
    pub(crate) addresses: &'a [u64; 32],
    /// Bytes a lane.
    pub(crate) size: u32,
    /// The threads or their copies.
    pub(crate) actor: Actor,
    /// When.
    pub(crate) tick: Tick,
    /// Scope of a strong access.
    pub(crate) strength: Strength,
    /// The group of copies that groups complete.
    pub(crate) group: Option<u32>,
}

impl Visit<'_> {
    /// The first and the last line, if the lanes are neighbours that touch neighbouring elements.
    #[inline(always)]
    pub(crate) fn run(&self) -> Option<(u64, u64)> {
        if !is_run(self.addresses, self.mask, self.size) {
            return None;
        }
        let first = self.mask.trailing_zeros() as usize;
        let from = self.addresses[first];
        let bytes = u64::from(self.mask.count_ones() * self.size);
        Some((from / LINE, (from + bytes - 1) / LINE))
    }

    /// Every line that the lanes touch, once.
    #[inline(always)]
    pub(crate) fn lines(&self, mut each: impl FnMut(u64)) {
        let (mut low, mut high) = (u64::MAX, 0);
        for (lane, &address) in self.addresses.iter().enumerate() {
            let here = self.mask >> lane & 1 == 1;
            low = low.min(if here { address } else { u64::MAX });
            high = high.max(if here { address } else { 0 });
        }
        let low = low / LINE;
        let span = high.saturating_add(u64::from(self.size) - 1) / LINE - low;
        if span < 64 {
            let mut set = 0u64;
            for (lane, &address) in self.addresses.iter().enumerate() {
                let here = u64::from(self.mask >> lane & 1);
                // An access that keeps its alignment has its bytes in one line.
                set |= here << ((address / LINE).wrapping_sub(low) & 63);
                set |= here
                    << ((address.wrapping_add(u64::from(self.size) - 1) / LINE).wrapping_sub(low)
                        & 63);
            }
            while set != 0 {
                each(low + u64::from(set.trailing_zeros()));
                set &= set - 1;
            }
            return;
        }
        let mut seen = SmallVec::<[u64; 32]>::new();
        for lane in lanes(self.mask) {
            let from = self.addresses[lane as usize];
            for line in from / LINE..=from.saturating_add(u64::from(self.size) - 1) / LINE {
                if !seen.contains(&line) {
                    seen.push(line);
                    each(line);
                }
            }
        }
    }

    /// The record of it in one line.
    pub(crate) fn record(&self, print: Footprint, prior: Prior) -> Record {
        Record {
            print,
            tick: self.tick,
            pc: self.pc,
            execution: self.execution,
            warp: self.warp,
            actor: self.actor,
            strength: self.strength,
            atomic: self.deed == Deed::Atomic,
            prior,
        }
    }
}

/// What a write replaced, for telling whether a reader was still entitled to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prior {
    /// One bit for each warp (by its number modulo 32) that had read it.
    pub(crate) readers: u32,
    /// Whether all of it held something.
    pub(crate) content: bool,
}

impl Prior {
    /// Before anything was replaced.
    pub(crate) const NOTHING: Self = Self {
        readers: 0,
        content: true,
    };

    /// Of several lines together.
    pub(crate) fn add(&mut self, other: Self) {
        self.readers |= other.readers;
        self.content &= other.content;
    }
}

/// Where the lanes of a logged access are.
#[derive(Clone, Debug)]
enum Shape {
    /// At the address of the lowest lane and after it.
    Run(u64),
    /// Anywhere: at the log's addresses of this number.
    Scattered(usize),
}

#[derive(Clone, Debug)]
struct Entry {
    place: Place,
    deed: Deed,
    pc: Pc,
    execution: u32,
    warp: u16,
    mask: u32,
    size: u32,
    actor: Actor,
    tick: Tick,
    strength: Strength,
    prior: Prior,
    shape: Shape,
}

/// Accesses that the shadow does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    addresses: Vec<[u64; 32]>,
}

impl Log {
    /// Adds an access that clashes with nothing. Returns whether the log should be played.
    pub(crate) fn push(&mut self, visit: &Visit<'_>, run: bool, prior: Prior) -> bool {
        let shape = if run {
            Shape::Run(visit.addresses[visit.mask.trailing_zeros() as usize])
        } else {
            self.addresses.push(*visit.addresses);
            Shape::Scattered(self.addresses.len() - 1)
        };
        self.entries.push(Entry {
            place: visit.place,
            deed: visit.deed,
            pc: visit.pc,
            execution: visit.execution,
            warp: visit.warp,
            mask: visit.mask,
            size: visit.size,
            actor: visit.actor,
            tick: visit.tick,
            strength: visit.strength,
            prior,
            shape,
        });
        self.entries.len() >= LOGGED
    }

    /// Forgets what became common knowledge.
    pub(crate) fn forget(&mut self, batches: &Batches) {
        self.entries.retain(|entry| match entry.actor {
            Actor::Thread => false,
            Actor::Copy(batch) => batches.get(batch).is_some(),
        });
        let mut kept = Vec::new();
        for entry in &mut self.entries {
            if let Shape::Scattered(at) = &mut entry.shape {
                kept.push(self.addresses[*at]);
                *at = kept.len() - 1;
            }
        }
        self.addresses.clear();
        self.addresses.append(&mut kept);
    }

    /// Takes all out, line by line, in order.
    pub(crate) fn play(&mut self, mut visit: impl FnMut(Place, u64, Deed, Record)) {
        let all = &self.addresses;
        for entry in self.entries.drain(..) {
            let mut run = [0; 32];
            let addresses = match &entry.shape {
                Shape::Run(from) => {
                    let first = u64::from(entry.mask.trailing_zeros());
                    let base = from.wrapping_sub(first * u64::from(entry.size));
                    for (lane, address) in run.iter_mut().enumerate() {
                        *address = base.wrapping_add(lane as u64 * u64::from(entry.size));
                    }
                    &run
                }
                Shape::Scattered(at) => &all[*at],
            };
            let whole = Visit {
                place: entry.place,
                deed: entry.deed,
                pc: entry.pc,
                execution: entry.execution,
                warp: entry.warp,
                mask: entry.mask,
                addresses,
                size: entry.size,
                actor: entry.actor,
                tick: entry.tick,
                strength: entry.strength,
                group: None,
            };
            each_line(addresses, entry.mask, entry.size, |line, print| {
                visit(
                    entry.place,
                    line,
                    entry.deed,
                    whole.record(print, entry.prior),
                );
            });
        }
    }
}
