//! The words of the faults that the executor meets.
//!
//! Hazards, which come from the order of accesses, have theirs in the checker; nothing else of the executor makes text for people.

use std::ops::Range;

use crate::finding::{Class, Finding, Party};

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
    /// A copy told to read more than it writes.
    SourceSize { given: u32, bytes: u32 },
    /// A lane that is not in the member mask it names.
    NotAMember { members: u32 },
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
    Finding {
        class,
        severity: class.default_severity(),
        certain: true,
        count: 1,
        message,
        space,
        bytes,
        parties,
        notes: Vec::new(),
        remedy,
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
