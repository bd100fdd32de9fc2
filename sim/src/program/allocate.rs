//! Register allocation: many virtual registers into the few rows that are live at a time.
//!
//! PTX has a register for every value. A warp that kept them all would spend its time on cache misses:
//! a row is 128 or 256 bytes. Here registers whose values are never wanted at the same time share a row.
//! Lanes are threads of their own, and writes touch only the lanes that execute, so that what is right for one thread is right for all.

use std::collections::HashSet;

use nstage_ptx::ast::{Function, Space, Type};
use nstage_ptx::body::Body;
use nstage_ptx::cfg::Cfg;
use nstage_ptx::uses::Role;

use super::decode::file_of;
use crate::lanes::File;

/// The opcode whose registers are used after it.
const PRODUCT: &str = "wgmma";

/// Where the registers of a body are, counted from the first of its rows in each file.
#[derive(Debug)]
pub(super) struct Allocation<'m> {
    /// For each line, the registers that it names: name, id.
    lines: Vec<Vec<(&'m str, u32)>>,
    /// Type, elements and first row of each register.
    registers: Vec<(Type, u32, u32)>,
    /// For each line, rows of 32 bits that products use and how this line, which is no product, uses them.
    touched: Vec<Vec<(u32, Role)>>,
    /// Rows needed in each file: 32 bits, 64 bits, predicates.
    pub(super) counts: [u32; 3],
}

/// The index of a file in [`Allocation::counts`].
pub(super) const fn slot(file: File) -> usize {
    match file {
        File::R32 => 0,
        File::R64 => 1,
        File::Pred => 2,
    }
}

/// From the first to the last line at which a register's value may matter, or is written.
#[derive(Clone, Copy, Debug)]
struct Interval {
    register: u32,
    first: u32,
    last: u32,
}

impl<'m> Allocation<'m> {
    /// Type, elements and first row of the register that a line calls by this name.
    pub(super) fn register(&self, line: usize, name: &str) -> Option<(Type, u32, u32)> {
        let (_, id) = self
            .lines
            .get(line)?
            .iter()
            .find(|(known, _)| *known == name)?;
        Some(self.registers[*id as usize])
    }

    /// Rows of 32 bits that asynchronous products use and a line that is none touches.
    pub(super) fn touched(&self, line: usize) -> &[(u32, Role)] {
        self.touched.get(line).map_or(&[], Vec::as_slice)
    }

    /// Allocates the registers of a body; `None` when its branches make no sense, which decoding will say.
    pub(super) fn new(function: &'m Function) -> Option<Self> {
        let body = Body::new(function);
        let cfg = Cfg::new(&body).ok()?;
        let formal = |name: &str| {
            let mut formals = function.returns.iter().chain(&function.params);
            formals.any(|formal| formal.space == Space::Reg && formal.name == name)
        };
        let lines = (0..body.lines.len())
            .map(|line| {
                let mut names: Vec<(&str, u32)> = Vec::new();
                for used in body.uses(line) {
                    if let Some(id) = used.register
                        && !formal(used.name)
                        && !names.iter().any(|(name, _)| *name == used.name)
                    {
                        names.push((used.name, id.0));
                    }
                }
                names
            })
            .collect();
        let of_products = registers_of_products(&body);
        let mut rows = vec![0; body.registers.len()];
        let mut free: [Vec<u32>; 3] = Default::default();
        let mut counts = [0; 3];
        let mut active: Vec<(Interval, usize)> = Vec::new();
        let mut dedicated = Vec::new();
        for interval in intervals(&body, &cfg) {
            let declared = body.registers[interval.register as usize].declaration;
            let (file, words) = file_of(declared.ty);
            let size = words * u32::from(declared.vector.max(1));
            // What a product still writes behind its last use must be nobody else's.
            if size > 1 || of_products.contains(&interval.register) {
                dedicated.push((interval.register, slot(file), size));
                continue;
            }
            active.retain(|(other, slot)| {
                let over = other.last < interval.first;
                if over {
                    free[*slot].push(rows[other.register as usize]);
                }
                !over
            });
            let slot = slot(file);
            // The lowest free row keeps the rows that are used together.
            let row = match free[slot].iter().enumerate().min_by_key(|(_, row)| **row) {
                Some((at, _)) => free[slot].swap_remove(at),
                None => {
                    counts[slot] += 1;
                    counts[slot] - 1
                }
            };
            rows[interval.register as usize] = row;
            active.push((interval, slot));
        }
        // Values of several rows need them side by side; they are few, and share with nobody.
        for (register, slot, size) in dedicated {
            rows[register as usize] = counts[slot];
            counts[slot] += size;
        }
        let touched = touches(&body, &of_products, &rows);
        let declared = body.registers.iter().map(|register| register.declaration);
        let registers = declared
            .zip(rows)
            .map(|(declared, row)| (declared.ty, u32::from(declared.vector.max(1)), row));
        Some(Self {
            lines,
            registers: registers.collect(),
            touched,
            counts,
        })
    }
}

