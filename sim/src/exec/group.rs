//! Blocks that run together: a cluster, or a block by itself.
//!
//! A group is a state machine that any worker can run for a while. Inside, warps take turns, each until it waits,
//! so that the order of events depends on nothing but the program and its input.

use std::collections::{HashMap, VecDeque};

use super::access::Region;
use super::barrier::Barriers;
use super::bulk::Flight;
use super::cluster::ClusterBarrier;
use super::machine::Machine;
use super::product::{Factors, WARPS, Warpgroup};
use super::shared::SharedMemory;
use super::warp::{Fragment, Wait, Warp};
use crate::event::{Monitor, Pc, Site};
use crate::finding::{Class, Finding, Party};
use crate::launch::{Incomplete, Landing, Trap};
use crate::memory::segment::Segment;
use crate::program::op::Op;
use crate::report::{self, Fault, Names};

/// Steps of one warp before another's turn.
const TURN: u32 = 20_000;
/// Steps of a group between two looks at how much memory the simulation takes.
const LOOK: u64 = 1 << 14;
/// Looks at memory that others may change before another warp's turn.
pub(crate) const MAX_POLLS: u32 = 64;

/// Rounds in which threads only polled before others' turn.
const MAX_IDLE: u32 = 8;

/// Steps that a loop which only polls takes at most from one look at memory to the next.
const POLL_STEPS: u64 = 1024;

/// What a warp did in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing: all its lanes wait.
    Held,
    /// Looked at memory again and again, or nearly nothing else.
    Polled,
    /// Something that may lead somewhere.
    Worked,
}

/// Why a group cannot run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop;

/// How a call of [`Group::run`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All threads have ended, or the group was stopped.
    Done,
    /// Only polled memory; other groups should run.
    Idle,
    /// The steps it was given are used up.
    Working,
}

/// One block of a group.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: [u32; 3],
    pub(crate) warps: Vec<Warp>,
    pub(crate) shared: SharedMemory,
    pub(crate) barriers: Barriers,
    /// Its warps by four.
    pub(crate) warpgroups: Vec<Warpgroup>,
    /// Warps with threads that have not ended.
    pub(crate) live: u32,
}

/// What a group leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) findings: Vec<Finding>,
    pub(crate) trap: Option<Trap>,
    pub(crate) incomplete: Option<Incomplete>,
    pub(crate) printed: String,
    /// Stopped because its threads polled for ever.
    pub(crate) gave_up: bool,
}

impl Results {
    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.findings.is_empty()
            && self.trap.is_none()
            && self.incomplete.is_none()
            && self.printed.is_empty()
    }
}

/// A cluster of blocks, or one block.
pub(crate) struct Group<'m, M> {
    pub(crate) machine: &'m Machine<'m>,
    pub(crate) monitor: M,
    /// Its number in the launch.
    pub(crate) number: u64,
    pub(crate) blocks: Vec<Block>,
    /// The block whose warp runs.
    pub(crate) rank: u16,
    /// The warp of that block.
    pub(crate) warp: u32,
    /// Whether this machine can run what is compiled for AVX2.
    pub(crate) wide: bool,
    /// Where each memory instruction found its last segment.
    pub(crate) caches: Vec<u32>,
    /// Instructions that were executed and are approximate, by place.
    pub(crate) approximate: Vec<bool>,
    /// How often each warp came to each instruction, where a monitor judges.
    pub(crate) executions: Vec<u32>,
    pub(crate) results: Results,
    folded: HashMap<(Class, Pc), usize>,
    /// Warp instructions executed.
    pub(crate) steps: u64,
    /// Their number at the next look at memory.
    next_look: u64,
    /// mbarrier objects initialised so far.
    pub(crate) lives: u32,
    /// Things done that another thread could wait for.
    pub(crate) writes: u64,
    pub(crate) next_copy: u32,
    /// Bulk copies in flight, in order of issue.
    pub(crate) flights: VecDeque<Flight>,
    pub(crate) cluster: ClusterBarrier,
    /// Room for the factors of an asynchronous product, once there was one.
    pub(crate) factors: Option<Box<Factors>>,
    /// State of the random landing.
    random: u64,
    /// Rounds in which waits answered although nothing had changed.
    pub(crate) answers: u32,
    /// Value of `writes` when waits last answered.
    pub(crate) nudged: u64,
    /// Time that passed while everything waited.
    pub(crate) skipped: u64,
    stopped: bool,
    /// Calls of [`run`](Self::run) in a row in which it only polled, what had been written then, and how far all had come.
    pub(crate) idle: u32,
    pub(crate) idle_writes: u64,
    pub(crate) idle_progress: u64,
}

