//! Release and acquire patterns: fences and strong accesses that hand knowledge over through memory.
//!
//! A fence remembers what its thread knew; a later strong write or arrival of that thread releases it.
//! A strong read that finds such a write takes the knowledge along, and an acquire or a later fence of the reader makes it known.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::{Fence, FenceSpace, Ordering, Pc, Scope, Site};

use super::clock::{Knowledge, Tick};
use super::global::GlobalShadow;
use super::hazard::Place;
use super::record::lanes;
use super::threads::Threads;

/// Whether an operation of this order releases.
pub(crate) fn releases(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

/// Whether an operation of this order acquires.
pub(crate) fn acquires(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

/// A fence that a thread executed last, of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastFence {
    /// The instruction.
    pub(crate) pc: Pc,
    /// What it is.
    pub(crate) fence: Fence,
    /// When.
    pub(crate) tick: Tick,
}

/// What one lane's fences and strong reads left behind.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// What it knew, its own past included, at its last releasing fence.
    fenced: Option<(Arc<Knowledge>, Scope)>,
    /// What it read and no fence made known yet.
    pending: Option<Arc<Knowledge>>,
    last: Option<LastFence>,
}

/// What a strong write left in memory.
#[derive(Clone, Debug)]
struct Released {
    knowledge: Arc<Knowledge>,
    scope: Scope,
    /// The block that wrote it, among those checked together.
    block: u16,
}

/// Other blocks, as far as releases and acquires reach them.
pub(crate) struct Outside<'a> {
    /// What all blocks share.
    pub(crate) shadow: &'a GlobalShadow,
    /// This group of blocks.
    pub(crate) group: u32,
    /// Its current era.
    pub(crate) era: &'a mut u32,
}

impl Outside<'_> {
    /// A release that other blocks can see ends an era.
    fn end_era(&mut self, scope: Scope) {
        if scope >= Scope::Gpu {
            *self.era = self.era.saturating_add(1);
        }
    }

    /// What is released covers the eras that ended.
    fn cover(&self, released: &mut Knowledge, scope: Scope) {
        if scope >= Scope::Gpu {
            let foreign = released.foreign.get_or_insert_default();
            Arc::make_mut(foreign).raise(self.group, *self.era);
        }
    }
}

/// Fences of all threads and the strong writes in memory.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    warps: HashMap<u32, Box<[Lane; 32]>>,
    locations: HashMap<(Place, u64), Released>,
}

/// A strong access of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strong {
    /// Where.
    pub(crate) at: (Place, u64),
    /// Whether it takes along what it finds; a reduction does not.
    pub(crate) observes: bool,
    /// Whether it adds to what it finds instead of replacing it.
    pub(crate) continues: bool,
    /// Whether it writes.
    pub(crate) writes: bool,
    /// Its order.
    pub(crate) ordering: Ordering,
    /// Its scope.
    pub(crate) scope: Scope,
}

impl Fences {
    /// The lanes execute a fence.
    pub(crate) fn fence(
        &mut self,
        threads: &mut Threads,
        site: Site,
        fence: Fence,
        mut outside: Outside<'_>,
    ) {
        let tick = threads.event();
        match fence {
            Fence::Memory(ordering, scope) => {
                if acquires(ordering)
                    && let Some(warp) = self.warps.get_mut(&site.warp)
                {
                    for lane in lanes(site.mask) {
                        if let Some(pending) = warp[lane as usize].pending.take() {
                            threads.acquire(site.warp, 1 << lane, &pending);
                        }
                    }
                }
                if releases(ordering) {
                    outside.end_era(scope);
                    for lane in lanes(site.mask) {
                        let mut known = Knowledge::default();
                        threads.release(site.warp, 1 << lane, &mut known);
                        outside.cover(&mut known, scope);
                        self.lane(site.warp, lane).fenced = Some((Arc::new(known), scope));
                    }
                }
            }
            Fence::ProxyAsync(space) => {
                threads.bridge(
                    site,
                    space != Some(FenceSpace::Global),
                    matches!(space, None | Some(FenceSpace::Global)),
                );
            }
            Fence::MbarrierInit => {}
        }
        for lane in lanes(site.mask) {
            self.lane(site.warp, lane).last = Some(LastFence {
                pc: site.pc,
                fence,
                tick,
            });
        }
    }

