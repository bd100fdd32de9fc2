//! `wgmma`: asynchronous products of four warps.
//!
//! A product is one operation of its warpgroup: it is there once all four warps have issued it, and when it lands it reads
//! shared memory and the registers of all four and writes their accumulators. A warp's wait is for the products of its groups,
//! and so for the other warps to come to them.

use std::collections::VecDeque;

use super::access::{Region, Touch};
use super::group::{Group, Stop};
use super::warp::{Wait, Warp};
use crate::event::{self, AccessKind, Groups, Monitor, Ordering, Pc, Run};
use crate::lanes::{LANES, lanes_of};
use crate::launch::Landing;
use crate::matrix::Row;
use crate::matrix::descriptor::{CHUNK, Chunk, Descriptor, Major};
use crate::matrix::wgmma::{Left, Right, WARP_ROWS};
use crate::memory::lanes::copy;
use crate::memory::segment::low_bits;
use crate::program::op::{GroupProduct, NONE};
use crate::report::Fault;

/// Warps that make a product together.
pub(crate) const WARPS: usize = 4;
/// All of them.
const ALL: u8 = (1 << WARPS) - 1;
/// Rows of a.
const ROWS: usize = WARPS * WARP_ROWS;

/// A product that some warps have issued and the system has not carried out.
#[derive(Clone, Copy, Debug)]
struct Flying {
    pc: Pc,
    op: GroupProduct,
    /// Of a and b; the first is zero where a is in registers.
    descriptors: [u64; 2],
    accumulate: bool,
    /// Warps that have issued it.
    arrived: u8,
    /// Its group, by warp.
    groups: [u32; WARPS],
}

/// Four neighbouring warps of a block, as far as their products are concerned.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    /// Products issued, by warp.
    issued: [u32; WARPS],
    /// Groups committed, by warp.
    committed: [u32; WARPS],
    /// Products carried out.
    landed: u32,
    flying: VecDeque<Flying>,
}

impl Warpgroup {
    /// Whether every warp has issued this many.
    pub(crate) fn has_issued(&self, count: u32) -> bool {
        self.issued.iter().all(|issued| *issued >= count)
    }

    /// Which warps have not issued this many.
    pub(crate) fn missing(&self, count: u32) -> impl Iterator<Item = usize> + '_ {
        (0..WARPS).filter(move |warp| self.issued[*warp] < count)
    }

    /// How many products a wait of the warp that leaves `allowed` groups open is for, counted from the first.
    fn due(&self, warp: usize, allowed: u32) -> u32 {
        let committed = self.committed[warp];
        let due = self.flying.iter().take_while(|product| {
            product.arrived >> warp & 1 == 1
                && product.groups[warp].saturating_add(allowed) < committed
        });
        self.landed + due.count() as u32
    }

    /// Whether the oldest product can be carried out.
    fn is_ready(&self) -> bool {
        self.flying
            .front()
            .is_some_and(|product| product.arrived == ALL)
    }
}

/// Room for the factors of one product.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    left: Left,
    right: Right,
}

