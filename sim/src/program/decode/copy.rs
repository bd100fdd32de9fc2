//! `cp.async`, `cp.async.bulk` and their groups.

use nstage_ptx::ast::{Immediate, Instruction, Operand, Type};

use super::atomic::{OPERATIONS, typed};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::event::Groups;
use crate::program::op::{
    AtomicOp, AtomicType, CopyBulk, CopyElements, NONE, Op, Space, StoreAsync,
};

impl<'m> Decoder<'m> {
    /// `cp.async` in all its forms.
    pub(super) fn cp(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        if mods.flag("reduce") {
            return self.cp_reduce(operands, guard, mods);
        }
        if !mods.flag("async") {
            return Err(Refusal::NotModelled);
        }
        if mods.flag("mbarrier") {
            return self.copy_arrive(operands, guard, mods);
        }
        let bulk = mods.flag("bulk");
        if mods.flag("commit_group") {
            mods.finish()?;
            let groups = if bulk {
                Groups::Bulk { read: false }
            } else {
                Groups::Element
            };
            self.push(guard, Op::Commit(groups));
            return Ok(());
        }
        if mods.flag("wait_group") {
            let read = mods.flag("read");
            mods.finish()?;
            let [Operand::Immediate(Immediate::Int { bits, .. })] = operands else {
                return Err(Refusal::NotModelled);
            };
            let groups = if bulk {
                Groups::Bulk { read }
            } else {
                Groups::Element
            };
            // The assembler takes a number that is not one; it counts as more groups than there can be.
            let pending = u32::try_from(*bits).unwrap_or(u32::MAX);
            self.push(guard, Op::Wait(groups, Some(pending)));
            return Ok(());
        }
        if mods.flag("wait_all") {
            mods.finish()?;
            self.push(guard, Op::Wait(Groups::Element, None));
            return Ok(());
        }
        if bulk {
            let fetches = mods.flag("prefetch");
            if mods.flag("tensor") {
                return self.cp_tensor(operands, guard, mods, None);
            }
            if fetches {
                return Err(Refusal::NotModelled);
            }
            return self.cp_bulk(operands, guard, mods, None);
        }
        self.cp_elements(guard, operands, mods)
    }

