//! Findings that are only what another finding looks like from elsewhere: one fault is told once, in its most specific form.

use crate::event::{CopyKind, Pc};
use crate::finding::{Class, Finding, Party, Severity};

use super::hazard::{Deed, Hazard};
use super::policy::Policy;

/// Puts the executor's findings and the checker's together, without those of the executor that the checker explains.
///
/// Whether bytes are written when they are read depends on when copies land and which thread runs first; the order does not.
/// Nor can a phase complete that waits for arrivals or bytes which a miscounted phase took.
pub(crate) fn merge(executor: Vec<Finding>, mut checker: Vec<Finding>) -> Vec<Finding> {
    let counting = |finding: &Finding| {
        finding.severity == Severity::Error
            && matches!(
                finding.class,
                Class::ArrivalCount | Class::TransactionBytes | Class::UnelectedIssue
            )
    };
    let by_count = checker.iter().chain(&executor).any(counting);
    let mut merged: Vec<Finding> = Vec::new();
    for finding in executor {
        match finding.class {
            Class::UninitializedRead | Class::ReadBeforeWait
                if by_count && finding.space == "shared" || is_read_early(&finding, &checker) => {}
            Class::PhaseNeverCompletes => {
                let same = |other: &&mut Finding| {
                    counting(other)
                        && (other.bytes == finding.bytes || other.class == Class::UnelectedIssue)
                };
                match checker.iter_mut().find(same) {
                    // Who waits is worth knowing all the same.
                    Some(cause) => cause.notes.extend(renumbered(finding.notes)),
                    None => merged.push(finding),
                }
            }
            _ => merged.push(finding),
        }
    }
    merged.append(&mut checker);
    merged
}

/// Notes of another finding, whose numbers are not those of this one's parties.
fn renumbered(notes: Vec<String>) -> impl Iterator<Item = String> {
    let count = notes.len();
    notes.into_iter().map(move |note| {
        (1..=count).fold(note, |note, number| {
            note.replace(&format!("({number})"), &format!("[{number}]"))
        })
    })
}

/// Whether the reading instruction is found to read before, or in no order with, the copy or store that writes what it reads.
fn is_read_early(finding: &Finding, checker: &[Finding]) -> bool {
    let Some(reader) = finding.parties.last() else {
        return false;
    };
    checker
        .iter()
        .filter(|other| other.severity == Severity::Error && is_about_order(other.class))
        .flat_map(|other| &other.parties)
        .any(|party| party.line == reader.line || is_product(party) && is_product(reader))
}

/// Whether a party is a product; what several of them meet is told of one.
fn is_product(party: &Party) -> bool {
    party.what.starts_with("wgmma.mma_async")
}

fn is_about_order(class: Class) -> bool {
    matches!(
        class,
        Class::ReadBeforeWait
            | Class::UnpublishedCopy
            | Class::WaitCount
            | Class::UncommittedCopy
            | Class::OverwriteInUse
            | Class::StoreReadEarly
            | Class::SharedRace
            | Class::WarpRace
            | Class::PartialRelease
            | Class::StalePhase
            | Class::GlobalRace
    )
}

/// Folds hazards that one mistake makes: the same class at the same write, whichever reads it meets and in whichever order;
/// and several classes between the same two instructions, of which the most specific stays.
/// Hazards that do not weigh the same under the policy stay apart.
pub(crate) fn fold(
    list: Vec<([u32; 2], Hazard, u64)>,
    policy: &Policy,
) -> Vec<([u32; 2], Hazard, u64)> {
    let weight = |hazard: &Hazard| policy.level(hazard.class, hazard.disputed());
    let mut kept: Vec<Entry> = Vec::new();
    for (groups, hazard, count) in list {
        let around = pair_around_product(&hazard);
        let same = |entry: &&mut Entry| {
            let other = &entry.hazard;
            let met = other.class == hazard.class && around.is_some_and(|pair| entry.meets(pair));
            weight(other) == weight(&hazard)
                && (met || is_one_fault(other, &hazard) || is_one_fault(&hazard, other))
        };
        match kept.iter_mut().find(same) {
            None => kept.push(Entry {
                groups,
                hazard,
                count,
                pairs: around.into_iter().collect(),
            }),
            Some(entry) => {
                entry.count += count;
                entry.pairs.extend(around);
                if specific(hazard.class) < specific(entry.hazard.class) {
                    (entry.groups, entry.hazard) = (groups, hazard);
                }
            }
        }
    }
    let told = kept
        .into_iter()
        .map(|entry| (entry.groups, entry.hazard, entry.count));
    told.collect()
}

/// A fault with all that was folded into it.
struct Entry {
    groups: [u32; 2],
    hazard: Hazard,
    count: u64,
    /// The parties of each, where one of them is a product.
    pairs: Vec<[Pc; 2]>,
}

