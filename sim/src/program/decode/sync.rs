//! Barriers, fences, and instructions whose lanes wait for each other.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::event::{Fence, FenceSpace, Ordering, Scope};
use crate::lanes::lane1;
use crate::program::op::{
    Barrier, BarrierKind, Collective, CollectiveKind, Match, NONE, Op, Redux, ReduxOp, Reg,
    Shuffle, ShuffleMode, Vote, VoteMode,
};

impl<'m> Decoder<'m> {
    /// `bar` and `barrier`.
    pub(super) fn barrier(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        if mods.flag("warp") {
            if !mods.flag("sync") {
                return Err(Refusal::NotModelled);
            }
            mods.finish()?;
            let [members] = operands else {
                return Err(Refusal::NotModelled);
            };
            return self.collective(guard, members, CollectiveKind::Sync);
        }
        if mods.flag("cluster") {
            return self.cluster_barrier(guard, operands, mods);
        }
        mods.flag("cta");
        let aligned = mods.flag("aligned") || instruction.opcode == "bar";
        if mods.flag("red") {
            return self.barrier_reduction(guard, aligned, operands, mods);
        }
        let kind = mods.need(&[("sync", BarrierKind::Sync), ("arrive", BarrierKind::Arrive)])?;
        mods.finish()?;
        let (id, threads) = match operands {
            [id] if kind == BarrierKind::Sync => (id, None),
            [id, threads] => (id, Some(threads)),
            _ => return Err(Refusal::NotModelled),
        };
        let id = self.source::<u32>(id)?;
        let threads = threads.map_or(Ok(NONE), |threads| self.source::<u32>(threads))?;
        self.push_barrier(
            guard,
            Barrier {
                kind,
                aligned,
                id,
                threads,
                d: NONE,
                pred: None,
            },
        );
        Ok(())
    }

    fn barrier_reduction(
        &mut self,
        guard: Guard,
        aligned: bool,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let kind = mods.need(&[
            ("popc", BarrierKind::Popc),
            ("and", BarrierKind::And),
            ("or", BarrierKind::Or),
        ])?;
        let ty = mods.ty()?;
        mods.finish()?;
        let (d, id, threads, pred) = match operands {
            [d, id, pred] => (d, id, None, pred),
            [d, id, threads, pred] => (d, id, Some(threads), pred),
            _ => return Err(Refusal::NotModelled),
        };
        let id = self.source::<u32>(id)?;
        let threads = threads.map_or(Ok(NONE), |threads| self.source::<u32>(threads))?;
        let pred = Some(self.signed_pred(pred)?);
        let d = match (kind, ty) {
            (BarrierKind::Popc, Type::U32) => self.destination::<u32>(d)?,
            (BarrierKind::And | BarrierKind::Or, Type::Pred) => self.destination::<bool>(d)?,
            _ => return Err(Refusal::NotModelled),
        };
        self.push_barrier(
            guard,
            Barrier {
                kind,
                aligned,
                id,
                threads,
                d,
                pred,
            },
        );
        Ok(())
    }

    fn push_barrier(&mut self, guard: Guard, barrier: Barrier) {
        self.tables.barriers.push(barrier);
        let op = Op::Barrier(self.tables.barriers.len() as u32 - 1);
        let skip = self.begin_skip(guard);
        self.push(Guard::ALWAYS, op);
        self.end_skip(skip);
    }

    fn cluster_barrier(
        &mut self,
        guard: Guard,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let arrive = mods.need(&[("arrive", true), ("wait", false)])?;
        let ordering = mods.semantics();
        mods.flag("aligned");
        mods.finish()?;
        if !operands.is_empty() {
            return Err(Refusal::NotModelled);
        }
        let op = if arrive {
            Op::ClusterArrive(ordering.unwrap_or(Ordering::Release))
        } else {
            Op::ClusterWait(ordering.unwrap_or(Ordering::Acquire))
        };
        let skip = self.begin_skip(guard);
        self.push(Guard::ALWAYS, op);
        self.end_skip(skip);
        Ok(())
    }

