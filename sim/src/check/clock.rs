//! Logical time: pure algebra, no rule of PTX in it.
//!
//! The threads that are checked together (a block, or a cluster of blocks) share one counter of logical time, the [`Tick`].
//! It advances whenever somebody *releases* (arrives, fences, stores with release), so an event and a later release of the same thread
//! may carry the same tick, but an event after a release never carries the release's.
//!
//! A [`Clock`] is a function from threads to ticks: "of thread t, everything up to tick f(t) happened before me".
//! A barrier of all threads raises the function everywhere at once, so it is kept as a *floor* under everybody and
//! sparse entries above it, a warp's lanes with the same tick in one entry. Right after such a barrier there are none.
//! mbarrier objects are actors of their own: a phase that completes is an event of the object, which the floor says nothing about.

use std::cmp::Ordering;
use std::sync::Arc;

use super::global::Foreign;

/// Logical time. It saturates: events beyond the last tick all look known, so that a very long run may miss a race and never invents one.
pub(crate) type Tick = u32;

/// Names an mbarrier object among those of its checker.
pub(crate) type ObjectId = u32;

/// Lanes of one warp that are known up to the same tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    warp: u16,
    lanes: u32,
    tick: Tick,
}

/// What happened before, as a function from threads and mbarrier objects to ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    floor: Tick,
    /// Ordered by warp, then tick; lanes of one warp are disjoint, ticks of one warp distinct and all above the floor.
    entries: Vec<Entry>,
    /// Ordered by object.
    objects: Vec<(ObjectId, Tick)>,
}

impl Clock {
    /// Those of `lanes` of `warp` that are known up to `tick`.
    #[inline]
    pub(crate) fn known(&self, warp: u16, lanes: u32, tick: Tick) -> u32 {
        if tick <= self.floor {
            return lanes;
        }
        let mut known = 0;
        for entry in self.of_warp(warp) {
            if entry.tick >= tick {
                known |= entry.lanes;
            }
        }
        known & lanes
    }

    /// Whether the object is known up to `tick`.
    pub(crate) fn knows_object(&self, object: ObjectId, tick: Tick) -> bool {
        self.objects
            .binary_search_by_key(&object, |&(id, _)| id)
            .is_ok_and(|at| self.objects[at].1 >= tick)
    }

    /// Learns `lanes` of `warp` up to `tick`.
    pub(crate) fn raise(&mut self, warp: u16, lanes: u32, tick: Tick) {
        if tick <= self.floor {
            return;
        }
        let start = self.entries.partition_point(|entry| entry.warp < warp);
        let mut lanes = lanes;
        let mut at = start;
        // Lanes known better keep their tick; the others leave their entries.
        while at < self.entries.len() && self.entries[at].warp == warp {
            let entry = &mut self.entries[at];
            if entry.tick >= tick {
                lanes &= !entry.lanes;
                at += 1;
                continue;
            }
            entry.lanes &= !lanes;
            if entry.lanes == 0 {
                self.entries.remove(at);
            } else {
                at += 1;
            }
        }
        if lanes == 0 {
            return;
        }
        let at = start
            + self.entries[start..]
                .partition_point(|entry| entry.warp == warp && entry.tick < tick);
        match self.entries.get_mut(at) {
            Some(entry) if entry.warp == warp && entry.tick == tick => entry.lanes |= lanes,
            _ => self.entries.insert(at, Entry { warp, lanes, tick }),
        }
    }

    /// Learns the object up to `tick`.
    pub(crate) fn raise_object(&mut self, object: ObjectId, tick: Tick) {
        match self.objects.binary_search_by_key(&object, |&(id, _)| id) {
            Ok(at) => self.objects[at].1 = self.objects[at].1.max(tick),
            Err(at) => self.objects.insert(at, (object, tick)),
        }
    }

    /// Learns every thread up to `tick`.
    pub(crate) fn raise_floor(&mut self, tick: Tick) {
        if tick > self.floor {
            self.floor = tick;
            self.entries.retain(|entry| entry.tick > tick);
        }
    }

    /// The pointwise maximum of both.
    pub(crate) fn join(&mut self, other: &Self) {
        self.raise_floor(other.floor);
        for entry in &other.entries {
            self.raise(entry.warp, entry.lanes, entry.tick);
        }
        self.join_objects(&other.objects);
    }

    /// Learns several objects, ordered as ours.
    fn join_objects(&mut self, other: &[(ObjectId, Tick)]) {
        // One look from the front tells most often that there is nothing new.
        let mut mine = self.objects.iter_mut().peekable();
        let known = other.iter().all(|&(object, tick)| {
            while mine.next_if(|(id, _)| *id < object).is_some() {}
            match mine.peek_mut() {
                Some((id, known)) if *id == object => {
                    *known = tick.max(*known);
                    true
                }
                _ => false,
            }
        });
        if known {
            return;
        }
        let mut all = Vec::with_capacity(self.objects.len() + other.len());
        let (mut mine, mut theirs) = (self.objects.as_slice(), other);
        while let (Some(&a), Some(&b)) = (mine.first(), theirs.first()) {
            all.push((
                a.0.min(b.0),
                match a.0.cmp(&b.0) {
                    Ordering::Less => a.1,
                    Ordering::Equal => a.1.max(b.1),
                    Ordering::Greater => b.1,
                },
            ));
            mine = &mine[usize::from(a.0 <= b.0)..];
            theirs = &theirs[usize::from(b.0 <= a.0)..];
        }
        all.extend_from_slice(mine);
        all.extend_from_slice(theirs);
        self.objects = all;
    }