impl Entry {
    /// Whether a party of one of its pairs is the same.
    fn meets(&self, [first, second]: [Pc; 2]) -> bool {
        let meets = |pair: &[Pc; 2]| pair[0] == first || pair[1] == second;
        self.pairs.iter().any(meets)
    }
}

/// The instructions of a hazard between a product and what comes before or after it in memory.
///
/// A factor is written by many stores and read by many products, all of which one fence or wait parts.
fn pair_around_product(hazard: &Hazard) -> Option<[Pc; 2]> {
    let first = hazard.first?;
    let product = |deed| deed == Deed::CopyFrom(CopyKind::Product);
    let by_product = product(first.deed) || product(hazard.second.deed);
    by_product.then_some([first.pc, hazard.second.pc])
}

fn is_one_fault(a: &Hazard, b: &Hazard) -> bool {
    let (Some(first), Some(other)) = (a.first, b.first) else {
        return false;
    };
    if a.class == b.class {
        if a.class == Class::MbarrierLifetime {
            return first.pc == other.pc;
        }
        // The other party of a mutual race, or one more reader of the same write.
        let writes = |hazard: &Hazard| {
            let first = hazard.first.filter(|first| first.deed.writes());
            first.map_or(hazard.second.pc, |first| first.pc)
        };
        return is_pairwise(a.class) && writes(a) == writes(b);
    }
    if a.class == Class::UnelectedIssue && b.class == Class::TransactionBytes {
        // Every lane delivers the bytes that one lane announced.
        return a.second.pc == b.second.pc;
    }
    let pair = |x: u32, y: u32| (x.min(y), x.max(y));
    specific(a.class) != UNRELATED
        && specific(b.class) != UNRELATED
        && pair(first.pc, a.second.pc) == pair(other.pc, b.second.pc)
}

/// Classes of which one missing barrier or wait makes a hazard for every pair of instructions that it should part.
fn is_pairwise(class: Class) -> bool {
    matches!(
        class,
        Class::ReadBeforeWait
            | Class::UnpublishedCopy
            | Class::OverwriteInUse
            | Class::SharedRace
            | Class::WarpRace
            | Class::StalePhase
    )
}

const UNRELATED: u32 = u32::MAX;

/// How far a class is from naming what is wrong between two instructions; the smallest number says most.
fn specific(class: Class) -> u32 {
    match class {
        Class::StalePhase | Class::UnelectedIssue => 0,
        Class::WaitCount => 1,
        Class::UncommittedCopy => 2,
        Class::ReadBeforeWait => 3,
        Class::UnpublishedCopy => 4,
        Class::OverlappingCopies => 5,
        Class::TransactionBytes => 6,
        _ => UNRELATED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(class: Class, space: &'static str, lines: &[u32]) -> Finding {
        Finding {
            class,
            severity: class.default_severity(),
            certain: true,
            count: 1,
            message: String::new(),
            space,
            bytes: 0..8,
            parties: lines
                .iter()
                .map(|&line| Party {
                    what: String::new(),
                    line,
                    source: None,
                    thread: [0; 3],
                    block: [0; 3],
                    execution: 0,
                })
                .collect(),
            notes: Vec::new(),
            remedy: String::new(),
        }
    }

    #[test]
    fn what_the_executor_meets_goes_where_the_checker_explains_it() {
        use Class::*;
        // What the executor met, what the checker found, and whether the former stays.
        let cases = [
            (UninitializedRead, ReadBeforeWait, vec![5, 9], false),
            (UninitializedRead, SharedRace, vec![9, 12], false),
            (UninitializedRead, ReadBeforeWait, vec![5, 8], true),
            (UninitializedRead, OutstandingAtExit, vec![5, 9], true),
            (UninitializedRead, OutOfBounds, vec![9], true),
            (UninitializedRead, ArrivalCount, vec![2, 3], false),
            (ReadBeforeWait, WaitCount, vec![5, 9], false),
            (ReadBeforeWait, TransactionBytes, vec![2, 3], false),
            (ReadBeforeWait, Misaligned, vec![2], true),
            (PhaseNeverCompletes, TransactionBytes, vec![2, 3], false),
            (PhaseNeverCompletes, UnpublishedCopy, vec![2, 9], true),
            (Deadlock, ArrivalCount, vec![2, 3], true),
        ];
        for (met, found, lines, stays) in cases {
            let executor = vec![finding(met, "shared", &[9])];
            let merged = merge(executor, vec![finding(found, "shared", &lines)]);
            assert_eq!(merged.len() == 2, stays, "{merged:?}");
        }
    }

    #[test]
    fn a_count_of_an_mbarrier_explains_nothing_of_global_memory() {
        let executor = vec![finding(Class::UninitializedRead, "global", &[9])];
        let checker = vec![finding(Class::ArrivalCount, "shared", &[2, 3])];
        assert_eq!(merge(executor, checker).len(), 2);
    }
}