    /// `fence`, `membar`.
    pub(super) fn fence(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let fence = if mods.flag("proxy") {
            self.proxy_fence(mods)?
        } else if instruction.opcode == "membar" {
            let scopes = [
                ("cta", Scope::Cta),
                ("gl", Scope::Gpu),
                ("gpu", Scope::Gpu),
                ("sys", Scope::Sys),
            ];
            Some(Fence::Memory(Ordering::SeqCst, mods.need(&scopes)?))
        } else if mods.flag("mbarrier_init") {
            if !mods.flag("release") || !mods.flag("cluster") {
                return Err(Refusal::NotModelled);
            }
            Some(Fence::MbarrierInit)
        } else {
            let ordering = mods.semantics().unwrap_or(Ordering::AcqRel);
            let _ = mods.flag("sync_restrict::shared::cluster")
                || mods.flag("sync_restrict::shared::cta");
            Some(Fence::Memory(
                ordering,
                mods.scope().ok_or(Refusal::NotModelled)?,
            ))
        };
        mods.finish()?;
        self.push(guard, fence.map_or(Op::Nop, Op::Fence));
        Ok(())
    }

    /// A fence between proxies; `None` for those whose proxies are one here.
    fn proxy_fence(&mut self, mods: &mut Mods<'_>) -> Decoded<Option<Fence>> {
        if mods.flag("alias") {
            return Ok(None);
        }
        if mods.flag("tensormap::generic") {
            mods.semantics().ok_or(Refusal::NotModelled)?;
            mods.scope().ok_or(Refusal::NotModelled)?;
            return Ok(None);
        }
        if mods.flag("async::generic") {
            mods.semantics().ok_or(Refusal::NotModelled)?;
            let space = mods.need(&[
                ("sync_restrict::shared::cta", FenceSpace::SharedCta),
                ("sync_restrict::shared::cluster", FenceSpace::SharedCluster),
            ])?;
            mods.scope().ok_or(Refusal::NotModelled)?;
            return Ok(Some(Fence::ProxyAsync(Some(space))));
        }
        if !mods.flag("async") {
            return Err(Refusal::NotModelled);
        }
        Ok(Some(Fence::ProxyAsync(mods.one_of(&[
            ("global", FenceSpace::Global),
            ("shared", FenceSpace::SharedCta),
            ("shared::cta", FenceSpace::SharedCta),
            ("shared::cluster", FenceSpace::SharedCluster),
        ]))))
    }

    /// `createpolicy`: caches are not modelled, and a policy is nothing.
    pub(super) fn create_policy(&mut self, instruction: &'m Instruction, guard: Guard) -> Decoded {
        let [d, ..] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        let zero = self.constant64(0);
        let d = self.destination::<u64>(d)?;
        self.lane(guard, lane1(|a: u64| a), d, [zero, NONE, NONE, NONE]);
        Ok(())
    }

    fn collective(&mut self, guard: Guard, members: &Operand, kind: CollectiveKind) -> Decoded {
        let members = self.source::<u32>(members)?;
        self.push_collective(guard, members, kind);
        Ok(())
    }

    /// Emits an instruction for the lanes that a register names.
    pub(super) fn push_collective(&mut self, guard: Guard, members: Reg, kind: CollectiveKind) {
        self.tables.collectives.push(Collective { kind, members });
        let op = Op::Collective(self.tables.collectives.len() as u32 - 1);
        let skip = self.begin_skip(guard);
        self.push(Guard::ALWAYS, op);
        self.end_skip(skip);
    }

    /// `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`.
    pub(super) fn warp_level(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        if instruction.opcode == "activemask" {
            let ty = mods.ty()?;
            mods.finish()?;
            let [d] = operands else {
                return Err(Refusal::NotModelled);
            };
            if ty != Type::B32 {
                return Err(Refusal::NotModelled);
            }
            let d = self.destination::<u32>(d)?;
            self.push(guard, Op::ActiveMask(d));
            return Ok(());
        }
        if !mods.flag("sync") {
            return Err(Refusal::NotModelled);
        }
        match instruction.opcode.as_str() {
            "shfl" => self.shuffle(guard, operands, mods),
            "vote" => self.vote(guard, operands, mods),
            "match" => self.matching(guard, operands, mods),
            "redux" => self.redux(guard, operands, mods),
            _ => {
                mods.finish()?;
                let [Operand::Pair(d, pred), members] = operands else {
                    return Err(Refusal::NotModelled);
                };
                let d = if **d == Operand::Sink {
                    NONE
                } else {
                    self.destination::<u32>(d)?
                };
                let pred = self.destination::<bool>(pred)?;
                self.collective(guard, members, CollectiveKind::Elect { d, pred })
            }
        }
    }

