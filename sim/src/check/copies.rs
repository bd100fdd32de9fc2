//! Asynchronous copies and the group sequences that complete them.
//!
//! The copies that one warp instruction issues form a *batch*. A batch has two milestones, source read and destination written;
//! each is reached for a lane when that lane's wait covers the group, or when the phase of the mbarrier that the copy is attached to completes.
//! Nothing here asks when the executor moves the bytes.

use std::collections::VecDeque;

use crate::event::{CopyKind, Groups, Pc};

use super::clock::{Clock, ObjectId, Tick};
use super::record::lanes;

/// Names a batch; ids grow in order of issue.
pub(crate) type BatchId = u32;

/// Who saw a milestone, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The issuing lanes, at this tick.
    Issuer(Tick),
    /// Whoever knows any of these lanes of this warp up to this tick.
    Warp {
        /// The warp.
        warp: u16,
        /// Its lanes, which waited together.
        lanes: u32,
        /// When.
        tick: Tick,
    },
    /// Whoever observes that the object completed the phase that ended at this tick.
    Object(ObjectId, Tick),
}

/// Whether one side of a batch's copies is over, by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Milestone {
    seen: Vec<(u32, Seen)>,
}

impl Milestone {
    /// The milestone is reached for `lanes`.
    fn reach(&mut self, lanes: u32, seen: Seen) {
        match self.seen.iter_mut().find(|(_, other)| *other == seen) {
            Some((mask, _)) => *mask |= lanes,
            None => self.seen.push((lanes, seen)),
        }
    }

    /// Lanes for which somebody saw it.
    pub(crate) fn reached(&self) -> u32 {
        self.seen.iter().fold(0, |mask, (lanes, _)| mask | lanes)
    }

    /// Those of `wanted` whose milestone lane `viewer` of warp `viewer_warp` does not know; `warp` issued the copies.
    fn unknown_to(
        &self,
        wanted: u32,
        warp: u16,
        clock: &Clock,
        viewer_warp: u16,
        viewer: u32,
    ) -> u32 {
        let mut unknown = wanted;
        for &(mask, seen) in &self.seen {
            let known = match seen {
                Seen::Issuer(tick) => {
                    let own = if viewer_warp == warp { 1 << viewer } else { 0 };
                    clock.known(warp, mask, tick) | (mask & own)
                }
                Seen::Object(object, tick) if clock.knows_object(object, tick) => mask,
                Seen::Warp { warp, lanes, tick }
                    if warp == viewer_warp || clock.known(warp, lanes, tick) != 0 =>
                {
                    mask
                }
                Seen::Object(..) | Seen::Warp { .. } => 0,
            };
            unknown &= !known;
        }
        unknown
    }

    /// Those of `wanted` whose milestone is unknown to some lane with this clock; `own` says that each lane asks for its own copy only.
    fn unknown_to_all(&self, wanted: u32, warp: u16, clock: &Clock, own: bool) -> u32 {
        let mut unknown = wanted;
        for &(mask, seen) in &self.seen {
            unknown &= !match seen {
                Seen::Issuer(_) if own => mask,
                Seen::Issuer(tick) => clock.known(warp, mask, tick),
                Seen::Object(object, tick) if clock.knows_object(object, tick) => mask,
                Seen::Warp { warp, lanes, tick } if clock.known(warp, lanes, tick) != 0 => mask,
                Seen::Object(..) | Seen::Warp { .. } => 0,
            };
        }
        unknown
    }

    /// Whether it is reached for all of `lanes` and everybody knows.
    fn is_common_knowledge(&self, lanes: u32, floor: Tick) -> bool {
        let common = self.seen.iter().fold(0, |mask, &(lanes, seen)| match seen {
            Seen::Issuer(tick) | Seen::Warp { tick, .. } if tick <= floor => mask | lanes,
            _ => mask,
        });
        lanes & !common == 0
    }
}

/// Which side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Its source is read.
    Source,
    /// Its destination is written.
    Destination,
}