impl<'m, M: Monitor> Group<'m, M> {
    /// Group `number` before its first instruction; `None` when the host has not enough memory.
    pub(crate) fn new(machine: &'m Machine<'m>, number: u64, monitor: M) -> Option<Self> {
        let local = (u64::from(machine.program.local_bytes).next_multiple_of(16) * 32 / 8) as usize;
        let mut blocks = Vec::new();
        for rank in 0..machine.group_blocks() {
            let mut warps = Vec::new();
            for warp in 0..machine.warps() {
                let mut state = Warp::default();
                state.reset(machine.start(), machine.lanes(warp));
                state
                    .local
                    .resize(local, u64::from_ne_bytes([crate::memory::POISON; 8]));
                machine.fill(&mut state.registers, number, rank, warp);
                warps.push(state);
            }
            blocks.push(Block {
                index: machine.block_index(number, rank),
                live: warps.len() as u32,
                warps,
                shared: SharedMemory::new(machine.program, machine.dynamic_shared)?,
                barriers: Barriers::default(),
                warpgroups: Vec::new(),
            });
        }
        let mut group = Self {
            machine,
            monitor,
            number,
            blocks,
            rank: 0,
            warp: 0,
            // One more for the atomics.
            caches: vec![0; machine.program.tables.memory.len() + 1],
            approximate: vec![false; machine.program.places.len()],
            executions: vec![0; if M::JUDGES { machine.executions() } else { 0 }],
            wide: crate::lanes::wide(),
            results: Results::default(),
            folded: HashMap::new(),
            steps: 0,
            next_look: 0,
            lives: 0,
            writes: 0,
            next_copy: 0,
            flights: VecDeque::new(),
            cluster: ClusterBarrier::default(),
            factors: None,
            random: 0,
            answers: 0,
            nudged: 0,
            skipped: 0,
            stopped: false,
            idle: 0,
            idle_writes: 0,
            idle_progress: 0,
        };
        group.begin();
        Some(group)
    }

    /// What is the same for a new group and one that starts over.
    fn begin(&mut self) {
        self.cluster
            .reset(self.blocks.len() * self.machine.warps() as usize);
        let warpgroups = (self.machine.warps() as usize).div_ceil(WARPS);
        for block in &mut self.blocks {
            block.warpgroups.clear();
            block.warpgroups.resize_with(warpgroups, Warpgroup::default);
        }
        if let Landing::Random(seed) = self.machine.options.landing {
            // Never zero, which the generator cannot leave.
            self.random = (seed ^ self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1;
        }
    }

    /// The next number of the random landing (xorshift).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Random landing: something in flight may land now.
    fn land_at_random(&mut self, warp: &mut Warp) {
        let choice = self.draw();
        if choice & 1 != 0 {
            self.land_some(warp, choice >> 1);
        }
        if choice & 4 != 0 {
            self.land_product_at_random(warp);
        }
        if choice & 2 != 0 && !self.flights.is_empty() {
            let at = (choice >> 2) as usize % self.flights.len();
            let mut position = 0;
            self.land_flight_where(|_| {
                position += 1;
                position == at + 1
            });
        }
    }

    /// Starts over as another group.
    pub(crate) fn restart(&mut self, number: u64, monitor: M) -> M {
        self.number = number;
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            let rank = rank as u32;
            block.index = self.machine.block_index(number, rank);
            block.live = block.warps.len() as u32;
            block.shared.clear();
            block.barriers = Barriers::default();
            for (warp, state) in block.warps.iter_mut().enumerate() {
                let warp = warp as u32;
                state.reset(self.machine.start(), self.machine.lanes(warp));
                state
                    .local
                    .fill(u64::from_ne_bytes([crate::memory::POISON; 8]));
                self.machine.fill(&mut state.registers, number, rank, warp);
            }
        }
        self.folded.clear();
        self.executions.fill(0);
        self.lives = 0;
        self.writes = 0;
        self.next_copy = 0;
        self.flights.clear();
        self.answers = 0;
        self.nudged = 0;
        self.begin();
        self.skipped = 0;
        self.stopped = false;
        self.idle = 0;
        self.idle_writes = 0;
        std::mem::replace(&mut self.monitor, monitor)
    }

