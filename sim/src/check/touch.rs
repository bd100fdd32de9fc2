//! One access of a warp: the quick path where nothing can clash; else line by line ask the shadow, judge what clashes, remember the access.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::event::{CopyKind, Scope};
use crate::finding::Class;

use super::block::BlockMonitor;
use super::global::Foreign;
use super::hazard::{
    Accused, Deed, Fact, Hazard, Place, Scene, Suspect, ThreadId, judge, judge_proxies,
};
use super::lines::{each_line, each_line_of_run, each_range};
use super::notes::{Kind, Meta};
use super::quick::{Prior, Summary, Visit};
use super::record::{Actor, Footprint, LINE, Record, bits, lanes};
use super::shadow::Viewer;
use super::threads::Known;
use crate::lanes::twice;

impl BlockMonitor {
    twice! {
    /// Checks what the lanes of one warp do, and remembers it.
    pub(super) fn visit / visit_wide / visit_body(&mut self, visit: &Visit<'_>) -> () {
        if visit.place == Place::Global {
            self.note_for_other_blocks(visit);
        }
        let Some((first, last)) = visit.run() else {
            self.visit_scattered(visit);
            return;
        };
        let (quiet, prior) = self.sum_up(visit, first..=last);
        if quiet {
            if self.log.push(visit, true, prior) {
                self.play_log();
            }
            return;
        }
        self.play_log();
        // Neighbours have each their own bytes.
        self.visit_lines(visit, prior, false);
    }
    }

    /// The same for lanes that are no neighbours.
    #[inline(always)]
    fn visit_scattered(&mut self, visit: &Visit<'_>) {
        let mut quiet = true;
        let mut prior = Prior::NOTHING;
        visit.lines(|line| {
            let (line_is_quiet, one) = self.sum_up(visit, line..=line);
            quiet &= line_is_quiet;
            prior.add(one);
        });
        if quiet {
            if visit.deed.writes() && visit.strength.scope.is_none() {
                each_line(visit.addresses, visit.mask, visit.size, |line, print| {
                    let record = visit.record(print, prior);
                    self.same_instruction(visit.place, line, &record, visit.deed);
                });
            }
            if self.log.push(visit, false, prior) {
                self.play_log();
            }
            return;
        }
        self.play_log();
        self.visit_lines(visit, prior, true);
    }

    /// The slow path: line by line. `meet` tells whether two lanes may have the same bytes.
    fn visit_lines(&mut self, visit: &Visit<'_>, prior: Prior, meet: bool) {
        each_line(visit.addresses, visit.mask, visit.size, |line, print| {
            let record = visit.record(print, prior);
            let weak = record.strength.scope.is_none();
            if meet && visit.deed.writes() && weak {
                self.same_instruction(visit.place, line, &record, visit.deed);
            }
            self.touch(visit.place, line, record, visit.deed, visit.group);
        });
    }

    /// Bytes of one lane, however many; always line by line.
    pub(super) fn visit_long(&mut self, visit: &Visit<'_>, lane: u32, from: u64, bytes: u32) {
        if bytes == 0 {
            return;
        }
        self.play_log();
        let first = from / LINE;
        let last = (from + u64::from(bytes) - 1) / LINE;
        let (_, prior) = self.sum_up(visit, first..=last);
        if visit.place == Place::Global {
            let meta = self.meta(visit);
            self.global
                .notes
                .add(from, from.saturating_add(bytes.into()), &meta);
        }
        each_line_of_run(lane, from, bytes, |line, print| {
            self.touch(
                visit.place,
                line,
                visit.record(print, prior),
                visit.deed,
                visit.group,
            );
        });
    }

    /// What a product reads of one line.
    pub(super) fn visit_line(&mut self, visit: &Visit<'_>, line: u64, print: Footprint) {
        self.play_log();
        let (_, prior) = self.sum_up(visit, line..=line);
        let record = visit.record(print, prior);
        self.touch(visit.place, line, record, visit.deed, visit.group);
    }

    fn summary(&mut self, place: Place, line: u64) -> &mut Summary {
        match place {
            Place::Shared(rank) => &mut self.shared[usize::from(rank)].summary(line).summary,
            Place::Global => self.global.summaries.line(line),
        }
    }

    /// Notes the access in the summaries. Says whether it can clash with nothing there, and what a write replaced.
    fn sum_up(&mut self, visit: &Visit<'_>, lines: RangeInclusive<u64>) -> (bool, Prior) {
        let (common, oldest) = (self.threads.common(), self.batches.oldest());
        let mut quiet = self.checker.quick;
        let mut prior = Prior::NOTHING;
        for line in lines {
            let summary = self.summary(visit.place, line);
            let mut line_is_quiet = summary.is_quiet(visit.deed, common, oldest);
            summary.note(visit.deed, visit.tick, visit.actor);
            if let Place::Shared(rank) = visit.place {
                let shared = self.shared[usize::from(rank)].summary(line);
                line_is_quiet &= shared.objects == 0;
                if visit.deed.writes() {
                    prior.add(Prior {
                        readers: shared.readers,
                        content: shared.filled,
                    });
                    shared.readers = 0;
                    shared.filled = true;
                } else if line_is_quiet {
                    shared.readers |= 1 << (visit.warp % 32);
                }
            }
            quiet &= line_is_quiet;
        }
        (quiet, prior)
    }

