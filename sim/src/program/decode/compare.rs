//! `setp`, `set`, `slct`.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::choose::{by_flag, by_type, by_value};
use super::half::{is_half, is_pair};
use super::integer::unsigned;
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{File, LANES, Lane, Registers, lane1, lane2, lane3};
use crate::program::op::{LaneFn, LaneOp, NONE, Reg};
use crate::scalar::float::{Compare, compare, flush};

const COMPARISONS: [(&str, Compare); 18] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
    ("lo", Compare::Lt),
    ("ls", Compare::Le),
    ("hi", Compare::Gt),
    ("hs", Compare::Ge),
    ("equ", Compare::Equ),
    ("neu", Compare::Neu),
    ("ltu", Compare::Ltu),
    ("leu", Compare::Leu),
    ("gtu", Compare::Gtu),
    ("geu", Compare::Geu),
    ("num", Compare::Num),
    ("nan", Compare::Nan),
];

/// The comparisons by number, for those that read theirs from a field of the instruction.
pub(super) const COMPARE: [Compare; 14] = [
    Compare::Eq,
    Compare::Ne,
    Compare::Lt,
    Compare::Le,
    Compare::Gt,
    Compare::Ge,
    Compare::Equ,
    Compare::Neu,
    Compare::Ltu,
    Compare::Leu,
    Compare::Gtu,
    Compare::Geu,
    Compare::Num,
    Compare::Nan,
];

/// The comparisons of an integer type.
macro_rules! integers {
    ($ty:ty, $how:expr) => {
        by_value!($how; Compare: Eq, Ne, Lt, Le, Gt, Ge; HOW => lane2(|a: $ty, b: $ty| compare(a, b, HOW)))
    };
}

/// Destination, operands, and the predicate that the result is combined with.
type Operands<'a> = (
    &'a Operand,
    &'a Operand,
    &'a Operand,
    Option<(&'a Operand, Combine)>,
);

fn operands(instruction: &Instruction, combine: Option<Combine>) -> Decoded<Operands<'_>> {
    match (instruction.operands.as_slice(), combine) {
        ([d, a, b], None) => Ok((d, a, b, None)),
        ([d, a, b, c], Some(combine)) => Ok((d, a, b, Some((c, combine)))),
        _ => Err(Refusal::NotModelled),
    }
}

/// A result, or its complement, combined with a predicate.
fn combined(combine: Combine, complement: bool) -> LaneFn {
    by_flag!(complement; NOT => match combine {
        Combine::And => lane2(|a: bool, c: bool| (a ^ NOT) & c),
        Combine::Or => lane2(|a: bool, c: bool| (a ^ NOT) | c),
        Combine::Xor => lane2(|a: bool, c: bool| a ^ NOT ^ c),
    })
}

/// A half for each predicate that is true.
fn halves(low: bool, high: bool, half: u32) -> u32 {
    (if low { half } else { 0 }) | (if high { half << 16 } else { 0 })
}

/// Compares in the way that field `c` says.
fn any_float<T: Lane>(
    f: impl Fn(T, T, Compare) -> bool,
    registers: &mut Registers,
    op: &LaneOp,
    mask: u32,
) {
    let how = COMPARE[op.c as usize];
    let values: [bool; LANES] = {
        let (a, b) = (T::open(registers, op.a), T::open(registers, op.b));
        std::array::from_fn(|lane| f(T::get(&a, lane), T::get(&b, lane), how))
    };
    bool::write(registers, op.d, &values, mask);
}

/// How a comparison is combined with a predicate.
#[derive(Clone, Copy)]
enum Combine {
    And,
    Or,
    Xor,
}

const COMBINATIONS: [(&str, Combine); 3] = [
    ("and", Combine::And),
    ("or", Combine::Or),
    ("xor", Combine::Xor),
];

