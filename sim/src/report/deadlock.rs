//! The words of a deadlock: every blocked wait, what it lacks, who never came and where they are instead.

use std::ops::Range;

use super::{MAX_PARTIES, Names, index};
use crate::finding::{Class, Party};

/// Threads that wait at one place for one thing.
#[derive(Clone, Debug)]
pub(crate) struct WaitLine {
    /// The first of them.
    pub(crate) party: Party,
    /// All of them.
    pub(crate) threads: Crowd,
    pub(crate) blocked: Blocked,
    /// Who is there already.
    pub(crate) came: Crowd,
    /// Who is missing, as far as that is known.
    pub(crate) absent: Crowd,
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
    /// The other warps of a warpgroup.
    Products,
    /// A block barrier, in warps.
    Barrier { id: u32, arrived: u32, wanted: u32 },
    /// An mbarrier's phase.
    Phase {
        at: u32,
        phase: u64,
        pending: u32,
        expected: u32,
        announced: u64,
        delivered: u64,
    },
    /// Something that is no mbarrier.
    NoObject { at: u32 },
}

/// Threads of a group, told by the first and the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crowd {
    pub(crate) count: u32,
    /// Thread and block of the first.
    pub(crate) first: ([u32; 3], [u32; 3]),
    /// Of the last.
    pub(crate) last: ([u32; 3], [u32; 3]),
    /// Whether all between them belong to it.
    pub(crate) whole: bool,
    /// How many have ended.
    pub(crate) ended: u32,
    /// The lines of the list at which the others wait.
    pub(crate) wait_at: Vec<usize>,
}

impl Crowd {
    fn text(&self) -> String {
        let (first, last) = (self.first, self.last);
        let blocks = if first.1 == last.1 {
            String::new()
        } else {
            format!(", of blocks {} to {}", index(first.1), index(last.1))
        };
        match self.count {
            1 => format!("thread {}", index(first.0)),
            count if self.whole => format!(
                "{count} threads, {} to {}{blocks}",
                index(first.0),
                index(last.0)
            ),
            count => format!(
                "{count} threads between {} and {}{blocks}",
                index(first.0),
                index(last.0)
            ),
        }
    }

    /// Where they are: ended, or at other lines of the list.
    fn whereabouts(&self) -> String {
        let mut places = Vec::new();
        let one = self.count == 1;
        if self.ended == self.count {
            places.push(if one { "has ended" } else { "have ended" }.to_owned());
        } else if self.ended > 0 {
            places.push(format!("{} have ended", self.ended));
        }
        if !self.wait_at.is_empty() {
            let lines: Vec<String> = self
                .wait_at
                .iter()
                .map(|line| format!("({})", line + 1))
                .collect();
            let verb = if one { "waits" } else { "wait" };
            places.push(format!("{verb} at {}", lines.join(" and ")));
        }
        places.join(", ")
    }

    /// `3 threads, (0,0,0) to (2,0,0), which wait at (2)`.
    fn full(&self) -> String {
        let whereabouts = self.whereabouts();
        if whereabouts.is_empty() {
            self.text()
        } else {
            format!("{}, which {whereabouts}", self.text())
        }
    }
}

/// Class, place, headline and remedy.
pub(super) fn headline(
    lines: &[WaitLine],
    names: Names<'_>,
) -> (Class, &'static str, Range<u64>, String, String) {
    let threads: u32 = lines.iter().map(|line| line.threads.count).sum();
    let phase = |(_, line): &(usize, &WaitLine)| {
        matches!(
            line.blocked,
            Blocked::Phase { .. } | Blocked::NoObject { .. }
        )
    };
    let numbered = || lines.iter().enumerate();
    // The cause is where those who are missing wait for nobody in this list, if there is such a place.
    let root = numbered()
        .filter(phase)
        .find(|(_, line)| line.absent.wait_at.is_empty());
    let Some((number, line)) = root.or_else(|| numbered().find(phase)) else {
        return (
            Class::Deadlock,
            "",
            0..0,
            format!("all {threads} threads left wait, and nothing can end it"),
            without_phase(lines),
        );
    };
    let (Blocked::Phase { at, .. } | Blocked::NoObject { at }) = line.blocked else {
        unreachable!("`phase` lets nothing else through")
    };
    let (what, remedy) = match line.blocked {
        Blocked::Phase {
            phase,
            pending,
            expected,
            announced,
            delivered,
            ..
        } => (
            format!("phase {phase} of the mbarrier in {}", names.bytes(at, 8)),
            with_phase(line, phase, pending, expected, announced, delivered),
        ),
        _ => (
            format!("{}, where no mbarrier is", names.bytes(at, 8)),
            "initialise the mbarrier, and let a barrier follow, before anybody waits".to_owned(),
        ),
    };
    (
        Class::PhaseNeverCompletes,
        "shared",
        u64::from(at)..u64::from(at) + 8,
        format!(
            "all {threads} threads left wait, ({}) for {what}, which cannot complete",
            number + 1
        ),
        remedy,
    )
}

