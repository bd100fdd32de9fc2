//! What mbarrier operations mean for order, and the rules about their objects.

use std::sync::Arc;

use crate::event::{MbarrierOp, Scope, Site};
use crate::finding::Class;

use super::block::BlockMonitor;
use super::copies::{Attachment, BatchId};
use super::fences::{acquires, releases};
use super::hazard::{Deed, Fact, Hazard, Place, Suspect, ThreadId};
use super::objects::{SIZE, Transactions};
use super::quick::Visit;
use super::record::{Actor, LINE, Strength, span};

impl BlockMonitor {
    /// One lane's operation on the object at `at`.
    pub(super) fn mbarrier_op(&mut self, site: Site, lane: u32, at: (u16, u64), op: MbarrierOp) {
        let suspect = Suspect {
            pc: site.pc,
            execution: site.execution,
            thread: ThreadId {
                warp: site.warp as u16,
                lane: lane as u8,
            },
            deed: Deed::Object(op),
            group: None,
        };
        if let MbarrierOp::Init(count) = op {
            self.mbarrier_init(site, lane, at, suspect, count);
            return;
        }
        if !self.may_use(at, suspect) {
            return;
        }
        let block = (site.warp / self.checker.shape.block_warps()) as u16;
        let Some((id, object)) = self.objects.at(at) else {
            return;
        };
        match op {
            MbarrierOp::Init(_) | MbarrierOp::WaitPending => {}
            MbarrierOp::Inval => {
                object.live = false;
                self.mark(at, false);
            }
            MbarrierOp::Arrive {
                count,
                expect_tx,
                drop,
                ordering,
                scope,
            } => {
                object.arrivals = object.arrivals.saturating_add(count);
                if drop {
                    object.dropped = object.dropped.saturating_add(count);
                }
                if expect_tx != 0 {
                    object.bytes.expected += u64::from(expect_tx);
                    object.bytes.expecter = Some(suspect);
                }
                if object.phase > 0 && !object.observed {
                    let hazard = match object.completed_noinc {
                        // Had the copies taken longer, this arrival would have been one of the last phase's.
                        Some((copy, arrivals)) => Hazard {
                            first: Some(object.init),
                            facts: vec![Fact::Arrivals {
                                phase: object.phase - 1,
                                expected: arrivals,
                                arrivals: arrivals.saturating_add(count),
                            }],
                            ..about_object(Class::ArrivalCount, at, None, copy)
                        },
                        None => about_object(Class::UnobservedPhase, at, None, suspect),
                    };
                    self.ledger.add(hazard);
                }
                if releases(ordering) {
                    self.threads
                        .release(site.warp, 1 << lane, &mut object.released);
                } else if let Some(before) = self.fences.released_before(site.warp, lane) {
                    object.released.join(before);
                }
                object.foreign |= block != at.0;
                if block != at.0 && scope == Scope::Cta {
                    self.ledger
                        .add(about_object(Class::NarrowScope, at, None, suspect));
                }
            }
            MbarrierOp::ExpectTx(bytes) => {
                object.bytes.expected += u64::from(bytes);
                object.bytes.expecter = Some(suspect);
            }
            MbarrierOp::CompleteTx(bytes) => {
                object.bytes.delivered += u64::from(bytes);
                object.bytes.deliverer = Some(suspect);
            }
            MbarrierOp::CopyArrive { noinc } => {
                object.arrivals = object.arrivals.saturating_add(noinc.into());
                if noinc {
                    object.last_noinc = Some(suspect);
                }
                let attachment = Attachment {
                    object: id,
                    phase: object.phase,
                };
                let now = self.threads.event();
                let sequence = &mut self.sequences[site.warp as usize].element;
                sequence.sweep(&mut self.batches, now);
                for (batch, lanes) in sequence.open(1 << lane) {
                    if self.batches.attach(batch, lanes, attachment) {
                        object.attached.push((batch, lanes));
                    }
                }
            }
            MbarrierOp::WaitDone {
                phase,
                ordering,
                scope,
            } => {
                if phase.is_some_and(|phase| phase + 1 == object.phase) {
                    let completed = Arc::clone(&object.completed);
                    if object.foreign && scope == Scope::Cta {
                        self.ledger
                            .add(about_object(Class::NarrowScope, at, None, suspect));
                    }
                    if acquires(ordering) {
                        self.threads.acquire(site.warp, 1 << lane, &completed);
                    } else {
                        self.fences.hold(site.warp, lane, &completed);
                    }
                }
                let issued = self.batches.next();
                self.objects
                    .observe(id, suspect.thread, phase, site.pc, issued);
            }
        }
    }

    fn mbarrier_init(
        &mut self,
        site: Site,
        lane: u32,
        at: (u16, u64),
        suspect: Suspect,
        count: u32,
    ) {
        let reused = self.objects.at(at).filter(|(_, object)| object.live);
        if let Some((_, object)) = reused {
            let first = object.init;
            // The old life ends here, so that the new one's bytes are judged on their own.
            object.live = false;
            self.ledger.add(about_object(
                Class::MbarrierClobbered,
                at,
                Some(first),
                suspect,
            ));
        }
        self.mark(at, false);
        let now = self.threads.event();
        let visit = Visit {
            place: Place::Shared(at.0),
            deed: Deed::Write,
            pc: site.pc,
            execution: site.execution,
            warp: site.warp as u16,
            mask: 1 << lane,
            addresses: &[at.1; 32],
            size: SIZE,
            actor: Actor::Thread,
            tick: now,
            strength: Strength {
                scope: None,
                size: SIZE as u8,
            },
            group: None,
        };
        self.visit(&visit);
        self.objects.init(at, suspect, count, now);
        self.mark(at, true);
    }