/// A wait that went by while a batch stayed open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassedWait {
    /// The wait.
    pub(crate) pc: Pc,
    /// How many groups it allowed to stay open.
    pub(crate) pending: u32,
    /// How many groups the thread had committed then.
    pub(crate) committed: u32,
    /// The newest copy that was in no group then, if there was one.
    pub(crate) uncommitted: Option<Pc>,
}

/// The phase of an mbarrier that completes a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The object.
    pub(crate) object: ObjectId,
    /// The phase, from zero.
    pub(crate) phase: u64,
}

/// The copies of one warp instruction.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The instruction.
    pub(crate) pc: Pc,
    /// How many times the warp had come to it.
    pub(crate) execution: u32,
    /// The issuing warp.
    pub(crate) warp: u16,
    /// The issuing lanes.
    pub(crate) lanes: u32,
    /// Its family.
    pub(crate) kind: CopyKind,
    /// When it was issued.
    pub(crate) issued: Tick,
    /// The group, in the issuing threads' sequence, that it belongs or will belong to.
    pub(crate) group: u32,
    /// How much its warp had read and written when it was issued.
    pub(crate) work: u64,
    /// The latest wait of its thread that left it open.
    pub(crate) passed: Option<PassedWait>,
    /// The wait that completed its destination.
    pub(crate) completed_by: Option<Pc>,
    /// The era of its block in which that was.
    pub(crate) completed_era: Option<u32>,
    /// The wait that completed its source only.
    pub(crate) source_by: Option<Pc>,
    /// Where it is tracked by an mbarrier.
    pub(crate) attached: Option<Attachment>,
    /// The lanes whose copies are.
    pub(crate) attached_lanes: u32,
    source: Milestone,
    destination: Milestone,
}

impl Batch {
    /// When the issuing lanes knew the destination written, and which did.
    pub(crate) fn completed_at(&self) -> Option<(Tick, u32)> {
        self.destination
            .seen
            .iter()
            .find_map(|&(lanes, seen)| match seen {
                Seen::Issuer(tick) => Some((tick, lanes)),
                Seen::Object(..) | Seen::Warp { .. } => None,
            })
    }

    /// The milestone of one side.
    pub(crate) fn milestone(&self, side: Side) -> &Milestone {
        match side {
            Side::Source => &self.source,
            Side::Destination => &self.destination,
        }
    }
}

/// All batches that somebody may still be unordered with.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    first: BatchId,
    list: VecDeque<Batch>,
}

/// Batches kept at most; older ones count as complete, which may miss a hazard and never invents one.
const KEPT: usize = 1 << 20;

/// Batches in one sequence from which on completed ones are swept out.
const SWEPT: usize = 256;

