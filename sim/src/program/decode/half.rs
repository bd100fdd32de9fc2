//! Arithmetic and comparisons of f16 and bf16, single and in pairs.
//!
//! One function a format serves all operations; it reads which one from the instruction's last field.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::compare::COMPARE;
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{File, LANES, Lane, Registers};
use crate::program::op::{LaneFn, LaneOp, NONE, Reg};
use crate::scalar::exact::Rounding;
use crate::scalar::float::{Approximate, Compare, approximate, compare};
use crate::scalar::small_float::half::{Clamp, Half, pair3};
use crate::scalar::small_float::{Bf16, F16};

/// Whether a type is one of this file's.
pub(super) fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::BF16 | Type::BF16x2)
}

pub(super) fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::BF16x2)
}

/// An operation on halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
    Min,
    Max,
    Abs,
    Neg,
    Exp2,
    Tanh,
}

/// All operations by number.
const OPERATIONS: [Operation; 10] = [
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::Fma,
    Operation::Min,
    Operation::Max,
    Operation::Abs,
    Operation::Neg,
    Operation::Exp2,
    Operation::Tanh,
];
const CLAMPS: [Clamp; 3] = [Clamp::None, Clamp::Unit, Clamp::Relu];

/// An operation with all that its instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    operation: Operation,
    clamp: Clamp,
    ftz: bool,
    nan: bool,
    xorsign: bool,
}

impl Manner {
    /// In one word, for the field of an instruction.
    fn pack(self) -> u32 {
        let flags = u32::from(self.ftz) | u32::from(self.nan) << 1 | u32::from(self.xorsign) << 2;
        self.operation as u32 | (self.clamp as u32) << 8 | flags << 16
    }

    fn unpack(word: u32) -> Self {
        Self {
            operation: OPERATIONS[(word & 0xff) as usize],
            clamp: CLAMPS[(word >> 8 & 0xff) as usize],
            ftz: word >> 16 & 1 != 0,
            nan: word >> 17 & 1 != 0,
            xorsign: word >> 18 & 1 != 0,
        }
    }

    fn apply<H: Half>(self, a: u16, b: u16, c: u16) -> u16 {
        let function = |function| {
            let value = H::value(H::flush(a, self.ftz));
            H::finish(approximate(value.into(), function), self.ftz, Clamp::None)
        };
        match self.operation {
            Operation::Add => H::add(a, b, self.ftz, self.clamp),
            Operation::Sub => H::sub(a, b, self.ftz, self.clamp),
            Operation::Mul => H::mul(a, b, self.ftz, self.clamp),
            Operation::Fma => H::fma(a, b, c, self.ftz, self.clamp),
            Operation::Min => H::min(a, b, self.ftz, self.nan, self.xorsign),
            Operation::Max => H::max(a, b, self.ftz, self.nan, self.xorsign),
            Operation::Abs => H::abs(a, self.ftz),
            Operation::Neg => H::neg(a, self.ftz),
            Operation::Exp2 => function(Approximate::Exp2),
            Operation::Tanh => function(Approximate::Tanh),
        }
    }
}

fn arithmetic<H: Half>(registers: &mut Registers, op: &LaneOp, mask: u32) {
    let manner = Manner::unpack(op.e);
    let [a, b, c] = [op.a, op.b, op.c].map(|register| registers.row32(register));
    let values = std::array::from_fn(|lane| {
        u32::from(manner.apply::<H>(a[lane] as u16, b[lane] as u16, c[lane] as u16))
    });
    registers.set32(op.d, &values, mask);
}

fn arithmetic_pair<H: Half>(registers: &mut Registers, op: &LaneOp, mask: u32) {
    let manner = Manner::unpack(op.e);
    let [a, b, c] = [op.a, op.b, op.c].map(|register| registers.row32(register));
    let values = std::array::from_fn(|lane| {
        pair3(a[lane], b[lane], c[lane], |a, b, c| {
            manner.apply::<H>(a, b, c)
        })
    });
    registers.set32(op.d, &values, mask);
}

