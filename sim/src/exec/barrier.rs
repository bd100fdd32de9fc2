//! Block barriers.
//!
//! A warp arrives as a whole: each form of `bar` first waits for all lanes of its warp that have not ended.
//! An aligned form further wants them at one instruction.

use super::group::{Group, Stop};
use super::warp::{Wait, Warp};
use crate::event::{BarrierRole, Monitor, Pc};
use crate::lanes::lanes_of;
use crate::program::op::{BarrierKind, CollectiveKind, Guard, NONE, Op};
use crate::report::{BarrierMisuse, Fault};

/// What the warps of one generation have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    /// Warps that must arrive; `None` for all that have not ended.
    warps: Option<u32>,
    /// A reduction, which must not be mixed with other forms.
    reduces: bool,
    /// Where the first arrival was.
    first: Pc,
    /// Whose it was.
    opener: u32,
    /// Warps that have arrived, one bit each.
    arrived: u64,
    popc: u32,
    and: bool,
    or: bool,
}

/// A named barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    /// Completions so far.
    generation: u64,
    /// The round that is going on.
    round: Option<Round>,
    /// Results of the last two reductions, by the low bit of their generation.
    results: [(u32, bool, bool); 2],
}

/// The sixteen barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers([Named; 16]);

/// A barrier that waits, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingBarrier {
    pub(crate) arrived: u64,
    pub(crate) wanted: Option<u32>,
}

impl Barriers {
    /// Completions of a barrier.
    pub(crate) fn generation(&self, id: u32) -> u64 {
        self.0[id as usize].generation
    }

    /// The round that a barrier waits in.
    pub(crate) fn waiting(&self, id: u32) -> Option<WaitingBarrier> {
        self.0[id as usize].round.map(|round| WaitingBarrier {
            arrived: round.arrived,
            wanted: round.warps,
        })
    }
}

/// The operands of one arrival.
struct Arrival {
    id: u32,
    /// Threads expected; `None` for the whole block.
    threads: Option<u32>,
    kind: BarrierKind,
    popc: u32,
    lanes: u32,
}

