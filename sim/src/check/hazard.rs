//! The rules: which unordered accesses are hazards, and of which class.
//!
//! # Definition
//! A hazard is a pair of overlapping accesses of different actors, at least one of them a write, that are neither morally strong nor ordered by happens-before;
//! or an asynchronous operation used in a way that the sections named below leave undefined.
//! Actors are threads (every lane is one; the warp is no scope) and asynchronous copies. A copy has two milestones, source read and destination written;
//! both come after its issue, and after nothing else until somebody observes them by a group wait, an mbarrier phase, or through a thread that did.
//! When the executor moves the bytes plays no part, so the verdict is the same for early, late and random landing.
//!
//! # Sections of the PTX ISA that are followed
//! Memory Consistency Model (Scope, Morally strong operations, Proxies, Causality order, Data races);
//! Asynchronous operations and their completion mechanisms; `cp.async` with `commit_group` and `wait_group`; `cp.async.bulk` with its groups;
//! mbarrier (Contents, Phase, Tracking asynchronous operations); `bar`/`barrier`; `bar.warp.sync`; `membar`/`fence` with the proxy fence.
//!
//! # What is modelled
//! Block, warp and cluster barriers; release and acquire patterns with fences; group sequences of each thread;
//! bytes of shared memory exactly, also when lanes write different bytes of one word.
//!
//! # What is not
//! The order of events is the one run that the executor performs: code that this run does not reach is not judged.
//! What a thread did before it exited counts as ordered before the barriers that no longer wait for it.
//! Long histories are cut (see `KEPT` in the shadow and the copies).
//!
//! # Direction of error
//! **May miss, never invents.** A finding marked *conservative* rests on a reading of the text that the hardware may be kinder than.

use std::ops::Range;

use crate::event::{CopyKind, Pc};
use crate::finding::Class;

use super::copies::{Batch, PassedWait};
use super::policy::Disputed;
use super::record::{Actor, Record};
use super::shadow::{Clash, Earlier, Viewer};
use super::tally::WaitTally;

/// A thread, as warp and lane among the threads that are checked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ThreadId {
    /// Its warp.
    pub(crate) warp: u16,
    /// Its lane.
    pub(crate) lane: u8,
}

/// What a party did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Read bytes.
    Read,
    /// Wrote bytes.
    Write,
    /// Read and wrote bytes in one.
    Atomic,
    /// Issued a copy that reads the bytes.
    CopyFrom(CopyKind),
    /// Issued a copy that writes the bytes.
    CopyInto(CopyKind),
    /// Waited until so many groups were open; `None` for a wait for all.
    Wait(Option<u32>),
    /// Ended.
    Exit,
}

/// One side of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// The instruction.
    pub(crate) pc: Pc,
    /// The thread.
    pub(crate) thread: ThreadId,
    /// What it did.
    pub(crate) deed: Deed,
    /// The group of the copy, for copies that groups complete.
    pub(crate) group: Option<u32>,
}

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Shared memory of the block of this rank.
    Shared(u16),
    /// Global memory.
    Global,
}

/// Something that explains a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The thread that issued the copy has not waited since.
    NeverWaited {
        /// The copy's group.
        group: u32,
    },
    /// A wait went by and left the copy's group open.
    LeftOpen {
        /// The wait.
        wait: PassedWait,
        /// The copy's group.
        group: u32,
        /// The largest count that a wait at the access could have.
        needed: u32,
    },
    /// A wait went by while the copy was in no group.
    Uncommitted {
        /// The wait.
        wait: PassedWait,
    },
    /// The issuing thread waited, and nothing tells the reader.
    Unpublished {
        /// The wait.
        wait: Pc,
    },
    /// The reader still used what the bytes held before.
    StillInUse,
    /// Both are the same instruction of the same warp.
    SameInstruction,
    /// Other lanes of the warp are ordered before, these are not.
    OtherLanesReleased,
}

/// A hazard between two accesses, not yet in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hazard {
    /// Its class.
    pub(crate) class: Class,
    /// Whether the hardware surely may go wrong.
    pub(crate) certain: bool,
    /// The memory, where one is concerned.
    pub(crate) place: Option<Place>,
    /// The bytes.
    pub(crate) bytes: Range<u64>,
    /// The earlier party, where there is one.
    pub(crate) first: Option<Suspect>,
    /// The later party.
    pub(crate) second: Suspect,
    /// Why.
    pub(crate) facts: Vec<Fact>,
}