impl Batches {
    /// Adds a batch.
    #[allow(
        clippy::too_many_arguments,
        reason = "the facts of one issue, all needed"
    )]
    pub(crate) fn issue(
        &mut self,
        (pc, execution): (Pc, u32),
        warp: u16,
        lanes: u32,
        kind: CopyKind,
        issued: Tick,
        group: u32,
        work: u64,
    ) -> BatchId {
        if self.list.len() == KEPT {
            self.list.pop_front();
            self.first += 1;
        }
        self.list.push_back(Batch {
            pc,
            execution,
            warp,
            lanes,
            kind,
            issued,
            group,
            work,
            passed: None,
            completed_by: None,
            completed_era: None,
            source_by: None,
            attached: None,
            attached_lanes: 0,
            source: Milestone::default(),
            destination: Milestone::default(),
        });
        self.first + self.list.len() as u32 - 1
    }

    /// The batch, unless everybody knows it complete.
    pub(crate) fn get(&self, id: BatchId) -> Option<&Batch> {
        self.list.get(id.checked_sub(self.first)? as usize)
    }

    fn get_mut(&mut self, id: BatchId) -> Option<&mut Batch> {
        self.list.get_mut(id.checked_sub(self.first)? as usize)
    }

    /// The id that the next batch gets.
    pub(crate) fn next(&self) -> BatchId {
        self.first + self.list.len() as u32
    }

    /// The copies of `lanes` are complete once the phase is. False where they are attached already.
    pub(crate) fn attach(&mut self, id: BatchId, lanes: u32, attachment: Attachment) -> bool {
        let Some(batch) = self.get_mut(id) else {
            return false;
        };
        let new = lanes & !batch.attached_lanes != 0;
        batch.attached_lanes |= lanes;
        batch.attached.get_or_insert(attachment);
        new
    }

    /// The phase that the copies are attached to completed at `tick`.
    pub(crate) fn complete(&mut self, id: BatchId, lanes: u32, object: ObjectId, tick: Tick) {
        if let Some(batch) = self.get_mut(id) {
            batch.source.reach(lanes, Seen::Object(object, tick));
            batch.destination.reach(lanes, Seen::Object(object, tick));
        }
    }

    /// Both sides of all the copies are over for whoever saw this, which the wait at `pc` said.
    pub(crate) fn reach(&mut self, id: BatchId, seen: Seen, pc: Pc) {
        if let Some(batch) = self.get_mut(id) {
            batch.source.reach(batch.lanes, seen);
            batch.destination.reach(batch.lanes, seen);
            batch.completed_by.get_or_insert(pc);
        }
    }

    /// Those of `wanted` lanes' copies whose milestone the viewing lane does not know.
    pub(crate) fn unknown_to(
        &self,
        id: BatchId,
        side: Side,
        wanted: u32,
        clock: &Clock,
        viewer_warp: u16,
        viewer: u32,
    ) -> u32 {
        self.get(id).map_or(0, |batch| {
            batch
                .milestone(side)
                .unknown_to(wanted, batch.warp, clock, viewer_warp, viewer)
        })
    }

    /// Those of `wanted` lanes' copies whose milestone some lane with this clock does not know; `own` says that each asks for its own only.
    pub(crate) fn unknown_to_all(
        &self,
        id: BatchId,
        side: Side,
        wanted: u32,
        clock: &Clock,
        own: bool,
    ) -> u32 {
        self.get(id).map_or(0, |batch| {
            batch
                .milestone(side)
                .unknown_to_all(wanted, batch.warp, clock, own)
        })
    }

    /// The oldest batch that not everybody knows complete.
    #[inline]
    pub(crate) fn oldest(&self) -> BatchId {
        self.first
    }

    /// Forgets the oldest batches that everybody knows complete.
    pub(crate) fn retire(&mut self, floor: Tick) {
        while let Some(batch) = self.list.front() {
            let over = batch.source.is_common_knowledge(batch.lanes, floor)
                && batch.destination.is_common_knowledge(batch.lanes, floor);
            if !over {
                break;
            }
            self.list.pop_front();
            self.first += 1;
        }
    }
}

/// The group sequences of one warp's lanes, for one kind of groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    /// Groups committed by each lane.
    committed: [u32; 32],
    /// Groups that a wait of each lane covered.
    covered: [u32; 32],
    /// Lanes that ever issued or committed.
    used: u32,
    /// Batches with lanes that no wait covered yet, in order of issue.
    open: VecDeque<(BatchId, u32)>,
    /// Bulk stores whose source is read and whose destination is not known to be written.
    writing: VecDeque<(BatchId, u32)>,
}

impl Sequence {
    /// Whether the lane's own waits covered its group of this number.
    pub(crate) fn covered(&self, lane: u32, group: u32) -> bool {
        self.covered[lane as usize] > group
    }

    /// How many groups the lane committed; also the number of its running group.
    pub(crate) fn committed(&self, lane: u32) -> u32 {
        self.committed[lane as usize]
    }

    /// The number of each lane's running group.
    pub(crate) fn running(&self) -> &[u32; 32] {
        &self.committed
    }

    /// `lanes` issued `batch` into their running group.
    pub(crate) fn push(&mut self, batch: BatchId, lanes: u32) {
        self.used |= lanes;
        self.open.push_back((batch, lanes));
    }

    /// Each lane closes its running group.
    pub(crate) fn commit(&mut self, mask: u32) {
        self.used |= mask;
        for (lane, committed) in self.committed.iter_mut().enumerate() {
            *committed += mask >> lane & 1;
        }
    }