    /// Plays the log into the shadow.
    pub(super) fn play_log(&mut self) {
        let block_warps = self.checker.shape.block_warps() as u16;
        let keep = self.checker.listing.async_proxy;
        let (threads, batches) = (&self.threads, &self.batches);
        let (shared, global) = (&mut self.shared, &mut self.global);
        self.log.play(|place, line, deed, record| {
            let viewer = Viewer {
                warp: record.warp,
                block_warps,
                known: &threads.warp(u32::from(record.warp)).known,
                batches,
                common: threads.common(),
                keep,
            };
            let shadow = match place {
                Place::Shared(rank) => shared[usize::from(rank)].line(line),
                Place::Global => global.line(line),
            };
            if deed.writes() {
                shadow.write(record, viewer);
            } else {
                shadow.read(record, viewer);
            }
        });
    }

    /// Checks one access to one line, and remembers it.
    fn touch(&mut self, place: Place, line: u64, record: Record, deed: Deed, group: Option<u32>) {
        let viewer = Viewer {
            warp: record.warp,
            block_warps: self.checker.shape.block_warps() as u16,
            known: &self.threads.warp(u32::from(record.warp)).known,
            batches: &self.batches,
            common: self.threads.common(),
            keep: self.checker.listing.async_proxy,
        };
        let accused = Accused {
            record: &record,
            deed,
            group,
            place,
            line: line * LINE,
        };
        let ledger = &mut self.ledger;
        let shadow = match place {
            Place::Shared(rank) => {
                let window = &mut self.shared[usize::from(rank)];
                let clobbered = record.print.bytes & window.summary(line).objects;
                if clobbered != 0 {
                    ledger.add(on_bytes(Class::MbarrierClobbered, accused, clobbered));
                }
                window.line(line)
            }
            Place::Global => self.global.line(line),
        };
        let scene = Scene {
            viewer,
            sequences: &self.sequences,
            objects: &self.objects,
            fences: &self.fences,
        };
        let mut clashes = false;
        shadow.clashes(&record, deed.writes(), viewer, |clash| {
            clashes = true;
            ledger.add(judge(&clash, accused, scene));
        });
        if let Deed::CopyFrom(kind) | Deed::CopyInto(kind) = deed
            && kind != CopyKind::Element
        {
            for (earlier, wrote) in shadow.overlapping(&record, deed.writes()) {
                if let Some(hazard) = judge_proxies(earlier, wrote, accused, scene) {
                    ledger.add(hazard);
                }
            }
        }
        if deed.writes() {
            shadow.write(record, viewer);
        } else {
            let warp = record.warp;
            shadow.read(record, viewer);
            // Who reads what it should not yet has still to read what it should.
            if let (Place::Shared(rank), false) = (place, clashes) {
                self.shared[usize::from(rank)].summary(line).readers |= 1 << (warp % 32);
            }
        }
    }

    /// Two lanes of one instruction write the same byte.
    fn same_instruction(&mut self, place: Place, line: u64, record: &Record, deed: Deed) {
        let Some((byte, a, b)) = record.print.shared_byte() else {
            return;
        };
        let class = match deed {
            Deed::CopyInto(_) => Class::OverlappingCopies,
            _ => Class::WarpRace,
        };
        let suspect = |lane: u32| Suspect {
            pc: record.pc,
            execution: record.execution,
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

    /// Notes an access to global memory for other blocks.
    fn note_for_other_blocks(&mut self, visit: &Visit<'_>) {
        let meta = self.meta(visit);
        let notes = &mut self.global.notes;
        each_range(visit.addresses, visit.mask, visit.size, |from, to| {
            notes.add(from, to, &meta);
        });
    }

    fn meta(&self, visit: &Visit<'_>) -> Meta {
        let strong = visit
            .strength
            .scope
            .is_some_and(|scope| scope >= Scope::Gpu);
        let kind = match (visit.deed, strong) {
            (Deed::CopyInto(_), true) => Kind::StrongWrite,
            (Deed::CopyInto(_), false) => Kind::BulkWrite,
            (Deed::CopyFrom(CopyKind::BulkLoad | CopyKind::BulkStore), _) => Kind::BulkRead,
            (deed, true) if deed.writes() => Kind::StrongWrite,
            (deed, false) if deed.writes() => Kind::Write,
            (_, true) => Kind::StrongRead,
            (_, false) => Kind::Read,
        };
        Meta {
            kind,
            group: self.group,
            era: self.era,
            foreign: foreign(&self.threads.warp(u32::from(visit.warp)).known, visit.mask),
            pc: visit.pc,
            thread: ThreadId {
                warp: visit.warp,
                lane: visit.mask.trailing_zeros() as u8,
            },
            store: match visit.actor {
                Actor::Copy(batch) if kind == Kind::BulkWrite => Some(batch),
                _ => None,
            },
        }
    }
}

/// What the lanes know of other blocks. What any of them knows counts for all: that may miss a race and never invents one.
fn foreign(known: &Known, mask: u32) -> Option<Arc<Foreign>> {
    match known {
        Known::Same(known) => known.foreign.clone(),
        Known::Each(each) => lanes(mask)
            .filter_map(|lane| each[lane as usize].foreign.as_ref())
            .fold(None, |all: Option<Arc<Foreign>>, one| match all {
                None => Some(Arc::clone(one)),
                Some(mut all) => {
                    if !Arc::ptr_eq(&all, one) {
                        Arc::make_mut(&mut all).join(one);
                    }
                    Some(all)
                }
            }),
    }
}

/// A fault of one access, on some of its bytes.
fn on_bytes(class: Class, accused: Accused<'_>, bytes: u128) -> Hazard {
    let first = bytes.trailing_zeros();
    let count = (bytes >> first).trailing_ones();
    let lane = bits(bytes).next().map_or(0, |byte| {
        accused.record.print.lanes.at(byte).trailing_zeros()
    });
    let from = accused.line + u64::from(first);
    Hazard {
        class,
        certain: true,
        place: Some(accused.place),
        bytes: from..from + u64::from(count),
        first: None,
        second: Suspect {
            pc: accused.record.pc,
            execution: accused.record.execution,
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