fn without_phase(lines: &[WaitLine]) -> String {
    if lines.iter().any(|line| line.blocked == Blocked::Spinning) {
        return "look for whoever should write what is polled, and whether it can run at the same time"
            .to_owned();
    }
    let parted = lines.iter().find_map(|line| match line.blocked {
        Blocked::Barrier { id, wanted, .. } if line.absent.count > 0 => Some((id, wanted)),
        _ => None,
    });
    let counted = lines.iter().find_map(|line| match line.blocked {
        Blocked::Barrier {
            id,
            arrived,
            wanted,
        } if line.absent.count == 0 => Some((id, arrived, wanted)),
        _ => None,
    });
    match (counted, parted) {
        (Some((id, arrived, wanted)), _) => format!(
            "count {arrived} warps at barrier {id} instead of {wanted}, or let {} more come before they end",
            wanted.saturating_sub(arrived)
        ),
        (None, Some((id, _))) => format!(
            "let the missing threads come to barrier {id}, every thread in the same order of barriers, or leave them out of its count"
        ),
        (None, None) => "let every thread that is waited for come to the same place".to_owned(),
    }
}

fn with_phase(
    line: &WaitLine,
    phase: u64,
    pending: u32,
    expected: u32,
    announced: u64,
    delivered: u64,
) -> String {
    if pending == 0 {
        return if announced > delivered {
            format!(
                "announce {} bytes less, or copy them: announce what is copied, not what the tile holds",
                announced - delivered
            )
        } else {
            format!(
                "announce the {} bytes more that are copied",
                delivered - announced
            )
        };
    }
    let arrivals = if pending == 1 { "arrival" } else { "arrivals" };
    let missing = if !line.absent.wait_at.is_empty() {
        // Those who are missing wait too: the order of waits is wrong, not a count.
        format!(
            "let the threads that are missing arrive before they wait at {}: a stage must be released before it is acquired again",
            line.absent
                .wait_at
                .iter()
                .map(|line| format!("({})", line + 1))
                .collect::<Vec<_>>()
                .join(" and ")
        )
    } else if pending < expected || line.absent.count > 0 || phase > 0 {
        format!(
            "let the {pending} missing {arrivals} come, or initialise the mbarrier for {} instead of {expected}",
            (expected - pending).max(1)
        )
    } else {
        format!(
            "let somebody arrive on it, {expected} {} a phase; a first wait that is to pass at once waits for parity 1",
            if expected == 1 { "arrival" } else { "arrivals" }
        )
    };
    match phase.checked_sub(1) {
        // Nothing came since the last phase ended: whoever waits may have meant that one.
        Some(over) if pending == expected => format!(
            "if the wait is meant for phase {over}, which is over, wait for parity {} (turn the parity once a phase, and wait before the next phase can end); else {}",
            over & 1,
            if line.absent.wait_at.is_empty() {
                format!("let the {expected} {arrivals} of phase {phase} come")
            } else {
                missing
            }
        ),
        _ => missing,
    }
}

/// The lines of the list, as notes; those that are parties have the number of their party.
pub(super) fn notes(lines: &[WaitLine], names: Names<'_>) -> Vec<String> {
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(number, line)| note(number, line, names))
        .collect()
}

fn note(number: usize, line: &WaitLine, names: Names<'_>) -> String {
    let at = if number < MAX_PARTIES {
        String::new()
    } else {
        format!(" at line {} ({})", line.party.line, line.party.what)
    };
    let who = format!("({}) {}{at}", number + 1, line.threads.text());
    let never = if line.absent.count > 0 {
        let missing = match line.blocked {
            Blocked::Phase { .. } => "arrived in earlier phases and not in this one",
            _ => "never came",
        };
        format!("; {missing}: {}", line.absent.full())
    } else {
        String::new()
    };
    match line.blocked {
        Blocked::Spinning => format!("{who}: poll memory that nobody writes"),
        Blocked::Gather => format!("{who}: wait at a barrier for the rest of their warp{never}"),
        Blocked::Lanes { members } => {
            format!("{who}: wait for lanes {members:#010x} of their warp{never}")
        }
        Blocked::Products => format!(
            "{who}: wait for products that not every warp of their warpgroup has issued{never}"
        ),
        Blocked::Cluster => format!("{who}: wait at the cluster barrier{never}"),
        Blocked::Barrier {
            id,
            arrived,
            wanted,
        } => {
            let never = if line.absent.count == 0 {
                "; no other thread is left that could come".to_owned()
            } else {
                never
            };
            format!(
                "{who}: wait at barrier {id}, to which {arrived} of {wanted} warps have come{never}"
            )
        }
        Blocked::Phase {
            at,
            phase,
            pending,
            expected,
            announced,
            delivered,
        } => {
            let from = if line.came.count > 0 {
                format!(", from {}", line.came.full())
            } else {
                String::new()
            };
            let bytes = if announced == 0 && delivered == 0 {
                String::new()
            } else {
                format!("; {announced} bytes announced, {delivered} delivered")
            };
            format!(
                "{who}: wait for phase {phase} (parity {}) of the mbarrier in {}; {} of {expected} arrivals came{from}{bytes}{never}",
                phase & 1,
                names.bytes(at, 8),
                expected.saturating_sub(pending),
            )
        }
        Blocked::NoObject { at } => {
            format!(
                "{who}: wait for {}, where no mbarrier is",
                names.bytes(at, 8)
            )
        }
    }
}
