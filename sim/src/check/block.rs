//! Watches one block: turns events into knowledge, records and hazards.

use std::collections::BTreeMap;

use crate::event::{
    Access, AccessKind, BarrierRole, Copy, CopyKind, ElementCopies, Groups, Monitor, Ordering, Pc,
    Site, Window,
};
use crate::finding::Class;

use super::Checker;
use super::copies::{Batch, BatchId, Batches, Sequence};
use super::hazard::{Accused, Deed, Fact, Hazard, Place, Suspect, ThreadId, judge, outstanding};
use super::ledger::Ledger;
use super::lines::{by_number, each_line, each_line_of_run};
use super::record::{Actor, Footprint, LINE, Record, Strength, bits};
use super::shadow::{self, GlobalLines, Viewer};
use super::tally::WaitTally;
use super::threads::Threads;

/// The group sequences of one warp, and how much it has read or written so far.
#[derive(Debug, Default)]
struct Sequences {
    element: Sequence,
    bulk: Sequence,
    /// Ordinary accesses of the warp.
    work: u64,
}

impl Sequences {
    fn of(&mut self, groups: Groups) -> &mut Sequence {
        match groups {
            Groups::Element => &mut self.element,
            Groups::Bulk { .. } => &mut self.bulk,
        }
    }

    fn committed(&self, batch: &Batch, lane: u32) -> u32 {
        match batch.kind {
            CopyKind::Element => self.element.committed(lane),
            CopyKind::BulkLoad | CopyKind::BulkStore => self.bulk.committed(lane),
        }
    }
}

/// What one block's monitor found; the checker puts the blocks together.
#[derive(Debug)]
pub struct BlockReport {
    pub(crate) first_block: u64,
    pub(crate) hazards: Vec<(Hazard, u64)>,
    pub(crate) waits: BTreeMap<Pc, WaitTally>,
}

/// Watches one block, or all blocks of one cluster.
#[derive(Debug)]
pub struct BlockMonitor<'a> {
    checker: &'a Checker,
    first_block: u64,
    threads: Threads,
    batches: Batches,
    sequences: Vec<Sequences>,
    shared: Vec<shadow::Window>,
    global: GlobalLines,
    ledger: Ledger,
    waits: BTreeMap<Pc, WaitTally>,
}

impl<'a> BlockMonitor<'a> {
    pub(crate) fn new(checker: &'a Checker, first_block: u64) -> Self {
        let warps = checker.shape.warps();
        Self {
            checker,
            first_block,
            threads: Threads::new((0..warps).map(|warp| checker.shape.lanes_of(warp))),
            batches: Batches::default(),
            sequences: (0..warps).map(|_| Sequences::default()).collect(),
            shared: (0..checker.shape.cluster)
                .map(|_| shadow::Window::default())
                .collect(),
            global: GlobalLines::default(),
            ledger: Ledger::default(),
            waits: BTreeMap::new(),
        }
    }

    /// Ends the watch.
    #[must_use]
    pub fn finish(self) -> BlockReport {
        BlockReport {
            first_block: self.first_block,
            hazards: self.ledger.into_list(),
            waits: self.waits,
        }
    }

    /// Checks one access to one line, and remembers it.
    fn touch(&mut self, place: Place, line: u64, record: Record, deed: Deed, group: Option<u32>) {
        let viewer = Viewer {
            warp: record.warp,
            block_warps: self.checker.shape.block_warps() as u16,
            known: &self.threads.warp(u32::from(record.warp)).known,
            batches: &self.batches,
            common: self.threads.common(),
            keep: self.checker.listing.bulk_copies,
        };
        let shadow = match place {
            Place::Shared(rank) => self.shared[usize::from(rank)].line(line),
            Place::Global => self.global.line(line),
        };
        let writes = matches!(deed, Deed::Write | Deed::Atomic | Deed::CopyInto(_));
        let accused = Accused {
            record: &record,
            deed,
            group,
            place,
            line: line * LINE,
        };
        let (sequences, ledger) = (&self.sequences, &mut self.ledger);
        shadow.clashes(&record, writes, viewer, |clash| {
            ledger.add(judge(&clash, accused, viewer, |batch, lane| {
                sequences[usize::from(batch.warp)].committed(batch, lane)
            }));
        });
        if !matches!(deed, Deed::Write | Deed::CopyInto(_)) && place != Place::Global {
            let missing = record.print.bytes & !shadow.written;
            if missing != 0 {
                ledger.add(uninitialised(accused, missing));
                // Once is enough: the same bytes are not reported by every reader.
                shadow.written |= missing;
            }
        }
        if writes {
            shadow.write(record, viewer);
        } else {
            shadow.read(record, viewer);
        }
    }

