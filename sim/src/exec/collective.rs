//! Instructions whose lanes wait for each other: `bar.warp.sync`, `shfl.sync`, `vote.sync` and their like.

use super::group::{Group, Stop};
use super::warp::{Wait, Warp};
use crate::event::{Monitor, Pc};
use crate::lanes::{LANES, lanes_of};
use crate::program::op::{Collective, CollectiveKind, Match, NONE, Op, Redux, Shuffle, Vote};
use crate::report::Fault;

impl<M: Monitor> Group<'_, M> {
    /// The fragment has come to a collective instruction, which is executed if all lanes it needs are there.
    pub(crate) fn reach_collective(&mut self, warp: &mut Warp, index: usize) -> Result<(), Stop> {
        let fragment = warp.fragments[index];
        let collective = self.collective_at(fragment.pc);
        let row = *warp.registers.row32(collective.members);
        let mut rest = fragment.mask;
        loop {
            let members = row[rest.trailing_zeros() as usize & 31];
            let same = lanes_of(rest)
                .filter(|lane| row[*lane] == members)
                .fold(0, |mask, lane| mask | 1 << lane);
            if same & members != same {
                let mask = same & !members;
                return Err(self.fault(warp, fragment.pc, mask, Fault::NotAMember { members }));
            }
            if same == rest {
                warp.fragments[index].wait = Wait::Lanes(members);
                break;
            }
            // Lanes that name different masks wait for different lanes.
            warp.split(index, same, fragment.pc, None);
            let new = warp.fragments.len() - 1;
            warp.fragments[new].wait = Wait::Lanes(members);
            rest &= !same;
        }
        if self.meet(warp)? {
            warp.rejoin();
        }
        Ok(())
    }

    fn collective_at(&self, pc: Pc) -> Collective {
        match self.machine.program.code[pc as usize].op {
            Op::Collective(at) => self.machine.program.tables.collectives[at as usize],
            _ => Collective {
                kind: CollectiveKind::Sync,
                members: 0,
            },
        }
    }

    /// Executes the collective instructions whose lanes have all come. Whether there was one.
    pub(crate) fn meet(&mut self, warp: &mut Warp) -> Result<bool, Stop> {
        let mut any = false;
        let mut index = 0;
        while index < warp.fragments.len() {
            let fragment = warp.fragments[index];
            let Wait::Lanes(members) = fragment.wait else {
                index += 1;
                continue;
            };
            let wanted = members & warp.live;
            let waits = |other: &super::warp::Fragment| other.wait == Wait::Lanes(members);
            let here = warp
                .fragments
                .iter()
                .filter(|other| waits(other))
                .fold(0, |mask, other| mask | other.mask);
            if here & wanted != wanted {
                index += 1;
                continue;
            }
            let merged = if fragment.mask == wanted {
                index
            } else {
                warp.merge_waiting(index)
            };
            let mask = warp.fragments[merged].mask;
            if mask == wanted {
                self.execute_collective(warp, fragment.pc, mask)?;
                warp.fragments[merged].wait = Wait::Ready;
                warp.fragments[merged].pc += 1;
            } else if warp
                .fragments
                .iter()
                .filter(|other| waits(other))
                .all(|other| matches!(self.collective_at(other.pc).kind, CollectiveKind::Sync))
            {
                // `bar.warp.sync` may be met at different instructions.
                self.monitor.warp_sync(self.site(fragment.pc, wanted));
                for other in warp
                    .fragments
                    .iter_mut()
                    .filter(|other| other.wait == Wait::Lanes(members))
                {
                    other.wait = Wait::Ready;
                    other.pc += 1;
                }
            } else {
                index += 1;
                continue;
            }
            any = true;
            index = 0;
        }
        Ok(any)
    }

    /// Carries out a collective instruction for lanes that have met.
    pub(crate) fn execute_collective(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        mask: u32,
    ) -> Result<(), Stop> {
        match self.collective_at(pc).kind {
            CollectiveKind::Sync => self.monitor.warp_sync(self.site(pc, mask)),
            CollectiveKind::Converge => {}
            CollectiveKind::ProductFence => {
                self.check_warpgroup(warp, pc, mask)?;
                self.monitor.product_fence(self.site(pc, mask));
            }
            CollectiveKind::ProductCommit => {
                self.check_warpgroup(warp, pc, mask)?;
                self.commit_products(pc, mask);
            }
            CollectiveKind::Shuffle(shuffle) => shuffle_lanes(warp, &shuffle, mask),
            CollectiveKind::Vote(vote) => vote_lanes(warp, &vote, mask),
            CollectiveKind::Match(matching) => match_lanes(warp, &matching, mask),
            CollectiveKind::Redux(redux) => redux_lanes(warp, &redux, mask),
            CollectiveKind::Matrix(at) => return self.matrix(warp, pc, at, mask),
            CollectiveKind::Elect { d, pred } => {
                let leader = mask.trailing_zeros();
                if d != NONE {
                    warp.registers.set32(d, &[leader; LANES], mask);
                }
                warp.registers.set_pred(pred, 1 << leader, mask);
            }
        }
        Ok(())
    }
}

