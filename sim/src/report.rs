//! The words of the faults that the executor meets.
//!
//! Hazards, which come from the order of accesses, have theirs in the checker; nothing else of the executor makes text for people.

mod deadlock;

use std::ops::Range;

pub(crate) use self::deadlock::{Blocked, Crowd, WaitLine};
use crate::finding::{Class, Finding, Party};
use crate::matrix::tensor_box::BoxError;
use crate::program::SharedVariable;

/// Parties that a deadlock names; the notes tell of all.
const MAX_PARTIES: usize = 8;

/// The shared variables of a program, by which bytes are told.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a>(pub(crate) &'a [SharedVariable]);

impl Names<'_> {
    /// `shared bytes tile[16..32)`; without the variable where none holds the first byte.
    fn bytes(self, from: u32, len: u32) -> String {
        let holder = self.0.iter().find(|variable| {
            let end = variable.offset.saturating_add(variable.bytes);
            from >= variable.offset && (variable.dynamic || from < end)
        });
        match holder {
            Some(variable) => {
                let start = from - variable.offset;
                format!("shared bytes {}[{start}..{})", variable.name, start + len)
            }
            None => format!(
                "shared bytes [{from}..{})",
                u64::from(from) + u64::from(len)
            ),
        }
    }

    /// Bytes of any memory: offsets in decimal, global addresses in hexadecimal.
    fn span(self, space: &str, bytes: &Range<u64>) -> String {
        let (from, to) = (bytes.start, bytes.end);
        match (space, u32::try_from(from), u32::try_from(to)) {
            ("shared", Ok(from), Ok(to)) => self.bytes(from, to.saturating_sub(from)),
            ("global" | "generic", ..) => format!("{space} bytes [{from:#x}..{to:#x})"),
            _ => format!("{space} bytes [{from}..{to})"),
        }
    }
}

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
    },
    /// Bytes read that nobody wrote, and that a copy in flight will.
    InFlight {
        space: &'static str,
        bytes: Range<u64>,
        /// Who issued the copy.
        copy: Party,
    },
    /// An aligned barrier that only part of the warp came to.
    BarrierDivergence {
        here: u32,
        live: u32,
        other: Option<Party>,
    },
    /// An instruction of a warpgroup that only some of its warps come to, or can come to.
    PartOfWarpgroup { there: u32 },
    /// A warpgroup whose threads do not agree on what they multiply.
    ProductVaries { what: &'static str, other: Party },
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
    /// A box of a tensor that cannot be copied.
    TensorBox { error: BoxError },
    /// A copy told to read more than it writes.
    SourceSize { given: u32, bytes: u32 },
    /// A lane that is not in the member mask it names.
    NotAMember { members: u32 },
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
pub(crate) fn finding(fault: &Fault, party: Party, names: Names<'_>) -> Finding {
    let other = match fault {
        Fault::BarrierDivergence { other, .. } | Fault::BarrierMismatch { other, .. } => {
            other.as_ref()
        }
        Fault::ProductVaries { other, .. } => Some(other),
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
                "(1) {verb} {}, outside of everything there; nearest is {nearest}",
                names.span(space, bytes)
            ),
            "check the index against the size, and the size against the launch".to_owned(),
        ),
        Fault::ReadOnly { space, bytes } => (
            Class::OutOfBounds,
            *space,
            bytes.clone(),
            format!(
                "(1) writes {}, which cannot be written",
                names.span(space, bytes)
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
                "(1) accesses {}, {} past a multiple of {needed}, which it must start at",
                names.span(space, bytes),
                bytes.start % needed
            ),
            format!("align the address to {needed} bytes, or use a narrower access"),
        ),
        Fault::Uninitialized { space, bytes } => (
            Class::UninitializedRead,
            *space,
            bytes.clone(),
            format!(
                "(1) reads {}, which nobody has written",
                names.span(space, bytes)
            ),
            "write every byte before it is read, the tail of the tile included".to_owned(),
        ),
        Fault::InFlight { space, bytes, .. } => (
            Class::ReadBeforeWait,
            *space,
            bytes.clone(),
            format!(
                "{} read by (2) before (1), the copy that writes them, is complete",
                names.span(space, bytes)
            ),
            "let the reader wait for the copy, by its group or by its mbarrier's phase".to_owned(),
        ),
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
        Fault::PartOfWarpgroup { there } => (
            Class::BarrierDivergence,
            "",
            0..0,
            format!(
                "(1) an instruction of four whole warps, from one whose number is a multiple of four, and {there} of them can come to it"
            ),
            "launch blocks of a multiple of 128 threads, and let all four warps of a warpgroup come to the same instructions".to_owned(),
        ),
        Fault::ProductVaries { what, .. } => (
            Class::BarrierDivergence,
            "",
            0..0,
            format!("(1) gives the product {what} that differs from that of (2), of the same warpgroup"),
            "compute descriptors, scale-d and branches from values that are the same in all 128 threads".to_owned(),
        ),
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
                "(1) uses {} as an mbarrier, which they are not",
                names.bytes(*at, 8)
            ),
            "initialise the mbarrier before, and let a barrier make that known".to_owned(),
        ),
        Fault::ArrivalCount { at, misuse } => {
            let (message, remedy) = arrival(&names.bytes(*at, 8), *misuse);
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
                "(1) brings the bytes outstanding on the mbarrier in {} to {tx}, beyond 1048575",
                names.bytes(*at, 8)
            ),
            "announce what one stage holds, once a phase".to_owned(),
        ),
        Fault::ClusterTwice => (
            Class::BarrierMismatch,
            "",
            0..0,
            "(1) arrives at the cluster barrier twice in one round".to_owned(),
            "wait between two arrivals".to_owned(),
        ),
        Fault::Deadlock { lines } => deadlock::headline(lines, names),
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
        Fault::TensorBox { error } => (
            match error {
                BoxError::Misaligned { .. } => Class::Misaligned,
                BoxError::Rank { .. } | BoxError::Negative { .. } => Class::OutOfBounds,
            },
            "",
            0..0,
            format!("(1) {error}"),
            match error {
                BoxError::Misaligned { .. } => {
                    "start boxes at elements whose offset in the row is a multiple of 16 bytes"
                }
                BoxError::Rank { .. } => {
                    "use the instruction with as many dimensions as the tensor map has"
                }
                BoxError::Negative { .. } => {
                    "store boxes that start inside the tensor, and let only their ends hang over"
                }
            }
            .to_owned(),
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
        notes = deadlock::notes(lines, names);
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

fn arrival(place: &str, misuse: ArrivalMisuse) -> (String, String) {
    let object = format!("the mbarrier in {place}");
    match misuse {
        ArrivalMisuse::InitCount(count) => (
            format!("(1) initialises {object} for {count} arrivals; a count is 1 to 1048575"),
            "initialise for the number of arrivals of one phase".to_owned(),
        ),
        ArrivalMisuse::TooMany { count, pending, expected } => (
            format!(
                "(1) arrives {} on {object}, whose phase still needs {pending} of {expected} arrivals",
                if count == 1 { "once more".to_owned() } else { format!("{count} times") }
            ),
            "wait for the phase to complete before arriving for the next; or initialise for as many arrivals as one phase gets, those of copies with `.noinc` among them".to_owned(),
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

/// A thread's or a block's index.
fn index([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

/// Of an instruction that is not modelled.
pub(crate) fn not_modelled(what: &str, line: u32) -> String {
    format!("{what} at line {line} is not modelled; this says nothing about the kernel")
}

/// Of a block that there is no memory for.
pub(crate) fn out_of_memory() -> String {
    "this machine has not enough memory for one more block; launch smaller blocks or less shared memory".to_owned()
}

/// Of a simulation that takes more memory than it may.
pub(crate) fn over_memory(used: u64, limit: u64) -> String {
    format!(
        "the simulation takes {used} bytes of memory, over the limit of {limit}; raise the limit, or launch fewer threads"
    )
}

/// Of a group of blocks whose registers and memories are over the limit before the first instruction.
pub(crate) fn group_over_memory(bytes: u64, limit: u64) -> String {
    format!(
        "the registers, local and shared memory of the blocks that run together take {bytes} bytes, over the limit of {limit}; raise the limit, or launch smaller blocks"
    )
}

/// Of a kernel that initialises mbarriers without end.
pub(crate) fn too_many_lives(limit: u32) -> String {
    format!(
        "one block initialises mbarriers more than {limit} times, which is as many as are told apart; initialise them once, before the loop"
    )
}

/// Of a step budget that ran out.
pub(crate) fn out_of_steps(budget: u64) -> String {
    format!(
        "the budget of {budget} warp instructions ran out; raise it if the kernel is not in an endless loop"
    )
}