/// Registers of 32 bits that `wgmma` names.
fn registers_of_products(body: &Body<'_>) -> HashSet<u32> {
    let products =
        (0..body.lines.len()).filter(|line| body.lines[*line].instruction.opcode == PRODUCT);
    let named = products.flat_map(|line| body.uses(line));
    named
        .filter_map(|used| used.register)
        .map(|id| id.0)
        .filter(|id| {
            let declared = body.registers[*id as usize].declaration;
            file_of(declared.ty) == (File::R32, 1) && declared.vector <= 1
        })
        .collect()
}

/// Which of these registers each line touches that is no product.
fn touches(body: &Body<'_>, registers: &HashSet<u32>, rows: &[u32]) -> Vec<Vec<(u32, Role)>> {
    if registers.is_empty() {
        return Vec::new();
    }
    let of_line = |line: usize| {
        if body.lines[line].instruction.opcode == PRODUCT {
            return Vec::new();
        }
        let used = body.uses(line).iter();
        used.filter_map(|used| Some((used.register?.0, used.role)))
            .filter(|(id, _)| registers.contains(id))
            .map(|(id, role)| (rows[id as usize], role))
            .collect()
    };
    (0..body.lines.len()).map(of_line).collect()
}

/// The interval of every register, in order of its first line.
fn intervals(body: &Body<'_>, cfg: &Cfg) -> Vec<Interval> {
    let live = Liveness::of(body, cfg);
    let mut intervals: Vec<Interval> = (0..body.registers.len() as u32)
        .map(|register| Interval {
            register,
            first: u32::MAX,
            last: 0,
        })
        .collect();
    let mut extend = |register: u32, line: u32| {
        let interval = &mut intervals[register as usize];
        interval.first = interval.first.min(line);
        interval.last = interval.last.max(line);
    };
    for (index, block) in cfg.blocks.iter().enumerate() {
        if block.lines.is_empty() {
            continue;
        }
        live.entering(index, |register| extend(register, block.lines.start as u32));
        live.leaving(index, cfg, |register| {
            extend(register, block.lines.end as u32 - 1)
        });
        for line in block.lines.clone() {
            for used in body.uses(line) {
                if let Some(id) = used.register {
                    extend(id.0, line as u32);
                }
            }
        }
    }
    intervals.sort_by_key(|interval| interval.first);
    intervals
}

/// Which registers' values may be wanted at the start of each block.
struct Liveness {
    words: usize,
    /// A bit a register, `words` words a block.
    bits: Vec<u64>,
}

impl Liveness {
    fn of(body: &Body<'_>, cfg: &Cfg) -> Self {
        let words = body.registers.len().div_ceil(64);
        let size = words * cfg.blocks.len();
        // Read before written in the block; written for sure in the block.
        let (mut reads, mut writes) = (vec![0u64; size], vec![0u64; size]);
        for (index, block) in cfg.blocks.iter().enumerate() {
            let (reads, writes) = (
                &mut reads[index * words..][..words],
                &mut writes[index * words..][..words],
            );
            for line in block.lines.clone() {
                let guarded = body.lines[line].instruction.guard.is_some();
                for used in body.uses(line) {
                    let Some(id) = used.register else { continue };
                    let (word, bit) = (id.0 as usize / 64, 1u64 << (id.0 % 64));
                    // Where a guard is false, the old value stays.
                    if used.role != Role::Write || guarded {
                        reads[word] |= bit & !writes[word];
                    }
                }
                for used in body.uses(line) {
                    if let Some(id) = used.register
                        && used.role == Role::Write
                        && !guarded
                    {
                        writes[id.0 as usize / 64] |= 1 << (id.0 % 64);
                    }
                }
            }
        }
        let mut live = Self { words, bits: reads };
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..cfg.blocks.len()).rev() {
                for &next in &cfg.blocks[index].successors {
                    for word in 0..words {
                        let wanted = live.bits[next * words + word] & !writes[index * words + word];
                        let here = &mut live.bits[index * words + word];
                        changed |= wanted & !*here != 0;
                        *here |= wanted;
                    }
                }
            }
        }
        live
    }

    /// Calls `each` for every register that is wanted when the block begins.
    fn entering(&self, block: usize, each: impl FnMut(u32)) {
        registers(&self.bits[block * self.words..][..self.words], each);
    }

    /// The same for when the block ends.
    fn leaving(&self, block: usize, cfg: &Cfg, mut each: impl FnMut(u32)) {
        for &next in &cfg.blocks[block].successors {
            self.entering(next, &mut each);
        }
    }
}

/// The registers whose bits are set.
fn registers(bits: &[u64], mut each: impl FnMut(u32)) {
    for (index, word) in bits.iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            each(index as u32 * 64 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}
