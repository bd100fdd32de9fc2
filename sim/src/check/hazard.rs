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

use crate::event::{CopyKind, Fence, MbarrierOp, Pc};
use crate::finding::Class;

use super::copies::{Batch, BatchId, PassedWait, Sequences, Side};
use super::fences::Fences;
use super::objects::Objects;
use super::policy::Disputed;
use super::products::{Use, User, why_open};
use super::record::{Actor, Record, bits};
use super::shadow::{Clash, Viewer};
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
    /// Closed its running group.
    Commit,
    /// Issued a product that uses registers.
    Multiply,
    /// Read a register.
    ReadRegister,
    /// Wrote a register.
    WriteRegister,
    /// Ended.
    Exit,
    /// Did something to an mbarrier object.
    Object(MbarrierOp),
}

impl Deed {
    /// Whether bytes are written.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Atomic | Self::CopyInto(_))
    }

    /// Whether bytes are read.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Atomic | Self::CopyFrom(_))
    }
}

/// One side of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// The instruction.
    pub(crate) pc: Pc,
    /// How many times its warp had come to it; zero where that is not known.
    pub(crate) execution: u32,
    /// The thread.
    pub(crate) thread: ThreadId,
    /// What it did.
    pub(crate) deed: Deed,
    /// The group of the copy, for copies that groups complete.
    pub(crate) group: Option<u32>,
}

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        /// The largest count with which it would have covered the copy.
        needed: u32,
    },
    /// A wait went by while the copy was in no group.
    Uncommitted {
        /// The wait.
        wait: PassedWait,
    },
    /// The thread that issued the copy waited for its source only.
    SourceOnly {
        /// The wait.
        wait: Pc,
    },
    /// The issuing thread waited, and nothing tells the reader.
    Unpublished {
        /// The wait.
        wait: Pc,
    },
    /// The reader waited for its own copies of the same group.
    ReaderAhead,
    /// The reader still used what the bytes held before.
    StillInUse,
    /// Both are the same instruction of the same warp.
    SameInstruction,
    /// Other lanes of the warp are ordered before, these are not.
    OtherLanesReleased,
    /// The copy is complete with this phase of an mbarrier, and the thread did not wait for it.
    NoPhaseWait {
        /// The object's offset.
        object: u64,
        /// The phase.
        phase: u64,
    },
    /// A wait of the thread was satisfied by an older phase.
    StaleWait {
        /// The wait.
        wait: Pc,
        /// The object's offset.
        object: u64,
        /// The phase that it saw.
        seen: Option<u64>,
        /// The phase that it should have waited for.
        needed: Option<u64>,
    },
    /// The object was invalidated before.
    Invalidated,
    /// The parties are in different blocks.
    OtherBlock,
    /// Nothing orders the object's initialisation before its use.
    InitUnordered,
    /// No fence follows the initialisation.
    InitUnfenced,
    /// The arrivals of a phase.
    Arrivals {
        /// The phase.
        phase: u64,
        /// What it expects.
        expected: u32,
        /// What was registered for it.
        arrivals: u32,
    },
    /// The bytes of a phase.
    Bytes {
        /// The phase.
        phase: u64,
        /// Announced by `expect_tx`.
        expected: u64,
        /// Delivered by copies.
        delivered: u64,
    },
    /// The proxy fence stands behind the barrier, in another thread than the access.
    FencedLate,
    /// One block's asynchronous store, another block's asynchronous read.
    AsyncAcrossBlocks,
    /// There is no proxy fence on the path.
    Unfenced {
        /// A fence that is not the right one, or not in the right place.
        near: Option<(Pc, Fence)>,
    },
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
    /// What makes two hazards the same fault: the two instructions, or the wait that is to blame whatever it should have covered.
    pub(crate) fn key(&self) -> (Class, Option<Pc>, Pc) {
        let wait = self.facts.iter().find_map(|fact| match fact {
            Fact::LeftOpen { wait, .. } | Fact::Uncommitted { wait } => Some(wait.pc),
            _ => None,
        });
        let registers = matches!(
            self.second.deed,
            Deed::Multiply | Deed::ReadRegister | Deed::WriteRegister
        );
        match wait {
            Some(wait) => (self.class, None, wait),
            // One product's registers are many, and one wait or fence would have been for all.
            None if registers => {
                let product = self.first.filter(|first| first.deed == Deed::Multiply);
                let product = product.unwrap_or(self.second);
                (self.class, None, product.pc)
            }
            None => (self.class, self.first.map(|first| first.pc), self.second.pc),
        }
    }

    /// The disputed rule that it rests on.
    pub(crate) fn disputed(&self) -> Option<Disputed> {
        let same_instruction = self.facts.contains(&Fact::SameInstruction);
        let overwrites = self.second.deed.writes();
        match self.class {
            Class::WarpRace if same_instruction => Some(Disputed::SameInstructionStore),
            Class::MissingProxyFence if self.facts.contains(&Fact::InitUnfenced) => {
                Some(Disputed::InitFence)
            }
            Class::WrongFence if self.facts.contains(&Fact::FencedLate) => {
                Some(Disputed::FencePosition)
            }
            Class::MissingProxyFence if self.facts.contains(&Fact::AsyncAcrossBlocks) => {
                Some(Disputed::AsyncAcrossBlocks)
            }
            Class::MissingProxyFence | Class::WrongFence if overwrites => {
                Some(Disputed::AsyncOverwrite)
            }
            Class::NarrowScope if matches!(self.second.deed, Deed::Object(_)) => {
                Some(Disputed::RemoteArriveScope)
            }
            Class::OutstandingAtExit
                if self
                    .first
                    .is_some_and(|first| first.deed == Deed::CopyInto(CopyKind::BulkStore)) =>
            {
                Some(Disputed::StoreAtExit)
            }
            _ => None,
        }
    }

    /// A hazard of one party and no bytes.
    pub(crate) fn about(class: Class, second: Suspect) -> Self {
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

/// A thread of `lanes` ends although nothing told anybody that its copy is complete, and no mbarrier will.
pub(crate) fn outstanding(batch: &Batch, lanes: u32, exit: Pc) -> Option<Hazard> {
    let open = lanes & !batch.milestone(Side::Destination).reached() & !batch.attached_lanes;
    if open == 0 {
        return None;
    }
    let thread = ThreadId {
        warp: batch.warp,
        lane: open.trailing_zeros() as u8,
    };
    let copy = Suspect {
        pc: batch.pc,
        execution: batch.execution,
        thread,
        deed: Deed::CopyInto(batch.kind),
        group: group_of(batch),
    };
    let end = Suspect {
        pc: exit,
        execution: 0,
        thread,
        deed: Deed::Exit,
        group: None,
    };
    Some(Hazard {
        first: Some(copy),
        ..Hazard::about(Class::OutstandingAtExit, end)
    })
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

impl Accused<'_> {
    fn suspect(&self, lane: u32) -> Suspect {
        Suspect {
            pc: self.record.pc,
            execution: self.record.execution,
            thread: ThreadId {
                warp: self.record.warp,
                lane: lane as u8,
            },
            deed: self.deed,
            group: self.group,
        }
    }
}

/// What a judge may look at.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// The accused's view.
    pub(crate) viewer: Viewer<'a>,
    /// Group sequences by warp.
    pub(crate) sequences: &'a [Sequences],
    /// mbarrier objects.
    pub(crate) objects: &'a Objects,
    /// Fences.
    pub(crate) fences: &'a Fences,
}

