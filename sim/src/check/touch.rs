//! One access to one line: ask the shadow, judge what clashes, remember the access.

use std::sync::Arc;

use crate::event::{CopyKind, Scope, Site};
use crate::finding::Class;

use super::block::BlockMonitor;
use super::copies::BatchId;
use super::global::{self, Foreign, Kind, Note, Notes};
use super::hazard::{
    Accused, Deed, Fact, Hazard, Place, Scene, Suspect, ThreadId, judge, judge_proxies,
};
use super::lines::each_line;
use super::record::{Actor, Footprint, LINE, Record, Strength, bits, lanes};
use super::shadow::Viewer;
use super::threads::Known;

impl BlockMonitor<'_> {
    /// Checks one access to one line, and remembers it.
    pub(super) fn touch(
        &mut self,
        place: Place,
        line: u64,
        record: Record,
        deed: Deed,
        group: Option<u32>,
    ) {
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
            Place::Global => {
                let global = self.global.line(line);
                note(
                    &mut global.notes,
                    &record,
                    deed,
                    viewer.known,
                    self.group,
                    self.era,
                );
                &mut global.line
            }
        };
        let accused = Accused {
            record: &record,
            deed,
            group,
            place,
            line: line * LINE,
        };
        let scene = Scene {
            viewer,
            sequences: &self.sequences,
            objects: &self.objects,
            fences: &self.fences,
        };
        let ledger = &mut self.ledger;
        shadow.clashes(&record, deed.writes(), viewer, |clash| {
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
        if place != Place::Global {
            let clobbered = record.print.bytes & shadow.objects;
            if clobbered != 0 {
                ledger.add(on_bytes(Class::MbarrierClobbered, accused, clobbered));
            }
        }
        if deed.writes() {
            shadow.write(record, viewer);
        } else {
            shadow.read(record, viewer);
        }
    }

    /// Two lanes of one instruction write the same byte.
    pub(super) fn same_instruction(
        &mut self,
        place: Place,
        line: u64,
        record: &Record,
        deed: Deed,
    ) {
        let Some((byte, a, b)) = record.print.shared_byte() else {
            return;
        };
        let class = match deed {
            Deed::CopyInto(_) => Class::OverlappingCopies,
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

    /// A record of something that happens now.
    pub(super) fn record(
        &mut self,
        site: Site,
        print: Footprint,
        actor: Actor,
        strength: Strength,
    ) -> Record {
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
    pub(super) fn touch_elements(
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
            if deed.writes() {
                self.same_instruction(place, line, &record, deed);
            }
            self.touch(place, line, record, deed, Some(group));
        });
    }
}

/// Notes an access to global memory for other blocks.
fn note(notes: &mut Notes, record: &Record, deed: Deed, known: &Known, group: u32, era: u32) {
    let strong = record
        .strength
        .scope
        .is_some_and(|scope| scope >= Scope::Gpu);
    let kind = match (deed, strong) {
        (Deed::CopyInto(_), _) => Kind::BulkWrite,
        (_, true) if deed.writes() => Kind::StrongWrite,
        (_, false) if deed.writes() => Kind::Write,
        (_, true) => Kind::StrongRead,
        (_, false) => Kind::Read,
    };
    let lane = record.print.mask.trailing_zeros();
    let foreign = match known {
        Known::Same(known) => known.foreign.clone(),
        // What any of the lanes knows counts for all: that may miss a race and never invents one.
        Known::Each(each) => lanes(record.print.mask)
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
    };
    global::add(
        notes,
        Note {
            bytes: record.print.bytes,
            kind,
            group,
            era,
            foreign,
            pc: record.pc,
            thread: ThreadId {
                warp: record.warp,
                lane: lane as u8,
            },
            store: match record.actor {
                Actor::Copy(batch) if kind == Kind::BulkWrite => Some(batch),
                _ => None,
            },
        },
    );
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
