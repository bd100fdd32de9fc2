//! Integer arithmetic.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::choose::{by_flag, by_type, by_value};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{File, lane1, lane2, lane3, lane4};
use crate::program::op::NONE;
use crate::scalar::integer::{self, Integer, Permute};

/// Which part of a product is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Low,
    High,
    Wide,
}

const PARTS: [(&str, Part); 3] = [("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)];

/// Whether a type is one of float arithmetic.
pub(super) fn is_float(ty: Type) -> bool {
    matches!(
        ty,
        Type::F16 | Type::F16x2 | Type::BF16 | Type::BF16x2 | Type::F32 | Type::F32x2 | Type::F64
    )
}

/// The unsigned type of the same width, for what does not depend on the sign.
pub(super) fn unsigned(ty: Type) -> Type {
    match ty {
        Type::S16 | Type::B16 => Type::U16,
        Type::S32 | Type::B32 => Type::U32,
        Type::S64 | Type::B64 => Type::U64,
        other => other,
    }
}

impl<'m> Decoder<'m> {
    /// `add`, `sub`, `min`, `max` of integers.
    pub(super) fn integer_pair(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let sat = mods.flag("sat");
        let relu = mods.flag("relu");
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        let opcode = instruction.opcode.as_str();
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            return self.integer_halves(opcode, ty, sat, relu, guard, operands);
        }
        if sat && (ty != Type::S32 || !matches!(opcode, "add" | "sub")) || relu && ty != Type::S32 {
            return Err(Refusal::NotModelled);
        }
        let sums = matches!(opcode, "add" | "sub");
        let f = match opcode {
            "add" if sat => lane2(|a: i32, b: i32| a.saturating_add(b)),
            "sub" if sat => lane2(|a: i32, b: i32| a.saturating_sub(b)),
            "min" if relu => lane2(|a: i32, b: i32| a.min(b).max(0)),
            "max" if relu => lane2(|a: i32, b: i32| a.max(b).max(0)),
            "add" => {
                by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => lane2(|a: T, b: T| a.wrapping_add(b)))
            }
            "sub" => {
                by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => lane2(|a: T, b: T| a.wrapping_sub(b)))
            }
            "min" => {
                by_type!(ty; U16 => u16, U32 => u32, U64 => u64, S16 => i16, S32 => i32, S64 => i64; T => {
                    lane2(|a: T, b: T| a.min(b))
                })
            }
            "max" => {
                by_type!(ty; U16 => u16, U32 => u32, U64 => u64, S16 => i16, S32 => i32, S64 => i64; T => {
                    lane2(|a: T, b: T| a.max(b))
                })
            }
            _ => return Err(Refusal::NotModelled),
        };
        if sums && matches!(ty, Type::B16 | Type::B32 | Type::B64) {
            return Err(Refusal::NotModelled);
        }
        by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => self.op2::<T, T, T>(guard, operands, f))
    }

    /// The same for two halves in one register.
    fn integer_halves(
        &mut self,
        opcode: &str,
        ty: Type,
        sat: bool,
        relu: bool,
        guard: Guard,
        operands: &[Operand],
    ) -> Decoded {
        fn halves<T: Integer>(a: u32, b: u32, f: impl Fn(T, T) -> T) -> u32 {
            let half = |at: u32| {
                let of = |word: u32| T::low(((word >> at) as i16).into());
                (f(of(a), of(b)).wide() as u16 as u32) << at
            };
            half(0) | half(16)
        }
        let f = match (opcode, ty == Type::S16x2) {
            _ if sat => return Err(Refusal::NotModelled),
            ("add", false) if !relu => lane2(|a: u32, b: u32| halves(a, b, u16::wrapping_add)),
            ("add", true) if !relu => lane2(|a: u32, b: u32| halves(a, b, i16::wrapping_add)),
            ("min", false) if !relu => lane2(|a: u32, b: u32| halves(a, b, u16::min)),
            ("max", false) if !relu => lane2(|a: u32, b: u32| halves(a, b, u16::max)),
            ("min", true) => by_flag!(relu; RELU => lane2(|a: u32, b: u32| {
                halves(a, b, |a: i16, b: i16| if RELU { a.min(b).max(0) } else { a.min(b) })
            })),
            ("max", true) => by_flag!(relu; RELU => lane2(|a: u32, b: u32| {
                halves(a, b, |a: i16, b: i16| if RELU { a.max(b).max(0) } else { a.max(b) })
            })),
            _ => return Err(Refusal::NotModelled),
        };
        self.op2::<u32, u32, u32>(guard, operands, f)
    }

    /// `mul`, `mad`, `mul24`, `mad24` of integers.
    pub(super) fn integer_product(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let part = mods.need(&PARTS)?;
        let sat = mods.flag("sat");
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        match instruction.opcode.as_str() {
            "mul" if !sat => self.multiply(part, ty, guard, operands),
            "mad" => self.multiply_add(part, ty, sat, guard, operands),
            "mul24" if !sat && part != Part::Wide => {
                by_type!(ty; U32 => u32, S32 => i32; T => by_flag!(part == Part::High; HIGH => {
                    self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| integer::mul24(a, b, HIGH)))
                }))
            }
            "mad24" if part != Part::Wide => {
                if sat && (part, ty) != (Part::High, Type::S32) {
                    return Err(Refusal::NotModelled);
                }
                by_type!(ty; U32 => u32, S32 => i32; T => by_flag!(part == Part::High, sat; HIGH, SAT => {
                    self.op3::<T, T, T, T>(guard, operands, lane3(|a: T, b: T, c: T| {
                        let sum = integer::mul24(a, b, HIGH).wide() + c.wide();
                        if SAT { T::saturate(sum) } else { T::low(sum) }
                    }))
                }))
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    fn multiply(&mut self, part: Part, ty: Type, guard: Guard, operands: &[Operand]) -> Decoded {
        match (part, ty) {
            (Part::Wide, Type::U16) => self.op2::<u32, u16, u16>(
                guard,
                operands,
                lane2(|a: u16, b: u16| u32::from(a) * u32::from(b)),
            ),
            (Part::Wide, Type::S16) => self.op2::<i32, i16, i16>(
                guard,
                operands,
                lane2(|a: i16, b: i16| i32::from(a) * i32::from(b)),
            ),
            (Part::Wide, Type::U32) => self.op2::<u64, u32, u32>(
                guard,
                operands,
                lane2(|a: u32, b: u32| u64::from(a) * u64::from(b)),
            ),
            (Part::Wide, Type::S32) => self.op2::<i64, i32, i32>(
                guard,
                operands,
                lane2(|a: i32, b: i32| i64::from(a) * i64::from(b)),
            ),
            (Part::High, Type::U32) => self.op2::<u32, u32, u32>(
                guard,
                operands,
                lane2(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32),
            ),
            (Part::High, Type::S32) => self.op2::<i32, i32, i32>(
                guard,
                operands,
                lane2(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32),
            ),
            (Part::Low, _) => {
                by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => {
                    self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| a.wrapping_mul(b)))
                })
            }
            (Part::High, _) => by_type!(ty; U16 => u16, S16 => i16, U64 => u64, S64 => i64; T => {
                self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| integer::mul_hi(a, b)))
            }),
            _ => Err(Refusal::NotModelled),
        }
    }

    fn multiply_add(
        &mut self,
        part: Part,
        ty: Type,
        sat: bool,
        guard: Guard,
        operands: &[Operand],
    ) -> Decoded {
        if sat {
            if (part, ty) != (Part::High, Type::S32) {
                return Err(Refusal::NotModelled);
            }
            let f = lane3(|a: i32, b: i32, c: i32| {
                (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)
            });
            return self.op3::<i32, i32, i32, i32>(guard, operands, f);
        }
        match (part, ty) {
            (Part::Wide, Type::U16) => self.op3::<u32, u16, u16, u32>(
                guard,
                operands,
                lane3(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)),
            ),
            (Part::Wide, Type::S16) => self.op3::<i32, i16, i16, i32>(
                guard,
                operands,
                lane3(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)),
            ),
            (Part::Wide, Type::U32) => self.op3::<u64, u32, u32, u64>(
                guard,
                operands,
                lane3(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)),
            ),
            (Part::Wide, Type::S32) => self.op3::<i64, i32, i32, i64>(
                guard,
                operands,
                lane3(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)),
            ),
            (Part::Low, _) => {
                by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => {
                    self.op3::<T, T, T, T>(guard, operands, lane3(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
                })
            }
            (Part::High, _) => {
                by_type!(ty; U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                    self.op3::<T, T, T, T>(guard, operands, lane3(|a: T, b: T, c: T| integer::mul_hi(a, b).wrapping_add(c)))
                })
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `div`, `rem`, `sad`, `abs`, `neg` of integers.
    pub(super) fn integer_other(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        match (instruction.opcode.as_str(), operands) {
            ("div", _) => {
                by_type!(ty; U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                    self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| integer::div(a, b)))
                })
            }
            ("rem", _) => {
                by_type!(ty; U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                    self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| integer::rem(a, b)))
                })
            }
            ("sad", _) => {
                by_type!(ty; U16 => u16, S16 => i16, U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                    self.op3::<T, T, T, T>(guard, operands, lane3(|a: T, b: T, c: T| {
                        c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
                    }))
                })
            }
            ("abs", [d, a]) => by_type!(ty; S16 => i16, S32 => i32, S64 => i64; T => {
                self.op1::<T, T>(guard, d, a, lane1(|a: T| a.wrapping_abs()))
            }),
            ("neg", [d, a]) => by_type!(ty; S16 => i16, S32 => i32, S64 => i64; T => {
                self.op1::<T, T>(guard, d, a, lane1(|a: T| a.wrapping_neg()))
            }),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `popc`, `clz`, `bfind`, `fns`, `brev`, `bfe`, `bfi`, `szext`, `bmsk`.
    pub(super) fn bits(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let shift_amount = mods.flag("shiftamt");
        let clamp = mods
            .one_of(&[("clamp", true), ("wrap", false)])
            .unwrap_or(false);
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        match (instruction.opcode.as_str(), operands) {
            ("popc", [d, a]) => by_type!(ty; B32 => u32, B64 => u64; T => {
                self.op1::<u32, T>(guard, d, a, lane1(|a: T| a.count_ones()))
            }),
            ("clz", [d, a]) => by_type!(ty; B32 => u32, B64 => u64; T => {
                self.op1::<u32, T>(guard, d, a, lane1(|a: T| a.leading_zeros()))
            }),
            ("bfind", [d, a]) => {
                by_type!(ty; U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                    by_flag!(shift_amount; AMOUNT => {
                        self.op1::<u32, T>(guard, d, a, lane1(|a: T| integer::find_leading(a, AMOUNT)))
                    })
                })
            }
            ("fns", _) => self.op3::<u32, u32, u32, i32>(
                guard,
                operands,
                lane3(|mask: u32, base: u32, offset: i32| {
                    integer::find_nth_set(mask, base, offset)
                }),
            ),
            ("brev", [d, a]) => by_type!(ty; B32 => u32, B64 => u64; T => {
                self.op1::<T, T>(guard, d, a, lane1(|a: T| a.reverse_bits()))
            }),
            ("bfe", _) => by_type!(ty; U32 => u32, S32 => i32, U64 => u64, S64 => i64; T => {
                self.op3::<T, T, u32, u32>(guard, operands, lane3(|a: T, start: u32, len: u32| {
                    integer::bit_field_extract(a, start, len)
                }))
            }),
            ("bfi", [d, a, b, start, len]) => by_type!(ty; B32 => u32, B64 => u64; T => {
                let sources = [
                    self.source::<T>(a)?,
                    self.source::<T>(b)?,
                    self.source::<u32>(start)?,
                    self.source::<u32>(len)?,
                ];
                let d = self.destination::<T>(d)?;
                let f = lane4(|a: T, b: T, start: u32, len: u32| {
                    integer::bit_field_insert(a, b, start, len)
                });
                self.lane(guard, f, d, sources);
                Ok(())
            }),
            ("szext", _) => by_flag!(ty == Type::S32, clamp; SIGNED, CLAMP => {
                self.op2::<u32, u32, u32>(guard, operands, lane2(|a: u32, bits: u32| integer::extend(a, bits, SIGNED, CLAMP)))
            }),
            ("bmsk", _) => by_flag!(clamp; CLAMP => {
                self.op2::<u32, u32, u32>(guard, operands, lane2(|a: u32, b: u32| integer::bit_mask(a, b, CLAMP)))
            }),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `and`, `or`, `xor`, `not`, `cnot`, `shl`, `shr`, `shf`, `lop3`.
    pub(super) fn logic(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        match instruction.opcode.as_str() {
            "shf" => return self.funnel(guard, operands, mods),
            "lop3" => return self.lop3(guard, operands, mods),
            _ => {}
        }
        let ty = mods.ty()?;
        mods.finish()?;
        match (instruction.opcode.as_str(), operands) {
            ("and", _) => by_type!(ty; Pred => bool, B16 => u16, B32 => u32, B64 => u64; T => {
                self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| a & b))
            }),
            ("or", _) => by_type!(ty; Pred => bool, B16 => u16, B32 => u32, B64 => u64; T => {
                self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| a | b))
            }),
            ("xor", _) => by_type!(ty; Pred => bool, B16 => u16, B32 => u32, B64 => u64; T => {
                self.op2::<T, T, T>(guard, operands, lane2(|a: T, b: T| a ^ b))
            }),
            ("not", [d, a]) => {
                by_type!(ty; Pred => bool, B16 => u16, B32 => u32, B64 => u64; T => {
                    self.op1::<T, T>(guard, d, a, lane1(|a: T| !a))
                })
            }
            ("cnot", [d, a]) => by_type!(ty; B16 => u16, B32 => u32, B64 => u64; T => {
                self.op1::<T, T>(guard, d, a, lane1(|a: T| T::from(a == 0)))
            }),
            ("shl", _) => by_type!(ty; B16 => u16, B32 => u32, B64 => u64; T => {
                self.op2::<T, T, u32>(guard, operands, lane2(|a: T, by: u32| if by >= T::BITS { 0 } else { a << by }))
            }),
            ("shr", _) => match ty {
                Type::S16 | Type::S32 | Type::S64 => {
                    by_type!(ty; S16 => i16, S32 => i32, S64 => i64; T => {
                        self.op2::<T, T, u32>(guard, operands, lane2(|a: T, by: u32| a >> by.min(T::BITS - 1)))
                    })
                }
                _ => by_type!(unsigned(ty); U16 => u16, U32 => u32, U64 => u64; T => {
                    self.op2::<T, T, u32>(guard, operands, lane2(|a: T, by: u32| if by >= T::BITS { 0 } else { a >> by }))
                }),
            },
            _ => Err(Refusal::NotModelled),
        }
    }

    fn funnel(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let left = mods.need(&[("l", true), ("r", false)])?;
        let clamp = mods.need(&[("clamp", true), ("wrap", false)])?;
        if mods.ty()? != Type::B32 {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let f = by_flag!(clamp; CLAMP => {
            if left {
                lane3(|low: u32, high: u32, by: u32| integer::funnel_left(low, high, by, CLAMP))
            } else {
                lane3(|low: u32, high: u32, by: u32| integer::funnel_right(low, high, by, CLAMP))
            }
        });
        self.op3::<u32, u32, u32, u32>(guard, operands, f)
    }

    fn lop3(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        let combine = mods.one_of(&[("and", true), ("or", false)]);
        if mods.ty()? != Type::B32 {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let f = lane4(integer::logic3);
        match (combine, operands) {
            (None, [d, a, b, c, table]) => {
                let sources = [
                    self.source::<u32>(a)?,
                    self.source::<u32>(b)?,
                    self.source::<u32>(c)?,
                    self.source::<u32>(table)?,
                ];
                let d = self.destination::<u32>(d)?;
                self.lane(guard, f, d, sources);
                Ok(())
            }
            // `lop3.or.b32 d|p, a, b, c, table, q`: whether the result is not zero, combined with a predicate.
            (Some(and), [Operand::Pair(d, p), a, b, c, table, q]) => {
                let sources = [
                    self.source::<u32>(a)?,
                    self.source::<u32>(b)?,
                    self.source::<u32>(c)?,
                    self.source::<u32>(table)?,
                ];
                let q = self.source::<bool>(q)?;
                let d = self.destination::<u32>(d)?;
                let p = self.destination::<bool>(p)?;
                // The result goes to a register of its own first, which the destination's old lanes cannot disturb.
                let whole = self.new_registers(File::R32, 1);
                self.lane(guard, f, whole, sources);
                let combined = if and {
                    lane2(|a: u32, q: bool| (a != 0) & q)
                } else {
                    lane2(|a: u32, q: bool| (a != 0) | q)
                };
                self.lane(guard, combined, p, [whole, q, NONE, NONE]);
                self.lane(guard, lane1(|a: u32| a), d, [whole, NONE, NONE, NONE]);
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `prmt`, `dp4a`, `dp2a`, `vabsdiff4`.
    pub(super) fn bytes(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        match instruction.opcode.as_str() {
            "prmt" => {
                if mods.ty()? != Type::B32 {
                    return Err(Refusal::NotModelled);
                }
                let mode = mods
                    .one_of(&[
                        ("f4e", Permute::ForwardFour),
                        ("b4e", Permute::BackwardFour),
                        ("rc8", Permute::ReplicateByte),
                        ("ecl", Permute::EdgeLeft),
                        ("ecr", Permute::EdgeRight),
                        ("rc16", Permute::ReplicateHalf),
                    ])
                    .unwrap_or(Permute::Generic);
                mods.finish()?;
                let f = by_value!(mode; Permute: Generic, ForwardFour, BackwardFour, ReplicateByte, EdgeLeft, EdgeRight, ReplicateHalf; MODE => {
                    lane3(|a: u32, b: u32, s: u32| integer::permute(a, b, s, MODE))
                });
                self.op3::<u32, u32, u32, u32>(guard, operands, f)
            }
            "vabsdiff4" => {
                let signed = mods.ty()? == Type::S32;
                let signs = (mods.ty()? == Type::S32, mods.ty()? == Type::S32);
                let (saturate, add) = (mods.flag("sat"), mods.flag("add"));
                mods.finish()?;
                let f = if add {
                    by_flag!(signs.0, signs.1; A, B => {
                        lane3(|a: u32, b: u32, c: u32| integer::absolute_differences(a, b, A, B).iter().fold(c, |sum, part| sum.wrapping_add(*part)))
                    })
                } else {
                    by_flag!(signs.0, signs.1; A, B => match (saturate, signed) {
                        (true, true) => lane3(|a: u32, b: u32, _: u32| u32::from_le_bytes(integer::absolute_differences(a, b, A, B).map(|part| part.min(0x7f) as u8))),
                        // A difference of bytes of unlike signs may take nine bits.
                        (true, false) => lane3(|a: u32, b: u32, _: u32| u32::from_le_bytes(integer::absolute_differences(a, b, A, B).map(|part| part.min(0xff) as u8))),
                        (false, _) => lane3(|a: u32, b: u32, _: u32| u32::from_le_bytes(integer::absolute_differences(a, b, A, B).map(|part| part as u8))),
                    })
                };
                self.op3::<u32, u32, u32, u32>(guard, operands, f)
            }
            "dp4a" => {
                let signs = (mods.ty()? == Type::S32, mods.ty()? == Type::S32);
                mods.finish()?;
                let f = by_flag!(signs.0, signs.1; A, B => lane3(|a: u32, b: u32, c: u32| integer::dot4(a, b, c, A, B)));
                self.op3::<u32, u32, u32, u32>(guard, operands, f)
            }
            _ => {
                let high = mods.need(&[("lo", false), ("hi", true)])?;
                let signs = (mods.ty()? == Type::S32, mods.ty()? == Type::S32);
                mods.finish()?;
                let f = by_flag!(signs.0, signs.1, high; A, B, HIGH => {
                    lane3(|a: u32, b: u32, c: u32| integer::dot2(a, b, c, (A, B), HIGH))
                });
                self.op3::<u32, u32, u32, u32>(guard, operands, f)
            }
        }
    }
}
