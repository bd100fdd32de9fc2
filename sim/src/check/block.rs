//! Watches one block: turns events into knowledge, records and hazards.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{
    Access, AccessKind, BarrierRole, Copy, CopyKind, ElementCopies, Fence, Groups, MbarrierOp,
    Monitor, Ordering, Pc, Product, Run, Scope, Site, Window,
};
use crate::finding::Class;

use super::Checker;
use super::clock::Knowledge;
use super::copies::{Batches, Sequences};
use super::fences::{Fences, Outside, Strong, acquires, releases};
use super::global::Found;
use super::hazard::{Deed, Hazard, Place, Suspect, ThreadId, outstanding};
use super::ledger::Ledger;
use super::lines::by_number;
use super::objects::Objects;
use super::products::Products;
use super::quick::{Log, Visit};
use super::record::{Actor, Strength, lanes};
use super::shadow::{self, GlobalLines};
use super::tally::WaitTally;
use super::threads::Threads;

/// What the monitor of one group of blocks found; the checker puts the groups together.
#[derive(Debug)]
pub struct BlockReport {
    pub(crate) group: u32,
    pub(crate) hazards: Vec<(Hazard, u64)>,
    pub(crate) waits: BTreeMap<Pc, WaitTally>,
}

/// Watches one block, or all blocks of one cluster.
#[derive(Debug)]
pub struct BlockMonitor {
    pub(super) checker: Arc<Checker>,
    pub(super) group: u32,
    /// Whether this machine can run what is compiled for AVX2.
    pub(super) wide: bool,
    /// How many releases of this group other groups could see.
    pub(super) era: u32,
    pub(super) threads: Threads,
    pub(super) batches: Batches,
    pub(super) sequences: Vec<Sequences>,
    pub(super) objects: Objects,
    pub(super) fences: Fences,
    pub(super) shared: Vec<shadow::Window>,
    pub(super) global: GlobalLines,
    pub(super) log: Log,
    pub(super) ledger: Ledger,
    pub(super) products: Products,
    waits: BTreeMap<Pc, WaitTally>,
    stuck: bool,
    /// Strong reads of global memory whose value the executor has not fetched yet: who, where, and how.
    fetching: Vec<(Suspect, u64, Ordering, Scope)>,
}

impl BlockMonitor {
    pub(crate) fn new(checker: Arc<Checker>, group: u32) -> Self {
        let shape = checker.shape;
        Self {
            checker,
            group,
            wide: crate::lanes::wide(),
            era: 0,
            threads: Threads::new((0..shape.warps()).map(|warp| shape.lanes_of(warp))),
            batches: Batches::default(),
            sequences: (0..shape.warps()).map(|_| Sequences::default()).collect(),
            objects: Objects::default(),
            fences: Fences::default(),
            shared: (0..shape.blocks())
                .map(|_| shadow::Window::default())
                .collect(),
            global: GlobalLines::default(),
            log: Log::default(),
            ledger: Ledger::default(),
            products: Products::default(),
            waits: BTreeMap::new(),
            stuck: false,
            fetching: Vec::new(),
        }
    }

    /// Ends the watch.
    #[must_use]
    pub fn finish(mut self) -> BlockReport {
        // A group that was stopped had no chance to deliver what it announced.
        if self.stuck || self.threads.have_exited() {
            self.judge_unfinished_phases();
        }
        self.global
            .notes
            .hand_over(&self.checker.global, &self.batches);
        BlockReport {
            group: self.group,
            hazards: self.ledger.into_list(),
            waits: self.waits,
        }
    }

