//! What each thread knows: who released what to whom.
//!
//! Nearly always the lanes of a warp know the same, so a warp holds one piece of knowledge until something tells its lanes apart.
//! A thread's own past is not in its knowledge; it is added when the thread releases.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::event::Site;

use super::clock::{Knowledge, Tick};
use super::lines::by_number;
use super::record::lanes;

/// The knowledge of one warp's lanes.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// All lanes know this.
    Same(Arc<Knowledge>),
    /// Lanes differ.
    Each(Box<[Arc<Knowledge>; 32]>),
}

impl Known {
    /// What `lane` knows.
    #[inline]
    pub(crate) fn of(&self, lane: u32) -> &Arc<Knowledge> {
        match self {
            Self::Same(known) => known,
            Self::Each(each) => &each[lane as usize],
        }
    }

    fn set(&mut self, mask: u32, known: &Arc<Knowledge>, live: u32) {
        if live & !mask == 0 {
            *self = Self::Same(Arc::clone(known));
            return;
        }
        if let Self::Same(same) = self {
            *self = Self::Each(Box::new(std::array::from_fn(|_| Arc::clone(same))));
        }
        if let Self::Each(each) = self {
            for lane in lanes(mask) {
                each[lane as usize] = Arc::clone(known);
            }
            let first = &each[live.trailing_zeros() as usize % 32];
            if lanes(live).all(|lane| Arc::ptr_eq(&each[lane as usize], first)) {
                *self = Self::Same(Arc::clone(first));
            }
        }
    }

    /// Calls `f` once for each distinct piece of knowledge among the lanes of `mask`.
    fn distinct(&self, mask: u32, mut f: impl FnMut(&Arc<Knowledge>, u32)) {
        match self {
            Self::Same(known) => f(known, mask),
            Self::Each(each) => {
                let mut rest = mask;
                while rest != 0 {
                    let first = &each[rest.trailing_zeros() as usize];
                    let same = lanes(rest)
                        .filter(|&lane| Arc::ptr_eq(&each[lane as usize], first))
                        .fold(0, |mask, lane| mask | 1 << lane);
                    f(first, same);
                    rest &= !same;
                }
            }
        }
    }
}

/// One warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// What its lanes know.
    pub(crate) known: Known,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Lanes that the warp ever had.
    pub(crate) all: u32,
}

/// One block barrier between two completions.
#[derive(Clone, Debug, Default)]
struct Meeting {
    released: Knowledge,
    /// The last knowledge joined into `released`, so that a block that agrees is joined once.
    last: Option<Arc<Knowledge>>,
    /// Warps that wait for the completion, with their lanes.
    waiting: Vec<(u16, u32)>,
}

/// All threads that are checked together.
#[derive(Debug)]
pub(crate) struct Threads {
    warps: Vec<Warp>,
    now: Tick,
    /// A release happened at `now`: the next event gets a later tick.
    released: bool,
    /// What every live thread knows about every thread.
    common: Tick,
    meetings: Vec<Meeting>,
    /// The last join of two pieces of knowledge and its result: lanes of a warp that do the same share the result.
    memo: Option<[Arc<Knowledge>; 3]>,
    /// How often each lane arrived at the cluster barrier, by warp.
    rounds: HashMap<u32, Box<[u32; 32]>>,
    /// What was released into each round of the cluster barrier, from `first_round` on.
    gathered: VecDeque<Arc<Knowledge>>,
    first_round: usize,
}

impl Threads {
    /// `warps` gives each warp's lanes.
    pub(crate) fn new(warps: impl Iterator<Item = u32>) -> Self {
        let nothing = Arc::new(Knowledge::default());
        Self {
            warps: warps
                .map(|all| Warp {
                    known: Known::Same(Arc::clone(&nothing)),
                    live: all,
                    all,
                })
                .collect(),
            now: 1,
            released: false,
            common: 0,
            meetings: Vec::new(),
            memo: None,
            rounds: HashMap::new(),
            gathered: VecDeque::new(),
            first_round: 0,
        }
    }