    /// Forgets batches that an mbarrier completed, once there are many; their threads may know them complete.
    pub(crate) fn sweep(&mut self, batches: &mut Batches, tick: Tick) {
        if self.open.len() < SWEPT {
            return;
        }
        self.open.retain_mut(|(id, open)| {
            let Some(batch) = batches.get_mut(*id) else {
                return false;
            };
            let over = *open & batch.destination.reached();
            if over != 0 {
                batch.source.reach(over, Seen::Issuer(tick));
                batch.destination.reach(over, Seen::Issuer(tick));
            }
            *open &= !over;
            *open != 0
        });
    }

    /// Batches with lanes of `mask` that no wait covered completely yet.
    pub(crate) fn open(&self, mask: u32) -> impl Iterator<Item = (BatchId, u32)> + '_ {
        self.writing
            .iter()
            .chain(&self.open)
            .filter(move |(_, lanes)| lanes & mask != 0)
            .map(move |&(batch, lanes)| (batch, lanes & mask))
    }

    /// Each lane of `mask` waits until at most `pending` of its groups are open. Returns what that says about the wait itself.
    pub(crate) fn wait(
        &mut self,
        batches: &mut Batches,
        pc: Pc,
        mask: u32,
        groups: Groups,
        pending: u32,
        (tick, era): (Tick, u32),
    ) -> WaitEffect {
        let used = mask & self.used;
        let mut effect = WaitEffect {
            used: used != 0,
            useless: used != 0
                && pending > 0
                && lanes(used).all(|lane| self.committed[lane as usize] <= pending),
            newest: None,
        };
        let committed = self.committed;
        let first = committed[mask.trailing_zeros() as usize % 32];
        let agreed = lanes(mask).all(|lane| committed[lane as usize] == first);
        let newest = self.open.back().and_then(|&(id, _)| batches.get(id));
        let newest = newest.map(|batch| (batch.group, batch.pc));
        let covers = |lanes_open: u32, batch: &mut Batch| {
            let here = lanes_open & mask;
            let done = if agreed {
                if batch.group < first.saturating_sub(pending) {
                    here
                } else {
                    0
                }
            } else {
                lanes(here)
                    .filter(|&lane| batch.group < committed[lane as usize].saturating_sub(pending))
                    .fold(0, |mask, lane| mask | 1 << lane)
            };
            let left = here & !done;
            if left != 0 {
                let committed = committed[left.trailing_zeros() as usize];
                batch.passed = Some(PassedWait {
                    pc,
                    pending,
                    committed,
                    uncommitted: newest
                        .filter(|&(group, _)| group == committed)
                        .map(|(_, pc)| pc),
                });
            }
            done
        };
        let only_sources = groups == (Groups::Bulk { read: true });
        for lane in lanes(used) {
            let covered = &mut self.covered[lane as usize];
            *covered = (*covered).max(self.committed[lane as usize].saturating_sub(pending));
        }
        if !only_sources {
            self.writing.retain_mut(|(id, open)| {
                let Some(batch) = batches.get_mut(*id) else {
                    return false;
                };
                let done = covers(*open, batch);
                if done != 0 {
                    batch.destination.reach(done, Seen::Issuer(tick));
                    batch.completed_by.get_or_insert(pc);
                    batch.completed_era = Some(era);
                }
                *open &= !done;
                *open != 0
            });
        }
        let writing = &mut self.writing;
        self.open.retain_mut(|(id, open)| {
            let Some(batch) = batches.get_mut(*id) else {
                return false;
            };
            let done = covers(*open, batch);
            if done != 0 {
                effect.newest = Some(*id);
                batch.source.reach(done, Seen::Issuer(tick));
                if only_sources {
                    batch.source_by = Some(pc);
                    writing.push_back((*id, done));
                } else {
                    batch.destination.reach(done, Seen::Issuer(tick));
                    batch.completed_by.get_or_insert(pc);
                    batch.completed_era = Some(era);
                }
            }
            *open &= !done;
            *open != 0
        });
        effect
    }
}

/// The group sequences of one warp, and how much it has read or written so far.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    /// Of `cp.async`.
    pub(crate) element: Sequence,
    /// Of `cp.async.bulk`.
    pub(crate) bulk: Sequence,
    /// Of `wgmma`.
    pub(crate) product: Sequence,
    /// Ordinary accesses of the warp.
    pub(crate) work: u64,
}