    fn shuffle(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let mode = mods.need(&[
            ("up", ShuffleMode::Up),
            ("down", ShuffleMode::Down),
            ("bfly", ShuffleMode::Butterfly),
            ("idx", ShuffleMode::Index),
        ])?;
        if mods.ty()?.bits() != 32 {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let [d, a, b, c, members] = operands else {
            return Err(Refusal::NotModelled);
        };
        let (d, pred) = match d {
            Operand::Pair(d, pred) => (&**d, self.destination::<bool>(pred)?),
            single => (single, NONE),
        };
        let shuffle = Shuffle {
            mode,
            pred,
            a: self.source::<u32>(a)?,
            b: self.source::<u32>(b)?,
            c: self.source::<u32>(c)?,
            d: self.destination::<u32>(d)?,
        };
        self.collective(guard, members, CollectiveKind::Shuffle(shuffle))
    }

    fn vote(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let mode = mods.need(&[
            ("all", VoteMode::All),
            ("any", VoteMode::Any),
            ("uni", VoteMode::Uniform),
            ("ballot", VoteMode::Ballot),
        ])?;
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, pred, members] = operands else {
            return Err(Refusal::NotModelled);
        };
        let pred = self.signed_pred(pred)?;
        let d = match (mode, ty) {
            (VoteMode::Ballot, Type::B32) => self.destination::<u32>(d)?,
            (VoteMode::All | VoteMode::Any | VoteMode::Uniform, Type::Pred) => {
                self.destination::<bool>(d)?
            }
            _ => return Err(Refusal::NotModelled),
        };
        self.collective(guard, members, CollectiveKind::Vote(Vote { mode, d, pred }))
    }

    fn matching(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let all = mods.need(&[("all", true), ("any", false)])?;
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a, members] = operands else {
            return Err(Refusal::NotModelled);
        };
        let (d, pred) = match d {
            Operand::Pair(d, pred) if all => (&**d, self.destination::<bool>(pred)?),
            single => (single, NONE),
        };
        let (wide, a) = match ty {
            Type::B32 => (false, self.source::<u32>(a)?),
            Type::B64 => (true, self.source::<u64>(a)?),
            _ => return Err(Refusal::NotModelled),
        };
        let d = self.destination::<u32>(d)?;
        self.collective(
            guard,
            members,
            CollectiveKind::Match(Match {
                all,
                wide,
                d,
                pred,
                a,
            }),
        )
    }

    fn redux(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        #[derive(Clone, Copy)]
        enum Word {
            Add,
            Min,
            Max,
            And,
            Or,
            Xor,
        }
        let word = mods.need(&[
            ("add", Word::Add),
            ("min", Word::Min),
            ("max", Word::Max),
            ("and", Word::And),
            ("or", Word::Or),
            ("xor", Word::Xor),
        ])?;
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (word, ty) {
            (Word::Add, Type::U32 | Type::S32) => ReduxOp::Add,
            (Word::Min, Type::U32) => ReduxOp::MinUnsigned,
            (Word::Max, Type::U32) => ReduxOp::MaxUnsigned,
            (Word::Min, Type::S32) => ReduxOp::MinSigned,
            (Word::Max, Type::S32) => ReduxOp::MaxSigned,
            (Word::And, Type::B32) => ReduxOp::And,
            (Word::Or, Type::B32) => ReduxOp::Or,
            (Word::Xor, Type::B32) => ReduxOp::Xor,
            _ => return Err(Refusal::NotModelled),
        };
        let [d, a, members] = operands else {
            return Err(Refusal::NotModelled);
        };
        let redux = Redux {
            op,
            a: self.source::<u32>(a)?,
            d: self.destination::<u32>(d)?,
        };
        self.collective(guard, members, CollectiveKind::Redux(redux))
    }

    /// `nanosleep`, `griddepcontrol`, `setmaxnreg` and others that change nothing here.
    pub(super) fn no_effect(&mut self, instruction: &'m Instruction, guard: Guard) -> Decoded {
        let op = if instruction.opcode == "nanosleep" {
            Op::Nanosleep
        } else {
            Op::Nop
        };
        self.push(guard, op);
        Ok(())
    }
}