fn shuffle_lanes(warp: &mut Warp, shuffle: &Shuffle, mask: u32) {
    use crate::program::op::ShuffleMode as Mode;
    let values = *warp.registers.row32(shuffle.a);
    let by = *warp.registers.row32(shuffle.b);
    let bounds = *warp.registers.row32(shuffle.c);
    let mut results = values;
    let mut in_range = 0u32;
    for lane in lanes_of(mask) {
        let (this, b, c) = (lane as i32, (by[lane] & 31) as i32, bounds[lane]);
        let segment = (c >> 8 & 31) as i32;
        let clamp = (c & 31) as i32;
        let last = (this & segment) | (clamp & !segment);
        let (from, ok) = match shuffle.mode {
            Mode::Up => (this - b, this - b >= last),
            Mode::Down => (this + b, this + b <= last),
            Mode::Butterfly => (this ^ b, this ^ b <= last),
            Mode::Index => {
                let from = (this & segment) | (b & !segment);
                (from, from <= last)
            }
        };
        let from = if ok { from } else { this };
        results[lane] = values[from as usize & 31];
        in_range |= u32::from(ok) << lane;
    }
    warp.registers.set32(shuffle.d, &results, mask);
    if shuffle.pred != NONE {
        warp.registers.set_pred(shuffle.pred, in_range, mask);
    }
}

fn vote_lanes(warp: &mut Warp, vote: &Vote, mask: u32) {
    use crate::program::op::VoteMode as Mode;
    let values = (warp.registers.pred[vote.pred.pred as usize] ^ vote.pred.flip) & mask;
    let all = |value: bool| if value { u32::MAX } else { 0 };
    match vote.mode {
        Mode::All => warp.registers.set_pred(vote.d, all(values == mask), mask),
        Mode::Any => warp.registers.set_pred(vote.d, all(values != 0), mask),
        Mode::Uniform => warp
            .registers
            .set_pred(vote.d, all(values == 0 || values == mask), mask),
        Mode::Ballot => warp.registers.set32(vote.d, &[values; LANES], mask),
    }
}

fn match_lanes(warp: &mut Warp, matching: &Match, mask: u32) {
    let values: [u64; LANES] = if matching.wide {
        *warp.registers.row64(matching.a)
    } else {
        warp.registers.row32(matching.a).map(u64::from)
    };
    let same = |lane: usize| {
        lanes_of(mask)
            .filter(|other| values[*other] == values[lane])
            .fold(0, |set, other| set | 1 << other)
    };
    if matching.all {
        let first = mask.trailing_zeros() as usize & 31;
        let agree = same(first) == mask;
        warp.registers
            .set32(matching.d, &[if agree { mask } else { 0 }; LANES], mask);
        if matching.pred != NONE {
            warp.registers
                .set_pred(matching.pred, if agree { u32::MAX } else { 0 }, mask);
        }
    } else {
        let results: [u32; LANES] = std::array::from_fn(same);
        warp.registers.set32(matching.d, &results, mask);
    }
}

fn redux_lanes(warp: &mut Warp, redux: &Redux, mask: u32) {
    let values = *warp.registers.row32(redux.a);
    let result = lanes_of(mask)
        .map(|lane| values[lane])
        .reduce(|a, b| redux.op.apply(a, b))
        .unwrap_or(0);
    warp.registers.set32(redux.d, &[result; LANES], mask);
}