impl<'m> Decoder<'m> {
    pub(super) fn setp(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let how = mods.need(&COMPARISONS)?;
        let combine = mods.one_of(&COMBINATIONS);
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        let (d, a, b, with) = operands(instruction, combine)?;
        let (p, q) = match d {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            single => (single, None),
        };
        if is_pair(ty) {
            // One predicate a half.
            let q = q.ok_or(Refusal::NotModelled)?;
            let low = self.half_comparison(guard, (how, ftz, ty), a, b, 0)?;
            let high = self.half_comparison(guard, (how, ftz, ty), a, b, 16)?;
            let with = self.kept(guard, with)?;
            self.put(guard, low, false, with, p)?;
            return self.put(guard, high, false, with, q);
        }
        if q.is_none() && with.is_none() && !is_half(ty) {
            let (f, sources) = self.comparison(how, ftz, ty, a, b)?;
            let p = self.destination::<bool>(p)?;
            self.lane(guard, f, p, sources);
            return Ok(());
        }
        let result = self.compared(guard, (how, ftz, ty), a, b)?;
        let with = self.kept(guard, with)?;
        self.put(guard, result, false, with, p)?;
        match q {
            Some(q) => self.put(guard, result, true, with, q),
            None => Ok(()),
        }
    }

    /// A comparison's result in a register of its own, since its operands may be destinations.
    fn compared(
        &mut self,
        guard: Guard,
        what: (Compare, bool, Type),
        a: &Operand,
        b: &Operand,
    ) -> Decoded<Reg> {
        let (how, ftz, ty) = what;
        if is_half(ty) {
            return self.half_comparison(guard, what, a, b, 0);
        }
        let (f, sources) = self.comparison(how, ftz, ty, a, b)?;
        let result = self.new_registers(File::Pred, 1);
        self.lane(guard, f, result, sources);
        Ok(result)
    }

    /// The predicate that results are combined with, in a register of its own.
    fn kept(
        &mut self,
        guard: Guard,
        with: Option<(&Operand, Combine)>,
    ) -> Decoded<Option<(Reg, Combine)>> {
        let Some((c, combine)) = with else {
            return Ok(None);
        };
        let c = self.source::<bool>(c)?;
        let copy = self.new_registers(File::Pred, 1);
        self.lane(guard, lane1(|a: bool| a), copy, [c, NONE, NONE, NONE]);
        Ok(Some((copy, combine)))
    }

    /// Writes a result, or its complement, combined with a predicate.
    fn put(
        &mut self,
        guard: Guard,
        result: Reg,
        complement: bool,
        with: Option<(Reg, Combine)>,
        into: &Operand,
    ) -> Decoded {
        let d = self.destination::<bool>(into)?;
        let (f, c) = match with {
            None => (by_flag!(complement; NOT => lane1(|a: bool| a ^ NOT)), NONE),
            Some((c, combine)) => (combined(combine, complement), c),
        };
        self.lane(guard, f, d, [result, c, NONE, NONE]);
        Ok(())
    }

    fn comparison(
        &mut self,
        how: Compare,
        ftz: bool,
        ty: Type,
        a: &Operand,
        b: &Operand,
    ) -> Decoded<(LaneFn, [Reg; 4])> {
        let f: LaneFn = match ty {
            Type::F32 if ftz => |registers, op, mask| {
                any_float::<f32>(
                    |a, b, how| compare(flush(a, true), flush(b, true), how),
                    registers,
                    op,
                    mask,
                );
            },
            Type::F32 => by_value!(how; Compare: Eq, Lt, Le, Gt, Ge, Neu; HOW => {
                lane2(|a: f32, b: f32| compare(a, b, HOW))
            } else |registers, op, mask| any_float::<f32>(compare, registers, op, mask)),
            Type::F64 if !ftz => {
                |registers, op, mask| any_float::<f64>(compare, registers, op, mask)
            }
            _ if ftz => return Err(Refusal::NotModelled),
            Type::B16 | Type::U16 => integers!(u16, how),
            Type::B32 | Type::U32 => integers!(u32, how),
            Type::B64 | Type::U64 => integers!(u64, how),
            Type::S16 => integers!(i16, how),
            Type::S32 => integers!(i32, how),
            Type::S64 => integers!(i64, how),
            _ => return Err(Refusal::NotModelled),
        };
        let [a, b] = match ty {
            Type::F32 => [self.source::<f32>(a)?, self.source::<f32>(b)?],
            Type::F64 => [self.source::<f64>(a)?, self.source::<f64>(b)?],
            _ => match ty.bits() {
                16 => [self.source::<u16>(a)?, self.source::<u16>(b)?],
                32 => [self.source::<u32>(a)?, self.source::<u32>(b)?],
                _ => [self.source::<u64>(a)?, self.source::<u64>(b)?],
            },
        };
        Ok((f, [a, b, how as u32, NONE]))
    }