    /// The warp.
    #[inline]
    pub(crate) fn warp(&self, warp: u32) -> &Warp {
        &self.warps[warp as usize]
    }

    /// The tick of an event that happens now.
    #[inline]
    pub(crate) fn event(&mut self) -> Tick {
        if self.released {
            self.released = false;
            self.now = self.now.saturating_add(1);
        }
        self.now
    }

    /// The tick up to which every thread is known to every live thread.
    #[inline]
    pub(crate) fn common(&self) -> Tick {
        self.common
    }

    /// What the lanes of `mask` would release: what they know, and their own past.
    pub(crate) fn release(&mut self, warp: u32, mask: u32, into: &mut Knowledge) {
        self.released = true;
        self.warps[warp as usize]
            .known
            .distinct(mask, |known, _| into.join(known));
        into.order.raise(warp as u16, mask, self.now);
    }

    /// Puts another piece of knowledge in the place of what a warp's lanes know, for a while.
    pub(crate) fn replace_known(&mut self, warp: u32, known: Known) -> Known {
        std::mem::replace(&mut self.warps[warp as usize].known, known)
    }

    /// The lanes of `mask` learn `what`.
    pub(crate) fn acquire(&mut self, warp: u32, mask: u32, what: &Arc<Knowledge>) {
        let target = &mut self.warps[warp as usize];
        let mut learned = Vec::new();
        let memo = &mut self.memo;
        target.known.distinct(mask, |known, same| {
            if Arc::ptr_eq(known, what) {
                return;
            }
            let result = match memo {
                Some([a, b, result]) if Arc::ptr_eq(a, known) && Arc::ptr_eq(b, what) => {
                    Arc::clone(result)
                }
                _ => {
                    let mut joined = Knowledge::clone(known);
                    joined.join(what);
                    let joined = Arc::new(joined);
                    *memo = Some([Arc::clone(known), Arc::clone(what), Arc::clone(&joined)]);
                    joined
                }
            };
            learned.push((same, result));
        });
        for (same, result) in learned {
            target.known.set(same, &result, target.live);
        }
    }

    /// A proxy fence: what the lanes know by now, their own past included, is visible to the async proxy.
    pub(crate) fn bridge(&mut self, site: Site, shared: bool, global: bool) {
        self.released = true;
        let now = self.now;
        let warp = site.warp as u16;
        let target = &mut self.warps[site.warp as usize];
        let mut bridged = Vec::new();
        target.known.distinct(site.mask, |known, same| {
            let mut knowledge = Knowledge::clone(known);
            let mut past = knowledge.order.clone();
            // Every lane here fences, so whoever is ordered after a lane's past through any of them has that lane's fence on the path.
            past.raise(warp, same, now);
            let spaces = [
                (shared, &mut knowledge.bridged_shared),
                (global, &mut knowledge.bridged_global),
            ];
            for (covered, bridge) in spaces {
                if covered {
                    bridge.by_anybody.join(&past);
                    bridge.by_itself.raise(warp, same, now);
                }
            }
            bridged.push((same, Arc::new(knowledge)));
        });
        for (same, result) in bridged {
            target.known.set(same, &result, target.live);
        }
    }

    /// The lanes of a warp meet and learn from each other.
    pub(crate) fn warp_sync(&mut self, site: Site) {
        let mut together = Knowledge::default();
        self.release(site.warp, site.mask, &mut together);
        let warp = &mut self.warps[site.warp as usize];
        warp.known.set(site.mask, &Arc::new(together), warp.live);
    }