impl<M: Monitor> Group<'_, M> {
    /// The fragment has come to a barrier. Its warp arrives if all its lanes have.
    pub(crate) fn reach_barrier(&mut self, warp: &mut Warp, index: usize) -> Result<(), Stop> {
        warp.fragments[index].wait = Wait::Gather;
        self.gather(warp).map(|_| ())
    }

    /// Arrives with the warp if all its lanes are at barriers. Whether it did.
    pub(crate) fn gather(&mut self, warp: &mut Warp) -> Result<bool, Stop> {
        let here = warp
            .fragments
            .iter()
            .filter(|fragment| fragment.wait == Wait::Gather);
        if here.fold(0, |mask, fragment| mask | fragment.mask) != warp.live || warp.live == 0 {
            return Ok(false);
        }
        // All of them wait here, so that merging one after the other leaves one fragment an instruction.
        for _ in 1..warp.fragments.len() {
            warp.merge_waiting(0);
        }
        if warp.fragments.len() > 1 {
            let aligned = warp
                .fragments
                .iter()
                .find(|fragment| self.barrier_at(fragment.pc).aligned);
            if let Some(fragment) = aligned {
                let (pc, mask) = (fragment.pc, fragment.mask);
                return Err(self.divergent(warp, pc, mask));
            }
        }
        for index in 0..warp.fragments.len() {
            let last = index + 1 == warp.fragments.len();
            self.arrive(warp, index, last)?;
        }
        Ok(true)
    }

    /// Whether the instruction there promises that all lanes of a warp come to it together.
    pub(crate) fn is_aligned(&self, pc: Pc) -> bool {
        match self.machine.program.code[pc as usize].op {
            Op::Barrier(_) => self.barrier_at(pc).aligned,
            Op::Collective(at) => {
                let kind = self.machine.program.tables.collectives[at as usize].kind;
                matches!(kind, CollectiveKind::Matrix(_))
            }
            _ => false,
        }
    }

    fn barrier_at(&self, pc: Pc) -> &crate::program::op::Barrier {
        match self.machine.program.code[pc as usize].op {
            Op::Barrier(at) => &self.machine.program.tables.barriers[at as usize],
            _ => &self.machine.program.tables.barriers[0],
        }
    }

    /// The finding of an aligned barrier that only these lanes of the warp are at.
    pub(crate) fn divergent(&mut self, warp: &Warp, pc: Pc, mask: u32) -> Stop {
        let missing = warp.live & !mask;
        let other = warp
            .fragments
            .iter()
            .find(|fragment| fragment.mask & missing != 0)
            .map(|fragment| fragment.pc)
            .or_else(|| warp.parked().map(|record| record.pc));
        let other = other.map(|pc| self.party(pc, missing));
        let fault = Fault::BarrierDivergence {
            here: mask.count_ones(),
            live: warp.live.count_ones(),
            other,
        };
        self.fault(warp, pc, mask, fault)
    }

    /// One fragment's part of its warp's arrival; with the last one the warp counts.
    fn arrive(&mut self, warp: &mut Warp, index: usize, last: bool) -> Result<(), Stop> {
        let fragment = warp.fragments[index];
        let pc = fragment.pc;
        let barrier = *self.barrier_at(pc);
        let arrival = self.arrival(warp, pc, fragment.mask, &barrier)?;
        let role = if barrier.kind == BarrierKind::Arrive {
            BarrierRole::Arrive
        } else {
            BarrierRole::Sync
        };
        let threads = arrival.threads.unwrap_or(self.machine.threads);
        self.monitor.barrier_arrive(
            self.site(pc, fragment.mask),
            arrival.id + 16 * u32::from(self.rank),
            role,
            threads,
        );
        let bit = 1u64 << self.warp;
        let named = &mut self.blocks[usize::from(self.rank)].barriers.0[arrival.id as usize];
        let generation = named.generation;
        let reduces = matches!(
            barrier.kind,
            BarrierKind::Popc | BarrierKind::And | BarrierKind::Or
        );
        let warps = arrival.threads.map(|threads| threads / 32);
        let round = named.round.get_or_insert(Round {
            warps,
            reduces,
            first: pc,
            opener: self.warp,
            arrived: 0,
            popc: 0,
            and: true,
            or: false,
        });
        let misuse = if round.warps != warps {
            Some(BarrierMisuse::Count {
                here: threads,
                first: round.warps.map(|warps| warps * 32),
            })
        } else if round.reduces != reduces {
            Some(BarrierMisuse::Kind)
        } else if round.arrived & bit != 0 {
            Some(BarrierMisuse::Twice)
        } else {
            None
        };
        if let Some(misuse) = misuse {
            let (opener, first) = (round.opener, round.first);
            let other = self.party_of((self.rank, opener), first, 1);
            return Err(self.fault(
                warp,
                pc,
                fragment.mask,
                Fault::BarrierMismatch {
                    id: arrival.id,
                    misuse,
                    other: Some(other),
                },
            ));
        }
        round.popc += arrival.popc;
        round.and &= arrival.popc == arrival.lanes;
        round.or |= arrival.popc != 0;
        if last {
            round.arrived |= bit;
            self.writes += 1;
        }
        if arrival.kind == BarrierKind::Arrive {
            warp.fragments[index].wait = Wait::Ready;
            warp.fragments[index].pc += 1;
        } else {
            warp.fragments[index].wait = Wait::Barrier {
                id: arrival.id,
                generation,
            };
        }
        if last {
            self.complete_barrier(arrival.id);
        }
        Ok(())
    }

    /// Reads and checks the operands.
    fn arrival(
        &mut self,
        warp: &Warp,
        pc: Pc,
        mask: u32,
        barrier: &crate::program::op::Barrier,
    ) -> Result<Arrival, Stop> {
        let first = mask.trailing_zeros() as usize & 31;
        let uniform = |reg: u32| {
            let row = warp.registers.row32(reg);
            lanes_of(mask)
                .all(|lane| row[lane] == row[first])
                .then_some(row[first])
        };
        let id = uniform(barrier.id);
        let threads = if barrier.threads == NONE {
            Some(None)
        } else {
            uniform(barrier.threads).map(Some)
        };
        let limit = self.machine.warps() * 32;
        let misuse = match (id, threads) {
            (Some(id), _) if id > 15 => Some(BarrierMisuse::Id(id)),
            (_, Some(Some(count))) if count == 0 || count % 32 != 0 || count > limit => {
                Some(BarrierMisuse::BadCount { count, limit })
            }
            (None, _) | (_, None) => Some(BarrierMisuse::Varies),
            _ => None,
        };
        if let Some(misuse) = misuse {
            let id = id.unwrap_or(0);
            return Err(self.fault(
                warp,
                pc,
                mask,
                Fault::BarrierMismatch {
                    id,
                    misuse,
                    other: None,
                },
            ));
        }
        let popc = match barrier.pred {
            Some(Guard { pred, flip }) => {
                ((warp.registers.pred[pred as usize] ^ flip) & mask).count_ones()
            }
            None => 0,
        };
        Ok(Arrival {
            id: id.unwrap_or(0),
            threads: threads.unwrap_or(None),
            kind: barrier.kind,
            popc,
            lanes: mask.count_ones(),
        })
    }

    /// Completes a barrier of the running block if everybody has arrived.
    fn complete_barrier(&mut self, id: u32) {
        let block = &mut self.blocks[usize::from(self.rank)];
        let named = &mut block.barriers.0[id as usize];
        let Some(round) = named.round else { return };
        let wanted = round.warps.unwrap_or(block.live);
        if round.arrived.count_ones() < wanted {
            return;
        }
        named.results[(named.generation & 1) as usize] = (round.popc, round.and, round.or);
        named.generation += 1;
        named.round = None;
        self.writes += 1;
        self.monitor
            .barrier_complete(id + 16 * u32::from(self.rank));
    }

    /// A warp of the running block has ended, so that barriers for the whole block may be complete.
    pub(crate) fn complete_after_exit(&mut self) {
        for id in 0..16 {
            if self.blocks[usize::from(self.rank)].barriers.0[id as usize]
                .round
                .is_some_and(|round| round.warps.is_none())
            {
                self.complete_barrier(id);
            }
        }
    }

    /// The barrier that a fragment waited for is complete: it goes on, with the result of a reduction.
    pub(crate) fn pass_barrier(&mut self, warp: &mut Warp, index: usize, id: u32, generation: u64) {
        let fragment = warp.fragments[index];
        let barrier = *self.barrier_at(fragment.pc);
        let (popc, and, or) = self.blocks[usize::from(self.rank)].barriers.0[id as usize].results
            [(generation & 1) as usize];
        let all = |value: bool| if value { u32::MAX } else { 0 };
        match barrier.kind {
            BarrierKind::Popc => warp.registers.set32(barrier.d, &[popc; 32], fragment.mask),
            BarrierKind::And => warp.registers.set_pred(barrier.d, all(and), fragment.mask),
            BarrierKind::Or => warp.registers.set_pred(barrier.d, all(or), fragment.mask),
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
        warp.fragments[index].wait = Wait::Ready;
        warp.fragments[index].pc += 1;
    }
}
