//! `cvt`, single and packed.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::names::file_of;
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{File, LANES, Lane, Registers, lane1};
use crate::program::op::{LaneFn, LaneOp, NONE};
use crate::scalar::convert::{Conversion, Kind, convert};
use crate::scalar::exact::Rounding;
use crate::scalar::float::flush;
use crate::scalar::small_float::half::Half;
use crate::scalar::small_float::{Bf16, F16};

fn kind(ty: Type) -> Decoded<Kind> {
    Ok(match ty {
        Type::U8 | Type::B8 => Kind::Integer(8, false),
        Type::U16 => Kind::Integer(16, false),
        Type::U32 => Kind::Integer(32, false),
        Type::U64 => Kind::Integer(64, false),
        Type::S8 => Kind::Integer(8, true),
        Type::S16 => Kind::Integer(16, true),
        Type::S32 => Kind::Integer(32, true),
        Type::S64 => Kind::Integer(64, true),
        Type::F16 => Kind::F16,
        Type::BF16 => Kind::Bf16,
        Type::F32 => Kind::F32,
        Type::F64 => Kind::F64,
        Type::TF32 => Kind::Tf32,
        _ => return Err(Refusal::NotModelled),
    })
}

/// Element kind of a packed type, and whether each element has eight bits.
fn packed(ty: Type) -> Option<Kind> {
    Some(match ty {
        Type::F16x2 => Kind::F16,
        Type::BF16x2 => Kind::Bf16,
        Type::E4M3x2 => Kind::E4M3,
        Type::E5M2x2 => Kind::E5M2,
        _ => return None,
    })
}

impl<'m> Decoder<'m> {
    pub(super) fn cvt(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        if mods.flag("pack") {
            return self.pack_integers(guard, operands, mods);
        }
        let integer_rounding = mods.integer_rounding();
        let rounding = mods.rounding();
        let mut how = Conversion {
            from: Kind::F32,
            to: Kind::F32,
            rounding: integer_rounding.or(rounding).unwrap_or(Rounding::Nearest),
            integral: integer_rounding.is_some(),
            ftz: mods.flag("ftz"),
            saturate: mods.flag("sat"),
            satfinite: mods.flag("satfinite"),
            relu: mods.flag("relu"),
        };
        let (to, from) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        if let Some(element) = packed(to) {
            return self.cvt_packed(guard, operands, how, element, from);
        }
        (how.from, how.to) = (kind(from)?, kind(to)?);
        if let (Some(_), Kind::Integer(..)) = (how.from.format(), how.to) {
            // A float becomes an integer only by a mode that says how.
            if integer_rounding.is_none() {
                return Err(Refusal::NotModelled);
            }
        }
        let [d, a] = operands else {
            return Err(Refusal::NotModelled);
        };
        let a = match how.from.bits() {
            8 if self.is_register(a) => {
                // Registers of eight bits are rare; the value is the low part of a larger one.
                let (declared, reg) = self.register(a)?;
                match file_of(declared) {
                    (File::R32, _) => reg,
                    _ => return Err(Refusal::NotModelled),
                }
            }
            8 => self.source::<u32>(a)?,
            16 => self.source::<u16>(a)?,
            32 if how.from == Kind::F32 => self.source::<f32>(a)?,
            32 => self.source::<u32>(a)?,
            _ if how.from == Kind::F64 => self.source::<f64>(a)?,
            _ => self.source::<u64>(a)?,
        };
        let (declared, d) = self.register(d)?;
        if declared.bits() < how.to.bits() {
            return Err(Refusal::NotModelled);
        }
        let f = match fast(&how, declared.bits()) {
            Some(f) => f,
            None => match (how.from.bits() == 64, file_of(declared)) {
                (false, (File::R32, _)) => general::<u32, u32>(),
                (false, (File::R64, 1)) => general::<u32, u64>(),
                (true, (File::R32, _)) => general::<u64, u32>(),
                (true, (File::R64, 1)) => general::<u64, u64>(),
                _ => return Err(Refusal::NotModelled),
            },
        };
        self.lane(guard, f, d, [a, how.pack(), declared.bits(), NONE]);
        Ok(())
    }

