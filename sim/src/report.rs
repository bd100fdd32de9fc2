//! The words of the faults that the executor meets.
//!
//! Hazards, which come from the order of accesses, have theirs in the checker; nothing else of the executor makes text for people.

use std::ops::Range;

use crate::finding::{Class, Finding, Party};

/// Parties that a deadlock names; the notes tell of all.
const MAX_PARTIES: usize = 8;

/// What a fault is about.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// An access outside of every variable and allocation.
    OutOfBounds {
        space: &'static str,
        bytes: Range<u64>,
        verb: &'static str,
        nearest: String,
    },
    /// A write to memory that cannot be written.
    ReadOnly {
        space: &'static str,
        bytes: Range<u64>,
    },
    /// An address that is not a multiple of what the instruction needs.
    Misaligned {
        space: &'static str,
        bytes: Range<u64>,
        needed: u64,
    },
    /// Bytes read that nobody wrote.
    Uninitialized {
        space: &'static str,
        bytes: Range<u64>,
        variable: Option<String>,
    },
    /// Bytes read that nobody wrote, and that a copy in flight will.
    InFlight {
        space: &'static str,
        bytes: Range<u64>,
        variable: Option<String>,
        /// Who issued the copy.
        copy: Party,
    },
    /// An aligned barrier that only part of the warp came to.
    BarrierDivergence {
        here: u32,
        live: u32,
        other: Option<Party>,
    },
    /// A barrier used in a way that its other users do not agree with.
    BarrierMismatch {
        id: u32,
        misuse: BarrierMisuse,
        other: Option<Party>,
    },
    /// An mbarrier operation where no mbarrier is.
    NoObject { at: u32 },
    /// Arrivals that do not fit what the mbarrier was initialised for.
    ArrivalCount { at: u32, misuse: ArrivalMisuse },
    /// More transaction bytes than an mbarrier can count.
    TransactionRange { at: u32, tx: i64 },
    /// A second arrival of a thread in one round of the cluster barrier.
    ClusterTwice,
    /// Threads that wait for ever.
    Deadlock { lines: Vec<WaitLine> },
    /// A bulk copy of a size that is not a multiple of 16.
    BulkSize { bytes: u32 },
    /// A copy told to read more than it writes.
    SourceSize { given: u32, bytes: u32 },
    /// A lane that is not in the member mask it names.
    NotAMember { members: u32 },
}

/// Threads that wait at one place for one thing.
#[derive(Clone, Debug)]
pub(crate) struct WaitLine {
    /// The first of them.
    pub(crate) party: Party,
    pub(crate) threads: u32,
    pub(crate) blocked: Blocked,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// Polls memory.
    Spinning,
    /// The rest of its warp, at a block barrier.
    Gather,
    /// Lanes of its warp.
    Lanes { members: u32 },
    /// The cluster barrier.
    Cluster,
    /// A block barrier, in warps.
    Barrier {
        id: u32,
        arrived: u32,
        wanted: u32,
        missing: Vec<u32>,
    },
    /// An mbarrier's phase.
    Phase {
        at: u32,
        phase: u64,
        pending: u32,
        expected: u32,
        tx: i64,
    },
    /// Something that is no mbarrier.
    NoObject { at: u32 },
}

/// What is wrong with an arrival on an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrivalMisuse {
    /// A count that `init` does not take.
    InitCount(u32),
    /// More arrivals than the phase still needs.
    TooMany {
        count: u32,
        pending: u32,
        expected: u32,
    },
    /// `.noComplete` that completes the phase.
    Completes,
    /// A drop that leaves nobody.
    DropsAll { expected: u32 },
    /// More pending arrivals than can be counted.
    Overflow { pending: u32 },
}

/// What is wrong with the use of a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BarrierMisuse {
    /// An id over 15.
    Id(u32),
    /// A count that no barrier can have.
    BadCount { count: u32, limit: u32 },
    /// Lanes of a warp name different barriers or counts.
    Varies,
    /// Another count than the first arrival of this round; `None` is the whole block.
    Count { here: u32, first: Option<u32> },
    /// A reduction and another form in one round.
    Kind,
    /// The same warp twice in one round.
    Twice,
}

