//! One access to one line: ask the shadow, judge what clashes, remember the access.

use crate::event::{CopyKind, Site};
use crate::finding::Class;

use super::block::BlockMonitor;
use super::copies::BatchId;
use super::hazard::{
    Accused, Deed, Fact, Hazard, Place, Scene, Suspect, ThreadId, judge, judge_proxies,
};
use super::lines::each_line;
use super::record::{Actor, Footprint, LINE, Record, Strength, bits};
use super::shadow::Viewer;

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
            Place::Global => self.global.line(line),
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
            let missing = record.print.bytes & !shadow.written;
            if deed.reads() && missing != 0 {
                ledger.add(on_bytes(Class::UninitializedRead, accused, missing));
                // Once is enough: the same bytes are not reported by every reader.
                shadow.written |= missing;
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
        certain: class != Class::UninitializedRead,
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