    /// Takes along what strong reads of global memory found.
    ///
    /// A read is told before its value is fetched, and another block may write in between; so what it finds is looked up at the event after it.
    #[cold]
    fn fetched(&mut self) {
        for (suspect, address, ordering, scope) in std::mem::take(&mut self.fetching) {
            let (warp, lane) = (
                u32::from(suspect.thread.warp),
                u32::from(suspect.thread.lane),
            );
            match self.checker.global.observe(address, self.group, scope) {
                Found::Nothing => {}
                Found::Knowledge(foreign) => {
                    let known = Arc::new(Knowledge {
                        foreign: Some(foreign),
                        ..Knowledge::default()
                    });
                    if acquires(ordering) {
                        self.threads.acquire(warp, 1 << lane, &known);
                    } else {
                        self.fences.hold(warp, lane, &known);
                    }
                }
                Found::TooNarrow => self.ledger.add(Hazard {
                    place: Some(Place::Global),
                    bytes: address..address + 4,
                    ..Hazard::about(Class::NarrowScope, suspect)
                }),
            }
        }
    }

    /// The window as a place; global memory is one.
    fn place(window: Window) -> Place {
        match window {
            Window::Global => Place::Global,
            Window::Shared { rank } => Place::Shared(rank),
        }
    }

    /// Hands knowledge over through memory, and reports scopes that are too narrow for that.
    fn strong_access(&mut self, site: Site, access: &Access<'_>, place: Place, deed: Deed) {
        let block = (site.warp / self.checker.shape.block_warps()) as u16;
        let observes = deed.reads() && access.kind != AccessKind::Reduction;
        for lane in lanes(site.mask) {
            let address = access.addresses[lane as usize];
            let suspect = Suspect {
                pc: site.pc,
                execution: site.execution,
                thread: ThreadId {
                    warp: site.warp as u16,
                    lane: lane as u8,
                },
                deed,
                group: None,
            };
            if place == Place::Global && observes {
                self.fetching
                    .push((suspect, address, access.ordering, access.scope));
            }
            let strong = Strong {
                at: (place, address),
                observes,
                continues: deed == Deed::Atomic,
                writes: deed.writes(),
                ordering: access.ordering,
                scope: access.scope,
            };
            let outside = Outside {
                shadow: &self.checker.global,
                group: self.group,
                era: &mut self.era,
            };
            let who = (site.warp, lane, block);
            if self.fences.access(&mut self.threads, who, strong, outside) {
                self.ledger.add(Hazard {
                    place: Some(place),
                    bytes: address..address + u64::from(access.bytes),
                    ..Hazard::about(Class::NarrowScope, suspect)
                });
            }
        }
    }
}