/// The finding of a fault; the party is who met it.
pub(crate) fn finding(fault: &Fault, party: Party) -> Finding {
    let other = match fault {
        Fault::BarrierDivergence { other, .. } | Fault::BarrierMismatch { other, .. } => {
            other.as_ref()
        }
        _ => None,
    };
    let (class, space, bytes, message, remedy) = match fault {
        Fault::OutOfBounds {
            space,
            bytes,
            verb,
            nearest,
        } => (
            Class::OutOfBounds,
            *space,
            bytes.clone(),
            format!(
                "(1) {verb} {} of {space} memory, outside of everything there; nearest is {nearest}",
                span(space, bytes)
            ),
            "check the index against the size, and the size against the launch".to_owned(),
        ),
        Fault::ReadOnly { space, bytes } => (
            Class::OutOfBounds,
            *space,
            bytes.clone(),
            format!(
                "(1) writes {} of {space} memory, which cannot be written",
                span(space, bytes)
            ),
            "write to global, shared or local memory".to_owned(),
        ),
        Fault::Misaligned {
            space,
            bytes,
            needed,
        } => (
            Class::Misaligned,
            *space,
            bytes.clone(),
            format!(
                "(1) accesses {} of {space} memory, {} past a multiple of {needed}, which it must start at",
                span(space, bytes),
                bytes.start % needed
            ),
            format!("align the address to {needed} bytes, or use a narrower access"),
        ),
        Fault::Uninitialized {
            space,
            bytes,
            variable,
        } => {
            let of = variable
                .as_ref()
                .map_or_else(String::new, |name| format!(" (`{name}`)"));
            (
                Class::UninitializedRead,
                *space,
                bytes.clone(),
                format!(
                    "(1) reads {} of {space} memory{of}, which nobody has written",
                    span(space, bytes)
                ),
                "write every byte before it is read, the tail of the tile included".to_owned(),
            )
        }
        Fault::InFlight {
            space,
            bytes,
            variable,
            ..
        } => {
            let of = variable
                .as_ref()
                .map_or_else(String::new, |name| format!(" (`{name}`)"));
            (
                Class::ReadBeforeWait,
                *space,
                bytes.clone(),
                format!(
                    "{} of {space} memory{of} read by (2) before (1), the copy that writes them, is complete",
                    span(space, bytes)
                ),
                "let the reader wait for the copy, by its group or by its mbarrier's phase"
                    .to_owned(),
            )
        }
        Fault::BarrierDivergence { here, live, other } => {
            let others = if other.is_some() {
                "; (2) is where the others are"
            } else {
                ""
            };
            (
                Class::BarrierDivergence,
                "",
                0..0,
                format!("(1) an aligned barrier reached by {here} of the {live} threads of its warp{others}"),
                "move the barrier to where all threads of the warp come, or use the non-aligned form with every thread".to_owned(),
            )
        }
        Fault::BarrierMismatch { id, misuse, .. } => (
            Class::BarrierMismatch,
            "",
            0..0,
            mismatch(*id, *misuse),
            remedy(*misuse),
        ),
        Fault::NoObject { at } => (
            Class::MbarrierLifetime,
            "shared",
            u64::from(*at)..u64::from(*at) + 8,
            format!(
                "(1) uses shared bytes [{at}, {}) as an mbarrier, which they are not",
                at + 8
            ),
            "initialise the mbarrier before, and let a barrier make that known".to_owned(),
        ),
        Fault::ArrivalCount { at, misuse } => {
            let (message, remedy) = arrival(*at, *misuse);
            (
                Class::ArrivalCount,
                "shared",
                u64::from(*at)..u64::from(*at) + 8,
                message,
                remedy,
            )
        }
        Fault::TransactionRange { at, tx } => (
            Class::TransactionBytes,
            "shared",
            u64::from(*at)..u64::from(*at) + 8,
            format!(
                "(1) brings the transaction bytes of the mbarrier at shared byte {at} to {tx}, beyond 1048575"
            ),
            "expect what one stage holds, once a phase".to_owned(),
        ),
        Fault::ClusterTwice => (
            Class::BarrierMismatch,
            "",
            0..0,
            "(1) arrives at the cluster barrier twice in one round".to_owned(),
            "wait between two arrivals".to_owned(),
        ),
        Fault::Deadlock { lines } => deadlock(lines),
        Fault::BulkSize { bytes } => (
            Class::Misaligned,
            "",
            0..0,
            format!("(1) a bulk copy of {bytes} bytes, which is no multiple of 16"),
            format!(
                "copy {} bytes in bulk and the rest by element",
                bytes / 16 * 16
            ),
        ),
        Fault::SourceSize { given, bytes } => (
            Class::Misaligned,
            "",
            0..0,
            format!("(1) a copy of {bytes} bytes is told to read {given} bytes of its source"),
            format!("pass a source size from 0 to {bytes}"),
        ),
        Fault::NotAMember { members } => (
            Class::BarrierMismatch,
            "",
            0..0,
            format!("(1) names the member mask {members:#010x}, in which it is not itself"),
            "name every thread that executes the instruction".to_owned(),
        ),
    };
    let mut parties = vec![party];
    parties.extend(other.cloned());
    if let Fault::InFlight { copy, .. } = fault {
        parties.insert(0, copy.clone());
    }
    let mut notes = Vec::new();
    if let Fault::Deadlock { lines } = fault {
        // The first line is about the first party.
        parties = lines
            .iter()
            .take(MAX_PARTIES)
            .map(|line| line.party.clone())
            .collect();
        notes = lines
            .iter()
            .enumerate()
            .map(|(index, line)| wait_note(index, line))
            .collect();
    }
    Finding {
        class,
        severity: class.default_severity(),
        certain: true,
        count: 1,
        message,
        space,
        bytes,
        parties,
        notes,
        remedy,
    }
}

