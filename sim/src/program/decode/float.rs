//! f32 and f64 arithmetic; the 16-bit formats are in [`half`](super::half).
//!
//! What kernels are full of (round to nearest, with and without `.ftz` and `.sat`) is a closure each, so that it vectorises.
//! Everything else shares one function a type, which reads what is wanted from the instruction's last field.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::choose::{by_flag, by_type};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{LANES, Lane, Registers, lane1, lane2, lane3};
use crate::program::op::{LaneFn, LaneOp, NONE};
use crate::scalar::exact::Rounding;
use crate::scalar::float::{
    Approximate, add32, add64, approximate, approximate32, div32, div64, finish, flush,
    flush_unrounded, fma32, fma64, max32, max64, min32, min64, mul32, mul64, sqrt32, sqrt64,
};

/// What an instruction does to two or three floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Min,
    Max,
    /// Of one operand.
    Sqrt,
    Reciprocal,
    Function(Approximate),
}

/// An operation with all that its instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    operation: Operation,
    rounding: Rounding,
    ftz: bool,
    sat: bool,
    nan: bool,
    xorsign: bool,
}

const FUNCTIONS: [Approximate; 8] = [
    Approximate::Reciprocal,
    Approximate::Sqrt,
    Approximate::ReciprocalSqrt,
    Approximate::Sin,
    Approximate::Cos,
    Approximate::Log2,
    Approximate::Exp2,
    Approximate::Tanh,
];
const OPERATIONS: [Operation; 9] = [
    Operation::Add,
    Operation::Sub,
    Operation::Mul,
    Operation::Fma,
    Operation::Div,
    Operation::Min,
    Operation::Max,
    Operation::Sqrt,
    Operation::Reciprocal,
];
const ROUNDINGS: [Rounding; 5] = [
    Rounding::Nearest,
    Rounding::NearestAway,
    Rounding::Zero,
    Rounding::Down,
    Rounding::Up,
];

impl Manner {
    fn new(operation: Operation) -> Self {
        Self {
            operation,
            rounding: Rounding::Nearest,
            ftz: false,
            sat: false,
            nan: false,
            xorsign: false,
        }
    }

    /// In one word, for the field of an instruction.
    fn pack(self) -> u32 {
        let operation = match self.operation {
            Operation::Function(function) => 16 + function as u32,
            other => OPERATIONS
                .iter()
                .position(|known| *known == other)
                .unwrap_or(0) as u32,
        };
        let flags = [self.ftz, self.sat, self.nan, self.xorsign];
        let flags = flags
            .iter()
            .enumerate()
            .fold(0, |word, (at, flag)| word | u32::from(*flag) << at);
        operation | (self.rounding as u32) << 8 | flags << 16
    }

    fn unpack(word: u32) -> Self {
        let operation = match (word & 0xff) as usize {
            code @ 16.. => Operation::Function(FUNCTIONS[code - 16]),
            code => OPERATIONS[code],
        };
        let flag = |at: u32| word >> (16 + at) & 1 != 0;
        Self {
            operation,
            rounding: ROUNDINGS[(word >> 8 & 0xff) as usize],
            ftz: flag(0),
            sat: flag(1),
            nan: flag(2),
            xorsign: flag(3),
        }
    }

    fn single(self, a: f32, b: f32, c: f32) -> f32 {
        let (a, b, c) = (flush(a, self.ftz), flush(b, self.ftz), flush(c, self.ftz));
        let value = match self.operation {
            Operation::Add => add32(a, b, self.rounding),
            Operation::Sub => add32(a, -b, self.rounding),
            Operation::Mul => flush_unrounded(mul32(a, b, self.rounding), [a, b, 0.0], self.ftz),
            Operation::Fma => flush_unrounded(fma32(a, b, c, self.rounding), [a, b, c], self.ftz),
            Operation::Div => div32(a, b, self.rounding),
            Operation::Sqrt => sqrt32(a, self.rounding),
            Operation::Reciprocal => div32(1.0, a, self.rounding),
            Operation::Function(function) => approximate32(a, function, self.ftz),
            Operation::Min if self.xorsign => xorsign(a, b, |a, b| min32(a, b, self.nan)),
            Operation::Max if self.xorsign => xorsign(a, b, |a, b| max32(a, b, self.nan)),
            Operation::Min => min32(a, b, self.nan),
            Operation::Max => max32(a, b, self.nan),
        };
        finish(value, self.ftz, self.sat)
    }

