//! Asynchronous products (`wgmma`): what they read in memory, and the registers that are theirs until a wait.
//!
//! A warp's part of a product is a copy of its own as far as memory goes: it reads at some time between its issue and the wait
//! that covers its group. The operation is its warpgroup's, so that whoever knows one warp's wait knows the parts of all four.
//! Registers are nobody else's business: program order and `wgmma.fence` say all about them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{CopyKind, Pc, Product, Run, Site};
use crate::finding::Class;

use super::block::BlockMonitor;
use super::clock::{Knowledge, Tick};
use super::copies::{BatchId, Seen};
use super::hazard::{Deed, Fact, Hazard, Place, Suspect, ThreadId, judge_registers};
use super::quick::Visit;
use super::record::{Actor, Bytes, Footprint, LINE, Lanes, Strength, span};
use super::threads::Known;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// What a register is to a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is added into.
    Accumulator {
        /// Tells shapes apart.
        shape: u32,
    },
    /// It holds elements of the left factor.
    Fragment,
}

/// The latest product that uses a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    /// The product.
    pub(crate) batch: BatchId,
    /// Its instruction.
    pub(crate) pc: Pc,
    /// How many times its warp had come to it.
    pub(crate) execution: u32,
    /// Its group.
    pub(crate) group: u32,
    /// What for.
    pub(crate) what: Use,
    /// Whether a `wgmma.fence` followed.
    fenced: bool,
}

/// A register that products use.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    user: Option<User>,
    /// The latest access since the last `wgmma.fence` by an instruction that is no product: which, its how manieth execution, what.
    touched: Option<(Pc, u32, Deed)>,
}

/// One warp's products.
#[derive(Debug, Default)]
struct Warp {
    /// Whether it ever executed `wgmma.fence`.
    fenced: bool,
    registers: BTreeMap<u32, Register>,
    /// Its products in order of issue.
    issued: Vec<BatchId>,
    /// How many of them its waits covered.
    covered: usize,
}

/// The products of all warps.
#[derive(Debug, Default)]
pub(crate) struct Products {
    warps: Vec<Warp>,
}

impl Products {
    fn warp(&mut self, warp: u32) -> &mut Warp {
        let warp = warp as usize;
        if warp >= self.warps.len() {
            self.warps.resize_with(warp + 1, Warp::default);
        }
        &mut self.warps[warp]
    }
}

fn suspect(site: Site, deed: Deed, group: Option<u32>) -> Suspect {
    Suspect {
        pc: site.pc,
        execution: site.execution,
        thread: ThreadId {
            warp: site.warp as u16,
            lane: site.mask.trailing_zeros() as u8,
        },
        deed,
        group,
    }
}

impl BlockMonitor {
    /// A warp issues its part of a product.
    pub(super) fn issue_product(&mut self, site: Site, product: &Product<'_>) {
        let now = self.threads.event();
        let sequences = &mut self.sequences[site.warp as usize];
        let lane = site.mask.trailing_zeros();
        let group = sequences.product.committed(lane);
        let (warp, work) = (site.warp as u16, sequences.work);
        // All lanes issue it together; one stands for them.
        let batch = self.batches.issue(
            (site.pc, site.execution),
            warp,
            1 << lane,
            CopyKind::Product,
            now,
            group,
            work,
        );
        sequences.product.push(batch, 1 << lane);
        self.judge_fences(site, product, group);
        let warp = self.products.warp(site.warp);
        warp.issued.push(batch);
        let fragment = |register| (register, Use::Fragment);
        let shape = product.shape;
        let sum = |register| (register, Use::Accumulator { shape });
        let used = product.fragments.iter().copied().map(fragment);
        for (register, what) in used.chain(product.accumulators.iter().copied().map(sum)) {
            warp.registers.entry(register).or_default().user = Some(User {
                batch,
                pc: site.pc,
                execution: site.execution,
                group,
                what,
                fenced: false,
            });
        }
        self.read_factors(site, product, batch, now, group);
    }

    /// Whether `wgmma.fence` orders the product's registers behind their last accesses.
    fn judge_fences(&mut self, site: Site, product: &Product<'_>, group: u32) {
        let warp = self.products.warp(site.warp);
        let second = suspect(site, Deed::Multiply, Some(group));
        let told = |first: Option<(Pc, u32, Deed)>| Hazard {
            first: first.map(|(pc, execution, deed)| Suspect {
                pc,
                execution,
                deed,
                group: None,
                ..second
            }),
            ..Hazard::about(Class::MissingProductFence, second)
        };
        let used = product.accumulators.iter().chain(product.fragments);
        let touched = used
            .clone()
            .find_map(|register| warp.registers.get(register)?.touched);
        let sum = Use::Accumulator {
            shape: product.shape,
        };
        // Accumulators of one shape are in order by themselves.
        let otherwise = product.accumulators.iter().find_map(|register| {
            let user = warp.registers.get(register)?.user?;
            (!user.fenced && user.what != sum).then_some((user.pc, user.execution, Deed::Multiply))
        });
        let first = touched.or(otherwise);
        if first.is_none() && warp.fenced {
            return;
        }
        self.ledger.add(told(first));
        // One fence would have ordered all of them.
        self.fence_products(site);
    }