fn deadlock(lines: &[WaitLine]) -> (Class, &'static str, Range<u64>, String, String) {
    let threads: u32 = lines.iter().map(|line| line.threads).sum();
    let phase = lines.iter().find_map(|line| match line.blocked {
        Blocked::Phase {
            at, pending, tx, ..
        } => Some((at, pending, tx)),
        Blocked::NoObject { at } => Some((at, 0, 0)),
        _ => None,
    });
    let Some((at, pending, tx)) = phase else {
        let spins = lines.iter().any(|line| line.blocked == Blocked::Spinning);
        let remedy = if spins {
            "look for whoever should write what is polled, and whether it can run at the same time"
        } else {
            "let every thread that a barrier counts come to it, in the same order everywhere"
        };
        return (
            Class::Deadlock,
            "",
            0..0,
            format!("all {threads} threads left wait, and nothing can end it"),
            remedy.to_owned(),
        );
    };
    let remedy = match (pending, tx) {
        (0, 0) => {
            "wait for the parity of the phase that is being filled, and turn it after each wait"
                .to_owned()
        }
        (0, 1..) => format!(
            "expect {tx} bytes less, or copy them; and count what is copied, not what the tile holds"
        ),
        (0, _) => format!("expect the {} bytes more that are copied", -tx),
        (pending, _) => {
            format!(
                "let {pending} more arrivals come in each phase, or initialise the mbarrier for that many fewer"
            )
        }
    };
    (
        Class::PhaseNeverCompletes,
        "shared",
        u64::from(at)..u64::from(at) + 8,
        format!(
            "all {threads} threads left wait, (1) for a phase of the mbarrier at shared byte {at} that cannot complete"
        ),
        remedy,
    )
}

/// One line of the list of waits.
fn wait_note(index: usize, line: &WaitLine) -> String {
    let WaitLine {
        party,
        threads,
        blocked,
    } = line;
    let [x, y, z] = party.thread;
    let who = format!(
        "({}) {threads} threads, first ({x}, {y}, {z}), at line {} ({})",
        index + 1,
        party.line,
        party.what
    );
    let what = match blocked {
        Blocked::Spinning => "poll memory that nobody writes".to_owned(),
        Blocked::Gather => "wait at a barrier for the rest of their warp".to_owned(),
        Blocked::Lanes { members } => format!("wait for lanes {members:#010x} of their warp"),
        Blocked::Cluster => "wait at the cluster barrier".to_owned(),
        Blocked::Barrier {
            id,
            arrived,
            wanted,
            missing,
        } => {
            let missing: Vec<String> = missing.iter().map(u32::to_string).collect();
            let missing = if missing.is_empty() {
                "none is left that could".to_owned()
            } else {
                missing.join(", ")
            };
            format!(
                "wait at barrier {id}: {arrived} of {wanted} warps have come; missing: {missing}"
            )
        }
        Blocked::Phase {
            at,
            phase,
            pending,
            expected,
            tx,
        } => format!(
            "wait for phase {phase} (parity {}) of the mbarrier at shared byte {at}: {} of {expected} arrivals came, {tx} transaction bytes are outstanding",
            phase & 1,
            expected.saturating_sub(*pending),
        ),
        Blocked::NoObject { at } => format!("wait for shared byte {at}, where no mbarrier is"),
    };
    format!("{who} {what}")
}