    /// `set`: all ones, or one, where the comparison holds.
    pub(super) fn set(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let how = mods.need(&COMPARISONS)?;
        let combine = mods.one_of(&COMBINATIONS);
        let ftz = mods.flag("ftz");
        let (to, ty) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        let (d, a, b, with) = operands(instruction, combine)?;
        let mut results = vec![if is_pair(ty) {
            self.half_comparison(guard, (how, ftz, ty), a, b, 0)?
        } else {
            self.compared(guard, (how, ftz, ty), a, b)?
        }];
        if is_pair(ty) {
            results.push(self.half_comparison(guard, (how, ftz, ty), a, b, 16)?);
        }
        if let Some((c, combine)) = with {
            let c = self.source::<bool>(c)?;
            for &result in &results {
                self.lane(
                    guard,
                    combined(combine, false),
                    result,
                    [result, c, NONE, NONE],
                );
            }
        }
        let (narrow, f) = match (to, is_pair(ty)) {
            (Type::U32 | Type::S32, false) => {
                (false, lane1(|a: bool| if a { u32::MAX } else { 0 }))
            }
            (Type::F32, false) => (false, lane1(|a: bool| if a { 1.0f32 } else { 0.0 })),
            (Type::U16 | Type::S16, false) => (true, lane1(|a: bool| if a { u16::MAX } else { 0 })),
            (Type::F16, false) => (true, lane1(|a: bool| if a { 0x3c00u16 } else { 0 })),
            (Type::BF16, false) => (true, lane1(|a: bool| if a { 0x3f80u16 } else { 0 })),
            (Type::U32 | Type::S32, true) => {
                (false, lane2(|a: bool, b: bool| halves(a, b, 0xffff)))
            }
            (Type::F16x2, true) => (false, lane2(|a: bool, b: bool| halves(a, b, 0x3c00))),
            (Type::BF16x2, true) => (false, lane2(|a: bool, b: bool| halves(a, b, 0x3f80))),
            _ => return Err(Refusal::NotModelled),
        };
        let d = if narrow {
            self.destination::<u16>(d)?
        } else {
            self.destination::<u32>(d)?
        };
        let high = results.get(1).copied().unwrap_or(NONE);
        self.lane(guard, f, d, [results[0], high, NONE, NONE]);
        Ok(())
    }

    /// `slct`: by the sign of a third operand.
    pub(super) fn slct(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let ftz = mods.flag("ftz");
        let (ty, by) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        let f = match (ty.bits(), by) {
            (16, Type::S32) => lane3(|a: u16, b: u16, c: i32| if c >= 0 { a } else { b }),
            (32, Type::S32) => lane3(|a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
            (64, Type::S32) => lane3(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
            // A subnormal negative number counts as zero when it is flushed.
            (16, Type::F32) => {
                by_flag!(ftz; FTZ => lane3(|a: u16, b: u16, c: f32| if flush(c, FTZ) >= 0.0 { a } else { b }))
            }
            (32, Type::F32) => {
                by_flag!(ftz; FTZ => lane3(|a: u32, b: u32, c: f32| if flush(c, FTZ) >= 0.0 { a } else { b }))
            }
            (64, Type::F32) => {
                by_flag!(ftz; FTZ => lane3(|a: u64, b: u64, c: f32| if flush(c, FTZ) >= 0.0 { a } else { b }))
            }
            _ => return Err(Refusal::NotModelled),
        };
        by_type!(unsigned(ty); U16 => u16, U32 => u32, F32 => f32, U64 => u64, F64 => f64; T => match by {
            Type::S32 if !ftz => self.op3::<T, T, T, i32>(guard, operands, f),
            Type::F32 => self.op3::<T, T, T, f32>(guard, operands, f),
            _ => Err(Refusal::NotModelled),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_found_where_its_number_says() {
        for (index, how) in COMPARE.iter().enumerate() {
            assert_eq!(*how as usize, index);
        }
    }
}