    /// What the lane's last fence released, for an operation that is itself relaxed.
    pub(crate) fn released_before(&self, warp: u32, lane: u32) -> Option<&Arc<Knowledge>> {
        let (known, _) = self.warps.get(&warp)?[lane as usize].fenced.as_ref()?;
        Some(known)
    }

    /// The lane read something relaxed that a later fence makes known.
    pub(crate) fn hold(&mut self, warp: u32, lane: u32, what: &Arc<Knowledge>) {
        let pending = &mut self.lane(warp, lane).pending;
        match pending {
            Some(pending) => Arc::make_mut(pending).join(what),
            None => *pending = Some(Arc::clone(what)),
        }
    }

    /// A strong access. Returns whether a scope was too narrow to hand anything over.
    pub(crate) fn access(
        &mut self,
        threads: &mut Threads,
        (warp, lane, block): (u32, u32, u16),
        strong: Strong,
        mut outside: Outside<'_>,
    ) -> bool {
        let mut narrow = false;
        if strong.observes
            && let Some(found) = self.locations.get(&strong.at)
        {
            let covered =
                found.block == block || (found.scope > Scope::Cta && strong.scope > Scope::Cta);
            if covered {
                let known = Arc::clone(&found.knowledge);
                if acquires(strong.ordering) {
                    threads.acquire(warp, 1 << lane, &known);
                } else {
                    self.hold(warp, lane, &known);
                }
            } else {
                narrow = true;
            }
        }
        if strong.writes {
            let released = if releases(strong.ordering) {
                let mut known = Knowledge::default();
                threads.release(warp, 1 << lane, &mut known);
                outside.end_era(strong.scope);
                outside.cover(&mut known, strong.scope);
                Some((Arc::new(known), strong.scope))
            } else {
                self.warps.get(&warp).and_then(|warp| {
                    let (known, scope) = warp[lane as usize].fenced.as_ref()?;
                    Some((Arc::clone(known), strong.scope.min(*scope)))
                })
            };
            if let (Place::Global, address) = strong.at {
                let foreign = released.as_ref().map(|(known, scope)| {
                    let mut foreign = known.foreign.as_deref().cloned().unwrap_or_default();
                    // A scope that stops at the block still marks what a reader elsewhere misses.
                    foreign.raise(outside.group, 0);
                    (foreign, *scope)
                });
                outside.shadow.release(address, foreign, strong.continues);
            }
            match (released, strong.continues) {
                (Some((knowledge, scope)), continues) => {
                    let mut new = Released {
                        knowledge,
                        scope,
                        block,
                    };
                    // A read-modify-write continues what it found.
                    if continues && let Some(found) = self.locations.get(&strong.at) {
                        Arc::make_mut(&mut new.knowledge).join(&found.knowledge);
                        new.scope = new.scope.max(found.scope);
                    }
                    self.locations.insert(strong.at, new);
                }
                (None, true) => {}
                (None, false) => {
                    self.locations.remove(&strong.at);
                }
            }
        }
        narrow
    }

    /// Whether strong accesses have anything to hand over at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.locations.is_empty() && self.warps.is_empty()
    }

    /// A fence by a lane of `mask` of the warp, at `since` or later.
    pub(crate) fn last_of(&self, warp: u32, mask: u32, since: Tick) -> Option<LastFence> {
        let warp = self.warps.get(&warp)?;
        lanes(mask).find_map(|lane| warp[lane as usize].last.filter(|last| last.tick >= since))
    }

    /// A proxy fence by anybody at `since` or later.
    pub(crate) fn any_proxy_fence(&self, since: Tick) -> Option<LastFence> {
        self.warps
            .values()
            .flat_map(|lanes| lanes.iter())
            .filter_map(|lane| lane.last)
            .filter(|last| matches!(last.fence, Fence::ProxyAsync(_)) && last.tick >= since)
            .min_by_key(|last| (last.tick, last.pc))
    }

    fn lane(&mut self, warp: u32, lane: u32) -> &mut Lane {
        let lanes = self.warps.entry(warp).or_default();
        &mut lanes[lane as usize]
    }
}
