//! `atom`, `red`.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::event::{Ordering, Scope};
use crate::program::op::{Atomic, AtomicOp, AtomicType, NONE, Op, Reg};

pub(super) const OPERATIONS: [(&str, AtomicOp); 10] = [
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("inc", AtomicOp::Increment),
    ("dec", AtomicOp::Decrement),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exchange),
    ("cas", AtomicOp::CompareSwap),
];

/// How an atomic treats its location, if the operation has this type.
pub(super) fn typed(op: AtomicOp, ty: Type) -> Decoded<AtomicType> {
    let kind = match ty {
        Type::U32 | Type::U64 | Type::B32 | Type::B64 | Type::B16 | Type::B128 => {
            AtomicType::Unsigned
        }
        Type::S32 | Type::S64 => AtomicType::Signed,
        Type::F32 | Type::F64 => AtomicType::Float,
        Type::F16 => AtomicType::Half,
        Type::BF16 => AtomicType::Bfloat,
        Type::F16x2 => AtomicType::HalfPair,
        Type::BF16x2 => AtomicType::BfloatPair,
        _ => return Err(Refusal::NotModelled),
    };
    let arithmetic = matches!(op, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max);
    let bits = matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128);
    let right = match op {
        AtomicOp::Add | AtomicOp::Min | AtomicOp::Max => !bits,
        AtomicOp::Increment | AtomicOp::Decrement => ty == Type::U32,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => matches!(ty, Type::B32 | Type::B64),
        AtomicOp::Exchange => bits && ty != Type::B16,
        AtomicOp::CompareSwap => bits,
    };
    // Old compilers wrote exchanges with arithmetic types.
    let old = !arithmetic && kind != AtomicType::Float && ty.bits() >= 32 && ty.bits() <= 64;
    if right || old {
        Ok(kind)
    } else {
        Err(Refusal::NotModelled)
    }
}

impl<'m> Decoder<'m> {
    pub(super) fn atomic(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let reduction = instruction.opcode == "red";
        let ordering = mods.semantics().unwrap_or(Ordering::Relaxed);
        let scope = mods.scope().unwrap_or(Scope::Gpu);
        let space = mods.space();
        let op = mods.need(&OPERATIONS)?;
        mods.flag("noftz");
        let hint = mods.flag("L2::cache_hint");
        mods.skip_cache_hints();
        let count = mods.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
        let ty = mods.ty()?;
        mods.finish()?;
        let kind = typed(op, ty)?;
        let operands = match instruction.operands.as_slice() {
            [rest @ .., policy] if hint => {
                self.source::<u64>(policy)?;
                rest
            }
            rest => rest,
        };
        let (d, rest) = match operands {
            [d, rest @ ..] if !reduction => (Some(d), rest),
            rest => (None, rest),
        };
        let swaps = op == AtomicOp::CompareSwap;
        let (at, value, swap) = match rest {
            [at, value] if !swaps => (at, value, None),
            [at, value, swap] if swaps => (at, value, Some(swap)),
            _ => return Err(Refusal::NotModelled),
        };
        let address = self.address(at)?;
        let values = self.elements(value, count, ty, false)?;
        let swaps = match swap {
            Some(swap) => self.elements(swap, count, ty, false)?,
            None => vec![NONE; count],
        };
        let results = match d {
            Some(d) if *d != Operand::Sink => self.elements(d, count, ty, true)?,
            _ => vec![NONE; count],
        };
        let first = self.tables.lists.len() as u32;
        for list in [results, values, swaps] {
            self.tables.lists.extend(list);
        }
        self.tables.atomics.push(Atomic {
            space,
            address,
            op,
            ty: kind,
            bytes: ty.bytes(),
            count: count as u32,
            first,
            reduction,
            ordering,
            scope,
        });
        let op = Op::Atomic(self.tables.atomics.len() as u32 - 1);
        self.push(guard, op);
        Ok(())
    }

    /// The registers of a vector's elements, or of the one value.
    pub(super) fn elements(
        &mut self,
        operand: &Operand,
        count: usize,
        ty: Type,
        result: bool,
    ) -> Decoded<Vec<Reg>> {
        let elements = self.vector(operand, count)?;
        elements
            .iter()
            .map(|element| match (ty, result) {
                (_, true) if *element == Operand::Sink => Ok(NONE),
                (Type::F32, false) => self.source::<f32>(element),
                (Type::F64, false) => self.source::<f64>(element),
                (Type::B128, _) => match self.register(element)? {
                    (Type::B128, register) => Ok(register),
                    _ => Err(Refusal::NotModelled),
                },
                (_, false) => match ty.bits() {
                    16 => self.source::<u16>(element),
                    32 => self.source::<u32>(element),
                    _ => self.source::<u64>(element),
                },
                (_, true) => match ty.bits() {
                    16 => self.destination::<u16>(element),
                    32 => self.destination::<u32>(element),
                    _ => self.destination::<u64>(element),
                },
            })
            .collect()
    }
}