    /// Two values of one format into one register, or one register's two values into another's.
    fn cvt_packed(
        &mut self,
        guard: Guard,
        operands: &[Operand],
        mut how: Conversion,
        element: Kind,
        from: Type,
    ) -> Decoded {
        how.to = element;
        match (operands, packed(from)) {
            ([d, a, b], None) if from == Type::F32 => {
                how.from = Kind::F32;
                let sources = [
                    self.source::<f32>(a)?,
                    self.source::<f32>(b)?,
                    how.pack(),
                    NONE,
                ];
                let d = if element.bits() == 8 {
                    self.destination::<u16>(d)?
                } else {
                    self.destination::<u32>(d)?
                };
                let f: LaneFn = |registers: &mut Registers, op: &LaneOp, mask: u32| {
                    let how = Conversion::unpack(op.c);
                    let (a, b) = (registers.row32(op.a), registers.row32(op.b));
                    let values = std::array::from_fn(|lane| {
                        // The first source is the upper half.
                        let (high, low) =
                            (convert(a[lane].into(), &how), convert(b[lane].into(), &how));
                        (high << how.to.bits() | low) as u32
                    });
                    registers.set32(op.d, &values, mask);
                };
                self.lane(guard, f, d, sources);
                Ok(())
            }
            ([d, a], Some(source)) => {
                how.from = source;
                let a = if source.bits() == 8 {
                    self.source::<u16>(a)?
                } else {
                    self.source::<u32>(a)?
                };
                let d = if element.bits() == 8 {
                    self.destination::<u16>(d)?
                } else {
                    self.destination::<u32>(d)?
                };
                let f: LaneFn = |registers: &mut Registers, op: &LaneOp, mask: u32| {
                    let how = Conversion::unpack(op.b);
                    let (from, to) = (how.from.bits(), how.to.bits());
                    let part =
                        |word: u32, at: u32| u64::from(word) >> (at * from) & ((1 << from) - 1);
                    let values = registers.row32(op.a).map(|word| {
                        (convert(part(word, 1), &how) << to | convert(part(word, 0), &how)) as u32
                    });
                    registers.set32(op.d, &values, mask);
                };
                self.lane(guard, f, d, [a, how.pack(), NONE, NONE]);
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `cvt.pack.sat`: two integers, saturated, side by side; and what the register had before, moved up.
    fn pack_integers(
        &mut self,
        guard: Guard,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        if !mods.flag("sat") {
            return Err(Refusal::NotModelled);
        }
        let (to, from) = (mods.ty()?, mods.ty()?);
        let has_third = mods.maybe_ty() == Some(Type::B32);
        mods.finish()?;
        let Kind::Integer(bits, signed) = kind(to)? else {
            return Err(Refusal::NotModelled);
        };
        if from != Type::S32 || bits > 16 {
            return Err(Refusal::NotModelled);
        }
        let (d, a, b, c) = match (operands, has_third) {
            ([d, a, b], false) if bits == 16 => (d, a, b, None),
            ([d, a, b, c], true) if bits == 8 => (d, a, b, Some(c)),
            _ => return Err(Refusal::NotModelled),
        };
        let c = match c {
            Some(c) => self.source::<u32>(c)?,
            None => self.constant32(0),
        };
        let sources = [
            self.source::<i32>(a)?,
            self.source::<i32>(b)?,
            c,
            bits * 2 + u32::from(signed),
        ];
        let d = self.destination::<u32>(d)?;
        let f: LaneFn = |registers: &mut Registers, op: &LaneOp, mask: u32| {
            let (bits, signed) = (op.e / 2, op.e % 2 == 1);
            let (low, high) = if signed {
                (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
            } else {
                (0, (1i64 << bits) - 1)
            };
            let part =
                |word: u32| (i64::from(word as i32).clamp(low, high) as u32) & ((1 << bits) - 1);
            let (a, b, c) = (
                registers.row32(op.a),
                registers.row32(op.b),
                registers.row32(op.c),
            );
            let values = std::array::from_fn(|lane| {
                let pair = part(a[lane]) << bits | part(b[lane]);
                if bits == 8 {
                    c[lane] << 16 | pair
                } else {
                    pair
                }
            });
            registers.set32(op.d, &values, mask);
        };
        self.lane(guard, f, d, sources);
        Ok(())
    }
}

/// The conversions that kernels are full of, as vectorisable closures.
fn fast(how: &Conversion, declared: u32) -> Option<LaneFn> {
    use Kind::{Bf16 as BF16, F16 as HALF, F32, F64, Integer};
    let plain = !how.saturate && !how.satfinite && !how.relu;
    let nearest = how.rounding == Rounding::Nearest && !how.integral;
    Some(match (how.from, how.to) {
        (Integer(32, false), Integer(64, _)) if plain => lane1(|a: u32| u64::from(a)),
        (Integer(32, true), Integer(64, _)) if plain => lane1(|a: i32| i64::from(a)),
        (Integer(64, _), Integer(32, _)) if plain && declared == 32 => lane1(|a: u64| a as u32),
        (Integer(16, false), Integer(32, _)) if plain && declared == 32 => {
            lane1(|a: u16| u32::from(a))
        }
        (Integer(16, true), Integer(32, _)) if plain && declared == 32 => {
            lane1(|a: i16| i32::from(a))
        }
        (Integer(32, _), Integer(16, _)) if plain && declared == 16 => lane1(|a: u32| a as u16),
        (Integer(32, true), F32) if plain && nearest => lane1(|a: i32| a as f32),
        (Integer(32, false), F32) if plain && nearest => lane1(|a: u32| a as f32),
        (Integer(32, true), F64) if plain => lane1(|a: i32| f64::from(a)),
        (Integer(32, false), F64) if plain => lane1(|a: u32| f64::from(a)),
        (F32, Integer(32, true)) if how.rounding == Rounding::Zero && declared == 32 => {
            lane1(|a: f32| a as i32)
        }
        (F32, Integer(32, false)) if how.rounding == Rounding::Zero && declared == 32 => {
            lane1(|a: f32| a as u32)
        }
        (F32, F64) if plain && !how.integral => {
            if how.ftz {
                lane1(|a: f32| f64::from(flush(a, true)))
            } else {
                lane1(|a: f32| f64::from(a))
            }
        }
        (F64, F32) if plain && nearest && !how.ftz => {
            lane1(|a: f64| crate::scalar::float::canonical(a as f32))
        }
        (HALF, F32) if plain && !how.integral && !how.ftz => lane1(|a: u16| F16::value(a)),
        (BF16, F32) if plain && !how.integral && !how.ftz => lane1(|a: u16| Bf16::value(a)),
        (F32, HALF) if plain && nearest && !how.ftz => lane1(|a: f32| F16::nearest(a.into())),
        (F32, BF16) if plain && nearest && !how.ftz => lane1(|a: f32| Bf16::nearest(a.into())),
        _ => return None,
    })
}

/// Any conversion, between registers of these files.
fn general<A: Lane + Into<u64>, D: Lane + Narrow>() -> LaneFn {
    |registers: &mut Registers, op: &LaneOp, mask: u32| {
        let how = Conversion::unpack(op.b);
        let keep = if op.c >= 64 {
            u64::MAX
        } else {
            (1 << op.c) - 1
        };
        let low = if how.from.bits() >= 64 {
            u64::MAX
        } else {
            (1 << how.from.bits()) - 1
        };
        let values: [D; LANES] = {
            let a = A::open(registers, op.a);
            std::array::from_fn(|lane| {
                D::narrow(convert(A::get(&a, lane).into() & low, &how) & keep)
            })
        };
        D::write(registers, op.d, &values, mask);
    }
}

/// The low bits of a word.
trait Narrow {
    fn narrow(bits: u64) -> Self;
}

impl Narrow for u32 {
    fn narrow(bits: u64) -> Self {
        bits as u32
    }
}

impl Narrow for u64 {
    fn narrow(bits: u64) -> Self {
        bits
    }
}