    fn of_warp(&self, warp: u16) -> impl Iterator<Item = &Entry> {
        let start = self.entries.partition_point(|entry| entry.warp < warp);
        self.entries[start..]
            .iter()
            .take_while(move |entry| entry.warp == warp)
    }
}

/// Accesses with a proxy fence after them on the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// By any thread on the path.
    pub(crate) by_anybody: Clock,
    /// By the thread that made the access.
    pub(crate) by_itself: Clock,
}

impl Bridge {
    fn join(&mut self, other: &Self) {
        self.by_anybody.join(&other.by_anybody);
        self.by_itself.join(&other.by_itself);
    }
}

/// What a thread knows: the order of events, and which of them a proxy fence made visible to the async proxy.
///
/// It flows as one thing. Whoever acquires what another thread released learns both parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// Happens-before.
    pub(crate) order: Clock,
    /// Accesses to shared memory with a proxy fence after them on the path.
    pub(crate) bridged_shared: Bridge,
    /// The same for global memory.
    pub(crate) bridged_global: Bridge,
    /// What is known of blocks that are checked by another monitor.
    pub(crate) foreign: Option<Arc<Foreign>>,
}

impl Knowledge {
    /// The least upper bound of both.
    pub(crate) fn join(&mut self, other: &Self) {
        self.order.join(&other.order);
        self.bridged_shared.join(&other.bridged_shared);
        self.bridged_global.join(&other.bridged_global);
        match (&mut self.foreign, &other.foreign) {
            (_, None) => {}
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => Arc::make_mut(mine).join(theirs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARPS: u16 = 2;
    const LANES: u32 = 2;
    const TICKS: Tick = 3;

    /// The same function, spelled out.
    type Dense = [Tick; (WARPS as usize) * (LANES as usize) + 2];

    fn dense(clock: &Clock) -> Dense {
        let mut out = Dense::default();
        for (slot, value) in out.iter_mut().enumerate().take(4) {
            let (warp, lane) = (slot as u16 / LANES as u16, slot as u32 % LANES);
            *value = (0..=TICKS)
                .rev()
                .find(|&tick| clock.known(warp, 1 << lane, tick) != 0)
                .unwrap_or(0);
        }
        for (object, value) in out[4..].iter_mut().enumerate() {
            *value = (1..=TICKS)
                .rev()
                .find(|&tick| clock.knows_object(object as u32, tick))
                .unwrap_or(0);
        }
        out
    }

    /// Every clock over the small universe: a floor and any tick above it for each lane.
    fn universe() -> Vec<Clock> {
        let mut all = Vec::new();
        for floor in 0..TICKS {
            for code in 0..(TICKS + 1).pow(4) {
                let mut clock = Clock::default();
                clock.raise_floor(floor);
                let mut rest = code;
                for slot in 0..4u32 {
                    clock.raise(
                        (slot / LANES) as u16,
                        1 << (slot % LANES),
                        rest % (TICKS + 1),
                    );
                    rest /= TICKS + 1;
                }
                if code % 3 == 1 {
                    clock.raise_object(code % 2, 1 + code % TICKS);
                }
                if !all.contains(&clock) {
                    all.push(clock);
                }
            }
        }
        all
    }

    fn assert_canonical(clock: &Clock) {
        for pair in clock.entries.windows(2) {
            assert!(
                (pair[0].warp, pair[0].tick) < (pair[1].warp, pair[1].tick),
                "{clock:?}"
            );
            if pair[0].warp == pair[1].warp {
                assert_eq!(pair[0].lanes & pair[1].lanes, 0, "{clock:?}");
            }
        }
        for entry in &clock.entries {
            assert!(entry.lanes != 0 && entry.tick > clock.floor, "{clock:?}");
        }
    }

    #[test]
    fn join_is_the_pointwise_maximum_and_so_a_lattice() {
        let all = universe();
        assert!(all.len() > 300, "the universe has {} clocks", all.len());
        for a in &all {
            for b in &all {
                let mut joined = a.clone();
                joined.join(b);
                assert_canonical(&joined);
                let expected: Vec<Tick> = dense(a)
                    .iter()
                    .zip(dense(b))
                    .map(|(&x, y)| x.max(y))
                    .collect();
                assert_eq!(dense(&joined)[..], expected[..], "{a:?} joined with {b:?}");
                let mut swapped = b.clone();
                swapped.join(a);
                assert_eq!(joined, swapped, "join commutes");
                let mut again = joined.clone();
                again.join(b);
                assert_eq!(joined, again, "join absorbs what it holds");
            }
        }
    }

    #[test]
    fn raising_changes_the_named_lanes_only() {
        for clock in universe() {
            for warp in 0..WARPS {
                for lanes in 1..4u32 {
                    for tick in 0..=TICKS {
                        let mut raised = clock.clone();
                        raised.raise(warp, lanes, tick);
                        assert_canonical(&raised);
                        let (before, after) = (dense(&clock), dense(&raised));
                        for slot in 0..4usize {
                            let named =
                                slot / 2 == usize::from(warp) && lanes >> (slot % 2) & 1 == 1;
                            let expected = if named {
                                before[slot].max(tick)
                            } else {
                                before[slot]
                            };
                            assert_eq!(after[slot], expected);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_floor_forgets_what_it_covers() {
        for clock in universe() {
            for floor in 0..=TICKS {
                let mut raised = clock.clone();
                raised.raise_floor(floor);
                assert_canonical(&raised);
                for (slot, (before, after)) in
                    dense(&clock).into_iter().zip(dense(&raised)).enumerate()
                {
                    let expected = if slot < 4 { before.max(floor) } else { before };
                    assert_eq!(after, expected, "the floor covers threads and no objects");
                }
            }
        }
    }
}