    /// Runs for about `steps` warp instructions, so that each warp has its turn, and for no more than `most`.
    pub(crate) fn run(&mut self, steps: u64, most: u64) -> Progress {
        let end = self.steps.saturating_add(steps);
        let last = self.steps.saturating_add(most);
        let mut idle = 0;
        loop {
            let writes = self.writes;
            let (mut ran, mut worked, mut live) = (false, false, false);
            for rank in 0..self.blocks.len() {
                for index in 0..self.blocks[rank].warps.len() {
                    if self.blocks[rank].warps[index].live == 0 {
                        continue;
                    }
                    live = true;
                    self.rank = rank as u16;
                    self.warp = index as u32;
                    let mut warp = std::mem::take(&mut self.blocks[rank].warps[index]);
                    let turn = self.turn(&mut warp, last);
                    ran |= turn != Turn::Held;
                    worked |= turn == Turn::Worked;
                    self.blocks[rank].warps[index] = warp;
                    if self.stopped || self.is_over_memory() {
                        return Progress::Done;
                    }
                    if self.steps >= last {
                        return Progress::Working;
                    }
                }
            }
            if !live {
                self.land_remaining();
                return Progress::Done;
            }
            if !ran {
                if self.stuck().is_err() {
                    self.stopped = true;
                    return Progress::Done;
                }
                continue;
            }
            idle = if worked || self.writes != writes {
                0
            } else {
                idle + 1
            };
            if idle >= MAX_IDLE {
                idle = 0;
                if !self.nudge() {
                    self.pass_time();
                    return Progress::Idle;
                }
            }
            if self.steps >= end {
                return Progress::Working;
            }
        }
    }

    /// Whether the simulation takes more memory than it may, which ends the group. Looks only now and then.
    fn is_over_memory(&mut self) -> bool {
        let Some(limit) = self.machine.options.max_memory else {
            return false;
        };
        if self.steps < self.next_look {
            return false;
        }
        self.next_look = self.steps + LOOK;
        let used = limit.used();
        if used > limit.bytes {
            self.results.incomplete = Some(Incomplete {
                message: report::over_memory(used, limit.bytes),
                party: None,
            });
            self.stopped = true;
        }
        self.stopped
    }

    /// Whether it cannot run on.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Its threads poll, and nobody will ever write what they want.
    pub(crate) fn give_up(&mut self) {
        self.stopped = true;
        self.results.gave_up = true;
        let Stop = self.deadlock();
    }

    /// All threads have ended; what is still in flight lands now.
    fn land_remaining(&mut self) {
        while self.land_flight_where(|_| true) {}
        for rank in 0..self.blocks.len() {
            self.rank = rank as u16;
            for index in 0..self.blocks[rank].warps.len() {
                self.warp = index as u32;
                let mut warp = std::mem::take(&mut self.blocks[rank].warps[index]);
                self.land_all(&mut warp);
                self.blocks[rank].warps[index] = warp;
            }
        }
    }

