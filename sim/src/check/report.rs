//! All words about hazards: headlines, notes and remedies. Nothing is decided here.

mod products;

use nstage_ptx::ast::Instruction;

use crate::event::{CopyKind, Fence, FenceSpace, MbarrierOp};
use crate::finding::{Class, Finding, Party};

use super::Checker;
use super::advice::Advice;
use super::hazard::{Deed, Fact, Hazard, Place, Suspect};
use super::policy::{Disputed, Policy};

/// Puts a hazard into words; `None` where the policy says not to tell it.
pub(crate) fn finding(
    checker: &Checker,
    groups: [u32; 2],
    hazard: &Hazard,
    count: u64,
) -> Option<Finding> {
    let severity = checker
        .policy
        .level(hazard.class, hazard.disputed())
        .severity()?;
    let words = Words { checker, hazard };
    let first = hazard.first.as_ref().map(|first| (groups[0], first));
    let suspects = first.into_iter().chain([(groups[1], &hazard.second)]);
    Some(Finding {
        class: hazard.class,
        severity,
        certain: hazard.certain,
        count,
        message: words.headline(),
        space: match hazard.place {
            Some(Place::Shared(_)) => "shared",
            Some(Place::Global) => "global",
            None => "",
        },
        bytes: hazard.bytes.clone(),
        parties: suspects
            .map(|(group, suspect)| party(checker, group, suspect, hazard.class))
            .collect(),
        notes: hazard
            .facts
            .iter()
            .filter_map(|fact| words.note(*fact))
            .chain(hazard.disputed().map(disputed))
            .collect(),
        remedy: words.remedy(),
    })
}

/// Puts advice about the text into words; `None` where the policy says not to tell it.
pub(crate) fn advice(advice: &Advice<'_>, policy: &Policy) -> Option<Finding> {
    let severity = policy.level(advice.class, None).severity()?;
    let number = if advice.earlier.is_some() {
        "(2)"
    } else {
        "(1)"
    };
    let mnemonic = advice.instruction.mnemonic();
    let (message, remedy) = match advice.class {
        Class::ClusterWindow => (
            format!(
                "`{mnemonic}` {number} names the cluster's window, but the launch has no clusters"
            ),
            "launch with clusters, or use `.shared::cta` where the ISA version has it",
        ),
        Class::GenericSharedAccess => (
            format!(
                "`{mnemonic}` {number} is a generic access, and its address comes from a shared variable"
            ),
            "use the `.shared` form; an address without `cvta.shared` is not even a generic one",
        ),
        _ => (
            format!(
                "the barrier `{mnemonic}` {number} follows the same barrier (1), and nothing between them uses memory"
            ),
            "remove one of them",
        ),
    };
    let party = |instruction: &Instruction| Party {
        what: instruction.mnemonic(),
        line: instruction.pos.line,
        source: None,
        thread: [0; 3],
        block: [0; 3],
        execution: 0,
    };
    let shared = advice.class != Class::DuplicatedBarrier;
    Some(Finding {
        class: advice.class,
        severity,
        certain: true,
        count: 1 + advice.more,
        message,
        space: if shared { "shared" } else { "" },
        bytes: 0..0,
        parties: advice
            .earlier
            .into_iter()
            .chain([advice.instruction])
            .map(party)
            .collect(),
        notes: vec![format!(
            "seen in the text of `{}`, without running it",
            advice.function
        )],
        remedy: remedy.to_owned(),
    })
}

/// The name of a disputed rule, by which its weight is set, and who disputes it.
fn disputed(rule: Disputed) -> String {
    let why = match rule {
        Disputed::SameInstructionStore => "one of the lanes wins; which one is not said",
        Disputed::InitFence => {
            "newer texts let the copy signal the object through the generic proxy, and need no fence"
        }
        Disputed::AsyncOverwrite => {
            "the text asks for the fence, and production kernels leave it out"
        }
        Disputed::FencePosition => {
            "the text does not say on which side of the barrier the fence stands"
        }
        Disputed::AsyncAcrossBlocks => {
            "the text orders the async proxy within a block only, and production kernels rely on more"
        }
        Disputed::RemoteArriveScope => {
            "counting works with scope .cta, and production kernels rely on it; ordering is not promised"
        }
        Disputed::StoreAtExit => "the text is silent, and production kernels end so",
    };
    format!(
        "disputed: {why}; `--policy {}=error` or `=off` decides",
        rule.name()
    )
}