impl<M: Monitor> Group<'_, M> {
    fn warpgroup(&mut self) -> &mut Warpgroup {
        let index = self.warp as usize / WARPS;
        &mut self.blocks[usize::from(self.rank)].warpgroups[index]
    }

    /// `wgmma.mma_async`, all lanes of the warp together.
    pub(crate) fn issue_product(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        op: &GroupProduct,
        mask: u32,
    ) -> Result<(), Stop> {
        self.check_warpgroup(warp, pc, mask)?;
        let place = self.warp as usize % WARPS;
        let first = mask.trailing_zeros() as usize;
        let of_lane = |register: u32, lane: usize| match register {
            NONE => 0,
            register => warp.registers.row64(register)[lane],
        };
        let flags = warp.registers.pred[op.accumulate.pred as usize] ^ op.accumulate.flip;
        let descriptors = [op.a, op.b].map(|register| of_lane(register, first));
        let accumulate = flags >> first & 1 == 1;
        for lane in lanes_of(mask) {
            let same = [op.a, op.b].map(|register| of_lane(register, lane)) == descriptors;
            if !same || (flags >> lane & 1 == 1) != accumulate {
                let fault = Fault::ProductVaries {
                    what: if same { "a scale-d" } else { "a descriptor" },
                    other: self.party(pc, mask),
                };
                return Err(self.fault(warp, pc, 1 << lane, fault));
            }
        }
        let group = self.warpgroup();
        let ordinal = group.issued[place];
        let at = (ordinal - group.landed) as usize;
        let committed = group.committed[place];
        match group.flying.get_mut(at) {
            Some(product) => {
                let (there, others) = (product.pc, product.arrived);
                let what = if there != pc {
                    Some("an instruction")
                } else if product.descriptors != descriptors {
                    Some("a descriptor")
                } else if product.accumulate != accumulate {
                    Some("a scale-d")
                } else {
                    None
                };
                if let Some(what) = what {
                    let warps = self.warp / WARPS as u32 * WARPS as u32;
                    let other = (self.rank, warps + others.trailing_zeros());
                    let other = self.party_of(other, there, 1);
                    return Err(self.fault(warp, pc, mask, Fault::ProductVaries { what, other }));
                }
                product.arrived |= 1 << place;
                product.groups[place] = committed;
            }
            None => {
                let mut groups = [0; WARPS];
                groups[place] = committed;
                group.flying.push_back(Flying {
                    pc,
                    op: *op,
                    descriptors,
                    accumulate,
                    arrived: 1 << place,
                    groups,
                });
            }
        }
        group.issued[place] += 1;
        self.writes += 1;
        let runs = self.runs(op, descriptors, place);
        self.check_runs(warp, pc, &runs, mask)?;
        let program = self.machine.program;
        let (accumulators, fragments) = registers(op, &program.tables.lists);
        self.monitor.product(
            self.site(pc, mask),
            &event::Product {
                ordinal,
                rank: self.rank,
                reads: &runs,
                accumulators,
                fragments,
                // Columns alone would take accumulators of two sizes for one shape.
                shape: (op.wgmma.columns() << 8 | op.wgmma.registers()) as u32,
            },
        );
        if self.machine.options.landing == Landing::Early {
            self.land_products(warp, u32::MAX);
        }
        Ok(())
    }

    /// Four whole warps, from one whose number is a multiple of four.
    pub(crate) fn check_warpgroup(&mut self, warp: &Warp, pc: Pc, mask: u32) -> Result<(), Stop> {
        let first = self.warp as usize / WARPS * WARPS;
        let warps = &self.blocks[usize::from(self.rank)].warps;
        let whole = |index: usize| {
            // The running warp is not in its block at the moment.
            let live = match warps.get(index) {
                Some(_) if index == self.warp as usize => mask,
                Some(other) => other.live,
                None => 0,
            };
            live == u32::MAX
        };
        let there = (first..first + WARPS).filter(|index| whole(*index)).count();
        if there == WARPS {
            return Ok(());
        }
        let fault = Fault::PartOfWarpgroup {
            there: there as u32,
        };
        Err(self.fault(warp, pc, mask, fault))
    }

    /// The bytes that a product reads for one of its warps, in order of address.
    fn runs(&self, op: &GroupProduct, [a, b]: [u64; 2], place: usize) -> Vec<Run> {
        let right = right_chunks(op, b);
        let mut starts: Vec<u32> = right.map(|chunk| chunk.address).collect();
        if op.a != NONE {
            let rows = of_warp(left_chunks(op, a), place);
            starts.extend(rows.map(|chunk| chunk.address));
        }
        starts.sort_unstable();
        starts.dedup();
        let mut runs: Vec<Run> = Vec::new();
        for at in starts.into_iter().map(u64::from) {
            match runs.last_mut() {
                Some(run) if run.at + u64::from(run.bytes) == at => run.bytes += CHUNK as u32,
                _ => runs.push(Run {
                    at,
                    bytes: CHUNK as u32,
                }),
            }
        }
        runs
    }

    /// Checks that the bytes are there and that somebody wrote them.
    fn check_runs(&mut self, warp: &Warp, pc: Pc, runs: &[Run], mask: u32) -> Result<(), Stop> {
        let region = Region::Shared { rank: self.rank };
        let lane = mask.trailing_zeros() as usize;
        for run in runs {
            // A run may go on from one variable into the next, a chunk of sixteen bytes does not.
            for at in (run.at..run.at + u64::from(run.bytes)).step_by(CHUNK) {
                self.check_range(warp, pc, lane, region, at, CHUNK as u64, 1, "reads")?;
            }
        }
        for run in runs {
            for at in (run.at..run.at + u64::from(run.bytes)).step_by(CHUNK) {
                let bytes = CHUNK as u32;
                let Some(segment) = self.segment(region, at, at + CHUNK as u64) else {
                    continue;
                };
                if segment.valid_bits(at, bytes) == low_bits(bytes) {
                    continue;
                }
                let touch = Touch {
                    pc,
                    region,
                    kind: AccessKind::Read,
                    ordering: Ordering::Weak,
                    scope: event::Scope::Cta,
                    bytes,
                    addresses: &[at; LANES],
                    mask: 1 << lane,
                };
                // Told once: the rest is mostly the same tile.
                self.uninitialized(warp, &touch, &segment);
                return Ok(());
            }
        }
        Ok(())
    }

    /// `wgmma.commit_group`.
    pub(crate) fn commit_products(&mut self, pc: Pc, mask: u32) {
        let place = self.warp as usize % WARPS;
        self.warpgroup().committed[place] += 1;
        self.monitor.commit(self.site(pc, mask), Groups::Product);
    }

    /// `wgmma.wait_group`. Whether the warp may go on.
    pub(crate) fn wait_products(
        &mut self,
        warp: &mut Warp,
        index: usize,
        pc: Pc,
        allowed: u32,
        mask: u32,
    ) -> Result<bool, Stop> {
        let place = self.warp as usize % WARPS;
        let due = self.warpgroup().due(place, allowed);
        if !self.warpgroup().has_issued(due) {
            if self.is_abandoned(due) {
                let missing = self.warpgroup().missing(due).count();
                let there = (WARPS - missing) as u32;
                return Err(self.fault(warp, pc, mask, Fault::PartOfWarpgroup { there }));
            }
            warp.fragments[index].wait = Wait::Products { count: due };
            return Ok(false);
        }
        self.land_products(warp, due);
        self.monitor
            .wait(self.site(pc, mask), Groups::Product, Some(allowed));
        Ok(true)
    }

    /// Whether products wait for a warp that has ended.
    fn is_abandoned(&mut self, count: u32) -> bool {
        let first = self.warp as usize / WARPS * WARPS;
        let missing: Vec<usize> = self.warpgroup().missing(count).collect();
        let warps = &self.blocks[usize::from(self.rank)].warps;
        missing
            .into_iter()
            .any(|place| warps.get(first + place).is_none_or(|warp| warp.live == 0))
    }

    /// Whether a wait for so many products has something to do.
    pub(crate) fn may_pass_products(&mut self, count: u32) -> bool {
        self.warpgroup().has_issued(count) || self.is_abandoned(count)
    }

    /// Carries out products of the running warp's warpgroup, the oldest first, until so many are or one is not there yet.
    pub(crate) fn land_products(&mut self, warp: &mut Warp, until: u32) {
        loop {
            let group = self.warpgroup();
            if group.landed >= until || !group.is_ready() {
                return;
            }
            let Some(product) = group.flying.pop_front() else {
                return;
            };
            group.landed += 1;
            self.writes += 1;
            self.land_product(warp, &product);
        }
    }

    /// Random landing: the oldest product may be carried out.
    pub(crate) fn land_product_at_random(&mut self, warp: &mut Warp) {
        if self.blocks[usize::from(self.rank)].warpgroups.len() > self.warp as usize / WARPS {
            let landed = self.warpgroup().landed;
            self.land_products(warp, landed + 1);
        }
    }

    fn land_product(&mut self, running: &mut Warp, product: &Flying) {
        let op = &product.op;
        let wgmma = op.wgmma;
        let [a, b] = product.descriptors;
        let along = op.majors.map(|major| major == Major::K);
        let mut factors = self.factors.take().unwrap_or_else(|| {
            Box::new(Factors {
                left: Left::ZERO,
                right: Right::ZERO,
            })
        });
        for chunk in right_chunks(op, b) {
            let bytes = self.chunk(chunk.address);
            wgmma.put_right(chunk, bytes, along[1], op.negate[1], &mut factors.right);
        }
        let lists = &self.machine.program.tables.lists;
        let (accumulators, fragments) = registers(op, lists);
        let first = self.warp as usize / WARPS * WARPS;
        let own = self.warp as usize;
        for place in 0..WARPS {
            if op.a != NONE {
                for chunk in of_warp(left_chunks(op, a), place) {
                    let bytes = self.chunk(chunk.address);
                    let left = &mut factors.left;
                    wgmma.put_left(place, chunk, bytes, along[0], op.negate[0], left);
                }
            }
            let block = &mut self.blocks[usize::from(self.rank)];
            let warp = if first + place == own {
                &mut *running
            } else {
                &mut block.warps[first + place]
            };
            if op.a == NONE {
                let rows: Vec<&Row> = fragments
                    .iter()
                    .map(|register| warp.registers.row32(*register))
                    .collect();
                wgmma.left_from_registers(&rows, op.negate[0], &mut factors.left);
            }
            let mut sums: Vec<Row> = accumulators
                .iter()
                .map(|register| *warp.registers.row32(*register))
                .collect();
            let Factors { left, right } = &*factors;
            wgmma.multiply(left, right, product.accumulate, &mut sums);
            for (register, sums) in accumulators.iter().zip(&sums) {
                warp.registers.set32(*register, sums, u32::MAX);
            }
        }
        self.factors = Some(factors);
    }

    /// Sixteen bytes of the running block's shared memory.
    fn chunk(&self, address: u32) -> [u8; CHUNK] {
        let mut bytes = [0; CHUNK];
        let region = Region::Shared { rank: self.rank };
        let at = u64::from(address);
        if let Some(segment) = self.segment(region, at, at + CHUNK as u64) {
            let from = segment.biased().wrapping_add(address as usize);
            // SAFETY: the range was checked at issue, and segments live as long as the run.
            unsafe { copy(from, bytes.as_mut_ptr(), CHUNK) };
        }
        bytes
    }
}