    /// Whether there is an object to use; a fault where there is none, or where its `init` is not ordered before.
    fn may_use(&mut self, at: (u16, u64), suspect: Suspect) -> bool {
        let thread = suspect.thread;
        let Some((_, object)) = self.objects.at(at) else {
            self.ledger
                .add(about_object(Class::MbarrierLifetime, at, None, suspect));
            return false;
        };
        let init = object.init;
        if !object.live {
            let mut hazard = about_object(Class::MbarrierLifetime, at, Some(init), suspect);
            hazard.facts.push(Fact::Invalidated);
            self.ledger.add(hazard);
            return false;
        }
        let known = &self.threads.warp(u32::from(thread.warp)).known;
        let ordered = init.thread == thread
            || object.init_published
            || known.of(u32::from(thread.lane)).order.known(
                init.thread.warp,
                1 << init.thread.lane,
                object.init_tick,
            ) != 0;
        if !ordered {
            let mut hazard = about_object(Class::MbarrierLifetime, at, Some(init), suspect);
            hazard.facts.push(Fact::InitUnordered);
            self.ledger.add(hazard);
        }
        true
    }

    /// A bulk copy of one lane signals the object at `at`.
    pub(super) fn attach_bulk(
        &mut self,
        at: (u16, u64),
        batch: BatchId,
        copy: Suspect,
        bytes: u32,
    ) {
        if !self.may_use(at, copy) {
            return;
        }
        let Some((id, object)) = self.objects.at(at) else {
            return;
        };
        object.bytes.delivered += u64::from(bytes);
        object.bytes.deliverer = Some(copy);
        let attachment = Attachment {
            object: id,
            phase: object.phase,
        };
        let unfenced = !object.init_fenced;
        let init = object.init;
        if self
            .batches
            .attach(batch, 1 << copy.thread.lane, attachment)
        {
            object.attached.push((batch, 1 << copy.thread.lane));
        }
        if unfenced {
            let mut hazard = about_object(Class::MissingProxyFence, at, Some(init), copy);
            hazard.facts.push(Fact::InitUnfenced);
            hazard.certain = false;
            self.ledger.add(hazard);
        }
    }

    /// The object's current phase is over.
    pub(super) fn phase_complete(&mut self, at: (u16, u64)) {
        let now = self.threads.event();
        let Some((id, object)) = self.objects.at(at) else {
            return;
        };
        for (batch, lanes) in object.attached.drain(..) {
            self.batches.complete(batch, lanes, id, now);
        }
        object.released.order.raise_object(id, now);
        object.completed = Arc::new(object.released.clone());
        let phase = object.phase;
        object.phase += 1;
        object.observed = false;
        let bytes = std::mem::take(&mut object.bytes);
        let init = object.init;
        let (arrivals, expected) = (std::mem::take(&mut object.arrivals), object.expected);
        object.expected = expected.saturating_sub(std::mem::take(&mut object.dropped));
        let noinc = object.last_noinc.take();
        object.completed_noinc = noinc.map(|copy| (copy, expected));
        self.threads.released();
        // Arrivals of copies that were registered for this phase, and that it did not wait for.
        if let Some(copy) = noinc.filter(|_| arrivals > expected) {
            let mut hazard = about_object(Class::ArrivalCount, at, Some(init), copy);
            hazard.facts.push(Fact::Arrivals {
                phase,
                expected,
                arrivals,
            });
            self.ledger.add(hazard);
        }
        if let Some(hazard) = unequal_bytes(at, phase, &bytes, init) {
            self.ledger.add(hazard);
        }
    }

    /// Phases that never completed, and whose bytes could not.
    pub(super) fn judge_unfinished_phases(&mut self) {
        for object in self.objects.iter_mut() {
            if let Some(hazard) = unequal_bytes(object.at, object.phase, &object.bytes, object.init)
            {
                self.ledger.add(hazard);
            }
        }
    }

    /// Marks the bytes of an object in the shadow, or clears the mark.
    fn mark(&mut self, (rank, offset): (u16, u64), live: bool) {
        let line = self.shared[usize::from(rank)].summary(offset / LINE);
        let from = (offset % LINE) as u32;
        let bytes = span(from, SIZE.min(LINE as u32 - from));
        if live {
            line.objects |= bytes;
        } else {
            line.objects &= !bytes;
        }
    }
}

/// A fault that concerns the eight bytes of an object.
fn about_object(class: Class, at: (u16, u64), first: Option<Suspect>, second: Suspect) -> Hazard {
    Hazard {
        class,
        certain: true,
        place: Some(Place::Shared(at.0)),
        bytes: at.1..at.1 + u64::from(SIZE),
        first,
        second,
        facts: Vec::new(),
    }
}

/// The bytes announced for a phase are not those that copies deliver.
fn unequal_bytes(
    at: (u16, u64),
    phase: u64,
    bytes: &Transactions,
    init: Suspect,
) -> Option<Hazard> {
    if bytes.expected == bytes.delivered {
        return None;
    }
    let (first, second) = match (bytes.deliverer, bytes.expecter) {
        (Some(copy), expecter) => (expecter.or(Some(init)), copy),
        (None, Some(expecter)) => (Some(init), expecter),
        (None, None) => return None,
    };
    let mut hazard = about_object(Class::TransactionBytes, at, first, second);
    hazard.facts.push(Fact::Bytes {
        phase,
        expected: bytes.expected,
        delivered: bytes.delivered,
    });
    Some(hazard)
}