impl Hazard {
    /// What makes two hazards the same fault.
    pub(crate) fn key(&self) -> (Class, Option<Pc>, Pc) {
        (self.class, self.first.map(|first| first.pc), self.second.pc)
    }

    /// The disputed rule that it rests on.
    pub(crate) fn disputed(&self) -> Option<Disputed> {
        let same = self.facts.contains(&Fact::SameInstruction);
        (same && self.class == Class::WarpRace).then_some(Disputed::SameInstructionStore)
    }

    /// A hazard of one party and no bytes.
    fn about(class: Class, second: Suspect) -> Self {
        Self {
            class,
            certain: true,
            place: None,
            bytes: 0..0,
            first: None,
            second,
            facts: Vec::new(),
        }
    }
}

/// A thread ends although nothing told it that its copy is complete.
pub(crate) fn outstanding(batch: &Batch, lane: u8, exit: Pc) -> Hazard {
    let thread = ThreadId {
        warp: batch.warp,
        lane,
    };
    let copy = Suspect {
        pc: batch.pc,
        thread,
        deed: Deed::CopyInto(batch.kind),
        group: group_of(batch),
    };
    let end = Suspect {
        pc: exit,
        thread,
        deed: Deed::Exit,
        group: None,
    };
    Hazard {
        first: Some(copy),
        ..Hazard::about(Class::OutstandingAtExit, end)
    }
}

/// The advisory that the runs of one wait add up to.
pub(crate) fn judge_wait(tally: &WaitTally) -> Option<Hazard> {
    if tally.is_vacuous() {
        Some(Hazard::about(Class::VacuousWait, tally.example))
    } else if tally.has_no_overlap() {
        Some(Hazard::about(Class::NoOverlap, tally.example))
    } else {
        None
    }
}

/// An access that is being checked.
#[derive(Clone, Copy)]
pub(crate) struct Accused<'a> {
    /// The access.
    pub(crate) record: &'a Record,
    /// What it does.
    pub(crate) deed: Deed,
    /// Its group, for a copy that groups complete.
    pub(crate) group: Option<u32>,
    /// The memory.
    pub(crate) place: Place,
    /// Address of the line's first byte.
    pub(crate) line: u64,
}

/// Finds the class of two unordered accesses, and the facts that explain it.
///
/// `committed` is how many groups the lane that issued the earlier copy has committed.
pub(crate) fn judge(
    clash: &Clash,
    new: Accused<'_>,
    viewer: Viewer<'_>,
    committed: impl Fn(&Batch, u32) -> u32,
) -> Hazard {
    let earlier = &clash.earlier;
    let batch = match earlier.actor {
        Actor::Copy(id) => viewer.batches.get(id),
        Actor::Thread => None,
    };
    let mut facts = Vec::new();
    let class = match batch {
        Some(batch) => {
            let committed = committed(batch, clash.earlier_lane);
            with_copy(clash, batch, committed, new, viewer, &mut facts)
        }
        None => between_threads(clash, new, viewer, &mut facts),
    };
    let from = new.line + u64::from(clash.bytes.0);
    Hazard {
        class,
        certain: true,
        place: Some(new.place),
        bytes: from..from + u64::from(clash.bytes.1),
        first: Some(Suspect {
            pc: earlier.pc,
            thread: ThreadId {
                warp: earlier.warp,
                lane: clash.earlier_lane as u8,
            },
            deed: deed_of(earlier, batch),
            group: batch.and_then(group_of),
        }),
        second: Suspect {
            pc: new.record.pc,
            thread: ThreadId {
                warp: new.record.warp,
                lane: clash.lane as u8,
            },
            deed: new.deed,
            group: new.group,
        },
        facts,
    }
}

fn deed_of(earlier: &Earlier, batch: Option<&Batch>) -> Deed {
    match batch {
        Some(batch) if earlier.wrote => Deed::CopyInto(batch.kind),
        Some(batch) => Deed::CopyFrom(batch.kind),
        None if earlier.atomic => Deed::Atomic,
        None if earlier.wrote => Deed::Write,
        None => Deed::Read,
    }
}

/// The group of a batch that groups complete.
fn group_of(batch: &Batch) -> Option<u32> {
    (batch.kind != CopyKind::BulkLoad).then_some(batch.group)
}

