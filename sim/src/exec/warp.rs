//! A warp: registers, and which of its lanes are where.
//!
//! Lanes that are at the same instruction of the same activation form a [`Fragment`] and execute together.
//! A divergent branch splits a fragment and leaves a [`Record`] of where its lanes meet again.
//! Who comes there first waits for the others, since compilers count on convergence;
//! but threads are independent, so that when the others cannot come, those who wait go on without them.

use crate::event::Pc;
use crate::lanes::{LANES, Registers};

use super::copies::CopyQueue;

/// No record: the lanes meet nobody.
pub(crate) const NO_RECORD: u32 = u32::MAX;

/// What a fragment waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Ready,
    /// The rest of the warp, at a block barrier.
    Gather,
    /// The lanes of this mask, at an instruction that lanes execute together.
    Lanes(u32),
    /// A block barrier that its warp has arrived at.
    Barrier { id: u32, generation: u64 },
    /// The cluster barrier.
    Cluster { generation: u64 },
    /// The other warps of its warpgroup to issue so many products.
    Products { count: u32 },
    /// An mbarrier of the block of that rank to change.
    Mbarrier {
        rank: u16,
        offset: u32,
        /// Its incomplete phase when the wait began.
        phase: u64,
    },
}

/// Lanes that execute together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    pub(crate) pc: Pc,
    pub(crate) mask: u32,
    /// Calls deep.
    pub(crate) depth: u32,
    /// The record of the innermost divergence that they have not met after.
    pub(crate) record: u32,
    pub(crate) wait: Wait,
    /// Its wait for an mbarrier answers now, whatever the answer is.
    pub(crate) answer: bool,
}

/// Where lanes that parted meet again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) pc: Pc,
    pub(crate) depth: u32,
    /// Lanes that are expected and still run.
    pub(crate) members: u32,
    /// Those of them that are here.
    pub(crate) arrived: u32,
    /// The record around this one.
    pub(crate) parent: u32,
    /// Whether every path that does not end leads here.
    pub(crate) exact: bool,
}

/// One warp of a block.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) registers: Registers,
    /// Lanes that have not ended.
    pub(crate) live: u32,
    pub(crate) fragments: Vec<Fragment>,
    records: Vec<Record>,
    free_records: Vec<u32>,
    /// Return addresses by depth and lane.
    pub(crate) returns: Vec<[Pc; LANES]>,
    /// Local memory, one thread's after the other's, each of a multiple of sixteen bytes.
    pub(crate) local: Vec<u64>,
    pub(crate) copies: CopyQueue,
    /// Registers put aside by recursive calls, by lane.
    pub(crate) saved: Vec<Vec<u64>>,
    /// The fragment to run next.
    pub(crate) next: usize,
    /// Looks at memory that others may change, since something else was done.
    pub(crate) polls: u32,
    /// Value of the group's `writes` after the last turn, and what the warp did since that changed.
    pub(crate) seen_writes: u64,
    pub(crate) quiet_steps: u64,
    pub(crate) quiet_polls: u64,
}

impl Warp {
    /// Back to the start of the kernel with these lanes.
    pub(crate) fn reset(&mut self, start: Pc, lanes: u32) {
        self.live = lanes;
        self.fragments.clear();
        self.fragments.push(Fragment {
            pc: start,
            mask: lanes,
            depth: 0,
            record: NO_RECORD,
            wait: Wait::Ready,
            answer: false,
        });
        self.records.clear();
        self.free_records.clear();
        self.returns.clear();
        self.copies.clear();
        self.saved.clear();
        self.next = 0;
        self.polls = 0;
        (self.seen_writes, self.quiet_steps, self.quiet_polls) = (0, 0, 0);
    }

    /// The instruction at which a fragment of this record and depth waits; none if it waits nowhere.
    #[inline(always)]
    pub(crate) fn meeting(&self, record: u32, depth: u32) -> Pc {
        match self.records.get(record as usize) {
            Some(record) if record.depth == depth => record.pc,
            _ => Pc::MAX,
        }
    }

    /// Splits the lanes of `fragment` in two, which meet at `meet` (with its depth and exactness) if anywhere.
    /// The fragment keeps those that are not in `taken`; the others become a new one at `target`.
    pub(crate) fn split(
        &mut self,
        index: usize,
        taken: u32,
        target: Pc,
        meet: Option<(Pc, u32, bool)>,
    ) {
        let fragment = self.fragments[index];
        let record = match meet {
            None => fragment.record,
            Some((pc, depth, exact)) => {
                let current = self.records.get(fragment.record as usize);
                if current.is_some_and(|record| (record.pc, record.depth) == (pc, depth)) {
                    fragment.record
                } else {
                    self.add_record(Record {
                        pc,
                        depth,
                        members: fragment.mask,
                        arrived: 0,
                        parent: fragment.record,
                        exact,
                    })
                }
            }
        };
        self.fragments[index].record = record;
        self.fragments[index].mask &= !taken;
        self.fragments.push(Fragment {
            pc: target,
            mask: taken,
            depth: fragment.depth,
            record,
            wait: Wait::Ready,
            answer: false,
        });
    }

