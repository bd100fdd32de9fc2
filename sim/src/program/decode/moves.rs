//! `mov`, `cvta`, `isspacep`, `selp`: values that go somewhere unchanged.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::operand::Typed;
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::{lane1, lane2, lane3, lane4};
use crate::memory::window;
use crate::program::op::{Clock, LaneFn, NONE, Op, Space};

impl<'m> Decoder<'m> {
    pub(super) fn mov(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        match (d, a) {
            (Operand::Vector(parts), _) => return self.unpack(guard, ty, parts, a),
            (_, Operand::Vector(parts)) => return self.pack(guard, ty, d, parts),
            (
                _,
                Operand::Name {
                    name,
                    component: None,
                },
            ) => {
                if let Some(clock) = clock(name) {
                    let d = match clock {
                        Clock::Cycles | Clock::Nanoseconds => self.destination::<u64>(d)?,
                        _ => self.destination::<u32>(d)?,
                    };
                    self.push(guard, Op::Clock { d, clock });
                    return Ok(());
                }
            }
            _ => {}
        }
        match ty {
            Type::Pred => self.op1::<bool, bool>(guard, d, a, lane1(|a: bool| a)),
            Type::F32 => self.op1::<f32, f32>(guard, d, a, lane1(|a: u32| a)),
            Type::F64 => self.op1::<f64, f64>(guard, d, a, lane1(|a: u64| a)),
            Type::B128 => {
                let (Type::B128, d) = self.register(d)? else {
                    return Err(Refusal::NotModelled);
                };
                let (Type::B128, a) = self.register(a)? else {
                    return Err(Refusal::NotModelled);
                };
                for half in 0..2 {
                    self.lane(
                        guard,
                        lane1(|a: u64| a),
                        d + half,
                        [a + half, NONE, NONE, NONE],
                    );
                }
                Ok(())
            }
            _ => match ty.bits() {
                16 => self.op1::<u16, u16>(guard, d, a, lane1(|a: u16| a)),
                32 => self.op1::<u32, u32>(guard, d, a, lane1(|a: u32| a)),
                64 => self.op1::<u64, u64>(guard, d, a, lane1(|a: u64| a)),
                _ => Err(Refusal::NotModelled),
            },
        }
    }

    /// `mov.b64 {a, b}, c`: the parts of a value, lowest first.
    fn unpack(&mut self, guard: Guard, ty: Type, parts: &[Operand], from: &Operand) -> Decoded {
        if ty == Type::B128 {
            let (Type::B128, from) = self.register(from)? else {
                return Err(Refusal::NotModelled);
            };
            for (half, part) in parts.iter().enumerate().take(2) {
                let d = self.destination::<u64>(part)?;
                self.lane(
                    guard,
                    lane1(|a: u64| a),
                    d,
                    [from + half as u32, NONE, NONE, NONE],
                );
            }
            return Ok(());
        }
        let pick: &[LaneFn] = match (ty.bits(), parts.len()) {
            (64, 2) => &[lane1(|a: u64| a as u32), lane1(|a: u64| (a >> 32) as u32)],
            (64, 4) => &[
                lane1(|a: u64| a as u16),
                lane1(|a: u64| (a >> 16) as u16),
                lane1(|a: u64| (a >> 32) as u16),
                lane1(|a: u64| (a >> 48) as u16),
            ],
            (32, 2) => &[lane1(|a: u32| a as u16), lane1(|a: u32| (a >> 16) as u16)],
            (32, 4) => &[
                lane1(|a: u32| a as u8),
                lane1(|a: u32| (a >> 8) as u8),
                lane1(|a: u32| (a >> 16) as u8),
                lane1(|a: u32| (a >> 24) as u8),
            ],
            (16, 2) => &[lane1(|a: u16| a as u8), lane1(|a: u16| (a >> 8) as u8)],
            _ => return Err(Refusal::NotModelled),
        };
        let from = if ty.bits() == 64 {
            self.source::<u64>(from)?
        } else {
            self.source::<u32>(from)?
        };
        for (part, &f) in parts.iter().zip(pick) {
            if *part == Operand::Sink {
                continue;
            }
            let d = match ty.bits() / parts.len() as u32 {
                32 => self.destination::<u32>(part)?,
                16 => self.destination::<u16>(part)?,
                _ => self.destination::<u8>(part)?,
            };
            self.lane(guard, f, d, [from, NONE, NONE, NONE]);
        }
        Ok(())
    }

