//! What a run found: classes, findings, verdicts.
//!
//! Only the names live here. The sentences of a finding are made in `report` (faults that the executor meets)
//! and in `check::report` (hazards), so that neither decides its words on the way.

use std::fmt;
use std::ops::Range;

/// A kind of finding. The numbers are those that reports and case files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Shared bytes read by the copying thread before it waited for its copy.
    ReadBeforeWait,
    /// Shared bytes of another thread's completed copy read without a barrier in between.
    UnpublishedCopy,
    /// A wait that allows more open groups than the data's group needs.
    WaitCount,
    /// A copy that no commit covers when its data is used.
    UncommittedCopy,
    /// A copy issued into bytes that somebody still reads.
    OverwriteInUse,
    /// Two unordered copies, or a copy and a store, into the same bytes.
    OverlappingCopies,
    /// The source of a copy in flight was written.
    SourceModified,
    /// The result of a bulk store used before it was complete.
    StoreReadEarly,
    /// Unordered accesses of different warps to shared memory.
    SharedRace,
    /// Unordered accesses of lanes of one warp.
    WarpRace,
    /// One lane arrives for others whose accesses its arrival does not release.
    PartialRelease,
    /// An aligned barrier reached by part of a warp.
    BarrierDivergence,
    /// A named barrier used with different counts, kinds or an illegal id.
    BarrierMismatch,
    /// Every thread waits and nothing can end it.
    Deadlock,
    /// An mbarrier used before `init`, after `inval`, or with an unordered `init`.
    MbarrierLifetime,
    /// The bytes of a live mbarrier initialised again or accessed as data.
    MbarrierClobbered,
    /// A wait satisfied by an older phase than the data's.
    StalePhase,
    /// A wait on a phase that cannot complete.
    PhaseNeverCompletes,
    /// Transaction bytes expected and delivered differ.
    TransactionBytes,
    /// Every lane issued what one elected lane should have.
    UnelectedIssue,
    /// Arrivals differ from what the mbarrier was initialised for.
    ArrivalCount,
    /// A phase arrived on although nobody observed the one before.
    UnobservedPhase,
    /// Generic and async accesses to the same bytes without a proxy fence.
    MissingProxyFence,
    /// A fence of the wrong kind, space or place.
    WrongFence,
    /// Synchronisation whose scope does not include the other thread.
    NarrowScope,
    /// An access outside of every variable and allocation.
    OutOfBounds,
    /// An address or a size that breaks the instruction's alignment.
    Misaligned,
    /// Bytes read that nobody wrote.
    UninitializedRead,
    /// Unordered accesses of threads of different blocks to global memory.
    GlobalRace,
    /// Registers used by an asynchronous product without `wgmma.fence` after their last access.
    MissingProductFence,
    /// A thread ended with copies uncommitted or in flight.
    OutstandingAtExit,
    /// A wait that cannot wait for anything.
    VacuousWait,
    /// Each wait completes the group committed in the same iteration.
    NoOverlap,
    /// A commit that only part of a warp executes.
    DivergentCommit,
    /// The same aligned barrier twice with nothing in between.
    DuplicatedBarrier,
    /// `.shared::cluster` in a launch without clusters.
    ClusterWindow,
    /// A generic access whose address comes from a shared variable.
    GenericSharedAccess,
}

impl Class {
    /// Every class, in the order of its number, advisories last.
    pub const ALL: [Self; 37] = [
        Self::ReadBeforeWait,
        Self::UnpublishedCopy,
        Self::WaitCount,
        Self::UncommittedCopy,
        Self::OverwriteInUse,
        Self::OverlappingCopies,
        Self::SourceModified,
        Self::StoreReadEarly,
        Self::SharedRace,
        Self::WarpRace,
        Self::PartialRelease,
        Self::BarrierDivergence,
        Self::BarrierMismatch,
        Self::Deadlock,
        Self::MbarrierLifetime,
        Self::MbarrierClobbered,
        Self::StalePhase,
        Self::PhaseNeverCompletes,
        Self::TransactionBytes,
        Self::UnelectedIssue,
        Self::ArrivalCount,
        Self::UnobservedPhase,
        Self::MissingProxyFence,
        Self::WrongFence,
        Self::NarrowScope,
        Self::OutOfBounds,
        Self::Misaligned,
        Self::UninitializedRead,
        Self::GlobalRace,
        Self::MissingProductFence,
        Self::OutstandingAtExit,
        Self::VacuousWait,
        Self::NoOverlap,
        Self::DivergentCommit,
        Self::DuplicatedBarrier,
        Self::ClusterWindow,
        Self::GenericSharedAccess,
    ];

    /// The short code: `H1` to `H28`; a class without a number answers with its name.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// The name, `read-before-wait`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// The severity that a finding of this class has where no policy says otherwise.
    #[must_use]
    pub const fn default_severity(self) -> Severity {
        self.row().2
    }

