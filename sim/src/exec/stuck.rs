//! What happens when no thread of a group can run.
//!
//! First the system does what it put off: copies land whose mbarriers somebody waits for, then any others.
//! Then waits for mbarriers answer false, as a try-wait may after a while, and time passes faster, so that loops with
//! a time limit come to it. When that changes nothing, the threads wait for ever.

use super::group::{Group, Stop};
use super::mbarrier::At;
use super::warp::{Fragment, Wait};
use crate::event::Monitor;
use crate::report::{Blocked, Fault, WaitLine};

/// Rounds of answers without any effect before threads are taken to wait for ever.
const MAX_ANSWERS: u32 = 64;

impl<M: Monitor> Group<'_, M> {
    /// Nothing could run. An error ends the group.
    pub(crate) fn stuck(&mut self) -> Result<(), Stop> {
        if self.nudge() {
            return Ok(());
        }
        Err(self.deadlock())
    }

    /// Does what the system or time may do for threads that wait. Whether there was anything.
    pub(crate) fn nudge(&mut self) -> bool {
        if self.writes != self.nudged {
            self.answers = 0;
        }
        let awaited: Vec<At> = self
            .fragments()
            .filter_map(|(_, _, fragment)| match fragment.wait {
                Wait::Mbarrier { rank, offset, .. } => Some((rank, offset)),
                _ => None,
            })
            .collect();
        let landed = awaited.iter().any(|at| self.land_for(*at)) || self.land_any();
        if landed {
            return true;
        }
        if awaited.is_empty() || self.answers >= MAX_ANSWERS {
            return false;
        }
        for block in &mut self.blocks {
            for fragment in block.warps.iter_mut().flat_map(|warp| &mut warp.fragments) {
                fragment.answer |= matches!(fragment.wait, Wait::Mbarrier { .. });
            }
        }
        self.pass_time();
        self.nudged = self.writes;
        true
    }

    /// Time passes while nothing happens, faster each time.
    pub(crate) fn pass_time(&mut self) {
        self.answers += 1;
        self.skipped = self.skipped.saturating_add(1000 << self.answers.min(40));
    }

    /// Lands one copy that completes on an object, or the copies before an arrival on it.
    fn land_for(&mut self, at: At) -> bool {
        if self.land_flight_where(|flight| flight.object == Some(at)) {
            return true;
        }
        self.with_each_warp(|group, warp| group.land_arrival(warp, Some(at)))
    }

    /// Lands anything at all.
    fn land_any(&mut self) -> bool {
        self.land_flight_where(|_| true)
            || self.with_each_warp(|group, warp| {
                let any = !warp.copies.is_empty();
                group.land_all(warp);
                any
            })
    }

    /// Offers every warp in turn until one is taken.
    fn with_each_warp(
        &mut self,
        mut take: impl FnMut(&mut Self, &mut super::warp::Warp) -> bool,
    ) -> bool {
        for rank in 0..self.blocks.len() {
            for index in 0..self.blocks[rank].warps.len() {
                self.rank = rank as u16;
                self.warp = index as u32;
                let mut warp = std::mem::take(&mut self.blocks[rank].warps[index]);
                let taken = take(self, &mut warp);
                self.blocks[rank].warps[index] = warp;
                if taken {
                    return true;
                }
            }
        }
        false
    }

    /// Every fragment, with its block's rank and its warp.
    fn fragments(&self) -> impl Iterator<Item = (u16, u32, &Fragment)> {
        self.blocks.iter().enumerate().flat_map(|(rank, block)| {
            block
                .warps
                .iter()
                .enumerate()
                .flat_map(move |(index, warp)| {
                    warp.fragments
                        .iter()
                        .map(move |fragment| (rank as u16, index as u32, fragment))
                })
        })
    }

    /// The finding of threads that wait for ever.
    pub(crate) fn deadlock(&mut self) -> Stop {
        self.monitor.stuck();
        let waiting: Vec<(u16, u32, Fragment)> = self
            .fragments()
            .map(|(rank, warp, fragment)| (rank, warp, *fragment))
            .collect();
        let mut lines: Vec<WaitLine> = Vec::new();
        let mut first = None;
        for (rank, index, fragment) in waiting {
            (self.rank, self.warp) = (rank, index);
            first.get_or_insert((rank, index, fragment));
            let threads = fragment.mask.count_ones();
            let blocked = self.blocked(rank, fragment.wait);
            let party = self.party(fragment.pc, fragment.mask);
            match lines
                .iter_mut()
                .find(|line| line.party.line == party.line && line.blocked == blocked)
            {
                Some(line) => line.threads += threads,
                None => lines.push(WaitLine {
                    party,
                    threads,
                    blocked,
                }),
            }
        }
        let Some((rank, index, fragment)) = first else {
            return Stop;
        };
        (self.rank, self.warp) = (rank, index);
        self.record(fragment.pc, fragment.mask, Fault::Deadlock { lines });
        Stop
    }

    fn blocked(&mut self, rank: u16, wait: Wait) -> Blocked {
        match wait {
            Wait::Ready => Blocked::Spinning,
            Wait::Gather => Blocked::Gather,
            Wait::Lanes(members) => Blocked::Lanes { members },
            Wait::Cluster { .. } => Blocked::Cluster,
            Wait::Barrier { id, .. } => {
                let block = &self.blocks[usize::from(rank)];
                let round = block.barriers.waiting(id);
                let live = block
                    .warps
                    .iter()
                    .enumerate()
                    .filter(|(_, warp)| warp.live != 0);
                let arrived = round.map_or(0, |round| round.arrived);
                let missing = live
                    .filter(|(index, _)| arrived >> index & 1 == 0)
                    .map(|(index, _)| index as u32);
                Blocked::Barrier {
                    id,
                    arrived: arrived.count_ones(),
                    wanted: round.and_then(|round| round.wanted).unwrap_or(block.live),
                    missing: missing.collect(),
                }
            }
            Wait::Mbarrier { rank, offset, .. } => {
                match self.blocks[usize::from(rank)].shared.objects.get(offset) {
                    Some(state) => Blocked::Phase {
                        at: offset,
                        phase: state.phase,
                        pending: state.pending,
                        expected: state.expected,
                        tx: state.tx,
                    },
                    None => Blocked::NoObject { at: offset },
                }
            }
        }
    }
}