    /// `mov.b64 a, {b, c}`.
    fn pack(&mut self, guard: Guard, ty: Type, into: &Operand, parts: &[Operand]) -> Decoded {
        if ty == Type::B128 {
            let (Type::B128, into) = self.register(into)? else {
                return Err(Refusal::NotModelled);
            };
            for (half, part) in parts.iter().enumerate().take(2) {
                let a = self.source::<u64>(part)?;
                self.lane(
                    guard,
                    lane1(|a: u64| a),
                    into + half as u32,
                    [a, NONE, NONE, NONE],
                );
            }
            return Ok(());
        }
        let f = match (ty.bits(), parts.len()) {
            (64, 2) => lane2(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32),
            (64, 4) => lane4(|a: u16, b: u16, c: u16, d: u16| {
                u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
            }),
            (32, 2) => lane2(|a: u16, b: u16| u32::from(a) | u32::from(b) << 16),
            (32, 4) => lane4(|a: u8, b: u8, c: u8, d: u8| u32::from_le_bytes([a, b, c, d])),
            (16, 2) => lane2(|a: u8, b: u8| u16::from_le_bytes([a, b])),
            _ => return Err(Refusal::NotModelled),
        };
        let mut sources = [NONE; 4];
        for (source, part) in sources.iter_mut().zip(parts) {
            *source = match ty.bits() / parts.len() as u32 {
                32 => self.source::<u32>(part)?,
                16 => self.source::<u16>(part)?,
                _ => self.source::<u8>(part)?,
            };
        }
        let d = match ty.bits() {
            64 => self.destination::<u64>(into)?,
            32 => self.destination::<u32>(into)?,
            _ => self.destination::<u16>(into)?,
        };
        self.lane(guard, f, d, sources);
        Ok(())
    }

    /// `cvta`: between a space's own addresses and generic ones.
    pub(super) fn cvta(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let to = mods.flag("to");
        let space = mods.maybe_space().ok_or(Refusal::NotModelled)?;
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        if ty.bits() != 64 {
            return Err(Refusal::NotModelled);
        }
        let f = match (space, to) {
            (Space::Global, _) => lane1(|a: u64| a),
            (Space::Shared | Space::Cluster, false) => {
                lane1(|a: u64| a.wrapping_add(window::SHARED))
            }
            (Space::Shared | Space::Cluster, true) => {
                lane1(|a: u64| a.wrapping_sub(window::SHARED))
            }
            (Space::Local, false) => lane1(|a: u64| a.wrapping_add(window::LOCAL)),
            (Space::Local, true) => lane1(|a: u64| a.wrapping_sub(window::LOCAL)),
            (Space::Const, false) => lane1(|a: u64| a.wrapping_add(window::CONST)),
            (Space::Const, true) => lane1(|a: u64| a.wrapping_sub(window::CONST)),
            (Space::Param, false) => lane1(|a: u64| a.wrapping_add(window::PARAM)),
            (Space::Param, true) => lane1(|a: u64| a.wrapping_sub(window::PARAM)),
            (Space::Generic, _) => return Err(Refusal::NotModelled),
        };
        self.op1::<u64, u64>(guard, d, a, f)
    }

    /// `isspacep`: whether a generic address is in a window.
    pub(super) fn isspacep(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let space = mods.maybe_space().ok_or(Refusal::NotModelled)?;
        mods.finish()?;
        let [d, a] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        let f = match space {
            Space::Global => lane1(|a: u64| a < window::SHARED),
            Space::Shared => lane1(|a: u64| a.wrapping_sub(window::SHARED) < window::SHARED_STRIDE),
            Space::Cluster => lane1(|a: u64| (window::SHARED..window::LOCAL).contains(&a)),
            Space::Local => lane1(|a: u64| (window::LOCAL..window::CONST).contains(&a)),
            Space::Const => lane1(|a: u64| (window::CONST..window::PARAM).contains(&a)),
            Space::Param => lane1(|a: u64| (window::PARAM..window::CODE).contains(&a)),
            Space::Generic => return Err(Refusal::NotModelled),
        };
        self.op1::<bool, u64>(guard, d, a, f)
    }