    /// Runs one warp until it waits, its turn is over or the group has executed `last` instructions.
    fn turn(&mut self, warp: &mut Warp, last: u64) -> Turn {
        let random = matches!(self.machine.options.landing, Landing::Random(_));
        let length = if random {
            (self.draw() % 256) as u32 + 1
        } else {
            TURN
        };
        if random {
            self.land_at_random(warp);
        }
        // Not zero, which would look as if the warp waited.
        let left = last.saturating_sub(self.steps).clamp(1, TURN.into());
        let length = length.min(left as u32);
        let mut budget = length;
        warp.polls = 0;
        while budget > 0 && warp.polls < MAX_POLLS {
            let Some(index) = self.pick(warp) else {
                match self.unblock(warp) {
                    Ok(true) => continue,
                    Ok(false) if budget == length => return Turn::Held,
                    Ok(false) => break,
                    Err(Stop) => {
                        self.stopped = true;
                        return Turn::Worked;
                    }
                }
            };
            if self.step_fragment(warp, index, &mut budget).is_err() {
                self.stopped = true;
                return Turn::Worked;
            }
        }
        if warp.seen_writes != self.writes {
            warp.seen_writes = self.writes;
            (warp.quiet_steps, warp.quiet_polls) = (0, 0);
        }
        warp.quiet_steps += u64::from(length - budget);
        warp.quiet_polls += u64::from(warp.polls);
        if warp.quiet_polls >= u64::from(MAX_POLLS) {
            // Those who wait for parted lanes may be whom these wait for.
            warp.release_parked();
        }
        if warp.quiet_steps > POLL_STEPS * (warp.quiet_polls + 1) {
            Turn::Worked
        } else {
            Turn::Polled
        }
    }

    /// The next fragment that can run, in turn.
    fn pick(&mut self, warp: &mut Warp) -> Option<usize> {
        let count = warp.fragments.len();
        for step in 0..count {
            let index = (warp.next + step) % count;
            let fragment = warp.fragments[index];
            let ready = match fragment.wait {
                Wait::Ready => true,
                Wait::Gather | Wait::Lanes(_) => false,
                Wait::Barrier { id, generation } => {
                    let passed =
                        self.blocks[usize::from(self.rank)].barriers.generation(id) != generation;
                    if passed {
                        self.pass_barrier(warp, index, id, generation);
                    }
                    passed
                }
                Wait::Cluster { generation } => self.cluster.generation != generation,
                Wait::Products { count } => self.may_pass_products(count),
                Wait::Mbarrier {
                    rank,
                    offset,
                    phase,
                } => fragment.answer || self.phase((rank, offset)) != phase,
            };
            if ready {
                warp.fragments[index].wait = Wait::Ready;
                warp.next = index + 1;
                return Some(index);
            }
        }
        None
    }

    /// No lane of the warp can run. Lets those go on whom only the others' end or absence still held; whether there were any.
    fn unblock(&mut self, warp: &mut Warp) -> Result<bool, Stop> {
        if warp.live == 0 {
            return Ok(false);
        }
        if self.gather(warp)? || self.meet(warp)? {
            return Ok(true);
        }
        let at_barrier = |fragment: &&Fragment| {
            matches!(fragment.wait, Wait::Gather | Wait::Lanes(_)) && self.is_aligned(fragment.pc)
        };
        if let Some(fragment) = warp.fragments.iter().find(at_barrier).copied() {
            // The others have come to where the paths meet, and the barrier is on one of them only.
            let past = warp.parked().is_some_and(|record| record.exact);
            let elsewhere = |other: &Fragment| matches!(other.wait, Wait::Gather | Wait::Lanes(_));
            if past || (warp.parked().is_none() && warp.fragments.iter().all(elsewhere)) {
                return Err(self.divergent(warp, fragment.pc, fragment.mask));
            }
        }
        Ok(warp.release_parked())
    }

    /// The running warp's lanes at an instruction.
    #[inline(always)]
    pub(crate) fn site(&self, pc: Pc, mask: u32) -> Site {
        Site {
            pc,
            execution: self.execution_at((self.rank, self.warp), pc),
            warp: u32::from(self.rank) * self.machine.warps() + self.warp,
            mask,
        }
    }

    /// How many times this warp of the block with this rank has come to an instruction; zero where nobody counts, and for a poll, whose number tells nothing.
    fn execution_at(&self, (rank, warp): (u16, u32), pc: Pc) -> u32 {
        let program = self.machine.program;
        if let Op::Mbarrier(at) = program.code[pc as usize].op
            && program.tables.mbarriers[at as usize].kind.polls()
        {
            return 0;
        }
        let first = self.machine.first_execution(u32::from(rank), warp);
        self.executions
            .get(first + pc as usize)
            .copied()
            .unwrap_or(0)
    }