    fn add_record(&mut self, record: Record) -> u32 {
        if let Some(index) = self.free_records.pop() {
            self.records[index as usize] = record;
            return index;
        }
        self.records.push(record);
        self.records.len() as u32 - 1
    }

    /// A fragment has come to where its record says; it is taken from the list, and perhaps comes back as part of a larger one.
    pub(crate) fn park(&mut self, index: usize) {
        let fragment = self.fragments.swap_remove(index);
        self.records[fragment.record as usize].arrived |= fragment.mask;
        self.resume(fragment.record);
    }

    /// Lets the lanes of a record go on if all have come.
    fn resume(&mut self, index: u32) {
        let record = self.records[index as usize];
        if record.arrived != record.members {
            return;
        }
        self.records[index as usize].members = 0;
        self.records[index as usize].arrived = 0;
        self.free_records.push(index);
        if record.arrived != 0 {
            self.go_on(record);
        }
    }

    fn go_on(&mut self, record: Record) {
        let (mask, parent) = (record.arrived, record.parent);
        if self.meeting(parent, record.depth) == record.pc {
            self.records[parent as usize].arrived |= mask;
            self.resume(parent);
            return;
        }
        self.fragments.push(Fragment {
            pc: record.pc,
            mask,
            depth: record.depth,
            record: parent,
            wait: Wait::Ready,
            answer: false,
        });
    }

    /// Lanes have ended; nobody waits for them any more.
    pub(crate) fn end(&mut self, mask: u32) {
        self.live &= !mask;
        self.forget(mask, NO_RECORD);
        for fragment in &mut self.fragments {
            fragment.mask &= !mask;
        }
        self.fragments.retain(|fragment| fragment.mask != 0);
    }

    /// Takes lanes out of every record except `until` and those around it.
    fn forget(&mut self, mask: u32, until: u32) {
        for index in 0..self.records.len() as u32 {
            if self.records[index as usize].members & mask == 0 || self.encloses(index, until) {
                continue;
            }
            let record = &mut self.records[index as usize];
            record.members &= !mask;
            record.arrived &= !mask;
            if record.members == 0 {
                self.free_records.push(index);
            } else {
                self.resume(index);
            }
        }
    }

    /// Whether `outer` is `inner` or around it.
    fn encloses(&self, outer: u32, inner: u32) -> bool {
        let mut around = inner;
        while let Some(record) = self.records.get(around as usize) {
            if around == outer {
                return true;
            }
            around = record.parent;
        }
        false
    }

    /// Lets those who wait for parted lanes go on without them. Whether there were any.
    pub(crate) fn release_parked(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.records.len() {
            let record = self.records[index];
            if record.arrived != 0 {
                self.records[index].members &= !record.arrived;
                self.records[index].arrived = 0;
                self.go_on(record);
                any = true;
            }
        }
        any
    }

    /// Lanes that wait for parted ones, and a record that they wait at.
    pub(crate) fn parked(&self) -> Option<Record> {
        self.records
            .iter()
            .find(|record| record.arrived != 0)
            .copied()
    }

    /// Merges the fragments at one instruction that wait for each other into the one at `index`, whose new index is returned.
    /// Lanes that name other members than these wait for others.
    pub(crate) fn merge_waiting(&mut self, index: usize) -> usize {
        let this = self.fragments[index];
        let same = |other: &Fragment| {
            other.pc == this.pc && other.depth == this.depth && other.wait == this.wait
        };
        let mut mask = this.mask;
        let mut record = this.record;
        for other in 0..self.fragments.len() {
            let other = self.fragments[other];
            if !same(&other) || other.mask & mask != 0 {
                continue;
            }
            let common = self.common(record, other.record);
            if common != record {
                self.forget(mask, common);
            }
            if common != other.record {
                self.forget(other.mask, common);
            }
            record = common;
            mask |= other.mask;
        }
        self.fragments.retain(|fragment| fragment.mask & mask == 0);
        self.fragments.push(Fragment {
            mask,
            record,
            ..this
        });
        self.fragments.len() - 1
    }

    /// Makes one fragment of those that go on from one instruction after they met in parts.
    pub(crate) fn rejoin(&mut self) {
        let mut index = 0;
        while index < self.fragments.len() {
            let this = self.fragments[index];
            let alike = |other: &Fragment| {
                (other.pc, other.depth, other.record) == (this.pc, this.depth, this.record)
                    && other.wait == Wait::Ready
                    && !other.answer
            };
            if alike(&this) {
                let mask = self
                    .fragments
                    .iter()
                    .filter(|other| alike(other))
                    .fold(0, |mask, other| mask | other.mask);
                if mask != this.mask {
                    self.fragments
                        .retain(|other| !alike(other) || other.mask == this.mask);
                    for fragment in &mut self.fragments {
                        if fragment.mask == this.mask {
                            fragment.mask = mask;
                        }
                    }
                }
            }
            index += 1;
        }
    }

    /// The innermost record around both.
    fn common(&self, a: u32, b: u32) -> u32 {
        let mut around = a;
        while let Some(record) = self.records.get(around as usize) {
            if self.encloses(around, b) {
                return around;
            }
            around = record.parent;
        }
        NO_RECORD
    }
}
