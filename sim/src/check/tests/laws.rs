//! Two laws over random programs of a block: the quick path changes no finding,
//! and the engine agrees with a reference that keeps a full vector clock for each lane and looks at every pair of accesses.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::check::{Checker, Listed, Listing, Policy};
use crate::event::{
    Access, AccessKind, BarrierRole, CopyId, ElementCopies, Groups, Monitor, Ordering, Scope, Site,
    Window,
};
use crate::finding::Finding;
use crate::launch::Dim3;

const WARPS: u32 = 3;

/// One step of a random program of a block.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access {
        warp: u32,
        mask: u32,
        kind: AccessKind,
        global: bool,
        base: u64,
        stride: u64,
        bytes: u32,
    },
    Copy {
        warp: u32,
        mask: u32,
        into: u64,
        from: u64,
    },
    Commit(u32),
    Wait(u32, u32),
    WarpSync(u32),
    Barrier,
}

fn step() -> impl Strategy<Value = Step> {
    let warp = 0..WARPS;
    let mask = prop_oneof![3 => Just(!0u32), 1 => Just(0xff), 1 => Just(0x8000_0001)];
    // Eight lines of each memory, so that accesses meet.
    let place = (0..16u64).prop_map(|at| at * 64);
    let kind = prop_oneof![
        4 => Just(AccessKind::Read),
        2 => Just(AccessKind::Write),
        1 => Just(AccessKind::Atomic),
    ];
    let access = (
        warp.clone(),
        mask.clone(),
        kind,
        any::<bool>(),
        place.clone(),
        0..4usize,
        0..3usize,
    )
        .prop_map(
            |(warp, mask, kind, global, base, stride, bytes)| Step::Access {
                warp,
                mask,
                kind,
                global,
                base,
                stride: [0, 4, 16, 36][stride],
                bytes: [1, 2, 4][bytes],
            },
        );
    let copy = (warp.clone(), mask, place.clone(), place).prop_map(|(warp, mask, into, from)| {
        Step::Copy {
            warp,
            mask,
            into,
            from,
        }
    });
    prop_oneof![
        6 => access,
        3 => copy,
        2 => warp.clone().prop_map(Step::Commit),
        2 => (warp.clone(), 0..3u32).prop_map(|(warp, pending)| Step::Wait(warp, pending)),
        1 => warp.prop_map(Step::WarpSync),
        3 => Just(Step::Barrier),
    ]
}

fn findings(steps: &[Step], quick: bool, async_proxy: bool) -> Vec<Finding> {
    let listing = Listing {
        instructions: (0..steps.len())
            .map(|line| Listed {
                line: line as u32 + 1,
                ..Listed::default()
            })
            .collect(),
        async_proxy,
        ..Listing::default()
    };
    let mut checker = Checker::new(
        listing,
        Dim3::ONE,
        (WARPS * 32).into(),
        Dim3::ONE,
        Policy::default(),
    );
    checker.quick = quick;
    let checker = Arc::new(checker);
    let mut monitor = checker.group(0);
    for (pc, step) in steps.iter().enumerate() {
        let site = |warp: u32, mask: u32| Site {
            execution: 0,
            pc: pc as u32,
            warp,
            mask,
        };
        match *step {
            Step::Access {
                warp,
                mask,
                kind,
                global,
                base,
                stride,
                bytes,
            } => {
                let window = if global {
                    Window::Global
                } else {
                    Window::Shared { rank: 0 }
                };
                let access = Access {
                    window,
                    kind,
                    ordering: Ordering::Weak,
                    scope: Scope::Gpu,
                    bytes,
                    addresses: &std::array::from_fn(|lane| base + stride * lane as u64),
                };
                monitor.access(site(warp, mask), &access);
            }
            Step::Copy {
                warp,
                mask,
                into,
                from,
            } => {
                let copies = ElementCopies {
                    first: CopyId(0),
                    rank: 0,
                    bytes: 4,
                    sources: &std::array::from_fn(|lane| from + 4 * lane as u64),
                    source_bytes: &[4; 32],
                    destinations: &std::array::from_fn(|lane| into + 4 * lane as u64),
                };
                monitor.issue_elements(site(warp, mask), &copies);
            }
            Step::Commit(warp) => monitor.commit(site(warp, !0), Groups::Element),
            Step::Wait(warp, pending) => {
                monitor.wait(site(warp, !0), Groups::Element, Some(pending));
            }
            Step::WarpSync(warp) => monitor.warp_sync(site(warp, !0)),
            Step::Barrier => {
                for warp in 0..WARPS {
                    monitor.barrier_arrive(site(warp, !0), 0, BarrierRole::Sync, WARPS * 32);
                }
                monitor.barrier_complete(0);
            }
        }
    }
    let report = monitor.finish();
    checker.findings(vec![report])
}

/// An access of one lane in the reference.
struct Past {
    pc: usize,
    lane: usize,
    window: bool,
    bytes: std::ops::Range<u64>,
    writes: bool,
    atomic: bool,
    /// For a copy, the issuing lane's time when it saw the copy complete.
    seen: Option<Option<u32>>,
    time: u32,
    clock: Vec<u32>,
}

impl Past {
    fn before(&self, later: &Self) -> bool {
        match self.seen {
            None => later.clock[self.lane] >= self.time,
            Some(seen) => seen.is_some_and(|seen| later.clock[self.lane] >= seen),
        }
    }

    fn races(&self, later: &Self) -> bool {
        self.pc != later.pc
            && self.window == later.window
            && self.bytes.start < later.bytes.end
            && later.bytes.start < self.bytes.end
            && (self.writes || later.writes)
            && !(self.atomic && later.atomic && self.bytes == later.bytes)
            && !self.before(later)
    }
}