    /// The segment of a region with all of these bytes.
    pub(crate) fn segment(&self, region: Region, from: u64, to: u64) -> Option<Segment> {
        let segments = match region {
            Region::Global => &self.machine.globals,
            Region::Shared { rank } => &self.blocks[usize::from(rank)].shared.segments,
            Region::Const => &self.machine.constants,
            Region::Param => &self.machine.params,
            Region::Local | Region::Nowhere => return None,
        };
        segments.find(from, to, &mut 0).copied()
    }

    /// What is nearest to an address, in words.
    pub(crate) fn describe(&self, region: Region, address: u64) -> String {
        let nearest = |list: &mut dyn Iterator<Item = (&str, u64, u64)>| {
            let distance = |from: u64, to: u64| {
                if address < from {
                    from - address
                } else {
                    (address + 1).saturating_sub(to)
                }
            };
            list.min_by_key(|(_, from, len)| distance(*from, from + len))
                .map_or_else(
                    || "none: there is no variable".to_owned(),
                    |(name, from, len)| {
                        format!("`{name}`, bytes [{from}, {}), {len} bytes", from + len)
                    },
                )
        };
        let program = self.machine.program;
        match region {
            Region::Global => self.machine.describe_global(address),
            Region::Shared { .. } => {
                nearest(&mut program.shared.variables.iter().map(|variable| {
                    let bytes = if variable.dynamic {
                        self.machine.dynamic_shared
                    } else {
                        variable.bytes
                    };
                    (variable.name.as_str(), variable.offset.into(), bytes.into())
                }))
            }
            Region::Const => nearest(
                &mut program
                    .constant_bank
                    .variables
                    .iter()
                    .map(|(name, at, len)| (name.as_str(), (*at).into(), (*len).into())),
            ),
            Region::Param => nearest(
                &mut program
                    .params
                    .iter()
                    .map(|slot| (slot.name.as_str(), slot.offset.into(), slot.bytes.into())),
            ),
            Region::Local => format!("the thread's local memory, {} bytes", program.local_bytes),
            Region::Nowhere => "none: the address is in no window".to_owned(),
        }
    }

    /// Who the lowest lane of a mask of the running warp is, at an instruction.
    pub(crate) fn party(&self, pc: Pc, mask: u32) -> Party {
        self.party_of((self.rank, self.warp), pc, mask)
    }

    /// Who the lowest lane of a mask is, at an instruction of this warp of the block with this rank.
    pub(crate) fn party_of(&self, (rank, warp): (u16, u32), pc: Pc, mask: u32) -> Party {
        let program = self.machine.program;
        let place = program.places[pc as usize];
        let thread = u64::from(warp) * 32 + u64::from(mask.trailing_zeros().min(31));
        Party {
            what: program
                .texts
                .get(place.text as usize)
                .cloned()
                .unwrap_or_default(),
            line: place.line,
            source: program.source(place),
            thread: self.machine.block.index(thread),
            block: self.blocks[usize::from(rank)].index,
            execution: self.execution_at((rank, warp), pc),
        }
    }

    /// Records a fault that ends the group.
    #[cold]
    pub(crate) fn fault(&mut self, warp: &Warp, pc: Pc, mask: u32, fault: Fault) -> Stop {
        self.note(warp, pc, mask, fault);
        Stop
    }

    /// Records a fault that does not.
    #[cold]
    pub(crate) fn note(&mut self, _: &Warp, pc: Pc, mask: u32, fault: Fault) {
        self.record(pc, mask, fault);
    }

    /// Records a fault of the running warp's lanes.
    pub(crate) fn record(&mut self, pc: Pc, mask: u32, fault: Fault) {
        let names = Names(&self.machine.program.shared.variables);
        let finding = report::finding(&fault, self.party(pc, mask), names);
        match self.folded.get(&(finding.class, pc)) {
            Some(index) => self.results.findings[*index].count += 1,
            None => {
                self.folded
                    .insert((finding.class, pc), self.results.findings.len());
                self.results.findings.push(finding);
            }
        }
    }
}