impl Sequences {
    /// One of them.
    pub(crate) fn of(&mut self, groups: Groups) -> &mut Sequence {
        match groups {
            Groups::Element => &mut self.element,
            Groups::Bulk { .. } => &mut self.bulk,
            Groups::Product => &mut self.product,
        }
    }
}

/// What a wait did, for the advisories about waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitEffect {
    /// Any of its threads ever committed or issued a copy.
    pub(crate) used: bool,
    /// It allowed at least as many open groups as its threads ever committed.
    pub(crate) useless: bool,
    /// The newest batch that it completed.
    pub(crate) newest: Option<BatchId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = !0;

    /// For every depth and every wait count, the groups that a wait leaves open are the newest ones, at most that many.
    #[test]
    fn a_wait_leaves_at_most_its_newest_groups_open() {
        for committed in 0..6u32 {
            for uncommitted in [false, true] {
                for pending in 0..7u32 {
                    let (mut batches, mut sequence) = (Batches::default(), Sequence::default());
                    let mut ids = Vec::new();
                    for group in 0..committed + u32::from(uncommitted) {
                        let id = batches.issue((group, 0), 0, ALL, CopyKind::Element, 1, group, 16);
                        sequence.push(id, ALL);
                        ids.push(id);
                        if group < committed {
                            sequence.commit(ALL);
                        }
                    }
                    sequence.wait(&mut batches, 99, ALL, Groups::Element, pending, (2, 0));
                    for (group, &id) in ids.iter().enumerate() {
                        let done = (group as u32) < committed.saturating_sub(pending);
                        let batch = batches.get(id).expect("not retired");
                        let reached = batch.milestone(Side::Destination).reached();
                        assert_eq!(reached, if done { ALL } else { 0 });
                        assert_eq!(
                            batch.passed.is_some(),
                            !done,
                            "an open batch knows the wait"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_wait_for_their_own_groups_only() {
        let (mut batches, mut sequence) = (Batches::default(), Sequence::default());
        let id = batches.issue((0, 0), 0, ALL, CopyKind::Element, 1, 0, 4);
        sequence.push(id, ALL);
        sequence.commit(0xff);
        sequence.wait(&mut batches, 1, ALL, Groups::Element, 0, (2, 0));
        let batch = batches.get(id).expect("not retired");
        assert_eq!(batch.milestone(Side::Destination).reached(), 0xff);
        assert_eq!(sequence.open(ALL).collect::<Vec<_>>(), [(id, ALL & !0xff)]);
    }

    #[test]
    fn a_read_wait_says_nothing_about_the_destination() {
        let (mut batches, mut sequence) = (Batches::default(), Sequence::default());
        let id = batches.issue((0, 0), 0, 1, CopyKind::BulkStore, 1, 0, 64);
        sequence.push(id, 1);
        sequence.commit(1);
        sequence.wait(&mut batches, 1, 1, Groups::Bulk { read: true }, 0, (2, 0));
        let unknown =
            |batches: &Batches, side| batches.unknown_to(id, side, 1, &Clock::default(), 0, 0);
        assert_eq!(unknown(&batches, Side::Source), 0);
        assert_eq!(unknown(&batches, Side::Destination), 1);
        sequence.wait(&mut batches, 2, 1, Groups::Bulk { read: false }, 0, (3, 0));
        assert_eq!(unknown(&batches, Side::Destination), 0);
    }

    #[test]
    fn only_what_everybody_knows_is_forgotten() {
        let (mut batches, mut sequence) = (Batches::default(), Sequence::default());
        for group in 0..2 {
            let id = batches.issue((0, 0), 0, ALL, CopyKind::Element, 1, group, 4);
            sequence.push(id, ALL);
            sequence.commit(ALL);
        }
        sequence.wait(&mut batches, 1, ALL, Groups::Element, 1, (5, 0));
        batches.retire(4);
        assert!(batches.get(0).is_some(), "known to its threads only");
        batches.retire(5);
        assert!(batches.get(0).is_none());
        assert!(batches.get(1).is_some(), "still open");
    }
}
