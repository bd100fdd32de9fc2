//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`.

use nstage_ptx::ast::Operand;

use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::program::op::{AtomicOp, CopyTensor, NONE, Op, Space, TensorWay};

/// A dimension count, by its word.
const RANKS: [(&str, u32); 5] = [("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];

impl<'m> Decoder<'m> {
    /// Copies of boxes, in tile mode; the words up to `tensor` are taken.
    pub(super) fn cp_tensor(
        &mut self,
        operands: &'m [Operand],
        guard: Guard,
        mods: &mut Mods<'_>,
        reduce: Option<AtomicOp>,
    ) -> Decoded {
        let rank = mods.need(&RANKS)?;
        let fetches = mods.flag("L2");
        let first = mods.maybe_space().ok_or(Refusal::NotModelled)?;
        let second = mods.maybe_space();
        mods.flag("tile");
        let on_object = mods.flag("mbarrier::complete_tx::bytes");
        let in_group = mods.flag("bulk_group");
        let multicast = mods.flag("multicast::cluster");
        let hint = mods.flag("L2::cache_hint");
        mods.finish()?;
        let (way, space) = match (fetches, first, second) {
            (true, Space::Global, None) if !on_object && !in_group => {
                (TensorWay::Fetch, Space::Global)
            }
            (false, Space::Shared | Space::Cluster, Some(Space::Global))
                if on_object && !in_group =>
            {
                (TensorWay::Load, first)
            }
            (false, Space::Global, Some(Space::Shared)) if in_group && !on_object => {
                (TensorWay::Store, Space::Shared)
            }
            _ => return Err(Refusal::NotModelled),
        };
        if (multicast && way != TensorWay::Load) || (reduce.is_some() && way != TensorWay::Store) {
            return Err(Refusal::NotModelled);
        }
        let (operands, policy) = match operands {
            [rest @ .., policy] if hint => (rest, Some(policy)),
            rest => (rest, None),
        };
        if let Some(policy) = policy {
            self.source::<u64>(policy)?;
        }
        let (shared, map, object, mask) = match (way, operands) {
            (TensorWay::Fetch, [map]) => (None, map, None, None),
            (TensorWay::Store, [map, shared]) => (Some(shared), map, None, None),
            (TensorWay::Load, [shared, map, object]) if !multicast => {
                (Some(shared), map, Some(object), None)
            }
            (TensorWay::Load, [shared, map, object, mask]) if multicast => {
                (Some(shared), map, Some(object), Some(mask))
            }
            _ => return Err(Refusal::NotModelled),
        };
        let (map, coordinates) = self.address_with_coordinates(map)?;
        if coordinates.len() != rank as usize {
            return Err(Refusal::NotModelled);
        }
        let coordinates: Vec<u32> = coordinates
            .iter()
            .map(|coordinate| self.source::<i32>(coordinate))
            .collect::<Decoded<_>>()?;
        let copy = CopyTensor {
            way,
            space,
            shared: shared.map(|shared| self.address(shared)).transpose()?,
            map,
            coordinates: self.tables.lists.len() as u32,
            rank,
            object: object.map(|object| self.address(object)).transpose()?,
            multicast: mask.map_or(Ok(NONE), |mask| self.source::<u16>(mask))?,
            reduce,
        };
        self.tables.lists.extend(coordinates);
        self.tables.tensors.push(copy);
        let op = Op::CopyTensor(self.tables.tensors.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }
}