    /// `mapa`, `getctarank`: addresses in the shared memory of another block of the cluster.
    pub(super) fn cluster_address(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let space = mods.space();
        let ty = mods.ty()?;
        mods.finish()?;
        if !matches!(space, Space::Generic | Space::Cluster) || !matches!(ty.bits(), 32 | 64) {
            return Err(Refusal::NotModelled);
        }
        let wide = ty.bits() == 64;
        const STRIDE: u64 = window::SHARED_STRIDE;
        match (instruction.opcode.as_str(), instruction.operands.as_slice()) {
            // A generic address keeps its window; one of the cluster's window is only that.
            ("mapa", operands) if wide => {
                let f = lane2(|a: u64, rank: u32| {
                    (a & !((0xff * STRIDE) | (STRIDE - 1)))
                        | ((u64::from(rank) + 1) * STRIDE)
                        | (a & (STRIDE - 1))
                });
                self.op2::<u64, u64, u32>(guard, operands, f)
            }
            ("mapa", operands) => {
                let f = lane2(|a: u32, rank: u32| {
                    ((rank + 1) * STRIDE as u32) | (a & (STRIDE as u32 - 1))
                });
                self.op2::<u32, u32, u32>(guard, operands, f)
            }
            ("getctarank", [d, a]) => {
                let own = self.own_rank();
                let d = self.destination::<u32>(d)?;
                let (a, f) = if wide {
                    let f = lane2(|a: u64, own: u32| {
                        (((a / STRIDE) & 0xff) as u32).checked_sub(1).unwrap_or(own)
                    });
                    (self.source::<u64>(a)?, f)
                } else {
                    let f =
                        lane2(|a: u32, own: u32| (a / STRIDE as u32).checked_sub(1).unwrap_or(own));
                    (self.source::<u32>(a)?, f)
                };
                self.lane(guard, f, d, [a, own, NONE, NONE]);
                Ok(())
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `selp`.
    pub(super) fn selp(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let ty = mods.ty()?;
        mods.finish()?;
        let operands = instruction.operands.as_slice();
        match ty {
            Type::F32 => self.op3::<f32, f32, f32, bool>(
                guard,
                operands,
                lane3(|a: u32, b: u32, c: bool| if c { a } else { b }),
            ),
            Type::F64 => self.op3::<f64, f64, f64, bool>(
                guard,
                operands,
                lane3(|a: u64, b: u64, c: bool| if c { a } else { b }),
            ),
            _ => match ty.bits() {
                16 => self.op3::<u16, u16, u16, bool>(
                    guard,
                    operands,
                    lane3(|a: u16, b: u16, c: bool| if c { a } else { b }),
                ),
                32 => self.op3::<u32, u32, u32, bool>(
                    guard,
                    operands,
                    lane3(|a: u32, b: u32, c: bool| if c { a } else { b }),
                ),
                64 => self.op3::<u64, u64, u64, bool>(
                    guard,
                    operands,
                    lane3(|a: u64, b: u64, c: bool| if c { a } else { b }),
                ),
                _ => Err(Refusal::NotModelled),
            },
        }
    }

    /// Emits `f` with operands of these types.
    pub(super) fn op1<D: Typed, A: Typed>(
        &mut self,
        guard: Guard,
        d: &Operand,
        a: &Operand,
        f: LaneFn,
    ) -> Decoded {
        let a = self.source::<A>(a)?;
        let d = self.destination::<D>(d)?;
        self.lane(guard, f, d, [a, NONE, NONE, NONE]);
        Ok(())
    }

    /// Emits `f` with operands of these types.
    pub(super) fn op2<D: Typed, A: Typed, B: Typed>(
        &mut self,
        guard: Guard,
        operands: &[Operand],
        f: LaneFn,
    ) -> Decoded {
        let [d, a, b] = operands else {
            return Err(Refusal::NotModelled);
        };
        let sources = [self.source::<A>(a)?, self.source::<B>(b)?, NONE, NONE];
        let d = self.destination::<D>(d)?;
        self.lane(guard, f, d, sources);
        Ok(())
    }

    /// Emits `f` with operands of these types.
    pub(super) fn op3<D: Typed, A: Typed, B: Typed, C: Typed>(
        &mut self,
        guard: Guard,
        operands: &[Operand],
        f: LaneFn,
    ) -> Decoded {
        let [d, a, b, c] = operands else {
            return Err(Refusal::NotModelled);
        };
        let sources = [
            self.source::<A>(a)?,
            self.source::<B>(b)?,
            self.source::<C>(c)?,
            NONE,
        ];
        let d = self.destination::<D>(d)?;
        self.lane(guard, f, d, sources);
        Ok(())
    }

    /// Whether a name is declared as a register.
    pub(super) fn is_register(&mut self, operand: &Operand) -> bool {
        self.register(operand).is_ok()
    }
}

fn clock(name: &str) -> Option<Clock> {
    Some(match name {
        "%clock" => Clock::Low,
        "%clock_hi" => Clock::High,
        "%clock64" => Clock::Cycles,
        "%globaltimer" => Clock::Nanoseconds,
        "%globaltimer_lo" => Clock::NanosecondsLow,
        "%globaltimer_hi" => Clock::NanosecondsHigh,
        _ => return None,
    })
}