    fn cp_elements(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let global_only = mods.need(&[("ca", false), ("cg", true)])?;
        if !mods.flag("shared") && !mods.flag("shared::cta") {
            return Err(Refusal::NotModelled);
        }
        if mods.maybe_space() != Some(Space::Global) {
            return Err(Refusal::NotModelled);
        }
        let hint = mods.flag("L2::cache_hint");
        mods.skip_cache_hints();
        mods.finish()?;
        let (operands, policy) = match operands {
            [rest @ .., policy] if hint => (rest, Some(policy)),
            rest => (rest, None),
        };
        if let Some(policy) = policy {
            self.source::<u64>(policy)?;
        }
        let (destination, source, bytes, extra) = match operands {
            [destination, source, bytes] => (destination, source, bytes, None),
            [destination, source, bytes, extra] => (destination, source, bytes, Some(extra)),
            _ => return Err(Refusal::NotModelled),
        };
        let Operand::Immediate(Immediate::Int {
            bits: bytes @ (4 | 8 | 16),
            ..
        }) = bytes
        else {
            return Err(Refusal::NotModelled);
        };
        if global_only && *bytes != 16 {
            return Err(Refusal::NotModelled);
        }
        let mut copy = CopyElements {
            destination: self.address(destination)?,
            source: self.address(source)?,
            bytes: *bytes as u32,
            source_bytes: NONE,
            ignore: None,
        };
        if let Some(extra) = extra {
            let is_pred = matches!(extra, Operand::Not(_))
                || (self.is_register(extra) && self.register(extra)?.0 == Type::Pred);
            if is_pred {
                copy.ignore = Some(self.signed_pred(extra)?);
            } else {
                copy.source_bytes = self.source::<u32>(extra)?;
            }
        }
        self.tables.copies.push(copy);
        let op = Op::CopyElements(self.tables.copies.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }

    /// `cp.reduce.async.bulk`.
    fn cp_reduce(&mut self, operands: &'m [Operand], guard: Guard, mods: &mut Mods<'_>) -> Decoded {
        if !mods.flag("async") || !mods.flag("bulk") {
            return Err(Refusal::NotModelled);
        }
        let tensor = mods.flag("tensor");
        let op = mods.need(&OPERATIONS)?;
        if tensor {
            return self.cp_tensor(operands, guard, mods, Some(op));
        }
        mods.flag("noftz");
        let ty = mods.ty()?;
        let reduce = (op, typed(op, ty)?, ty.bytes());
        self.cp_bulk(operands, guard, mods, Some(reduce))
    }

    /// `cp.async.bulk`, not of tensors: spaces and the way of completion, then the operands.
    fn cp_bulk(
        &mut self,
        operands: &[Operand],
        guard: Guard,
        mods: &mut Mods<'_>,
        reduce: Option<(AtomicOp, AtomicType, u32)>,
    ) -> Decoded {
        let destination_space = mods.maybe_space().ok_or(Refusal::NotModelled)?;
        let source_space = mods.maybe_space().ok_or(Refusal::NotModelled)?;
        let on_object = mods.flag("mbarrier::complete_tx::bytes");
        let in_group = mods.flag("bulk_group");
        let multicast = mods.flag("multicast::cluster");
        let hint = mods.flag("L2::cache_hint");
        mods.finish()?;
        let loads = matches!(destination_space, Space::Shared | Space::Cluster);
        let forms = match (source_space, destination_space) {
            (Space::Global, Space::Shared | Space::Cluster) | (Space::Shared, Space::Cluster) => {
                on_object && !in_group
            }
            (Space::Shared, Space::Global) => in_group && !on_object,
            _ => false,
        };
        if !forms || multicast && !(loads && source_space == Space::Global) {
            return Err(Refusal::NotModelled);
        }
        let mut rest = operands;
        let mut next = || -> Decoded<&Operand> {
            let (first, others) = rest.split_first().ok_or(Refusal::NotModelled)?;
            rest = others;
            Ok(first)
        };
        let (destination, source, bytes) = (next()?, next()?, next()?);
        let object = if on_object { Some(next()?) } else { None };
        let mask = if multicast { Some(next()?) } else { None };
        let policy = if hint { Some(next()?) } else { None };
        if !rest.is_empty() {
            return Err(Refusal::NotModelled);
        }
        if let Some(policy) = policy {
            self.source::<u64>(policy)?;
        }
        let copy = CopyBulk {
            destination_space,
            destination: self.address(destination)?,
            source_space,
            source: self.address(source)?,
            bytes: self.source::<u32>(bytes)?,
            object: object.map(|object| self.address(object)).transpose()?,
            multicast: mask.map_or(Ok(NONE), |mask| self.source::<u16>(mask))?,
            reduce,
        };
        self.tables.bulks.push(copy);
        let op = Op::CopyBulk(self.tables.bulks.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }

    /// `st.async`, `red.async`.
    pub(super) fn store_async(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        if !mods.flag("async") {
            return Err(Refusal::NotModelled);
        }
        let reduces = instruction.opcode == "red";
        mods.flag("weak");
        if reduces && !(mods.flag("relaxed") && mods.flag("cluster")) {
            return Err(Refusal::NotModelled);
        }
        let op = if reduces {
            Some(mods.need(&OPERATIONS)?)
        } else {
            None
        };
        let space = mods.maybe_space();
        let on_object = mods.flag("mbarrier::complete_tx::bytes");
        let count = mods.one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let ty = mods.ty()?;
        mods.finish()?;
        if !on_object
            || space.is_some_and(|space| space != Space::Cluster)
            || !matches!(ty.bits(), 32 | 64)
        {
            return Err(Refusal::NotModelled);
        }
        let [at, value, object] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        let (address, object) = (self.address(at)?, self.address(object)?);
        let values = self.elements(value, count, ty, false)?;
        let first = self.tables.lists.len() as u32;
        self.tables.lists.extend(values);
        let reduce = op
            .map(|op| Ok::<_, Refusal>((op, typed(op, ty)?, ty.bytes())))
            .transpose()?;
        self.tables.async_stores.push(StoreAsync {
            address,
            object,
            bytes: ty.bytes(),
            count: count as u32,
            first,
            reduce,
        });
        let op = Op::StoreAsync(self.tables.async_stores.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }
}