/// The registers of the accumulators and of the left factor.
fn registers<'l>(op: &GroupProduct, lists: &'l [u32]) -> (&'l [u32], &'l [u32]) {
    let list = &lists[op.first as usize..];
    let (accumulators, rest) = list.split_at(op.wgmma.registers());
    let fragments = if op.a == NONE { 4 } else { 0 };
    (accumulators, &rest[..fragments])
}

/// The chunks of the left factor, those of all warps.
fn left_chunks(op: &GroupProduct, descriptor: u64) -> impl Iterator<Item = Chunk> {
    let bytes = op.wgmma.factors()[0].bytes();
    Descriptor::decode(descriptor).chunks(op.majors[0], ROWS, bytes)
}

/// The chunks of the right factor.
fn right_chunks(op: &GroupProduct, descriptor: u64) -> impl Iterator<Item = Chunk> {
    let bytes = op.wgmma.factors()[1].bytes();
    Descriptor::decode(descriptor).chunks(op.majors[1], op.wgmma.columns(), bytes)
}

/// The chunks in the rows of one warp.
fn of_warp(chunks: impl Iterator<Item = Chunk>, place: usize) -> impl Iterator<Item = Chunk> {
    chunks.filter(move |chunk| chunk.line / WARP_ROWS == place)
}