    fn double(self, a: f64, b: f64, c: f64) -> f64 {
        match self.operation {
            Operation::Add => add64(a, b, self.rounding),
            Operation::Sub => add64(a, -b, self.rounding),
            Operation::Mul => mul64(a, b, self.rounding),
            Operation::Fma => fma64(a, b, c, self.rounding),
            Operation::Div => div64(a, b, self.rounding),
            Operation::Sqrt => sqrt64(a, self.rounding),
            Operation::Reciprocal => div64(1.0, a, self.rounding),
            Operation::Function(function) => approximate(a, function),
            Operation::Min => min64(a, b, false),
            Operation::Max => max64(a, b, false),
        }
    }
}

/// Compares magnitudes and takes the sign from both.
fn xorsign(a: f32, b: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let magnitude = f(a.abs(), b.abs());
    if magnitude.is_nan() {
        magnitude
    } else {
        f32::from_bits(magnitude.to_bits() | sign)
    }
}

/// The function that reads its manner from field `e`; absent operands are the first one again.
fn general<T: Lane>(
    f: impl Fn(Manner, T, T, T) -> T,
    registers: &mut Registers,
    op: &LaneOp,
    mask: u32,
) {
    let manner = Manner::unpack(op.e);
    let values: [T; LANES] = {
        let (a, b, c) = (
            T::open(registers, op.a),
            T::open(registers, op.b),
            T::open(registers, op.c),
        );
        std::array::from_fn(|lane| f(manner, T::get(&a, lane), T::get(&b, lane), T::get(&c, lane)))
    };
    T::write(registers, op.d, &values, mask);
}

const SINGLE: LaneFn = |registers, op, mask| general::<f32>(Manner::single, registers, op, mask);
const DOUBLE: LaneFn = |registers, op, mask| general::<f64>(Manner::double, registers, op, mask);
/// Two f32 in one register.
const PAIR: LaneFn = |registers, op, mask| {
    general::<u64>(
        |manner, a, b, c| {
            let half = |word: u64, at: u32| f32::from_bits((word >> at) as u32);
            let one = |at: u32| {
                u64::from(
                    manner
                        .single(half(a, at), half(b, at), half(c, at))
                        .to_bits(),
                ) << at
            };
            one(0) | one(32)
        },
        registers,
        op,
        mask,
    );
};