fn arrival(at: u32, misuse: ArrivalMisuse) -> (String, String) {
    let object = format!("the mbarrier at shared byte {at}");
    match misuse {
        ArrivalMisuse::InitCount(count) => (
            format!("(1) initialises {object} for {count} arrivals; a count is 1 to 1048575"),
            "initialise for the number of arrivals of one phase".to_owned(),
        ),
        ArrivalMisuse::TooMany { count, pending, expected } => (
            format!("(1) {count} arrivals on {object}, whose phase needs {pending} more of {expected}"),
            "initialise for as many arrivals as there are in a phase (`.noinc` arrivals count), or let fewer threads arrive".to_owned(),
        ),
        ArrivalMisuse::Completes => (
            format!("(1) completes the phase of {object}, which it promises not to"),
            "arrive without .noComplete".to_owned(),
        ),
        ArrivalMisuse::DropsAll { expected } => (
            format!("(1) drops the last of the {expected} arrivals that {object} expects"),
            "invalidate the mbarrier and leave the last arrival in it".to_owned(),
        ),
        ArrivalMisuse::Overflow { pending } => (
            format!("(1) brings {object} to {pending} pending arrivals, beyond 1048575"),
            "use .noinc and count these arrivals at init, or wait for phases to complete".to_owned(),
        ),
    }
}

fn mismatch(id: u32, misuse: BarrierMisuse) -> String {
    match misuse {
        BarrierMisuse::Id(id) => format!("(1) uses barrier {id}; a block has barriers 0 to 15"),
        BarrierMisuse::BadCount { count, limit } => {
            format!(
                "(1) expects {count} threads at barrier {id}; a count is a multiple of 32 from 32 to {limit}"
            )
        }
        BarrierMisuse::Varies => {
            format!("(1) threads of one warp name different barriers or counts, {id} the first")
        }
        BarrierMisuse::Count { here, first } => {
            let first = first.map_or_else(
                || "the whole block".to_owned(),
                |count| format!("{count} threads"),
            );
            format!(
                "(1) expects {here} threads at barrier {id}, where (2) expects {first} in the same round"
            )
        }
        BarrierMisuse::Kind => {
            format!(
                "(1) mixes a reduction with another form at barrier {id}; (2) came first in this round"
            )
        }
        BarrierMisuse::Twice => {
            format!(
                "(1) the same warp arrives at barrier {id} twice in one round; (2) began the round"
            )
        }
    }
}

fn remedy(misuse: BarrierMisuse) -> String {
    match misuse {
        BarrierMisuse::Id(_) => "choose an id below 16",
        BarrierMisuse::BadCount { .. } => "count whole warps, and only those of the block",
        BarrierMisuse::Varies => "compute id and count from values that are the same in the whole warp",
        BarrierMisuse::Count { .. } => "let everybody at this barrier name the same count",
        BarrierMisuse::Kind => "use another barrier for the reduction",
        BarrierMisuse::Twice => "wait for the round to complete before arriving again, or count the arrivals that are meant",
    }
    .to_owned()
}

/// Bytes in words: offsets in decimal, global addresses in hexadecimal.
fn span(space: &str, bytes: &Range<u64>) -> String {
    if space == "global" || space == "generic" {
        format!("bytes [{:#x}, {:#x})", bytes.start, bytes.end)
    } else {
        format!("bytes [{}, {})", bytes.start, bytes.end)
    }
}

/// Of an instruction that is not modelled.
pub(crate) fn not_modelled(what: &str, line: u32) -> String {
    format!("{what} at line {line} is not modelled; this says nothing about the kernel")
}

/// Of a block that there is no memory for.
pub(crate) fn out_of_memory() -> String {
    "this machine has not enough memory for one more block; launch smaller blocks or less shared memory".to_owned()
}

/// Of a step budget that ran out.
pub(crate) fn out_of_steps(budget: u64) -> String {
    format!(
        "the budget of {budget} warp instructions ran out; raise it if the kernel is not in an endless loop"
    )
}