/// Compares the halves that stand `c` bits up.
fn comparison<H: Half>(registers: &mut Registers, op: &LaneOp, mask: u32) {
    let how = COMPARE[(op.e & 0xff) as usize];
    let ftz = op.e >> 8 != 0;
    let values: [bool; LANES] = {
        let (a, b) = (registers.row32(op.a), registers.row32(op.b));
        let value = |word: u32| H::value(H::flush((word >> op.c) as u16, ftz));
        std::array::from_fn(|lane| compare(value(a[lane]), value(b[lane]), how))
    };
    bool::write(registers, op.d, &values, mask);
}

impl<'m> Decoder<'m> {
    /// `add`, `sub`, `mul`, `fma`, `min`, `max`, `abs`, `neg`, `ex2`, `tanh`.
    pub(super) fn half(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        if mods
            .rounding()
            .is_some_and(|rounding| rounding != Rounding::Nearest)
        {
            return Err(Refusal::NotModelled);
        }
        let (operation, operands) = match instruction.opcode.as_str() {
            "add" => (Operation::Add, 2),
            "sub" => (Operation::Sub, 2),
            "mul" => (Operation::Mul, 2),
            "fma" => (Operation::Fma, 3),
            "min" => (Operation::Min, 2),
            "max" => (Operation::Max, 2),
            "abs" => (Operation::Abs, 1),
            "neg" => (Operation::Neg, 1),
            "ex2" => (Operation::Exp2, 1),
            _ => (Operation::Tanh, 1),
        };
        self.place.approximate = mods.flag("approx");
        let manner = Manner {
            operation,
            clamp: mods
                .one_of(&[("sat", Clamp::Unit), ("relu", Clamp::Relu)])
                .unwrap_or(Clamp::None),
            ftz: mods.flag("ftz"),
            nan: mods.flag("NaN"),
            xorsign: mods.flag("xorsign"),
        };
        if manner.xorsign && !mods.flag("abs") {
            return Err(Refusal::NotModelled);
        }
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, sources @ ..] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        let extremes = matches!(operation, Operation::Min | Operation::Max);
        let clamped = manner.clamp != Clamp::None;
        if sources.len() != operands
            || clamped && (extremes || operands == 1)
            || !extremes && (manner.nan || manner.xorsign)
        {
            return Err(Refusal::NotModelled);
        }
        let f: LaneFn = match ty {
            Type::F16 => arithmetic::<F16>,
            Type::BF16 => arithmetic::<Bf16>,
            Type::F16x2 => arithmetic_pair::<F16>,
            _ => arithmetic_pair::<Bf16>,
        };
        let mut registers = [NONE; 4];
        for (register, source) in registers.iter_mut().zip(sources) {
            *register = if is_pair(ty) {
                self.source::<u32>(source)?
            } else {
                self.source::<u16>(source)?
            };
        }
        // Absent operands are the first one again, which the operation does not look at.
        for absent in operands..3 {
            registers[absent] = registers[0];
        }
        registers[3] = manner.pack();
        let d = if is_pair(ty) {
            self.destination::<u32>(d)?
        } else {
            self.destination::<u16>(d)?
        };
        self.lane(guard, f, d, registers);
        Ok(())
    }

    /// Compares the halves that stand so many bits up; the result is in a register of its own.
    pub(super) fn half_comparison(
        &mut self,
        guard: Guard,
        (how, ftz, ty): (Compare, bool, Type),
        a: &Operand,
        b: &Operand,
        up: u32,
    ) -> Decoded<Reg> {
        let f: LaneFn = match ty {
            Type::F16 | Type::F16x2 => comparison::<F16>,
            _ => comparison::<Bf16>,
        };
        let (a, b) = if is_pair(ty) {
            (self.source::<u32>(a)?, self.source::<u32>(b)?)
        } else {
            (self.source::<u16>(a)?, self.source::<u16>(b)?)
        };
        let result = self.new_registers(File::Pred, 1);
        self.lane(
            guard,
            f,
            result,
            [a, b, up, how as u32 | u32::from(ftz) << 8],
        );
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        for operation in OPERATIONS {
            for clamp in CLAMPS {
                for flags in 0..8 {
                    let flag = |at: u32| flags >> at & 1 != 0;
                    let manner = Manner {
                        operation,
                        clamp,
                        ftz: flag(0),
                        nan: flag(1),
                        xorsign: flag(2),
                    };
                    assert_eq!(Manner::unpack(manner.pack()), manner);
                }
            }
        }
    }
}