impl Monitor for BlockMonitor {
    fn access(&mut self, site: Site, access: &Access<'_>) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        if site.mask == 0 || access.bytes == 0 {
            return;
        }
        self.sequences[site.warp as usize].work += 1;
        let place = Self::place(access.window);
        let deed = match access.kind {
            AccessKind::Read => Deed::Read,
            AccessKind::Write => Deed::Write,
            AccessKind::Atomic | AccessKind::Reduction => Deed::Atomic,
        };
        let strong = access.ordering != Ordering::Weak || deed == Deed::Atomic;
        let strength = Strength {
            scope: strong.then_some(access.scope),
            size: access.bytes as u8,
        };
        let visit = Visit {
            place,
            deed,
            pc: site.pc,
            execution: site.execution,
            warp: site.warp as u16,
            mask: site.mask,
            addresses: access.addresses,
            size: access.bytes,
            actor: Actor::Thread,
            tick: self.threads.event(),
            strength,
            group: None,
        };
        self.visit(&visit);
        let alone = place != Place::Global && self.fences.is_idle() && !releases(access.ordering);
        if strong && !alone {
            self.strong_access(site, access, place, deed);
        }
    }

    fn issue(&mut self, site: Site, copy: &Copy) {
        let run = |at, bytes| Run { at, bytes };
        let source = copy.source.map(|(_, at)| run(at, copy.source_bytes));
        let destination = run(copy.destination.1, copy.bytes);
        self.issue_box(site, copy, source.as_slice(), &[destination]);
    }

    fn issue_box(&mut self, site: Site, copy: &Copy, sources: &[Run], destinations: &[Run]) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        let mask = 1 << copy.lane;
        let site = Site { mask, ..site };
        let now = self.threads.event();
        let sequences = &mut self.sequences[site.warp as usize];
        let work = sequences.work;
        let sequence = match copy.kind {
            CopyKind::Element => &mut sequences.element,
            CopyKind::BulkLoad | CopyKind::BulkStore => &mut sequences.bulk,
            CopyKind::Product => &mut sequences.product,
        };
        let running = sequence.committed(copy.lane);
        let warp = site.warp as u16;
        let batch = self.batches.issue(
            (site.pc, site.execution),
            warp,
            mask,
            copy.kind,
            now,
            running,
            work,
        );
        let grouped = copy.mbarrier.is_none();
        if grouped {
            sequence.push(batch, mask);
        }
        let group = grouped.then_some(running);
        let part = |place: Place, deed: Deed, scope: Option<Scope>| Visit {
            place,
            deed,
            pc: site.pc,
            execution: site.execution,
            warp,
            mask,
            addresses: &[0; 32],
            size: 0,
            actor: Actor::Copy(batch),
            tick: now,
            strength: Strength {
                scope,
                size: u8::MAX,
            },
            group,
        };
        if let Some((window, _)) = copy.source {
            let visit = part(Self::place(window), Deed::CopyFrom(copy.kind), None);
            for run in sources {
                self.visit_long(&visit, copy.lane, run.at, run.bytes);
            }
        }
        let deed = Deed::CopyInto(copy.kind);
        let scope = copy.reduces.then_some(Scope::Gpu);
        let visit = part(Self::place(copy.destination.0), deed, scope);
        for run in destinations {
            self.visit_long(&visit, copy.lane, run.at, run.bytes);
        }
        if let Some((Window::Shared { rank }, offset)) = copy.mbarrier {
            let suspect = Suspect {
                pc: site.pc,
                execution: site.execution,
                thread: ThreadId {
                    warp,
                    lane: copy.lane as u8,
                },
                deed,
                group: None,
            };
            self.attach_bulk((rank, offset), batch, suspect, copy.bytes);
        }
    }

    fn issue_elements(&mut self, site: Site, copies: &ElementCopies<'_>) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        let now = self.threads.event();
        let warp = site.warp as usize;
        let running = *self.sequences[warp].element.running();
        by_number(&running, site.mask, |group, lanes| {
            let work = self.sequences[warp].work;
            let kind = CopyKind::Element;
            let batch = self.batches.issue(
                (site.pc, site.execution),
                warp as u16,
                lanes,
                kind,
                now,
                group,
                work,
            );
            self.sequences[warp].element.push(batch, lanes);
            let part = |place, deed, mask, addresses, size: u32| Visit {
                place,
                deed,
                pc: site.pc,
                execution: site.execution,
                warp: warp as u16,
                mask,
                addresses,
                size,
                actor: Actor::Copy(batch),
                tick: now,
                strength: Strength {
                    scope: None,
                    size: size as u8,
                },
                group: Some(group),
            };
            by_number(copies.source_bytes, lanes, |bytes, readers| {
                if bytes != 0 {
                    let from = Deed::CopyFrom(kind);
                    self.visit(&part(Place::Global, from, readers, copies.sources, bytes));
                }
            });
            if copies.bytes != 0 {
                let shared = Place::Shared(copies.rank);
                let into = Deed::CopyInto(kind);
                self.visit(&part(
                    shared,
                    into,
                    lanes,
                    copies.destinations,
                    copies.bytes,
                ));
            }
        });
    }

    fn product(&mut self, site: Site, product: &Product<'_>) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        self.issue_product(site, product);
    }

    fn registers(&mut self, site: Site, reads: &[u32], writes: &[u32]) {
        self.touch_registers(site, reads, writes);
    }

    fn product_fence(&mut self, site: Site) {
        self.fence_products(site);
    }

    fn commit(&mut self, site: Site, groups: Groups) {
        let live = self.threads.warp(site.warp).live;
        if groups == Groups::Element && site.mask != live && site.mask != 0 {
            let suspect = Suspect {
                pc: site.pc,
                execution: site.execution,
                thread: ThreadId {
                    warp: site.warp as u16,
                    lane: site.mask.trailing_zeros() as u8,
                },
                deed: Deed::Commit,
                group: None,
            };
            self.ledger
                .add(Hazard::about(Class::DivergentCommit, suspect));
        }
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
        let effect = sequence.wait(
            &mut self.batches,
            site.pc,
            site.mask,
            groups,
            allowed,
            (now, self.era),
        );
        if groups == Groups::Product {
            self.products_waited(site, now);
        }
        if !effect.used {
            return;
        }
        // A product follows its factors at once; what overlaps with it are the copies.
        let immediate = groups != Groups::Product
            && effect
                .newest
                .and_then(|newest| self.batches.get(newest))
                .is_some_and(|newest| newest.work == work);
        let suspect = Suspect {
            pc: site.pc,
            execution: site.execution,
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
        if !self.fetching.is_empty() {
            self.fetched();
        }
        self.threads
            .barrier_arrive(id, site, role == BarrierRole::Sync);
    }

    fn barrier_complete(&mut self, id: u32) {
        // What everybody knows matters to no order, but a proxy fence may still be asked for.
        if self.threads.barrier_complete(id) && !self.checker.listing.async_proxy {
            self.batches.retire(self.threads.common());
            self.log.forget(&self.batches);
        }
    }

    fn warp_sync(&mut self, site: Site) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        self.threads.warp_sync(site);
    }

    fn cluster_arrive(&mut self, site: Site, ordering: Ordering) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        for object in self.objects.iter_mut() {
            let init = object.init.thread;
            if object.init_fenced
                && u32::from(init.warp) == site.warp
                && site.mask >> init.lane & 1 == 1
            {
                object.init_published = true;
            }
        }
        self.threads.cluster_arrive(site, releases(ordering));
    }

    fn cluster_wait(&mut self, site: Site, ordering: Ordering) {
        if acquires(ordering) {
            self.threads.cluster_wait(site);
        }
    }

    fn mbarrier(&mut self, site: Site, lane: u32, object: (Window, u64), op: MbarrierOp) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        if let (Window::Shared { rank }, offset) = object {
            self.mbarrier_op(site, lane, (rank, offset), op);
        }
    }

    fn mbarrier_complete(&mut self, object: (Window, u64), _phase: u64) {
        if let (Window::Shared { rank }, offset) = object {
            self.phase_complete((rank, offset));
        }
    }

    fn fence(&mut self, site: Site, fence: Fence) {
        if !self.fetching.is_empty() {
            self.fetched();
        }
        let outside = Outside {
            shadow: &self.checker.global,
            group: self.group,
            era: &mut self.era,
        };
        self.fences.fence(&mut self.threads, site, fence, outside);
        for object in self.objects.iter_mut() {
            let init = object.init.thread;
            object.init_fenced |=
                u32::from(init.warp) == site.warp && site.mask >> init.lane & 1 == 1;
        }
    }

    fn stuck(&mut self) {
        self.stuck = true;
    }

    fn exit(&mut self, site: Site) {
        let sequences = &self.sequences[site.warp as usize];
        let open = sequences
            .element
            .open(site.mask)
            .chain(sequences.bulk.open(site.mask))
            .chain(sequences.product.open(site.mask));
        for (id, lanes) in open {
            if let Some(batch) = self.batches.get(id) {
                self.ledger.extend(outstanding(batch, lanes, site.pc));
            }
        }
        self.threads.exit(site);
    }
}
