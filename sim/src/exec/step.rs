//! The instruction loop.

use std::ops::Range;

use super::group::{Group, MAX_POLLS, Stop};
use super::mbarrier::Flow;
use super::warp::{NO_RECORD, Warp};
use crate::event::{Fence, Monitor, Pc};
use crate::lanes::{LANES, lanes_of};
use crate::launch::{Incomplete, Trap};
use crate::memory::window;
use crate::program::op::{Clock, Frame, Meet, Op, Reg};
use crate::report;

impl<M: Monitor> Group<'_, M> {
    /// Runs one fragment until it waits, ends, splits, meets others or has used the budget.
    pub(crate) fn step_fragment(
        &mut self,
        warp: &mut Warp,
        index: usize,
        budget: &mut u32,
    ) -> Result<(), Stop> {
        let program = self.machine.program;
        let code = program.code.as_slice();
        let fragment = warp.fragments[index];
        let active = fragment.mask;
        let meeting = warp.meeting(fragment.record, fragment.depth);
        let mut pc = fragment.pc;
        let executions = self
            .machine
            .first_execution(u32::from(self.rank), self.warp);
        let mut left = *budget;
        macro_rules! leave {
            () => {{
                self.steps += u64::from(*budget - left);
                *budget = left;
            }};
        }
        macro_rules! pause {
            () => {{
                leave!();
                warp.fragments[index].pc = pc;
                return Ok(());
            }};
        }
        macro_rules! check {
            ($result:expr) => {
                if let Err(stop) = $result {
                    leave!();
                    return Err(stop);
                }
            };
        }
        loop {
            if pc == meeting {
                leave!();
                warp.park(index);
                return Ok(());
            }
            if left == 0 {
                pause!();
            }
            left -= 1;
            if M::JUDGES {
                self.executions[executions + pc as usize] += 1;
            }
            let inst = &code[pc as usize];
            let mask = active & (warp.registers.pred[inst.guard.pred as usize] ^ inst.guard.flip);
            match inst.op {
                Op::Lane(ref op) => {
                    if mask != 0 {
                        // SAFETY: decoding chose a function that this machine can run.
                        unsafe { (op.f)(&mut warp.registers, op, mask) };
                    }
                    pc += 1;
                }
                Op::Approximate(ref op) => {
                    if mask != 0 {
                        self.approximate[pc as usize] = true;
                        // SAFETY: decoding chose a function that this machine can run.
                        unsafe { (op.f)(&mut warp.registers, op, mask) };
                    }
                    pc += 1;
                }
                Op::Load(at) => {
                    if mask != 0 {
                        check!(self.load(warp, pc, at, mask));
                    }
                    pc += 1;
                    if warp.polls >= MAX_POLLS {
                        pause!();
                    }
                }
                Op::Store(at) => {
                    if mask != 0 {
                        check!(self.store(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::Branch { target, meet } => {
                    if mask == 0 {
                        pc += 1;
                    } else if mask == active {
                        pc = target;
                    } else {
                        leave!();
                        warp.fragments[index].pc = pc + 1;
                        let meet = meeting_point(warp, meet, fragment.depth, active);
                        warp.split(index, mask, target, meet);
                        return Ok(());
                    }
                }
                Op::Nop => pc += 1,
                Op::BranchTable {
                    index: reg,
                    first,
                    count,
                    meet,
                } => {
                    let wanted = warp.registers.row32(reg)[active.trailing_zeros() as usize & 31];
                    let mut same = 0;
                    for lane in lanes_of(active) {
                        same |= u32::from(warp.registers.row32(reg)[lane] == wanted) << lane;
                    }
                    if wanted >= count {
                        leave!();
                        return Err(self.trap(
                            pc,
                            active,
                            format!("branch table index {wanted} of {count}"),
                        ));
                    }
                    let target = program.tables.lists[(first + wanted) as usize];
                    if same == active {
                        pc = target;
                    } else {
                        leave!();
                        // The others come to this instruction again.
                        warp.fragments[index].pc = pc;
                        let meet = meeting_point(warp, meet, fragment.depth, active);
                        warp.split(index, same, target, meet);
                        return Ok(());
                    }
                }
                Op::Call { target, .. } => {
                    leave!();
                    if fragment.depth >= MAX_DEPTH {
                        return Err(self.trap(
                            pc,
                            active,
                            format!("calls nested over {MAX_DEPTH} deep"),
                        ));
                    }
                    call(warp, index, target, pc + 1);
                    return Ok(());
                }
                Op::CallIndirect(target) => {
                    leave!();
                    warp.fragments[index].pc = pc;
                    return self.call_indirect(warp, index, target);
                }
                Op::Save(function) => {
                    save(warp, &program.tables.frames[function as usize], active);
                    pc += 1;
                }
                Op::Restore(function) => {
                    restore(warp, &program.tables.frames[function as usize], active);
                    pc += 1;
                }
                Op::System(at) => {
                    if mask != 0 {
                        check!(self.system(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::Return if fragment.depth > 0 => {
                    leave!();
                    warp.fragments[index].pc = pc + 1;
                    self.return_lanes(warp, index, mask);
                    return Ok(());
                }
                Op::Return | Op::Exit => {
                    if mask == active {
                        leave!();
                        self.exit(warp, pc, mask);
                        return Ok(());
                    }
                    if mask != 0 {
                        leave!();
                        warp.fragments[index].pc = pc + 1;
                        self.exit(warp, pc, mask);
                        return Ok(());
                    }
                    pc += 1;
                }
                Op::Trap | Op::Breakpoint => {
                    if mask != 0 {
                        leave!();
                        let word = if matches!(inst.op, Op::Trap) {
                            "trap"
                        } else {
                            "brkpt"
                        };
                        return Err(self.trap(pc, mask, word.to_owned()));
                    }
                    pc += 1;
                }
                Op::Clock { d, clock } => {
                    if mask != 0 {
                        self.clock(warp, d, clock, mask, *budget - left);
                    }
                    pc += 1;
                }
                Op::Unsupported(at) => {
                    if mask != 0 {
                        leave!();
                        let what = program.tables.unsupported[at as usize].as_str();
                        let party = self.party(pc, mask);
                        let message = report::not_modelled(what, party.line);
                        self.results.incomplete = Some(Incomplete {
                            message,
                            party: Some(party),
                        });
                        return Err(Stop);
                    }
                    pc += 1;
                }
                Op::Barrier(_) => {
                    leave!();
                    warp.fragments[index].pc = pc;
                    return self.reach_barrier(warp, index);
                }
                Op::Collective(at) => {
                    let collective = &program.tables.collectives[at as usize];
                    let row = warp.registers.row32(collective.members);
                    if active == warp.live
                        && lanes_of(active).all(|lane| row[lane] & active == active)
                    {
                        // Everybody is here, which is the rule.
                        check!(self.execute_collective(warp, pc, active));
                        pc += 1;
                    } else {
                        leave!();
                        warp.fragments[index].pc = pc;
                        return self.reach_collective(warp, index);
                    }
                }
                Op::ActiveMask(d) => {
                    warp.registers.set32(d, &[active; LANES], mask);
                    pc += 1;
                }
                Op::Fence(fence) => {
                    if mask != 0 {
                        self.fence(pc, mask, fence);
                    }
                    pc += 1;
                }
                Op::Nanosleep => {
                    pc += 1;
                    warp.polls = MAX_POLLS;
                    pause!();
                }
                Op::Atomic(at) => {
                    if mask != 0 {
                        check!(self.atomic(warp, pc, at, mask));
                    }
                    pc += 1;
                    if warp.polls >= MAX_POLLS {
                        pause!();
                    }
                }
                Op::Mbarrier(at) => {
                    if mask != 0 {
                        match self.mbarrier(warp, index, pc, at, mask) {
                            Ok(Flow::Next) => {}
                            Ok(Flow::Held) => pause!(),
                            Err(stop) => {
                                leave!();
                                return Err(stop);
                            }
                        }
                    }
                    pc += 1;
                    if warp.polls >= MAX_POLLS {
                        pause!();
                    }
                }
                Op::CopyArrive(at) => {
                    if mask != 0 {
                        check!(self.copy_arrive(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::CopyBulk(at) => {
                    if mask != 0 {
                        check!(self.issue_bulk(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::CopyTensor(at) => {
                    if mask != 0 {
                        check!(self.issue_tensor(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::StoreAsync(at) => {
                    if mask != 0 {
                        check!(self.store_async(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::ClusterArrive(ordering) => {
                    check!(self.cluster_arrive(warp, pc, active, ordering));
                    pc += 1;
                }
                Op::WaitProducts(allowed) => {
                    if mask != 0 {
                        match self.wait_products(warp, index, pc, allowed, mask) {
                            Ok(true) => {}
                            Ok(false) => pause!(),
                            Err(stop) => {
                                leave!();
                                return Err(stop);
                            }
                        }
                    }
                    pc += 1;
                }
                Op::Registers(at) => {
                    if M::JUDGES && mask != 0 {
                        let touch = &program.tables.touches[at as usize];
                        let site = self.site(pc, mask);
                        self.monitor.registers(site, &touch.reads, &touch.writes);
                    }
                    // It is no instruction of the kernel's.
                    left += 1;
                    pc += 1;
                }
                Op::ClusterWait(ordering) => {
                    if !self.cluster_wait(warp, index, pc, active, ordering) {
                        pause!();
                    }
                    pc += 1;
                }
                Op::CopyElements(at) => {
                    if mask != 0 {
                        check!(self.issue_elements(warp, pc, at, mask));
                    }
                    pc += 1;
                }
                Op::Commit(groups) => {
                    if mask != 0 {
                        self.commit(warp, pc, groups, mask);
                    }
                    pc += 1;
                }
                Op::Wait(groups, pending) => {
                    if mask != 0 {
                        self.wait_groups(warp, pc, groups, pending, mask);
                    }
                    pc += 1;
                }
            }
        }
    }

    fn fence(&mut self, pc: Pc, mask: u32, fence: Fence) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.monitor.fence(self.site(pc, mask), fence);
    }

    /// Lanes go to the thunks of the functions whose addresses they have, one function at a time.
    fn call_indirect(&mut self, warp: &mut Warp, index: usize, target: Reg) -> Result<(), Stop> {
        let fragment = warp.fragments[index];
        let addresses = *warp.registers.row64(target);
        let wanted = addresses[fragment.mask.trailing_zeros() as usize & 31];
        let same = lanes_of(fragment.mask)
            .filter(|lane| addresses[*lane] == wanted)
            .fold(0, |all, lane| all | 1 << lane);
        let function = wanted.wrapping_sub(window::CODE) / 16;
        let known = wanted.is_multiple_of(16).then_some(function as usize);
        let Some(&thunk) =
            known.and_then(|function| self.machine.program.tables.thunks.get(function))
        else {
            return Err(self.trap(
                fragment.pc,
                same,
                format!("a call to {wanted:#x}, where no function is"),
            ));
        };
        let back = fragment.pc + 1;
        let at = if same == fragment.mask {
            index
        } else {
            warp.split(index, same, fragment.pc, Some((back, fragment.depth, true)));
            warp.fragments.len() - 1
        };
        call(warp, at, thunk, back);
        Ok(())
    }

    pub(crate) fn trap(&mut self, pc: Pc, mask: u32, message: String) -> Stop {
        let party = self.party(pc, mask);
        self.results.trap = Some(Trap { message, party });
        Stop
    }

    fn exit(&mut self, warp: &mut Warp, pc: Pc, mask: u32) {
        self.writes += 1;
        self.monitor.exit(self.site(pc, mask));
        warp.end(mask);
        if warp.live == 0 {
            self.blocks[usize::from(self.rank)].live -= 1;
            self.complete_after_exit();
        }
        if self.blocks.len() > 1 {
            self.complete_cluster(warp.live);
        }
    }

    /// Lanes go back to their callers, which may be several.
    fn return_lanes(&mut self, warp: &mut Warp, index: usize, mask: u32) {
        let fragment = warp.fragments[index];
        if mask == 0 {
            return;
        }
        let depth = fragment.depth - 1;
        let back = warp.returns[depth as usize];
        let to = back[mask.trailing_zeros() as usize];
        let mut same = 0;
        for lane in lanes_of(mask) {
            same |= u32::from(back[lane] == to) << lane;
        }
        if same == fragment.mask {
            warp.fragments[index].pc = to;
            warp.fragments[index].depth = depth;
            return;
        }
        if same != mask {
            // The lanes with another caller come to the return again.
            warp.fragments[index].pc = fragment.pc - 1;
        }
        warp.split(index, same, to, Some((to, depth, true)));
        if let Some(returned) = warp.fragments.last_mut() {
            returned.depth = depth;
        }
    }

    fn clock(&mut self, warp: &mut Warp, d: Reg, clock: Clock, mask: u32, running: u32) {
        let now = self.steps + u64::from(running) + self.skipped;
        match clock {
            Clock::Low | Clock::NanosecondsLow => {
                warp.registers.set32(d, &[now as u32; LANES], mask)
            }
            Clock::High | Clock::NanosecondsHigh => {
                warp.registers.set32(d, &[(now >> 32) as u32; LANES], mask)
            }
            Clock::Cycles | Clock::Nanoseconds => warp.registers.set64(d, &[now; LANES], mask),
        }
    }
}

/// Calls that may be open at once; a thread's stack on hardware ends earlier.
const MAX_DEPTH: u32 = 4096;

/// A fragment goes to a function.
fn call(warp: &mut Warp, index: usize, target: Pc, back: Pc) {
    let fragment = &mut warp.fragments[index];
    let depth = fragment.depth as usize;
    if warp.returns.len() <= depth {
        warp.returns.resize(depth + 1, [0; LANES]);
    }
    for lane in lanes_of(fragment.mask) {
        warp.returns[depth][lane] = back;
    }
    fragment.pc = target;
    fragment.depth += 1;
}

/// Puts registers of these lanes aside.
fn save(warp: &mut Warp, frame: &Frame, mask: u32) {
    warp.saved.resize_with(LANES, Vec::new);
    for lane in lanes_of(mask) {
        let saved = &mut warp.saved[lane];
        let registers = &warp.registers;
        saved.extend(
            frame
                .r32
                .iter()
                .cloned()
                .flatten()
                .map(|reg| u64::from(registers.row32(reg)[lane])),
        );
        saved.extend(
            frame
                .r64
                .iter()
                .cloned()
                .flatten()
                .map(|reg| registers.row64(reg)[lane]),
        );
        saved.extend(
            frame
                .pred
                .iter()
                .cloned()
                .flatten()
                .map(|reg| u64::from(registers.pred[reg as usize] >> lane & 1)),
        );
    }
}

/// Takes back what [`save`] put aside last.
fn restore(warp: &mut Warp, frame: &Frame, mask: u32) {
    let count = |ranges: &[Range<Reg>]| ranges.iter().map(|range| range.len()).sum::<usize>();
    let size = count(&frame.r32) + count(&frame.r64) + count(&frame.pred);
    for lane in lanes_of(mask) {
        let saved = &mut warp.saved[lane];
        let start = saved.len().saturating_sub(size);
        let mut values = saved.drain(start..);
        for (reg, value) in frame.r32.iter().cloned().flatten().zip(&mut values) {
            warp.registers.r32[reg as usize].0[lane] = value as u32;
        }
        for (reg, value) in frame.r64.iter().cloned().flatten().zip(&mut values) {
            warp.registers.r64[reg as usize].0[lane] = value;
        }
        for (reg, value) in frame.pred.iter().cloned().flatten().zip(&mut values) {
            warp.registers
                .set_pred(reg, (value as u32) << lane, 1 << lane);
        }
    }
}

/// Where the lanes of a branch meet, as the warp keeps it.
fn meeting_point(warp: &Warp, meet: Meet, depth: u32, mask: u32) -> Option<(Pc, u32, bool)> {
    match meet {
        Meet::Never => None,
        Meet::At { pc, exact } => Some((pc, depth, exact)),
        Meet::Return => {
            let back = warp.returns.get(depth.checked_sub(1)? as usize)?;
            let first = back[mask.trailing_zeros() as usize & 31];
            let same = lanes_of(mask).all(|lane| back[lane] == first);
            same.then_some((first, depth - 1, true))
        }
    }
}

const _: () = assert!(NO_RECORD == u32::MAX);