    /// The lanes arrive at a barrier; `waits` says whether they stay for its completion.
    pub(crate) fn barrier_arrive(&mut self, barrier: u32, site: Site, waits: bool) {
        let barrier = barrier as usize;
        if self.meetings.len() <= barrier {
            self.meetings.resize_with(barrier + 1, Meeting::default);
        }
        let mut meeting = std::mem::take(&mut self.meetings[barrier]);
        if waits {
            self.warps[site.warp as usize]
                .known
                .distinct(site.mask, |known, _| {
                    if !meeting
                        .last
                        .as_ref()
                        .is_some_and(|last| Arc::ptr_eq(last, known))
                    {
                        meeting.released.join(known);
                        meeting.last = Some(Arc::clone(known));
                    }
                });
            meeting.waiting.push((site.warp as u16, site.mask));
        } else {
            self.release(site.warp, site.mask, &mut meeting.released);
        }
        self.meetings[barrier] = meeting;
    }

    /// The barrier completed: whoever waited learns from all who arrived.
    ///
    /// Returns whether it made every thread know every other.
    pub(crate) fn barrier_complete(&mut self, barrier: u32) -> bool {
        let Some(meeting) = self.meetings.get_mut(barrier as usize) else {
            return false;
        };
        let Meeting {
            mut released,
            waiting,
            ..
        } = std::mem::take(meeting);
        let now = self.event();
        let mut mask_of = vec![0u32; self.warps.len()];
        for &(warp, mask) in &waiting {
            mask_of[usize::from(warp)] |= mask;
        }
        // A thread that has exited holds nobody up, and what it did before is taken as ordered before the barrier.
        let everybody = self
            .warps
            .iter()
            .zip(&mask_of)
            .all(|(warp, &mask)| warp.live & !mask == 0);
        if everybody {
            released.order.raise_floor(now);
            self.common = now;
        } else {
            for (warp, &mask) in mask_of.iter().enumerate() {
                if mask != 0 {
                    let exited = self.warps[warp].all & !self.warps[warp].live;
                    released.order.raise(warp as u16, mask | exited, now);
                }
            }
        }
        self.released = true;
        let released = Arc::new(released);
        for (warp, mask) in mask_of.into_iter().enumerate() {
            if mask != 0 {
                let warp = &mut self.warps[warp];
                warp.known.set(mask, &released, warp.live);
            }
        }
        everybody
    }

    /// Something was released at this tick, so that what happens from now on is later.
    pub(crate) fn released(&mut self) {
        self.released = true;
    }

    /// The lanes arrive at the cluster barrier; `releases` is false for a relaxed arrival.
    pub(crate) fn cluster_arrive(&mut self, site: Site, releases: bool) {
        let mut counts = self
            .rounds
            .remove(&site.warp)
            .unwrap_or_else(|| Box::new([0; 32]));
        by_number(&counts, site.mask, |round, mask| {
            while self.gathered.len() + self.first_round <= round as usize {
                self.gathered.push_back(Arc::default());
            }
            if releases && let Some(at) = (round as usize).checked_sub(self.first_round) {
                let mut gathered = std::mem::take(&mut self.gathered[at]);
                self.release(site.warp, mask, Arc::make_mut(&mut gathered));
                self.gathered[at] = gathered;
            }
        });
        for lane in lanes(site.mask) {
            counts[lane as usize] += 1;
        }
        self.rounds.insert(site.warp, counts);
        // Nobody can be more than one round behind.
        while self.gathered.len() > 3 {
            self.gathered.pop_front();
            self.first_round += 1;
        }
    }

    /// The lanes passed the wait of the cluster barrier that they arrived at last.
    pub(crate) fn cluster_wait(&mut self, site: Site) {
        let Some(counts) = self.rounds.get(&site.warp).cloned() else {
            return;
        };
        by_number(&counts, site.mask, |count, mask| {
            let gathered = (count as usize)
                .checked_sub(1 + self.first_round)
                .and_then(|at| self.gathered.get(at).cloned());
            if let Some(gathered) = gathered {
                self.acquire(site.warp, mask, &gathered);
            }
        });
    }

    /// Whether no thread is left.
    pub(crate) fn have_exited(&self) -> bool {
        self.warps.iter().all(|warp| warp.live == 0)
    }

    /// The lanes are done.
    pub(crate) fn exit(&mut self, site: Site) {
        self.warps[site.warp as usize].live &= !site.mask;
    }
}