/// Finds the class of two unordered accesses, and the facts that explain it.
pub(crate) fn judge(clash: &Clash, new: Accused<'_>, scene: Scene<'_>) -> Hazard {
    let earlier = &clash.earlier;
    let batch = match earlier.actor {
        Actor::Copy(id) => scene.viewer.batches.get(id).map(|batch| (id, batch)),
        Actor::Thread => None,
    };
    let mut facts = Vec::new();
    let class = match batch {
        Some((id, batch)) => with_copy(clash, id, batch, new, scene, &mut facts),
        None => between_threads(clash, new, scene, &mut facts),
    };
    let from = new.line + u64::from(clash.bytes.0);
    let batch = batch.map(|(_, batch)| batch);
    let first = Suspect {
        pc: earlier.pc,
        execution: earlier.execution,
        thread: ThreadId {
            warp: earlier.warp,
            lane: clash.earlier_lane as u8,
        },
        deed: deed_of(earlier.wrote, earlier.atomic, batch),
        group: batch.and_then(group_of),
    };
    let second = new.suspect(clash.lane);
    // A read that came before the copy which it was meant for is told the other way round.
    let (first, second) = match (class, second.deed) {
        (Class::UnpublishedCopy, Deed::CopyInto(_)) => (second, first),
        _ => (first, second),
    };
    Hazard {
        class,
        certain: true,
        place: Some(new.place),
        bytes: from..from + u64::from(clash.bytes.1),
        first: Some(first),
        second,
        facts,
    }
}

