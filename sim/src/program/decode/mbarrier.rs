//! `mbarrier`, and `cp.async.mbarrier.arrive`.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::event::{Ordering, Scope};
use crate::program::op::{Address, CopyArrive, Mbarrier, MbarrierKind, NONE, Op, Space};

impl<'m> Decoder<'m> {
    pub(super) fn mbarrier(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let kind = mods.need(&[
            ("init", MbarrierKind::Init),
            ("inval", MbarrierKind::Inval),
            ("complete_tx", MbarrierKind::CompleteTx),
            ("arrive", MbarrierKind::Arrive { drop: false }),
            ("arrive_drop", MbarrierKind::Arrive { drop: true }),
            ("test_wait", MbarrierKind::TestWait),
            ("try_wait", MbarrierKind::TryWait),
            ("pending_count", MbarrierKind::PendingCount),
            ("expect_tx", MbarrierKind::ExpectTx),
        ])?;
        let expect = matches!(kind, MbarrierKind::Arrive { .. }) && mods.flag("expect_tx");
        let no_complete = mods.flag("noComplete");
        let parity = mods.flag("parity");
        let waits = matches!(kind, MbarrierKind::TestWait | MbarrierKind::TryWait);
        let ordering = mods.semantics().unwrap_or(match kind {
            MbarrierKind::Arrive { .. } => Ordering::Release,
            _ if waits => Ordering::Acquire,
            _ => Ordering::Relaxed,
        });
        let scope = mods.scope().unwrap_or(Scope::Cta);
        let space = mods.space();
        if mods.ty()? != Type::B64 || parity && !waits {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let nowhere = Address {
            base: NONE,
            wide: true,
            offset: 0,
        };
        let mut op = Mbarrier {
            kind,
            space,
            address: nowhere,
            d: NONE,
            operand: NONE,
            bytes: NONE,
            parity,
            no_complete,
            ordering,
            scope,
        };
        match (kind, instruction.operands.as_slice()) {
            (MbarrierKind::Init, [at, count]) => {
                op.address = self.address(at)?;
                op.operand = self.source::<u32>(count)?;
            }
            (MbarrierKind::Inval, [at]) => op.address = self.address(at)?,
            (MbarrierKind::ExpectTx | MbarrierKind::CompleteTx, [at, bytes]) => {
                op.address = self.address(at)?;
                op.bytes = self.source::<u32>(bytes)?;
            }
            (MbarrierKind::Arrive { .. }, operands) => {
                let (state, rest) = match operands {
                    [state, rest @ ..] if !matches!(state, Operand::Address(_)) => {
                        (Some(state), rest)
                    }
                    rest => (None, rest),
                };
                let (at, last) = match rest {
                    [at] => (at, None),
                    [at, last] => (at, Some(last)),
                    _ => return Err(Refusal::NotModelled),
                };
                op.address = self.address(at)?;
                match last {
                    Some(bytes) if expect => op.bytes = self.source::<u32>(bytes)?,
                    Some(count) => op.operand = self.source::<u32>(count)?,
                    None if expect => return Err(Refusal::NotModelled),
                    None => {}
                }
                if let Some(state) = state.filter(|state| **state != Operand::Sink) {
                    op.d = self.destination::<u64>(state)?;
                }
            }
            // A fourth operand is a time limit, which only a real clock could tell apart.
            (_, [done, at, state] | [done, at, state, _]) if waits => {
                op.address = self.address(at)?;
                op.operand = if parity {
                    self.source::<u32>(state)?
                } else {
                    self.source::<u64>(state)?
                };
                op.d = self.destination::<bool>(done)?;
            }
            (MbarrierKind::PendingCount, [count, state]) => {
                op.operand = self.source::<u64>(state)?;
                op.d = self.destination::<u32>(count)?;
            }
            _ => return Err(Refusal::NotModelled),
        }
        self.tables.mbarriers.push(op);
        let op = Op::Mbarrier(self.tables.mbarriers.len() as u32 - 1);
        if waits {
            // Lanes may be held back at it.
            let skip = self.begin_skip(guard);
            self.push(Guard::ALWAYS, op);
            self.end_skip(skip);
        } else {
            self.push(guard, op);
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`, the words before `.arrive` already taken.
    pub(super) fn copy_arrive(
        &mut self,
        operands: &[Operand],
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        if !mods.flag("arrive") {
            return Err(Refusal::NotModelled);
        }
        let noinc = mods.flag("noinc");
        let space = mods.space();
        if mods.ty()? != Type::B64 || space == Space::Cluster {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let [at] = operands else {
            return Err(Refusal::NotModelled);
        };
        let address = self.address(at)?;
        self.tables.copy_arrives.push(CopyArrive {
            space,
            address,
            noinc,
        });
        let op = Op::CopyArrive(self.tables.copy_arrives.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }
}