impl<'m> Decoder<'m> {
    /// `add`, `sub`, `mul`, `fma`, `mad`, `div`.
    pub(super) fn float_arithmetic(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operation = match instruction.opcode.as_str() {
            "add" => Operation::Add,
            "sub" => Operation::Sub,
            "mul" => Operation::Mul,
            "div" => Operation::Div,
            _ => Operation::Fma,
        };
        let mut manner = Manner::new(operation);
        self.place.approximate =
            operation == Operation::Div && (mods.flag("approx") | mods.flag("full"));
        manner.rounding = mods.rounding().unwrap_or(Rounding::Nearest);
        manner.ftz = mods.flag("ftz");
        manner.sat = mods.flag("sat");
        let ty = mods.ty()?;
        mods.finish()?;
        if manner.sat && (ty != Type::F32 || operation == Operation::Div)
            || manner.ftz && ty == Type::F64
        {
            return Err(Refusal::NotModelled);
        }
        let f = match (ty, manner.rounding) {
            (Type::F32, Rounding::Nearest) => single(manner),
            (Type::F32, _) => SINGLE,
            (Type::F64, Rounding::Nearest) => double(operation),
            (Type::F64, _) => DOUBLE,
            (Type::F32x2, _) if operation != Operation::Div => PAIR,
            _ => return Err(Refusal::NotModelled),
        };
        let operands = instruction.operands.as_slice();
        match (operands, operation) {
            ([d, a, b, c], Operation::Fma) => self.float_op(guard, ty, d, [a, b, c], manner, f),
            ([d, a, b], _) if operation != Operation::Fma => {
                self.float_op(guard, ty, d, [a, b, a], manner, f)
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    fn float_op(
        &mut self,
        guard: Guard,
        ty: Type,
        d: &Operand,
        sources: [&Operand; 3],
        manner: Manner,
        f: LaneFn,
    ) -> Decoded {
        by_type!(ty; F32 => f32, F64 => f64, F32x2 => u64; T => {
            let mut registers = [NONE, NONE, NONE, manner.pack()];
            for (register, source) in registers.iter_mut().zip(sources) {
                *register = self.source::<T>(source)?;
            }
            let d = self.destination::<T>(d)?;
            self.lane(guard, f, d, registers);
            Ok(())
        })
    }

    /// `rcp`, `sqrt`, and what is only approximate.
    pub(super) fn float_functions(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let approx = mods.flag("approx");
        let rounding = mods.rounding();
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        self.place.approximate = approx;
        let function = match instruction.opcode.as_str() {
            "rcp" => Approximate::Reciprocal,
            "sqrt" => Approximate::Sqrt,
            "rsqrt" => Approximate::ReciprocalSqrt,
            "sin" => Approximate::Sin,
            "cos" => Approximate::Cos,
            "lg2" => Approximate::Log2,
            "ex2" => Approximate::Exp2,
            _ => Approximate::Tanh,
        };
        let operation = match (function, rounding) {
            (_, None) if approx => Operation::Function(function),
            (Approximate::Reciprocal, Some(_)) if !approx => Operation::Reciprocal,
            (Approximate::Sqrt, Some(_)) if !approx => Operation::Sqrt,
            _ => return Err(Refusal::NotModelled),
        };
        if ty == Type::F64
            && approx
            && !matches!(
                function,
                Approximate::Reciprocal | Approximate::ReciprocalSqrt
            )
        {
            return Err(Refusal::NotModelled);
        }
        let mut manner = Manner::new(operation);
        manner.rounding = rounding.unwrap_or(Rounding::Nearest);
        manner.ftz = ftz;
        let f = if ty == Type::F64 { DOUBLE } else { SINGLE };
        match instruction.operands.as_slice() {
            [d, a] if matches!(ty, Type::F32 | Type::F64) => {
                self.float_op(guard, ty, d, [a, a, a], manner, f)
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `min`, `max`.
    pub(super) fn float_extremes(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let is_min = instruction.opcode == "min";
        let mut manner = Manner::new(if is_min {
            Operation::Min
        } else {
            Operation::Max
        });
        manner.ftz = mods.flag("ftz");
        manner.nan = mods.flag("NaN");
        manner.xorsign = mods.flag("xorsign");
        if manner.xorsign && !mods.flag("abs") {
            return Err(Refusal::NotModelled);
        }
        let ty = mods.ty()?;
        mods.finish()?;
        let plain = !manner.ftz && !manner.nan && !manner.xorsign;
        let f = match ty {
            Type::F32 if plain && is_min => lane2(|a: f32, b: f32| min32(a, b, false)),
            Type::F32 if plain => lane2(|a: f32, b: f32| max32(a, b, false)),
            Type::F32 => SINGLE,
            Type::F64 if plain => DOUBLE,
            _ => return Err(Refusal::NotModelled),
        };
        match instruction.operands.as_slice() {
            [d, a, b] => self.float_op(guard, ty, d, [a, b, a], manner, f),
            // Three operands, since PTX 8.8: twice two.
            [d, a, b, c] if ty == Type::F32 && !manner.xorsign => {
                let (a, b, c) = (
                    self.source::<f32>(a)?,
                    self.source::<f32>(b)?,
                    self.source::<f32>(c)?,
                );
                let d = self.destination::<f32>(d)?;
                let pair = self.new_registers(crate::lanes::File::R32, 1);
                self.lane(guard, f, pair, [a, b, a, manner.pack()]);
                self.lane(guard, f, d, [pair, c, a, manner.pack()]);
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `abs`, `neg`, `copysign`, `testp`.
    pub(super) fn float_signs(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        if instruction.opcode == "testp" {
            return self.testp(guard, operands, mods);
        }
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        match (instruction.opcode.as_str(), ty, operands) {
            ("copysign", Type::F32, _) if !ftz => {
                self.op2::<f32, f32, f32>(guard, operands, lane2(|a: f32, b: f32| b.copysign(a)))
            }
            ("copysign", Type::F64, _) if !ftz => {
                self.op2::<f64, f64, f64>(guard, operands, lane2(|a: f64, b: f64| b.copysign(a)))
            }
            ("abs", Type::F32, [d, a]) => by_flag!(ftz; FTZ => {
                self.op1::<f32, f32>(guard, d, a, lane1(|a: f32| flush(a, FTZ).abs()))
            }),
            ("neg", Type::F32, [d, a]) => by_flag!(ftz; FTZ => {
                self.op1::<f32, f32>(guard, d, a, lane1(|a: f32| -flush(a, FTZ)))
            }),
            ("abs", Type::F64, [d, a]) if !ftz => {
                self.op1::<f64, f64>(guard, d, a, lane1(|a: f64| a.abs()))
            }
            ("neg", Type::F64, [d, a]) if !ftz => {
                self.op1::<f64, f64>(guard, d, a, lane1(|a: f64| -a))
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    fn testp(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        #[derive(Clone, Copy)]
        enum Test {
            Finite,
            Infinite,
            Number,
            NotANumber,
            Normal,
            Subnormal,
        }
        let test = mods.need(&[
            ("finite", Test::Finite),
            ("infinite", Test::Infinite),
            ("number", Test::Number),
            ("notanumber", Test::NotANumber),
            ("normal", Test::Normal),
            ("subnormal", Test::Subnormal),
        ])?;
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a] = operands else {
            return Err(Refusal::NotModelled);
        };
        by_type!(ty; F32 => f32, F64 => f64; T => {
            let f = match test {
                Test::Finite => lane1(|a: T| a.is_finite()),
                Test::Infinite => lane1(|a: T| a.is_infinite()),
                Test::Number => lane1(|a: T| !a.is_nan()),
                Test::NotANumber => lane1(|a: T| a.is_nan()),
                Test::Normal => lane1(|a: T| a.is_normal()),
                Test::Subnormal => lane1(|a: T| a.is_subnormal()),
            };
            self.op1::<bool, T>(guard, d, a, f)
        })
    }
}

/// f32, rounding to nearest.
fn single(manner: Manner) -> LaneFn {
    const R: Rounding = Rounding::Nearest;
    by_flag!(manner.ftz; FTZ => match (manner.operation, manner.sat) {
        (Operation::Add, false) => lane2(|a: f32, b: f32| finish(add32(flush(a, FTZ), flush(b, FTZ), R), FTZ, false)),
        (Operation::Sub, false) => lane2(|a: f32, b: f32| finish(add32(flush(a, FTZ), -flush(b, FTZ), R), FTZ, false)),
        (Operation::Mul, false) => lane2(|a: f32, b: f32| {
            let (a, b) = (flush(a, FTZ), flush(b, FTZ));
            finish(flush_unrounded(mul32(a, b, R), [a, b, 0.0], FTZ), FTZ, false)
        }),
        (Operation::Div, false) => lane2(|a: f32, b: f32| finish(div32(flush(a, FTZ), flush(b, FTZ), R), FTZ, false)),
        (Operation::Fma, sat) => by_flag!(sat; SAT => lane3(|a: f32, b: f32, c: f32| {
            let (a, b, c) = (flush(a, FTZ), flush(b, FTZ), flush(c, FTZ));
            finish(flush_unrounded(fma32(a, b, c, R), [a, b, c], FTZ), FTZ, SAT)
        })),
        _ => SINGLE,
    })
}

/// f64, rounding to nearest.
fn double(operation: Operation) -> LaneFn {
    match operation {
        Operation::Add => lane2(|a: f64, b: f64| a + b),
        Operation::Sub => lane2(|a: f64, b: f64| a - b),
        Operation::Mul => lane2(|a: f64, b: f64| a * b),
        Operation::Div => lane2(|a: f64, b: f64| a / b),
        Operation::Fma => lane3(|a: f64, b: f64, c: f64| a.mul_add(b, c)),
        _ => DOUBLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let functions = FUNCTIONS.map(Operation::Function);
        for operation in OPERATIONS.into_iter().chain(functions) {
            for rounding in ROUNDINGS {
                for flags in 0..16 {
                    let flag = |at: u32| flags >> at & 1 != 0;
                    let manner = Manner {
                        operation,
                        rounding,
                        ftz: flag(0),
                        sat: flag(1),
                        nan: flag(2),
                        xorsign: flag(3),
                    };
                    assert_eq!(Manner::unpack(manner.pack()), manner);
                }
            }
        }
    }
}