fn party(checker: &Checker, group: u32, suspect: &Suspect, class: Class) -> Party {
    let shape = &checker.shape;
    let listed = checker.listing.instruction(suspect.pc);
    let mnemonic = listed.map_or("an instruction", |listed| listed.mnemonic.as_str());
    let copy_group = suspect
        .group
        // Its number would be that of a group which it is not in.
        .filter(|_| class != Class::UncommittedCopy)
        .map_or_else(String::new, |group| format!(", group {group}"));
    let what = match suspect.deed {
        Deed::Read => format!("{mnemonic} reads"),
        Deed::Write => format!("{mnemonic} writes"),
        Deed::Atomic => format!("{mnemonic} reads and writes"),
        Deed::CopyFrom(CopyKind::Product) => {
            format!("{mnemonic} issues the product that reads{copy_group}")
        }
        Deed::CopyInto(CopyKind::Product) | Deed::Multiply => {
            format!("{mnemonic} issues the product{copy_group}")
        }
        Deed::ReadRegister => format!("{mnemonic} reads"),
        Deed::WriteRegister => format!("{mnemonic} writes"),
        Deed::CopyFrom(_) => format!("{mnemonic} issues the copy that reads{copy_group}"),
        Deed::CopyInto(_) => format!("{mnemonic} issues the copy that writes{copy_group}"),
        Deed::Wait(_) => format!("{mnemonic} waits"),
        Deed::Commit => format!("{mnemonic} commits"),
        Deed::Exit => format!("{mnemonic} ends the thread"),
        Deed::Object(op) => format!("{mnemonic} {}", operation(op)),
    };
    let warp = u32::from(suspect.thread.warp);
    let thread = warp % shape.block_warps() * 32 + u32::from(suspect.thread.lane);
    let rank = warp / shape.block_warps();
    Party {
        what,
        line: listed.map_or(0, |listed| listed.line),
        source: listed.and_then(|listed| listed.source.clone()),
        thread: shape.block.index(u64::from(thread)),
        block: shape.block_index(group, rank),
        execution: suspect.execution,
    }
}

/// What an mbarrier operation does.
fn operation(op: MbarrierOp) -> &'static str {
    match op {
        MbarrierOp::Init(_) => "initialises the mbarrier",
        MbarrierOp::Inval => "ends the mbarrier",
        MbarrierOp::Arrive { expect_tx: 0, .. } => "arrives",
        MbarrierOp::Arrive { .. } => "announces bytes and arrives",
        MbarrierOp::ExpectTx(_) => "announces bytes",
        MbarrierOp::CompleteTx(_) => "reports bytes as delivered",
        MbarrierOp::CopyArrive { .. } => "arrives once its copies are complete",
        MbarrierOp::WaitDone { .. } | MbarrierOp::WaitPending => "waits",
    }
}

fn fence(fence: Fence) -> &'static str {
    match fence {
        Fence::Memory(..) => "a memory fence, which orders nothing between proxies",
        Fence::ProxyAsync(None) => "a proxy fence, but not on the path between the two",
        Fence::ProxyAsync(Some(FenceSpace::Global)) => "a proxy fence for global memory",
        Fence::ProxyAsync(Some(_)) => "a proxy fence for shared memory",
        Fence::MbarrierInit => "a fence for mbarrier initialisations only",
    }
}

fn phase(phase: Option<u64>) -> String {
    phase.map_or_else(
        || "the phase before the first, which a wait for parity 1 is satisfied by".to_owned(),
        |phase| format!("phase {phase} (parity {})", phase % 2),
    )
}

struct Words<'a> {
    checker: &'a Checker,
    hazard: &'a Hazard,
}