    /// Two lanes of one instruction write the same byte.
    fn same_instruction(&mut self, place: Place, line: u64, record: &Record, deed: Deed) {
        let Some((byte, a, b)) = record.print.shared_byte() else {
            return;
        };
        let class = match deed {
            Deed::CopyInto(CopyKind::Element) => Class::OverlappingCopies,
            Deed::CopyInto(_) => Class::UnelectedIssue,
            _ => Class::WarpRace,
        };
        let suspect = |lane: u32| Suspect {
            pc: record.pc,
            thread: ThreadId {
                warp: record.warp,
                lane: lane as u8,
            },
            deed,
            group: None,
        };
        let from = line * LINE + u64::from(byte);
        self.ledger.add(Hazard {
            class,
            certain: class != Class::WarpRace,
            place: Some(place),
            bytes: from..from + 1,
            first: Some(suspect(a)),
            second: suspect(b),
            facts: vec![Fact::SameInstruction],
        });
    }

    fn record(&mut self, site: Site, print: Footprint, actor: Actor, strength: Strength) -> Record {
        Record {
            print,
            tick: self.threads.event(),
            pc: site.pc,
            warp: site.warp as u16,
            actor,
            strength,
            atomic: false,
            prior_readers: 0,
            prior_content: false,
        }
    }

    /// Records what a batch reads or writes at its lanes' addresses.
    fn touch_elements(
        &mut self,
        site: Site,
        batch: BatchId,
        (place, addresses, bytes): (Place, &[u64; 32], u32),
        deed: Deed,
        group: u32,
    ) {
        let weak = Strength {
            scope: None,
            size: bytes as u8,
        };
        each_line(addresses, site.mask, bytes, |line, print| {
            let record = self.record(site, print, Actor::Copy(batch), weak);
            if matches!(deed, Deed::CopyInto(_)) {
                self.same_instruction(place, line, &record, deed);
            }
            self.touch(place, line, record, deed, Some(group));
        });
    }

    /// The window as a place; global memory is one.
    fn place(window: Window) -> Place {
        match window {
            Window::Global => Place::Global,
            Window::Shared { rank } => Place::Shared(rank),
        }
    }
}

/// Bytes that nobody wrote were read.
fn uninitialised(accused: Accused<'_>, missing: u128) -> Hazard {
    let first = missing.trailing_zeros();
    let count = (missing >> first).trailing_ones();
    let lane = bits(missing).next().map_or(0, |byte| {
        accused.record.print.lanes.at(byte).trailing_zeros()
    });
    let from = accused.line + u64::from(first);
    Hazard {
        class: Class::UninitializedRead,
        certain: false,
        place: Some(accused.place),
        bytes: from..from + u64::from(count),
        first: None,
        second: Suspect {
            pc: accused.record.pc,
            thread: ThreadId {
                warp: accused.record.warp,
                lane: lane as u8,
            },
            deed: accused.deed,
            group: accused.group,
        },
        facts: Vec::new(),
    }
}

