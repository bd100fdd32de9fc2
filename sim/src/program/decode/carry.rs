//! Extended-precision arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The condition code is one bit a lane, kept in a predicate register of its own. Its one flag is the carry out of an addition;
//! a subtraction adds the complement, so that its borrow is the absence of a carry. Code that nvcc makes relies on that
//! where an `addc` follows a `subc.cc`.

use nstage_ptx::ast::{Instruction, Type};

use super::choose::{by_flag, by_type};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{LANES, Lane, Registers};
use crate::program::op::{LaneFn, LaneOp, NONE, TRUE};
use crate::scalar::integer::{Integer, mul_hi};

/// `d = a + b + c`, carry in from and out to the predicate register `e`.
fn add<T: Lane + Integer, const IN: bool, const OUT: bool>() -> LaneFn {
    |registers: &mut Registers, op: &LaneOp, mask: u32| {
        carry::<T>(registers, op, mask, IN, OUT, |a, b, _, carry| {
            a.wide() + b.wide() + carry
        });
    }
}

fn sub<T: Lane + Integer, const IN: bool, const OUT: bool>() -> LaneFn {
    |registers: &mut Registers, op: &LaneOp, mask: u32| {
        carry::<T>(registers, op, mask, IN, OUT, |a, b, _, carry| {
            let complement = ((1 << T::BITS) - 1) - b.wide();
            a.wide() + complement + if IN { carry } else { 1 }
        });
    }
}

/// `d = part of a * b, + c`, carry in from and out to the predicate register `e`.
fn mad<T: Lane + Integer, const HIGH: bool, const SIGNED: bool, const IN: bool, const OUT: bool>()
-> LaneFn {
    |registers: &mut Registers, op: &LaneOp, mask: u32| {
        carry::<T>(registers, op, mask, IN, OUT, |a, b, c, carry| {
            let value = |x: T| {
                if SIGNED {
                    (x.wide() << (128 - T::BITS)) >> (128 - T::BITS)
                } else {
                    x.wide()
                }
            };
            let part = match (HIGH, SIGNED) {
                (true, false) => mul_hi(a, b),
                (true, true) => T::low((value(a) * value(b)) >> T::BITS),
                // The lower half does not depend on the signs.
                (false, _) => T::low(a.wide().wrapping_mul(b.wide())),
            };
            part.wide() + c.wide() + carry
        });
    }
}

/// Computes in wide integers; what does not fit the unsigned width is the flag.
fn carry<T: Lane + Integer>(
    registers: &mut Registers,
    op: &LaneOp,
    mask: u32,
    input: bool,
    output: bool,
    f: impl Fn(T, T, T, i128) -> i128,
) {
    let flags = registers.pred[op.e as usize];
    let mut values = [T::low(0); LANES];
    let mut out = 0u32;
    {
        let (a, b) = (T::open(registers, op.a), T::open(registers, op.b));
        // Without a third source the first stands in; the function does not look at it.
        let c = T::open(registers, if op.c == NONE { op.a } else { op.c });
        for (lane, result) in values.iter_mut().enumerate() {
            let carry = if input {
                i128::from(flags >> lane & 1)
            } else {
                0
            };
            let value = f(T::get(&a, lane), T::get(&b, lane), T::get(&c, lane), carry);
            *result = T::low(value);
            out |= u32::from(value >> T::BITS != 0) << lane;
        }
    }
    T::write(registers, op.d, &values, mask);
    if output {
        registers.set_pred(op.e, out, mask);
    }
}

impl<'m> Decoder<'m> {
    /// Whether this instruction reads or writes the condition code.
    pub(super) fn is_carry(instruction: &Instruction) -> bool {
        matches!(instruction.opcode.as_str(), "addc" | "subc" | "madc")
            || (matches!(instruction.opcode.as_str(), "add" | "sub" | "mad")
                && instruction.modifiers.iter().any(|word| word == "cc"))
    }

    pub(super) fn carry(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let high = mods.one_of(&[("hi", true), ("lo", false)]);
        let out = mods.flag("cc");
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        let (opcode, input) = match instruction.opcode.strip_suffix('c') {
            Some(opcode) => (opcode, true),
            None => (instruction.opcode.as_str(), false),
        };
        // The flag is the unsigned carry, whatever the type.
        let f = by_type!(ty; U32 => u32, S32 => u32, U64 => u64, S64 => u64; T => by_flag!(input, out; IN, OUT => match (opcode, high) {
            ("add", None) => add::<T, IN, OUT>(),
            ("sub", None) => sub::<T, IN, OUT>(),
            ("mad", Some(high)) => by_flag!(high, matches!(ty, Type::S32 | Type::S64); HIGH, SIGNED => mad::<T, HIGH, SIGNED, IN, OUT>()),
            _ => return Err(Refusal::NotModelled),
        }));
        by_type!(ty; U32 => u32, S32 => u32, U64 => u64, S64 => u64; T => {
            let (d, sources) = match operands {
                [d, a, b] => (d, [self.source::<T>(a)?, self.source::<T>(b)?, NONE]),
                [d, a, b, c] => (d, [self.source::<T>(a)?, self.source::<T>(b)?, self.source::<T>(c)?]),
                _ => return Err(Refusal::NotModelled),
            };
            let d = self.destination::<T>(d)?;
            let flag = self.carry_flag();
            self.lane(guard, f, d, [sources[0], sources[1], sources[2], flag]);
            Ok(())
        })
    }

    /// The predicate register of the condition code.
    fn carry_flag(&mut self) -> u32 {
        if self.carry_flag == TRUE {
            self.carry_flag = self.new_registers(crate::lanes::File::Pred, 1);
        }
        self.carry_flag
    }
}