impl Words<'_> {
    /// The bytes, with the variable that holds them.
    fn bytes(&self) -> String {
        let range = &self.hazard.bytes;
        match self.hazard.place {
            Some(Place::Shared(_)) => match self.checker.listing.variable(range.start) {
                Some((name, whole)) => format!(
                    "shared bytes {name}[{}..{})",
                    range.start - whole.start,
                    range.end - whole.start
                ),
                None => format!("shared bytes [{}..{})", range.start, range.end),
            },
            Some(Place::Global) => format!("global bytes [{:#x}..{:#x})", range.start, range.end),
            None => String::new(),
        }
    }

    /// Which party is the copy whose side `into` says, the later one if both are.
    fn copy_is_second(&self) -> bool {
        matches!(
            self.hazard.second.deed,
            Deed::CopyInto(_) | Deed::CopyFrom(_)
        )
    }

    fn headline(&self) -> String {
        let bytes = self.bytes();
        if let Some(headline) = self.product_headline(&bytes) {
            return headline;
        }
        match self.hazard.class {
            Class::ReadBeforeWait => {
                format!("{bytes} read by (2) before (1), the copy that writes them, is complete")
            }
            Class::UnpublishedCopy => format!(
                "{bytes} read by (2) with nothing to tell it that (1), another thread's copy into them, is complete"
            ),
            Class::WaitCount => format!(
                "{bytes} read by (2) while (1), the copy that writes them, is in a group that the wait leaves open"
            ),
            Class::UncommittedCopy => format!(
                "{bytes} read by (2), but (1), the copy that writes them, was in no group when its thread waited"
            ),
            Class::OverwriteInUse if self.copy_is_second() => {
                format!("{bytes} overwritten by the copy (2) while (1) may still be reading them")
            }
            Class::OverwriteInUse => {
                format!("{bytes} overwritten by the copy (1) while (2) still reads what was there before")
            }
            Class::OverlappingCopies => {
                format!("{bytes} written by both (1) and (2), at least one of them a copy, in no order")
            }
            Class::SourceModified if self.copy_is_second() => {
                format!("{bytes} written by (1) in no order with (2), a copy that reads them")
            }
            Class::SourceModified => {
                format!("{bytes} written by (2) while (1), a copy that reads them, may be in flight")
            }
            Class::StoreReadEarly => {
                format!("{bytes} read by (2) before (1), the bulk store that writes them, is complete")
            }
            Class::WarpRace if self.hazard.facts.contains(&Fact::SameInstruction) => {
                format!("{bytes} written by the lanes (1) and (2) with one instruction: which value stays is not defined")
            }
            Class::WarpRace => format!(
                "{bytes} accessed by (1) and (2), two lanes of one warp, in no order: lanes do not run in lock-step"
            ),
            Class::PartialRelease => format!(
                "{bytes} accessed by (1) and (2) in no order: the arrival that (2) saw was made by another lane, and releases only that lane's accesses"
            ),
            Class::UnelectedIssue => {
                format!("{bytes} copied by (1) and (2) with one instruction: every lane issues a copy of its own")
            }
            Class::UninitializedRead => format!("{bytes} read by (1), but nobody wrote them"),
            Class::VacuousWait => {
                "the wait (1) never waits: it allows as many open groups as its threads ever committed".to_owned()
            }
            Class::NoOverlap => {
                "the wait (1) always completes the copies issued just before it: nothing overlaps with them".to_owned()
            }
            Class::DivergentCommit => {
                "the commit (1) is executed by part of a warp: its groups are counted by lane, and waits of the whole warp wait too long".to_owned()
            }
            Class::OutstandingAtExit => "the thread (2) ends while its copy (1) is not known to be complete".to_owned(),
            Class::MbarrierLifetime if self.hazard.facts.contains(&Fact::InitUnordered) => {
                format!("the mbarrier in {bytes} used by (2) in no order with (1), its initialisation")
            }
            Class::MbarrierLifetime if self.hazard.facts.contains(&Fact::Invalidated) => {
                format!("the mbarrier in {bytes}, initialised by (1), used by (2) after it was invalidated")
            }
            Class::MbarrierLifetime => format!("{bytes} used by (1) as an mbarrier, but not initialised as one"),
            Class::MbarrierClobbered if self.hazard.first.is_some() => {
                format!("the mbarrier in {bytes}, initialised by (1), initialised again by (2) while it is live")
            }
            Class::MbarrierClobbered => format!("{bytes} accessed by (1) as data, but a live mbarrier is in them"),
            Class::StalePhase if self.hazard.second.deed.writes() => {
                format!("{bytes} overwritten by (2) in no order with (1): the wait before it saw an older phase")
            }
            Class::StalePhase => {
                format!("{bytes} read by (2) before (1), the copy that writes them, is complete: the wait saw an older phase")
            }
            Class::TransactionBytes
                if self.hazard.first.is_some_and(|first| matches!(first.deed, Deed::Object(MbarrierOp::Init(_)))) =>
            {
                format!("nobody announces the bytes that (2) delivers on the mbarrier in {bytes}, initialised by (1)")
            }
            Class::TransactionBytes => {
                format!("the bytes that (1) announces on the mbarrier in {bytes} are not those that (2) delivers")
            }
            Class::ArrivalCount => {
                format!("the mbarrier in {bytes}, initialised by (1), completes a phase without arrivals that (2) registered for it")
            }
            Class::UnobservedPhase => {
                format!("(1) arrives on the next phase of the mbarrier in {bytes}, but nobody has seen the last one complete")
            }
            Class::NarrowScope if matches!(self.hazard.second.deed, Deed::Object(_)) => {
                format!("(1) uses scope .cta on the mbarrier in {bytes}, which another block of the cluster takes part in")
            }
            Class::NarrowScope => {
                format!("{bytes} hand over to (1) nothing of what another block released: a scope does not include the other thread")
            }
            Class::MissingProxyFence if self.hazard.facts.contains(&Fact::InitUnfenced) => {
                format!("the copy (2) signals the mbarrier in {bytes}, and no fence follows its initialisation (1)")
            }
            Class::MissingProxyFence | Class::WrongFence if self.hazard.second.deed.writes() => {
                format!("{bytes} overwritten through the async proxy by (2) after (1) used them through the generic proxy, without a proxy fence")
            }
            Class::MissingProxyFence | Class::WrongFence => {
                format!("{bytes} read through the async proxy by (2) after (1) wrote them through the generic proxy, without a proxy fence")
            }
            Class::GlobalRace if self.hazard.facts.contains(&Fact::OtherBlock) => {
                format!("{bytes} accessed by (1) and (2), threads of different blocks, in no order")
            }
            _ => format!("{bytes} accessed by (1) and (2) in no order"),
        }
    }

    fn note(&self, fact: Fact) -> Option<String> {
        let line = |pc| {
            self.checker
                .listing
                .instruction(pc)
                .map_or(0, |listed| listed.line)
        };
        let [who, what, several] = self.awaited();
        Some(match fact {
            Fact::NeverWaited { group } => {
                format!(
                    "{who} has not waited since it issued the {what}, which is in its group {group}"
                )
            }
            Fact::LeftOpen {
                wait,
                group,
                needed,
            } => {
                let fresh = wait.uncommitted.map_or_else(String::new, |pc| {
                    format!(
                        "; the {several} issued at line {} were in no group yet at that wait: committed before it, they count",
                        line(pc)
                    )
                });
                format!(
                    "the wait at line {} allows {} open, after {} committed: it completes {}, and the {what} is in group {group}; to cover it, it may allow at most {needed}{fresh}",
                    line(wait.pc),
                    groups(wait.pending),
                    groups(wait.committed),
                    completed(wait.committed.saturating_sub(wait.pending)),
                )
            }
            Fact::SourceOnly { wait } => format!(
                "the wait at line {} is `.read`: it says that the source was read, not that the destination is written",
                line(wait)
            ),
            Fact::Uncommitted { wait } => format!(
                "at the wait at line {} the {what} was issued but not committed; a wait covers committed groups only",
                line(wait.pc)
            ),
            Fact::Unpublished { wait } => format!(
                "{who} waited at line {}, which {} alone",
                line(wait),
                if self.first_is_product() {
                    "tells that warp"
                } else {
                    "makes the copy visible to that thread"
                }
            ),
            Fact::ReaderAhead => {
                "the reader waited for its own copies of this group, and nothing orders the copying thread's wait before the read".to_owned()
            }
            Fact::StillInUse => {
                "the reader has not read these bytes since they were written before".to_owned()
            }
            Fact::OtherLanesReleased => {
                "other lanes of the warp of (1) are ordered before (2), this lane is not".to_owned()
            }
            Fact::NoPhaseWait { object, phase } => format!(
                "the copy is complete with phase {phase} of the mbarrier in {}, and nothing tells the reader that this phase is",
                self.object(object)
            ),
            Fact::StaleWait {
                wait,
                object,
                seen,
                needed,
            } => {
                let needed = needed.map_or_else(
                    || "which this thread had seen before".to_owned(),
                    |needed| format!("and the data comes with {}", phase(Some(needed))),
                );
                format!(
                    "the wait at line {} on the mbarrier in {} was satisfied by {}, {needed}",
                    line(wait),
                    self.object(object),
                    phase(seen)
                )
            }
            Fact::Arrivals {
                phase,
                expected,
                arrivals,
            } => format!("phase {phase}: {expected} arrivals expected, {arrivals} registered"),
            Fact::Bytes {
                phase,
                expected,
                delivered,
            } => {
                format!("phase {phase}: {expected} bytes announced, {delivered} delivered")
            }
            Fact::Unfenced {
                near: Some((pc, near)),
            } => {
                format!("the fence at line {} is {}", line(pc), fence(near))
            }
            Fact::FencedLate => {
                "the thread that issues the copy fences after the barrier; the strict reading wants the fence in the writing threads, before it".to_owned()
            }
            Fact::AsyncAcrossBlocks => {
                "both go through the async proxy, but in different blocks, where the text orders them only with proxy fences".to_owned()
            }
            Fact::Unfenced { near: None }
            | Fact::OtherBlock
            | Fact::SameInstruction
            | Fact::Invalidated
            | Fact::InitUnordered
            | Fact::InitUnfenced => return None,
        })
    }

    /// The place of an mbarrier, by the variable that holds it.
    fn object(&self, offset: u64) -> String {
        match self.checker.listing.variable(offset) {
            Some((name, whole)) => format!("{name}+{}", offset - whole.start),
            None => format!("shared offset {offset}"),
        }
    }

    fn wait_instruction(&self) -> &'static str {
        let bulk = |deed: Option<Deed>| {
            matches!(
                deed,
                Some(Deed::CopyFrom(CopyKind::BulkStore) | Deed::CopyInto(CopyKind::BulkStore))
            )
        };
        if bulk(self.hazard.first.map(|first| first.deed)) || bulk(Some(self.hazard.second.deed)) {
            "cp.async.bulk.wait_group"
        } else {
            "cp.async.wait_group"
        }
    }

    /// Whether the wait would cover the copy if all that was issued before it were committed.
    fn uncommitted(&self) -> bool {
        self.hazard.facts.iter().any(|fact| match fact {
            Fact::LeftOpen { wait, needed, .. } => {
                wait.uncommitted.is_some() && wait.pending <= needed + 1
            }
            _ => false,
        })
    }

    fn remedy(&self) -> String {
        if let Some(remedy) = self.product_remedy() {
            return remedy;
        }
        let wait = self.wait_instruction();
        let other = self
            .hazard
            .first
            .is_some_and(|first| first.thread != self.hazard.second.thread);
        let first = self.hazard.first;
        let same_warp =
            first.is_some_and(|first| first.thread.warp == self.hazard.second.thread.warp);
        let blocks =
            |suspect: &Suspect| u32::from(suspect.thread.warp) / self.checker.shape.block_warps();
        let other_block = first.is_some_and(|first| blocks(&first) != blocks(&self.hazard.second));
        let barrier = if other_block {
            "a barrier of the cluster (`barrier.cluster.arrive.release`, then `barrier.cluster.wait.acquire`)"
        } else if same_warp {
            "`bar.warp.sync` (or a barrier of the block)"
        } else {
            "a barrier of the block"
        };
        let then_barrier = if other {
            format!(", with {barrier} between it and the read")
        } else {
            String::new()
        };
        let attached = self
            .hazard
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::NoPhaseWait { .. }));
        match self.hazard.class {
            Class::ReadBeforeWait | Class::UnpublishedCopy if attached => {
                "wait for the mbarrier's phase before the bytes are used".to_owned()
            }
            Class::ReadBeforeWait => {
                format!("put `{wait} 0`, or the largest count that still covers the group, on the copying thread before the read{then_barrier}")
            }
            Class::UnpublishedCopy => {
                format!("put {barrier} after the copying thread's wait and before the read")
            }
            Class::WaitCount if self.uncommitted() => {
                format!("commit before the wait, not behind it{then_barrier}")
            }
            Class::WaitCount => {
                let needed = self.hazard.facts.iter().find_map(|fact| match fact {
                    Fact::LeftOpen { needed, .. } => Some(*needed),
                    _ => None,
                });
                format!("lower the wait to `{wait} {}`{then_barrier}", needed.unwrap_or(0))
            }
            Class::UncommittedCopy => {
                format!("commit the copy before the wait that is to cover it{then_barrier}")
            }
            Class::OverwriteInUse => {
                "put a barrier (or an mbarrier wait for the stage to be empty) between the last read and the copy".to_owned()
            }
            Class::OverlappingCopies => {
                format!("give each its own bytes, or complete the first (`{wait}` on its thread, then a barrier) before the second")
            }
            Class::SourceModified => {
                format!("let the copying thread wait (`{wait}`) and a barrier follow before the source is written")
            }
            Class::StoreReadEarly => {
                format!("wait with `{wait}` (not `.read`, which says only that the source was read) before the bytes are used")
            }
            Class::SharedRace => format!("put {barrier} between the two"),
            Class::WarpRace if self.hazard.facts.contains(&Fact::SameInstruction) => {
                "let one lane store, or give each lane its own address".to_owned()
            }
            Class::WarpRace => "put `bar.warp.sync` between the two; shuffles and votes order no memory".to_owned(),
            Class::PartialRelease => {
                "put `bar.warp.sync` before the elected lane's arrival, or let every lane arrive".to_owned()
            }
            Class::UnelectedIssue => "let one elected lane issue the copy".to_owned(),
            Class::UninitializedRead => "write the bytes first, zero-fill included, or do not read them".to_owned(),
            Class::VacuousWait => "lower the wait's count, or remove it".to_owned(),
            Class::NoOverlap => {
                "use more stages: issue the copies of a later tile before waiting for this one".to_owned()
            }
            Class::DivergentCommit => "commit where all lanes of the warp do, empty groups included".to_owned(),
            Class::OutstandingAtExit => format!("wait for all copies (`{wait} 0`) before the thread ends"),
            Class::MbarrierLifetime if self.hazard.facts.contains(&Fact::InitUnordered) => {
                "let a barrier follow the initialisation before other threads use the object".to_owned()
            }
            Class::MbarrierLifetime => "initialise the object with `mbarrier.init` before it is used".to_owned(),
            Class::MbarrierClobbered => "use `mbarrier.inval` before the bytes serve for anything else".to_owned(),
            Class::StalePhase
                if self.hazard.facts.iter().any(|fact| matches!(fact, Fact::StaleWait { seen: None, .. })) =>
            {
                "wait for parity 0 first: on a fresh mbarrier, a wait for parity 1 is over at once".to_owned()
            }
            Class::StalePhase => {
                "flip the parity once for each phase of this mbarrier, and no more often".to_owned()
            }
            Class::TransactionBytes => {
                "announce with `expect_tx` exactly the bytes that the phase's copies deliver".to_owned()
            }
            Class::ArrivalCount => {
                "count every `.noinc` arrival in `mbarrier.init`, or leave `.noinc` out".to_owned()
            }
            Class::UnobservedPhase => "let one thread wait for each phase before anybody arrives on the next".to_owned(),
            Class::NarrowScope => "use a scope that includes both threads, on both sides".to_owned(),
            Class::MissingProxyFence if self.hazard.facts.contains(&Fact::InitUnfenced) => {
                "put `fence.mbarrier_init.release.cluster` or `fence.proxy.async` after the initialisation".to_owned()
            }
            Class::MissingProxyFence | Class::WrongFence => {
                let space = match self.hazard.place {
                    Some(Place::Global) => ".global",
                    _ => ".shared::cta",
                };
                let user = if self.second_is_product() {
                    "product"
                } else {
                    "copy"
                };
                format!("put `fence.proxy.async{space}` after the access (1) in its thread, then the barrier, then the {user}")
            }
            Class::GlobalRace if self.hazard.facts.contains(&Fact::OtherBlock) => {
                "give each block its own bytes, use atomics of scope .gpu, or hand over with release and acquire (fences included) of scope .gpu".to_owned()
            }
            Class::GlobalRace => "put a barrier of the block between the two".to_owned(),
            _ => "order the two accesses".to_owned(),
        }
    }
}

/// The groups below a number.
fn completed(below: u32) -> String {
    match below {
        0 => "none".to_owned(),
        1 => "group 0".to_owned(),
        below => format!("groups 0 to {}", below - 1),
    }
}

fn groups(count: u32) -> String {
    if count == 1 {
        "1 group".to_owned()
    } else {
        format!("{count} groups")
    }
}
