//! What happens when no thread of a group can run.
//!
//! First the system does what it put off: copies land whose mbarriers somebody waits for, then any others.
//! Then waits for mbarriers answer false, as a try-wait may after a while, and time passes faster, so that loops with
//! a time limit come to it. When that changes nothing, the threads wait for ever.

use super::group::{Group, Stop};
use super::mbarrier::At;
use super::product::WARPS;
use super::roll::{Seats, join};
use super::warp::{Fragment, Wait};
use crate::event::Monitor;
use crate::finding::Party;
use crate::lanes::lanes_of;
use crate::report::{Blocked, Crowd, Fault, WaitLine};

/// Rounds of answers without any effect before threads are taken to wait for ever.
const MAX_ANSWERS: u32 = 64;

/// Threads that wait at one line for one thing.
struct Queue {
    /// The first of them.
    party: Party,
    /// The line, and what they wait for.
    place: (u32, Blocked),
    wait: Wait,
    threads: Vec<Seats>,
}

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
        let waiting: Vec<(Seats, Fragment)> = self
            .fragments()
            .map(|(rank, warp, fragment)| {
                let lanes = fragment.mask;
                (Seats { rank, warp, lanes }, *fragment)
            })
            .collect();
        let Some(&(first, fragment)) = waiting.first() else {
            return Stop;
        };
        let mut queues: Vec<Queue> = Vec::new();
        for (seats, fragment) in waiting {
            let blocked = self.blocked(seats.rank, fragment.wait);
            let line = self.machine.program.places[fragment.pc as usize].line;
            let place = (line, blocked.clone());
            match queues.iter_mut().find(|queue| queue.place == place) {
                Some(queue) => join(&mut queue.threads, seats),
                None => queues.push(Queue {
                    party: self.party_of((seats.rank, seats.warp), fragment.pc, seats.lanes),
                    place,
                    wait: fragment.wait,
                    threads: vec![seats],
                }),
            }
        }
        let lines = queues
            .iter()
            .map(|queue| {
                let (came, absent) = self.company(queue, &queues);
                WaitLine {
                    party: queue.party.clone(),
                    threads: self.crowd(&queue.threads, &[]),
                    blocked: queue.place.1.clone(),
                    came: self.crowd(&came, &queues),
                    absent: self.crowd(&absent, &queues),
                }
            })
            .collect();
        (self.rank, self.warp) = (first.rank, first.warp);
        self.record(fragment.pc, fragment.mask, Fault::Deadlock { lines });
        Stop
    }

    fn blocked(&mut self, rank: u16, wait: Wait) -> Blocked {
        match wait {
            Wait::Ready => Blocked::Spinning,
            Wait::Gather => Blocked::Gather,
            Wait::Lanes(members) => Blocked::Lanes { members },
            Wait::Cluster { .. } => Blocked::Cluster,
            Wait::Products { .. } => Blocked::Products,
            Wait::Barrier { id, .. } => {
                let block = &self.blocks[usize::from(rank)];
                let round = block.barriers.waiting(id);
                Blocked::Barrier {
                    id,
                    arrived: round.map_or(0, |round| round.arrived.count_ones()),
                    wanted: round.and_then(|round| round.wanted).unwrap_or(block.live),
                }
            }
            Wait::Mbarrier { rank, offset, .. } => {
                let objects = &mut self.blocks[usize::from(rank)].shared.objects;
                let bytes = objects
                    .roll(offset)
                    .map_or((0, 0), |roll| (roll.announced, roll.delivered));
                match objects.get(offset) {
                    Some(state) => Blocked::Phase {
                        at: offset,
                        phase: state.phase,
                        pending: state.pending,
                        expected: state.expected,
                        announced: bytes.0,
                        delivered: bytes.1,
                    },
                    None => Blocked::NoObject { at: offset },
                }
            }
        }
    }

    /// Who has come to what a queue waits for, and who has not, as far as that is known.
    fn company(&mut self, queue: &Queue, queues: &[Queue]) -> (Vec<Seats>, Vec<Seats>) {
        let Some(&Seats { rank, warp, .. }) = queue.threads.first() else {
            return Default::default();
        };
        let block = &mut self.blocks[usize::from(rank)];
        // Of one warp: the lanes that run and are not there.
        let missing = |lanes: u32, there: u32| {
            let lanes = lanes & !there;
            let seats = Seats { rank, warp, lanes };
            (lanes != 0).then_some(seats).into_iter().collect()
        };
        let of_warp = |queue: &Queue| {
            let mine = queue.threads.iter();
            mine.filter(|seats| (seats.rank, seats.warp) == (rank, warp))
                .fold(0, |all, seats| all | seats.lanes)
        };
        match queue.wait {
            Wait::Ready => Default::default(),
            Wait::Gather => {
                let live = block.warps[warp as usize].live;
                (Vec::new(), missing(live, of_warp(queue)))
            }
            Wait::Lanes(members) => (Vec::new(), missing(members, of_warp(queue))),
            Wait::Barrier { id, .. } => {
                let arrived = block.barriers.waiting(id).map_or(0, |round| round.arrived);
                let warps = block.warps.iter().zip(0_u32..);
                let absent =
                    warps.filter(|(other, index)| other.live != 0 && arrived >> index & 1 == 0);
                let absent = absent.map(|(other, index)| Seats {
                    rank,
                    warp: index,
                    lanes: other.live,
                });
                (Vec::new(), absent.collect())
            }
            Wait::Products { count } => {
                let group = warp as usize / WARPS;
                let first = group * WARPS;
                let missing = block.warpgroups[group].missing(count);
                let absent = missing.map(|place| Seats {
                    rank,
                    warp: (first + place) as u32,
                    lanes: block.warps[first + place].live,
                });
                (Vec::new(), absent.collect())
            }
            Wait::Cluster { .. } => {
                let mut absent = Vec::new();
                for other in queues {
                    if !matches!(other.wait, Wait::Cluster { .. }) {
                        other
                            .threads
                            .iter()
                            .for_each(|seats| join(&mut absent, *seats));
                    }
                }
                (Vec::new(), absent)
            }
            Wait::Mbarrier { rank, offset, .. } => self.blocks[usize::from(rank)]
                .shared
                .objects
                .roll(offset)
                .map(|roll| (roll.came().to_vec(), roll.absent()))
                .unwrap_or_default(),
        }
    }

    /// Threads as a report tells them, with where among the queues they are.
    fn crowd(&self, seats: &[Seats], queues: &[Queue]) -> Crowd {
        let mut threads: Vec<(u16, u32)> = seats
            .iter()
            .flat_map(|seats| {
                lanes_of(seats.lanes).map(|lane| (seats.rank, seats.warp * 32 + lane as u32))
            })
            .collect();
        threads.sort_unstable();
        let (Some(&first), Some(&last)) = (threads.first(), threads.last()) else {
            return Crowd::default();
        };
        let place = |(rank, thread): (u16, u32)| {
            (
                self.machine.block.index(thread.into()),
                self.blocks[usize::from(rank)].index,
            )
        };
        let overlap = |queue: &Queue| {
            queue.threads.iter().any(|there| {
                seats.iter().any(|here| {
                    (here.rank, here.warp) == (there.rank, there.warp)
                        && here.lanes & there.lanes != 0
                })
            })
        };
        let ended = seats.iter().map(|seats| {
            let live = self.blocks[usize::from(seats.rank)].warps[seats.warp as usize].live;
            (seats.lanes & !live).count_ones()
        });
        let count = threads.len() as u32;
        Crowd {
            count,
            first: place(first),
            last: place(last),
            whole: first.0 == last.0 && last.1 - first.1 + 1 == count,
            ended: ended.sum(),
            wait_at: (0..queues.len())
                .filter(|&at| overlap(&queues[at]))
                .collect(),
        }
    }
}