fn deed_of(wrote: bool, atomic: bool, batch: Option<&Batch>) -> Deed {
    match batch {
        Some(batch) if wrote => Deed::CopyInto(batch.kind),
        Some(batch) => Deed::CopyFrom(batch.kind),
        None if atomic => Deed::Atomic,
        None if wrote => Deed::Write,
        None => Deed::Read,
    }
}

/// The group of a batch that groups complete.
fn group_of(batch: &Batch) -> Option<u32> {
    (batch.kind != CopyKind::BulkLoad && batch.attached.is_none()).then_some(batch.group)
}

/// The earlier party is a copy whose milestone the new one does not know.
fn with_copy(
    clash: &Clash,
    id: BatchId,
    batch: &Batch,
    new: Accused<'_>,
    scene: Scene<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let earlier = &clash.earlier;
    if !earlier.wrote {
        // Nothing was there to be read but what the copy brings.
        if matches!(new.deed, Deed::CopyInto(_))
            && batch.kind == CopyKind::Product
            && !new.record.prior.content
        {
            return Class::UnpublishedCopy;
        }
        incomplete(batch, scene, facts);
        return match new.deed {
            // To a product a refilled stage is one that it still reads.
            Deed::CopyInto(_) if batch.kind == CopyKind::Product => Class::OverwriteInUse,
            _ => Class::SourceModified,
        };
    }
    if let Deed::CopyInto(_) = new.deed {
        let together = batch.pc == new.record.pc
            && batch.warp == new.record.warp
            && earlier.tick == new.record.tick;
        if together {
            facts.push(Fact::SameInstruction);
            return match batch.kind {
                CopyKind::Element => Class::OverlappingCopies,
                CopyKind::BulkLoad | CopyKind::BulkStore | CopyKind::Product => {
                    Class::UnelectedIssue
                }
            };
        }
    }
    if new.deed.reads() {
        return read_of_copy(clash, id, batch, new, scene, facts);
    }
    if let Some(stale) = repeated_wait(new.suspect(clash.lane).thread, scene) {
        facts.push(stale);
        return Class::StalePhase;
    }
    incomplete(batch, scene, facts);
    Class::OverlappingCopies
}

/// The bytes of a copy are read by somebody who does not know them complete.
fn read_of_copy(
    clash: &Clash,
    id: BatchId,
    batch: &Batch,
    new: Accused<'_>,
    scene: Scene<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let issuer = 1 << clash.earlier_lane;
    let own = batch.warp == new.record.warp && clash.earlier_lane == clash.lane;
    let clock = &scene.viewer.known.of(clash.lane).order;
    if let Some(attachment) = batch.attached {
        let object = scene.objects.get(attachment.object).at.1;
        let thread = new.suspect(clash.lane).thread;
        // A wait after the issue that saw an older phase was meant for this one.
        let seen = scene.objects.observation(attachment.object, thread);
        if let Some(seen) = seen
            && seen.issued > id
            && seen.phase < Some(attachment.phase)
        {
            facts.push(Fact::StaleWait {
                wait: seen.pc,
                object,
                seen: seen.phase,
                needed: Some(attachment.phase),
            });
            return Class::StalePhase;
        }
    }
    let knows_issue = own || clock.known(batch.warp, issuer, batch.issued) != 0;
    if !knows_issue {
        // Nothing orders the reader and the copy at all. Who had not read the old bytes yet was still entitled to them.
        let had_read = clash.earlier.prior.readers >> (new.record.warp % 32) & 1 == 1;
        if clash.earlier.prior.content && !had_read {
            facts.push(Fact::StillInUse);
            return Class::OverwriteInUse;
        }
    }
    if !own && batch.kind == CopyKind::Element && batch.attached.is_none() {
        // Threads of a block mostly run the same waits: one that covered its own group of this number shows that only the barrier is missing.
        let reader = &scene.sequences[usize::from(new.record.warp)].element;
        if reader.covered(clash.lane, batch.group) {
            facts.push(match batch.completed_by {
                Some(wait) => Fact::Unpublished { wait },
                None => Fact::ReaderAhead,
            });
            return Class::UnpublishedCopy;
        }
        if let Some(wait) = batch.passed
            && wait.committed > batch.group
        {
            facts.push(left_open(batch, wait));
            return Class::WaitCount;
        }
    }
    incomplete(batch, scene, facts);
    match facts.last() {
        _ if batch.kind == CopyKind::BulkStore => Class::StoreReadEarly,
        Some(Fact::Unpublished { .. }) => Class::UnpublishedCopy,
        Some(Fact::LeftOpen { .. }) => Class::WaitCount,
        Some(Fact::Uncommitted { .. }) => Class::UncommittedCopy,
        Some(Fact::NoPhaseWait { .. }) => Class::ReadBeforeWait,
        _ if own || knows_issue => Class::ReadBeforeWait,
        _ => Class::UnpublishedCopy,
    }
}