    /// The class of this name or code.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|class| class.name() == name || class.code() == name)
    }

    const fn row(self) -> (&'static str, &'static str, Severity) {
        use Severity::{Advisory, Error};
        match self {
            Self::ReadBeforeWait => ("H1", "read-before-wait", Error),
            Self::UnpublishedCopy => ("H2", "unpublished-copy", Error),
            Self::WaitCount => ("H3", "wait-count", Error),
            Self::UncommittedCopy => ("H4", "uncommitted-copy", Error),
            Self::OverwriteInUse => ("H5", "overwrite-in-use", Error),
            Self::OverlappingCopies => ("H6", "overlapping-copies", Error),
            Self::SourceModified => ("H7", "source-modified", Error),
            Self::StoreReadEarly => ("H8", "store-read-early", Error),
            Self::SharedRace => ("H9", "shared-race", Error),
            Self::WarpRace => ("H10", "warp-race", Error),
            Self::PartialRelease => ("H11", "partial-release", Error),
            Self::BarrierDivergence => ("H12", "barrier-divergence", Error),
            Self::BarrierMismatch => ("H13", "barrier-mismatch", Error),
            Self::Deadlock => ("H14", "deadlock", Error),
            Self::MbarrierLifetime => ("H15", "mbarrier-lifetime", Error),
            Self::MbarrierClobbered => ("H16", "mbarrier-clobbered", Error),
            Self::StalePhase => ("H17", "stale-phase", Error),
            Self::PhaseNeverCompletes => ("H18", "phase-never-completes", Error),
            Self::TransactionBytes => ("H19", "transaction-bytes", Error),
            Self::UnelectedIssue => ("H20", "unelected-issue", Error),
            Self::ArrivalCount => ("H21", "arrival-count", Error),
            Self::UnobservedPhase => ("H22", "unobserved-phase", Advisory),
            Self::MissingProxyFence => ("H23", "missing-proxy-fence", Error),
            Self::WrongFence => ("H24", "wrong-fence", Error),
            Self::NarrowScope => ("H25", "narrow-scope", Advisory),
            Self::OutOfBounds => ("H26", "out-of-bounds", Error),
            Self::Misaligned => ("H27", "misaligned", Error),
            Self::UninitializedRead => ("H28", "uninitialized-read", Error),
            Self::GlobalRace => ("global-race", "global-race", Error),
            Self::MissingProductFence => ("missing-product-fence", "missing-product-fence", Error),
            Self::OutstandingAtExit => ("outstanding-at-exit", "outstanding-at-exit", Advisory),
            Self::VacuousWait => ("vacuous-wait", "vacuous-wait", Advisory),
            Self::NoOverlap => ("no-overlap", "no-overlap", Advisory),
            Self::DivergentCommit => ("divergent-commit", "divergent-commit", Advisory),
            Self::DuplicatedBarrier => ("duplicated-barrier", "duplicated-barrier", Advisory),
            Self::ClusterWindow => ("cluster-window", "cluster-window", Advisory),
            Self::GenericSharedAccess => {
                ("generic-shared-access", "generic-shared-access", Advisory)
            }
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the verdict stays clean.
    Advisory,
    /// A fault of the kernel.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Advisory => "advisory",
            Self::Error => "error",
        })
    }
}

/// One fault, with everything needed to act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its class.
    pub class: Class,
    /// Its weight under the policy of the run.
    pub severity: Severity,
    /// True when the fault surely happened; false when a rule that may be stricter than the hardware says so.
    pub certain: bool,
    /// How often it was seen; repeats of one fault at one place are one finding.
    pub count: u64,
    /// The headline, naming the parties by their numbers.
    pub message: String,
    /// The memory concerned: `shared`, `global`, `local`, `const`, `param`, or empty where none is.
    pub space: &'static str,
    /// The bytes concerned: offsets for shared, addresses for global memory.
    pub bytes: Range<u64>,
    /// Who took part; party `(1)` is the first.
    pub parties: Vec<Party>,
    /// Facts that explain the fault, one sentence each.
    pub notes: Vec<String>,
    /// What to do about it.
    pub remedy: String,
}

/// One side of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// What it did, `ld.shared.f32 read 4 bytes`.
    pub what: String,
    /// PTX line, from one; zero when it has none.
    pub line: u32,
    /// Source file and line, where the PTX has `.loc`.
    pub source: Option<(String, u32)>,
    /// Thread index in its block.
    pub thread: [u32; 3],
    /// Block index in the grid.
    pub block: [u32; 3],
    /// How many times its warp had come to the instruction, this time counted; zero where that is not known.
    pub execution: u32,
}

/// The result of a run in one word. Hazard and trap win over incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Ran to its end without an error.
    Clean,
    /// At least one finding is an error.
    Hazard,
    /// The kernel ended itself: `trap`, `brkpt`, a failed assertion.
    Trap,
    /// Something that is not modelled, or a budget that ran out, ended the run: no statement about the kernel.
    Incomplete,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 4] = [Self::Clean, Self::Hazard, Self::Trap, Self::Incomplete];

    /// The word, `clean`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Hazard => "hazard",
            Self::Trap => "trap",
            Self::Incomplete => "incomplete",
        }
    }

    /// The verdict of this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_class_has_its_own_name_and_is_found_by_it() {
        let names: HashSet<_> = Class::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), Class::ALL.len());
        for class in Class::ALL {
            assert_eq!(Class::from_name(class.name()), Some(class));
            assert_eq!(Class::from_name(class.code()), Some(class));
        }
        assert_eq!(Class::from_name("no-such-class"), None);
    }

    #[test]
    fn numbers_follow_the_order_of_the_list() {
        for (index, class) in Class::ALL.iter().take(28).enumerate() {
            assert_eq!(class.code(), format!("H{}", index + 1));
        }
    }
}