    /// `wgmma.fence`.
    pub(super) fn fence_products(&mut self, site: Site) {
        let warp = self.products.warp(site.warp);
        warp.fenced = true;
        for register in warp.registers.values_mut() {
            register.touched = None;
            if let Some(user) = &mut register.user {
                user.fenced = true;
            }
        }
    }

    /// Registers that some product uses are read and written by an instruction that is none.
    pub(super) fn touch_registers(&mut self, site: Site, reads: &[u32], writes: &[u32]) {
        let sequences = &self.sequences[site.warp as usize];
        let lane = site.mask.trailing_zeros();
        let warp = self.products.warp(site.warp);
        let reads = reads.iter().map(|register| (*register, Deed::ReadRegister));
        let writes = writes
            .iter()
            .map(|register| (*register, Deed::WriteRegister));
        for (register, deed) in reads.chain(writes) {
            let register = warp.registers.entry(register).or_default();
            register.touched = Some((site.pc, site.execution, deed));
            let Some(user) = register.user else { continue };
            if sequences.product.covered(lane, user.group) {
                register.user = None;
                continue;
            }
            let batch = self.batches.get(user.batch);
            let accused = suspect(site, deed, None);
            self.ledger.extend(judge_registers(user, batch, accused));
        }
    }

    /// The factors in memory are read by the product, for which all lanes' knowledge together counts.
    fn read_factors(
        &mut self,
        site: Site,
        product: &Product<'_>,
        batch: BatchId,
        tick: Tick,
        group: u32,
    ) {
        let mut together = Knowledge::default();
        self.threads.release(site.warp, site.mask, &mut together);
        let together = Known::Same(Arc::new(together));
        let own = self.threads.replace_known(site.warp, together);
        let lane = site.mask.trailing_zeros();
        let visit = Visit {
            place: Place::Shared(product.rank),
            deed: Deed::CopyFrom(CopyKind::Product),
            pc: site.pc,
            execution: site.execution,
            warp: site.warp as u16,
            mask: 1 << lane,
            addresses: &[0; 32],
            size: 0,
            actor: Actor::Copy(batch),
            tick,
            strength: Strength {
                scope: None,
                size: u8::MAX,
            },
            group: Some(group),
        };
        for (line, bytes) in by_line(product.reads) {
            let print = Footprint {
                bytes,
                lanes: Lanes::All(1 << lane),
                mask: 1 << lane,
            };
            self.visit_line(&visit, line, print);
        }
        self.threads.replace_known(site.warp, own);
    }

    /// A warp's wait has covered some of its products: the other warps' parts are complete with them.
    pub(super) fn products_waited(&mut self, site: Site, tick: Tick) {
        let sequence = &self.sequences[site.warp as usize].product;
        let lane = site.mask.trailing_zeros();
        let warp = site.warp as usize;
        let (batches, products) = (&mut self.batches, &mut self.products);
        let own = products.warp(site.warp);
        let from = own.covered;
        while let Some(&id) = own.issued.get(own.covered) {
            let open = |batch: &super::copies::Batch| !sequence.covered(lane, batch.group);
            if batches.get(id).is_some_and(open) {
                break;
            }
            own.covered += 1;
        }
        let to = own.covered;
        let of_block = self.checker.shape.block_warps() as usize;
        let first = warp - warp % of_block % WARPS;
        for other in products.warps.iter().skip(first).take(WARPS) {
            for id in other.issued.get(from..to).unwrap_or_default() {
                let seen = Seen::Warp {
                    warp: warp as u16,
                    lanes: site.mask,
                    tick,
                };
                batches.reach(*id, seen, site.pc);
            }
        }
    }
}

/// Runs of bytes, line by line.
fn by_line(runs: &[Run]) -> Vec<(u64, Bytes)> {
    let mut lines: Vec<(u64, Bytes)> = Vec::new();
    for run in runs {
        let (mut at, end) = (run.at, run.at + u64::from(run.bytes));
        while at < end {
            let line = at / LINE;
            let stop = end.min((line + 1) * LINE);
            let bytes = span((at % LINE) as u32, (stop - at) as u32);
            match lines.last_mut() {
                Some((last, all)) if *last == line => *all |= bytes,
                _ => lines.push((line, bytes)),
            }
            at = stop;
        }
    }
    lines
}

/// Why the product is not complete; nothing where its batch is no longer known.
pub(crate) fn why_open(batch: Option<&super::copies::Batch>, group: u32) -> Fact {
    match batch.and_then(|batch| batch.passed) {
        None => Fact::NeverWaited { group },
        Some(wait) if wait.committed > group => Fact::LeftOpen {
            wait,
            group,
            needed: wait.committed.saturating_sub(1).saturating_sub(group),
        },
        Some(wait) => Fact::Uncommitted { wait },
    }
}