/// The earlier party is a copy whose milestone the new one does not know.
fn with_copy(
    clash: &Clash,
    batch: &Batch,
    committed: u32,
    new: Accused<'_>,
    viewer: Viewer<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let earlier = &clash.earlier;
    if !earlier.wrote {
        incomplete(batch, committed, facts);
        return Class::SourceModified;
    }
    match new.deed {
        Deed::CopyInto(_) => {
            let together = batch.pc == new.record.pc
                && batch.warp == new.record.warp
                && earlier.tick == new.record.tick;
            if together {
                facts.push(Fact::SameInstruction);
                return if batch.kind == CopyKind::Element {
                    Class::OverlappingCopies
                } else {
                    Class::UnelectedIssue
                };
            }
            incomplete(batch, committed, facts);
            Class::OverlappingCopies
        }
        Deed::Write => {
            incomplete(batch, committed, facts);
            Class::OverlappingCopies
        }
        Deed::Read | Deed::Atomic | Deed::CopyFrom(_) | Deed::Wait(_) | Deed::Exit => {
            read_of_copy(clash, batch, committed, new, viewer, facts)
        }
    }
}

/// The bytes of a copy are read by somebody who does not know them complete.
fn read_of_copy(
    clash: &Clash,
    batch: &Batch,
    committed: u32,
    new: Accused<'_>,
    viewer: Viewer<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let issuer = 1 << clash.earlier_lane;
    let own = batch.warp == new.record.warp && clash.earlier_lane == clash.lane;
    let clock = &viewer.known.of(clash.lane).order;
    let knows_issue = own || clock.known(batch.warp, issuer, batch.issued) != 0;
    if !knows_issue {
        // Nothing orders the reader and the copy at all. Who had not read the old bytes yet was still entitled to them.
        let had_read = clash.earlier.prior_readers >> (new.record.warp % 32) & 1 == 1;
        if clash.earlier.prior_content && !had_read {
            facts.push(Fact::StillInUse);
            return Class::OverwriteInUse;
        }
    }
    if batch.kind == CopyKind::BulkStore {
        incomplete(batch, committed, facts);
        return Class::StoreReadEarly;
    }
    if let (false, Some(wait)) = (own, batch.completed_by) {
        facts.push(Fact::Unpublished { wait });
        return Class::UnpublishedCopy;
    }
    incomplete(batch, committed, facts);
    match facts.last() {
        Some(Fact::LeftOpen { .. }) => Class::WaitCount,
        Some(Fact::Uncommitted { .. }) => Class::UncommittedCopy,
        _ if own || knows_issue => Class::ReadBeforeWait,
        _ => Class::UnpublishedCopy,
    }
}

/// Says why the copy is not complete for its own thread.
fn incomplete(batch: &Batch, committed: u32, facts: &mut Vec<Fact>) {
    let group = batch.group;
    facts.push(match (batch.completed_by, batch.passed) {
        (Some(wait), _) => Fact::Unpublished { wait },
        (None, None) => Fact::NeverWaited { group },
        (None, Some(wait)) if wait.committed > group => Fact::LeftOpen {
            wait,
            group,
            needed: committed.saturating_sub(1).saturating_sub(group),
        },
        (None, Some(wait)) => Fact::Uncommitted { wait },
    });
}

/// Both parties are threads, or the earlier one is and the new one issues a copy.
fn between_threads(
    clash: &Clash,
    new: Accused<'_>,
    viewer: Viewer<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let earlier = &clash.earlier;
    let same_warp = earlier.warp == new.record.warp;
    if !same_warp {
        // An arrival releases its own lane only: somebody else's arrival does not carry this access.
        let others = viewer.known.of(clash.lane).order.known(
            earlier.warp,
            !(1 << clash.earlier_lane),
            earlier.tick,
        );
        if others != 0 {
            facts.push(Fact::OtherLanesReleased);
            return Class::PartialRelease;
        }
    }
    let global = new.place == Place::Global;
    match new.deed {
        Deed::CopyInto(_) if global => Class::GlobalRace,
        Deed::CopyInto(_) if earlier.wrote => Class::OverlappingCopies,
        Deed::CopyInto(_) => Class::OverwriteInUse,
        Deed::CopyFrom(_) if global => Class::SourceModified,
        _ if global => Class::GlobalRace,
        _ if same_warp => Class::WarpRace,
        _ => Class::SharedRace,
    }
}
