//! The laws of the ring, by enumeration: every depth, both schedules, every number of tiles up to three times round.
//! The right ring is silent; leaving out any one instruction, or waiting one group too weakly, is flagged.

use std::sync::Arc;

use crate::check::{Checker, Listed, Listing, Policy};
use crate::event::{
    Access, AccessKind, BarrierRole, CopyId, ElementCopies, Groups, Monitor, Ordering, Scope, Site,
    Window,
};
use crate::finding::{Class, Severity};
use crate::launch::Dim3;

const THREADS: u32 = 64;
const PIECE: u64 = 16;
const TILE: u64 = THREADS as u64 * PIECE;

/// The instructions of the loop; their number is their place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Wait,
    Barrier,
    Refill,
    Commit,
    Use,
    SecondBarrier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    OneBarrier,
    TwoBarriers,
}

/// What is wrong with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Without(Op),
    WaitTooWeak,
}

impl Schedule {
    fn body(self) -> &'static [Op] {
        match self {
            Self::OneBarrier => &[Op::Wait, Op::Barrier, Op::Refill, Op::Commit, Op::Use],
            Self::TwoBarriers => &[
                Op::Refill,
                Op::Commit,
                Op::Wait,
                Op::Barrier,
                Op::Use,
                Op::SecondBarrier,
            ],
        }
    }

    /// How many tiles are in flight when a tile is used, and how many groups the wait may leave open.
    fn distance(self, depth: u64) -> (u64, u32) {
        match self {
            Self::OneBarrier => (depth - 1, depth as u32 - 2),
            Self::TwoBarriers => (depth - 1, depth as u32 - 1),
        }
    }
}

struct Ring<'a, M: Monitor> {
    monitor: &'a mut M,
    depth: u64,
    tiles: u64,
}

impl<M: Monitor> Ring<'_, M> {
    fn each_warp(&mut self, op: Op, mut act: impl FnMut(&mut M, Site)) {
        for warp in 0..THREADS / 32 {
            let site = Site {
                execution: 0,
                pc: op as u32,
                warp,
                mask: !0,
            };
            act(self.monitor, site);
        }
    }

    fn copy(&mut self, tile: u64) {
        if tile >= self.tiles {
            return;
        }
        let into = tile % self.depth * TILE;
        self.each_warp(Op::Refill, |monitor, site| {
            let thread = |lane: usize| u64::from(site.warp) * 32 + lane as u64;
            monitor.issue_elements(
                site,
                &ElementCopies {
                    first: CopyId(0),
                    rank: 0,
                    bytes: PIECE as u32,
                    sources: &std::array::from_fn(|lane| {
                        (1 << 20) + tile * TILE + thread(lane) * PIECE
                    }),
                    source_bytes: &[PIECE as u32; 32],
                    destinations: &std::array::from_fn(|lane| into + thread(lane) * PIECE),
                },
            );
        });
    }

    fn commit(&mut self) {
        self.each_warp(Op::Commit, |monitor, site| {
            monitor.commit(site, Groups::Element)
        });
    }

    fn barrier(&mut self, op: Op) {
        self.each_warp(op, |monitor, site| {
            monitor.barrier_arrive(site, 0, BarrierRole::Sync, THREADS);
        });
        self.monitor.barrier_complete(0);
    }

    /// Every thread reads the piece of a thread of the other warp.
    fn read(&mut self, tile: u64) {
        let from = tile % self.depth * TILE;
        self.each_warp(Op::Use, |monitor, site| {
            let thread = |lane: usize| u64::from(site.warp) * 32 + lane as u64;
            let addresses = std::array::from_fn(|lane| from + TILE - PIECE - thread(lane) * PIECE);
            monitor.access(
                site,
                &Access {
                    window: Window::Shared { rank: 0 },
                    kind: AccessKind::Read,
                    ordering: Ordering::Weak,
                    scope: Scope::Cta,
                    bytes: PIECE as u32,
                    addresses: &addresses,
                },
            );
        });
    }

    fn run(&mut self, schedule: Schedule, fault: Fault) {
        let (distance, mut pending) = schedule.distance(self.depth);
        if fault == Fault::WaitTooWeak {
            pending += 1;
        }
        for tile in 0..distance {
            self.copy(tile);
            self.commit();
        }
        for tile in 0..self.tiles {
            for &op in schedule.body() {
                if fault == Fault::Without(op) {
                    continue;
                }
                match op {
                    Op::Wait => self.each_warp(op, |monitor, site| {
                        monitor.wait(site, Groups::Element, Some(pending));
                    }),
                    Op::Barrier | Op::SecondBarrier => self.barrier(op),
                    Op::Refill => self.copy(tile + distance),
                    Op::Commit => self.commit(),
                    Op::Use => self.read(tile),
                }
            }
        }
        self.each_warp(Op::Wait, |monitor, site| {
            monitor.wait(site, Groups::Element, Some(0))
        });
    }
}

/// The classes of the errors that a ring has.
fn errors(schedule: Schedule, depth: u64, tiles: u64, fault: Fault) -> Vec<Class> {
    let listing = Listing {
        instructions: vec![Listed::default(); 8],
        ..Listing::default()
    };
    let checker = Arc::new(Checker::new(
        listing,
        Dim3::ONE,
        THREADS.into(),
        Dim3::ONE,
        Policy::default(),
    ));
    let mut monitor = checker.group(0);
    Ring {
        monitor: &mut monitor,
        depth,
        tiles,
    }
    .run(schedule, fault);
    let report = monitor.finish();
    checker
        .findings(vec![report])
        .into_iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.class)
        .collect()
}

/// Every schedule with the depths that it has.
fn rings() -> impl Iterator<Item = (Schedule, u64)> {
    let one = (2..=8).map(|depth| (Schedule::OneBarrier, depth));
    one.chain((1..=8).map(|depth| (Schedule::TwoBarriers, depth)))
}

#[test]
fn the_right_ring_is_silent_for_every_number_of_tiles() {
    for (schedule, depth) in rings() {
        for tiles in 0..=3 * depth {
            let found = errors(schedule, depth, tiles, Fault::None);
            assert_eq!(found, [], "{schedule:?}, depth {depth}, {tiles} tiles");
        }
    }
}

#[test]
fn every_omission_is_flagged() {
    for (schedule, depth) in rings() {
        for &op in schedule.body() {
            // A ring that never refills or never reads has nothing to get wrong.
            if matches!(op, Op::Use | Op::Refill) {
                continue;
            }
            let tiles = 2 * depth + 1;
            let found = errors(schedule, depth, tiles, Fault::Without(op));
            assert!(
                !found.is_empty(),
                "{schedule:?}, depth {depth}, without {op:?}"
            );
        }
    }
}

#[test]
fn a_wait_that_is_one_group_too_weak_is_flagged_with_its_class() {
    for (schedule, depth) in rings() {
        for tiles in 1..=3 * depth {
            let found = errors(schedule, depth, tiles, Fault::WaitTooWeak);
            assert_eq!(
                found.first(),
                Some(&Class::WaitCount),
                "{schedule:?}, depth {depth}, {tiles} tiles: {found:?}"
            );
        }
    }
}