/// Says why the copy is not complete, as far as its own thread is concerned.
fn incomplete(batch: &Batch, scene: Scene<'_>, facts: &mut Vec<Fact>) {
    let group = batch.group;
    facts.push(match (batch.completed_by, batch.passed) {
        (Some(wait), _) => Fact::Unpublished { wait },
        (None, _) if batch.attached.is_some() || batch.kind == CopyKind::BulkLoad => {
            let Some(attachment) = batch.attached else {
                return;
            };
            Fact::NoPhaseWait {
                object: scene.objects.get(attachment.object).at.1,
                phase: attachment.phase,
            }
        }
        (None, None) if batch.source_by.is_some() => Fact::SourceOnly {
            wait: batch.source_by.unwrap_or_default(),
        },
        (None, None) => Fact::NeverWaited { group },
        (None, Some(wait)) if wait.committed > group => left_open(batch, wait),
        (None, Some(wait)) => Fact::Uncommitted { wait },
    });
}

/// The latest wait that left the copy's group open, and what it should have allowed.
fn left_open(batch: &Batch, wait: PassedWait) -> Fact {
    Fact::LeftOpen {
        wait,
        group: batch.group,
        needed: wait.committed.saturating_sub(1).saturating_sub(batch.group),
    }
}

/// Registers of a product that no wait of its warp covered are touched by another instruction.
pub(crate) fn judge_registers(
    user: User,
    batch: Option<&Batch>,
    second: Suspect,
) -> Option<Hazard> {
    let why = why_open(batch, user.group);
    let class = match (user.what, second.deed, why) {
        // The text forbids it, and there is nothing that could go wrong.
        (Use::Fragment, Deed::ReadRegister, _) => return None,
        (Use::Fragment, ..) => Class::SourceModified,
        (Use::Accumulator { .. }, Deed::WriteRegister, _) => Class::OverlappingCopies,
        (_, _, Fact::LeftOpen { .. }) => Class::WaitCount,
        (_, _, Fact::Uncommitted { .. }) => Class::UncommittedCopy,
        _ => Class::ReadBeforeWait,
    };
    let first = Suspect {
        pc: user.pc,
        execution: user.execution,
        deed: Deed::Multiply,
        group: Some(user.group),
        ..second
    };
    Some(Hazard {
        first: Some(first),
        facts: vec![why],
        ..Hazard::about(class, second)
    })
}