/// Every pair of steps that race, found the slow way.
fn reference(steps: &[Step]) -> BTreeSet<(u32, u32)> {
    let mut found = BTreeSet::new();
    let count = (WARPS * 32) as usize;
    let mut clocks = vec![vec![0u32; count]; count];
    let mut past: Vec<Past> = Vec::new();
    // For each lane: copies with their group, and how many groups it committed.
    let mut open: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
    let mut committed = vec![0u32; count];
    let lanes = |warp: u32, mask: u32| {
        (0..32usize)
            .filter(move |lane| mask >> lane & 1 == 1)
            .map(move |lane| (warp as usize * 32 + lane, lane))
    };
    let meet = |clocks: &mut Vec<Vec<u32>>, who: std::ops::Range<usize>| {
        let mut joined = vec![0; count];
        for thread in who.clone() {
            for (joined, &own) in joined.iter_mut().zip(&clocks[thread]) {
                *joined = own.max(*joined);
            }
        }
        for thread in who {
            clocks[thread].clone_from(&joined);
        }
    };
    for (pc, step) in steps.iter().enumerate() {
        match *step {
            Step::Access {
                warp,
                mask,
                kind,
                global,
                base,
                stride,
                bytes,
            } => {
                for (thread, lane) in lanes(warp, mask) {
                    clocks[thread][thread] += 1;
                    let from = base + stride * lane as u64;
                    past.push(Past {
                        pc,
                        lane: thread,
                        window: global,
                        bytes: from..from + u64::from(bytes),
                        writes: kind != AccessKind::Read,
                        atomic: kind == AccessKind::Atomic,
                        seen: None,
                        time: clocks[thread][thread],
                        clock: clocks[thread].clone(),
                    });
                }
            }
            Step::Copy {
                warp,
                mask,
                into,
                from,
            } => {
                for (thread, lane) in lanes(warp, mask) {
                    clocks[thread][thread] += 1;
                    for (window, base) in [(true, from), (false, into)] {
                        let from = base + 4 * lane as u64;
                        open[thread].push((past.len(), committed[thread]));
                        past.push(Past {
                            pc,
                            lane: thread,
                            window,
                            bytes: from..from + 4,
                            writes: !window,
                            atomic: false,
                            seen: Some(None),
                            time: clocks[thread][thread],
                            clock: clocks[thread].clone(),
                        });
                    }
                }
            }
            Step::Commit(warp) => lanes(warp, !0).for_each(|(thread, _)| committed[thread] += 1),
            Step::Wait(warp, pending) => {
                for (thread, _) in lanes(warp, !0) {
                    clocks[thread][thread] += 1;
                    let limit = committed[thread].saturating_sub(pending);
                    open[thread].retain(|&(copy, group)| {
                        if group < limit {
                            past[copy].seen = Some(Some(clocks[thread][thread]));
                        }
                        group >= limit
                    });
                }
            }
            Step::WarpSync(warp) => {
                let from = warp as usize * 32;
                meet(&mut clocks, from..from + 32);
            }
            Step::Barrier => meet(&mut clocks, 0..count),
        }
        // What a step adds is judged at once: a copy's milestone may be seen later.
        let new = past.partition_point(|access| access.pc < pc);
        let (before, after) = past.split_at(new);
        for later in after {
            found.extend(
                before
                    .iter()
                    .filter(|earlier| earlier.races(later))
                    .map(|earlier| (earlier.pc as u32 + 1, later.pc as u32 + 1)),
            );
        }
    }
    found
}

/// An atomic of another lane does not hide one that a copy is not ordered after.
#[test]
fn an_atomic_covers_no_atomic_of_another_lane() {
    let atomic = |stride| Step::Access {
        warp: 0,
        mask: !0,
        kind: AccessKind::Atomic,
        global: false,
        base: 576,
        stride,
        bytes: 1,
    };
    let copy = Step::Copy {
        warp: 0,
        mask: !0,
        into: 576,
        from: 0,
    };
    // All lanes on one byte; each on its own, lane 0 on that byte again; and copies over all of it.
    let steps = [atomic(0), atomic(4), copy];
    assert_eq!(reference(&steps), BTreeSet::from([(1, 3)]));
    let found = findings(&steps, true, false);
    let parties: Vec<Vec<u32>> = found
        .iter()
        .map(|finding| finding.parties.iter().map(|party| party.line).collect())
        .collect();
    assert_eq!(parties, [[1, 3]]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_quick_path_changes_no_finding(steps in vec(step(), 1..40), async_proxy: bool) {
        let quick = findings(&steps, true, async_proxy);
        let thorough = findings(&steps, false, async_proxy);
        prop_assert_eq!(quick, thorough);
    }

    #[test]
    fn the_engine_agrees_with_full_vector_clocks(steps in vec(step(), 1..30)) {
        let races = reference(&steps);
        let found: BTreeSet<_> = findings(&steps, true, false)
            .iter()
            .filter(|finding| finding.parties.len() == 2)
            .map(|finding| (finding.parties[0].line, finding.parties[1].line))
            .filter(|(first, second)| first != second)
            // A read that came before its copy is told the other way round.
            .map(|(first, second)| (first.min(second), first.max(second)))
            .collect();
        let invented: Vec<_> = found.difference(&races).collect();
        prop_assert!(invented.is_empty(), "invented {invented:?}");
        prop_assert_eq!(found.is_empty(), races.is_empty(), "missed {:?}", races);
    }
}