impl Monitor for BlockMonitor<'_> {
    fn access(&mut self, site: Site, access: &Access<'_>) {
        if site.mask == 0 {
            return;
        }
        self.sequences[site.warp as usize].work += 1;
        let place = Self::place(access.window);
        let (deed, atomic) = match access.kind {
            AccessKind::Read => (Deed::Read, false),
            AccessKind::Write => (Deed::Write, false),
            AccessKind::Atomic | AccessKind::Reduction => (Deed::Atomic, true),
        };
        let strength = Strength {
            scope: (access.ordering != Ordering::Weak || atomic).then_some(access.scope),
            size: access.bytes as u8,
        };
        each_line(access.addresses, site.mask, access.bytes, |line, print| {
            let mut record = self.record(site, print, Actor::Thread, strength);
            record.atomic = atomic;
            if deed == Deed::Write && strength.scope.is_none() {
                self.same_instruction(place, line, &record, deed);
            }
            self.touch(place, line, record, deed, None);
        });
    }

    fn issue(&mut self, site: Site, copy: &Copy) {
        let lanes = 1 << copy.lane;
        let site = Site {
            mask: lanes,
            ..site
        };
        let groups = match copy.kind {
            CopyKind::Element => Groups::Element,
            CopyKind::BulkLoad | CopyKind::BulkStore => Groups::Bulk { read: false },
        };
        let now = self.threads.event();
        let sequences = &mut self.sequences[site.warp as usize];
        let work = sequences.work;
        let sequence = sequences.of(groups);
        let group = sequence.committed(copy.lane);
        let batch = self.batches.issue(
            site.pc,
            site.warp as u16,
            lanes,
            copy.kind,
            now,
            group,
            work,
        );
        if copy.kind != CopyKind::BulkLoad {
            sequence.push(batch, lanes);
        }
        let group = (copy.kind != CopyKind::BulkLoad).then_some(group);
        let weak = Strength {
            scope: None,
            size: u8::MAX,
        };
        if let Some((window, from)) = copy.source {
            each_line_of_run(copy.lane, from, copy.source_bytes, |line, print| {
                let record = self.record(site, print, Actor::Copy(batch), weak);
                let deed = Deed::CopyFrom(copy.kind);
                self.touch(Self::place(window), line, record, deed, group);
            });
        }
        let (window, from) = copy.destination;
        each_line_of_run(copy.lane, from, copy.bytes, |line, print| {
            let record = self.record(site, print, Actor::Copy(batch), weak);
            let deed = Deed::CopyInto(copy.kind);
            self.touch(Self::place(window), line, record, deed, group);
        });
    }

    fn issue_elements(&mut self, site: Site, copies: &ElementCopies<'_>) {
        let now = self.threads.event();
        let warp = site.warp as usize;
        let running = *self.sequences[warp].element.running();
        by_number(&running, site.mask, |group, lanes| {
            let site = Site {
                mask: lanes,
                ..site
            };
            let work = self.sequences[warp].work;
            let kind = CopyKind::Element;
            let batch = self
                .batches
                .issue(site.pc, warp as u16, lanes, kind, now, group, work);
            self.sequences[warp].element.push(batch, lanes);
            by_number(copies.source_bytes, lanes, |bytes, readers| {
                let site = Site {
                    mask: readers,
                    ..site
                };
                let from = (Place::Global, copies.sources, bytes);
                self.touch_elements(site, batch, from, Deed::CopyFrom(kind), group);
            });
            let into = (
                Place::Shared(copies.rank),
                copies.destinations,
                copies.bytes,
            );
            self.touch_elements(site, batch, into, Deed::CopyInto(kind), group);
        });
    }

    fn commit(&mut self, site: Site, groups: Groups) {
        self.sequences[site.warp as usize]
            .of(groups)
            .commit(site.mask);
    }

    fn wait(&mut self, site: Site, groups: Groups, pending: Option<u32>) {
        let now = self.threads.event();
        let sequences = &mut self.sequences[site.warp as usize];
        let work = sequences.work;
        let sequence = sequences.of(groups);
        if pending.is_none() {
            sequence.commit(site.mask);
        }
        let allowed = pending.unwrap_or(0);
        let effect = sequence.wait(&mut self.batches, site.pc, site.mask, groups, allowed, now);
        if !effect.used {
            return;
        }
        let immediate = effect
            .newest
            .and_then(|newest| self.batches.get(newest))
            .is_some_and(|newest| newest.work == work);
        let suspect = Suspect {
            pc: site.pc,
            thread: ThreadId {
                warp: site.warp as u16,
                lane: site.mask.trailing_zeros() as u8,
            },
            deed: Deed::Wait(pending),
            group: None,
        };
        let tally = self
            .waits
            .entry(site.pc)
            .or_insert_with(|| WaitTally::new(suspect));
        tally.count(&effect, immediate, site.warp as u16);
    }

    fn barrier_arrive(&mut self, site: Site, id: u32, role: BarrierRole, _threads: u32) {
        self.threads
            .barrier_arrive(id, site, role == BarrierRole::Sync);
    }

    fn barrier_complete(&mut self, id: u32) {
        if self.threads.barrier_complete(id) {
            self.batches.retire(self.threads.common());
        }
    }

    fn warp_sync(&mut self, site: Site) {
        self.threads.warp_sync(site);
    }

    fn exit(&mut self, site: Site) {
        let sequences = &self.sequences[site.warp as usize];
        let open = sequences
            .element
            .open(site.mask)
            .chain(sequences.bulk.open(site.mask));
        for (id, lanes) in open {
            let Some(batch) = self.batches.get(id) else {
                continue;
            };
            self.ledger
                .add(outstanding(batch, lanes.trailing_zeros() as u8, site.pc));
        }
        self.threads.exit(site);
    }
}