/// Both parties are threads, or the earlier one is and the new one issues a copy.
fn between_threads(
    clash: &Clash,
    new: Accused<'_>,
    scene: Scene<'_>,
    facts: &mut Vec<Fact>,
) -> Class {
    let earlier = &clash.earlier;
    let same_warp = earlier.warp == new.record.warp;
    if !same_warp {
        // An arrival releases its own lane only: somebody else's arrival does not carry this access.
        let others = scene.viewer.known.of(clash.lane).order.known(
            earlier.warp,
            !(1 << clash.earlier_lane),
            earlier.tick,
        );
        if others != 0 {
            facts.push(Fact::OtherLanesReleased);
            return Class::PartialRelease;
        }
    }
    if new.deed.writes()
        && let Some(stale) = repeated_wait(new.suspect(clash.lane).thread, scene)
    {
        facts.push(stale);
        return Class::StalePhase;
    }
    let global = new.place == Place::Global;
    match new.deed {
        Deed::CopyInto(_) if global => Class::GlobalRace,
        Deed::CopyInto(_) if earlier.wrote => Class::OverlappingCopies,
        // Nothing was there to be read but what the copy brings.
        Deed::CopyInto(_) if !new.record.prior.content => Class::UnpublishedCopy,
        Deed::CopyInto(_) => Class::OverwriteInUse,
        Deed::CopyFrom(_) if global => Class::SourceModified,
        _ if global => Class::GlobalRace,
        _ if same_warp => Class::WarpRace,
        _ => Class::SharedRace,
    }
}

/// The thread's latest wait saw a phase that it had seen before: it did not wait for anything.
fn repeated_wait(thread: ThreadId, scene: Scene<'_>) -> Option<Fact> {
    let latest = scene
        .objects
        .latest(thread)
        .filter(|latest| latest.repeated)?;
    Some(Fact::StaleWait {
        wait: latest.pc,
        object: scene.objects.get(latest.object).at.1,
        seen: latest.phase,
        needed: None,
    })
}

/// A copy through the async proxy meets an earlier access through the generic one, in order but perhaps without a proxy fence between.
pub(crate) fn judge_proxies(
    earlier: &Record,
    wrote: bool,
    new: Accused<'_>,
    scene: Scene<'_>,
) -> Option<Hazard> {
    let overlap = earlier.print.bytes & new.record.print.bytes;
    let byte = overlap.trailing_zeros();
    let lane = new.record.print.lanes.at(byte).trailing_zeros();
    let known = scene.viewer.known.of(lane);
    let bridged = match new.place {
        Place::Shared(_) => &known.bridged_shared,
        Place::Global => &known.bridged_global,
    };
    let batch = match earlier.actor {
        Actor::Thread => None,
        Actor::Copy(id) => Some(scene.viewer.batches.get(id)?),
    };
    // A copy through the generic proxy counts from when its thread knew it complete.
    let (tick, mask) = match batch {
        None => (earlier.tick, earlier.print.mask),
        Some(batch) if batch.kind == CopyKind::Element && wrote => batch.completed_at()?,
        Some(_) => return None,
    };
    let unordered = scene.viewer.unknown_lanes(earlier, wrote, lane);
    let ordered = mask & !unordered;
    let of = |lanes: u32| {
        bits(overlap).find_map(|byte| {
            let culprits = earlier.print.lanes.at(byte) & lanes;
            (culprits != 0).then(|| (byte, culprits.trailing_zeros()))
        })
    };
    let unfenced = of(ordered & !bridged.by_anybody.known(earlier.warp, mask, tick));
    let fenced_late = || {
        let late = ordered & !bridged.by_itself.known(earlier.warp, mask, tick);
        of(late).filter(|_| wrote && !new.deed.writes())
    };
    let late = unfenced.is_none();
    let (byte, culprit) = unfenced.or_else(fenced_late)?;
    let near = scene
        .fences
        .last_of(u32::from(earlier.warp), 1 << culprit, tick)
        .or_else(|| {
            scene
                .fences
                .last_of(u32::from(new.record.warp), 1 << lane, tick)
        })
        .or_else(|| scene.fences.any_proxy_fence(tick))
        .map(|last| (last.pc, last.fence));
    let from = new.line + u64::from(byte);
    Some(Hazard {
        class: if near.is_some() {
            Class::WrongFence
        } else {
            Class::MissingProxyFence
        },
        certain: wrote && !new.deed.writes() && !late,
        place: Some(new.place),
        bytes: from..from + u64::from((overlap >> byte).trailing_ones()),
        first: Some(Suspect {
            pc: earlier.pc,
            execution: earlier.execution,
            thread: ThreadId {
                warp: earlier.warp,
                lane: culprit as u8,
            },
            deed: deed_of(wrote, earlier.atomic, batch),
            group: batch.and_then(group_of),
        }),
        second: new.suspect(lane),
        facts: vec![if late {
            Fact::FencedLate
        } else {
            Fact::Unfenced { near }
        }],
    })
}
