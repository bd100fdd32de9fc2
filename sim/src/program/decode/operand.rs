//! Operands as registers.
//!
//! Whatever an instruction reads is a register by the time it runs: literals, addresses of variables and special registers
//! are registers that are filled once, before a warp starts. Equal constants share one.

use std::collections::HashMap;

use nstage_ptx::ast::{self, AddressBase, Immediate, Operand, Type};

use super::names::{Binding, file_of, function_address};
use super::{CompileError, Decoded, Decoder, Guard, Refusal};
use crate::lanes::{File, Lane, lane1};
use crate::program::op::{Address, NONE, Op, Reg};
use crate::program::{ParamLoad, Special, layout};

/// Constants that exist already.
#[derive(Default)]
pub(super) struct Interned {
    r32: HashMap<u32, Reg>,
    r64: HashMap<u64, Reg>,
    pred: HashMap<bool, Reg>,
    globals: HashMap<(u32, i64), Reg>,
    specials: HashMap<Special, Reg>,
    params: HashMap<(u32, u32, bool, bool, u64), Reg>,
    /// Offsets into dynamic shared memory, whose start is not known yet.
    pub(super) dynamic32: Vec<(Reg, i64)>,
    pub(super) dynamic64: Vec<(Reg, i64)>,
}

/// A Rust type that has a PTX type's meaning.
pub(super) trait Typed: Lane {
    const TY: Type;
}

macro_rules! typed {
    ($($rust:ty => $ptx:ident),*) => {$(impl Typed for $rust { const TY: Type = Type::$ptx; })*};
}
typed!(u8 => U8, i8 => S8, u16 => U16, i16 => S16, u32 => U32, i32 => S32, u64 => U64, i64 => S64, f32 => F32, f64 => F64, bool => Pred);

impl Decoder<'_> {
    pub(super) fn constant32(&mut self, value: u32) -> Reg {
        if let Some(reg) = self.interned.r32.get(&value) {
            return *reg;
        }
        let reg = self.new_registers(File::R32, 1);
        self.interned.r32.insert(value, reg);
        self.constants.r32.push((reg, value));
        reg
    }

    pub(super) fn constant64(&mut self, value: u64) -> Reg {
        if let Some(reg) = self.interned.r64.get(&value) {
            return *reg;
        }
        let reg = self.new_registers(File::R64, 1);
        self.interned.r64.insert(value, reg);
        self.constants.r64.push((reg, value));
        reg
    }

    fn constant_pred(&mut self, value: bool) -> Reg {
        if let Some(reg) = self.interned.pred.get(&value) {
            return *reg;
        }
        let reg = self.new_registers(File::Pred, 1);
        self.interned.pred.insert(value, reg);
        self.constants.pred.push((reg, value));
        reg
    }

    /// A register with bytes of a parameter of the entry.
    pub(super) fn param_constant(
        &mut self,
        offset: u32,
        bytes: u32,
        wide: bool,
        signed: bool,
        keep: u64,
    ) -> Reg {
        let key = (offset, bytes, wide, signed, keep);
        if let Some(reg) = self.interned.params.get(&key) {
            return *reg;
        }
        let d = self.new_registers(if wide { File::R64 } else { File::R32 }, 1);
        self.interned.params.insert(key, d);
        self.constants.params.push(ParamLoad {
            d,
            wide,
            offset,
            bytes,
            signed,
            keep,
        });
        d
    }

    /// The register of a guard, with its sign.
    pub(super) fn guard(&mut self, guard: &ast::Guard) -> Decoded<Guard> {
        let pred = self.named::<bool>(&guard.register, None)?;
        Ok(Guard {
            pred,
            flip: if guard.negated { u32::MAX } else { 0 },
        })
    }

    /// A predicate operand with its sign: `p`, `!p`, or a literal.
    pub(super) fn signed_pred(&mut self, operand: &Operand) -> Decoded<Guard> {
        match operand {
            Operand::Not(name) => Ok(Guard {
                pred: self.named::<bool>(name, None)?,
                flip: u32::MAX,
            }),
            other => Ok(Guard {
                pred: self.source::<bool>(other)?,
                flip: 0,
            }),
        }
    }

    /// The register that an operand is read from.
    pub(super) fn source<T: Typed>(&mut self, operand: &Operand) -> Decoded<Reg> {
        match operand {
            Operand::Name { name, component } => self.named::<T>(name, *component),
            Operand::Immediate(number) => Ok(self.literal::<T>(*number)),
            Operand::Offset { name, offset } => self.symbol::<T>(name, *offset),
            Operand::Not(name) if T::FILE == File::Pred => {
                let positive = self.named::<bool>(name, None)?;
                let d = self.new_registers(File::Pred, 1);
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: bool| !a),
                    d,
                    [positive, NONE, NONE, NONE],
                );
                Ok(d)
            }
            _ => Err(Refusal::NotModelled),
        }
    }

    /// A literal in the type that the instruction reads.
    pub(super) fn literal<T: Typed>(&mut self, number: Immediate) -> Reg {
        let bits = layout::number_bits(number, T::TY);
        match T::FILE {
            File::R32 if T::TY.bits() == 32 => self.constant32(bits as u32),
            File::R32 => self.constant32(bits as u32 & ((1 << T::TY.bits()) - 1)),
            File::R64 => self.constant64(bits),
            File::Pred => self.constant_pred(bits != 0),
        }
    }

    fn named<T: Typed>(&mut self, name: &str, component: Option<char>) -> Decoded<Reg> {
        if component.is_none()
            && let Some(Binding::Register { ty, reg }) = self.resolve(name)?
        {
            return self.read_as::<T>(ty, reg);
        }
        if let Some(component) = component
            && let Some(Binding::Vector { ty, first, count }) = self.resolve(name)?
        {
            let (ty, reg) = element(ty, first, count, component).ok_or(Refusal::NotModelled)?;
            return self.read_as::<T>(ty, reg);
        }
        if let Some(special) = special(name, component) {
            return self.special::<T>(special);
        }
        if component.is_some() {
            return Err(Refusal::NotModelled);
        }
        self.symbol::<T>(name, 0)
    }

    /// A declared register read as a type: of its own size, or the low part of a larger one.
    fn read_as<T: Typed>(&mut self, declared: Type, reg: Reg) -> Decoded<Reg> {
        let (file, words) = file_of(declared);
        if declared.bits() < T::TY.bits() || words > 1 {
            return Err(Refusal::NotModelled);
        }
        match (file, T::FILE) {
            (File::R64, File::R32) => {
                let d = self.new_registers(File::R32, 1);
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u64| a as u32),
                    d,
                    [reg, NONE, NONE, NONE],
                );
                Ok(d)
            }
            (from, to) if from == to => Ok(reg),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// The register with the block's rank in its cluster.
    pub(super) fn own_rank(&mut self) -> Reg {
        self.special_register(Special::ClusterCtarank)
    }

    fn special_register(&mut self, special: Special) -> Reg {
        if let Some(reg) = self.interned.specials.get(&special) {
            return *reg;
        }
        let reg = self.new_registers(File::R32, 1);
        self.interned.specials.insert(special, reg);
        self.constants.specials.push((special, reg));
        reg
    }

    fn special<T: Typed>(&mut self, special: Special) -> Decoded<Reg> {
        let reg = self.special_register(special);
        match T::FILE {
            File::R32 => Ok(reg),
            File::R64 => {
                let d = self.new_registers(File::R64, 1);
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u32| u64::from(a)),
                    d,
                    [reg, NONE, NONE, NONE],
                );
                Ok(d)
            }
            File::Pred => {
                let d = self.new_registers(File::Pred, 1);
                self.lane(
                    Guard::ALWAYS,
                    lane1(|a: u32| a != 0),
                    d,
                    [reg, NONE, NONE, NONE],
                );
                Ok(d)
            }
        }
    }

    /// The address of a variable or a function, in its own space.
    fn symbol<T: Typed>(&mut self, name: &str, offset: i64) -> Decoded<Reg> {
        let wide = match T::FILE {
            File::R64 => true,
            File::R32 if T::TY.bits() == 32 => false,
            _ => return Err(Refusal::NotModelled),
        };
        if let Some(function) = self.function_index(name)? {
            let address = function_address(function);
            return if wide {
                Ok(self.constant64(address))
            } else {
                Err(Refusal::NotModelled)
            };
        }
        let address = match self.resolve(name)? {
            None => return Err(self.undeclared(name)),
            Some(Binding::Shared { dynamic: true, .. }) => {
                let reg = self.new_registers(if wide { File::R64 } else { File::R32 }, 1);
                let list = if wide {
                    &mut self.interned.dynamic64
                } else {
                    &mut self.interned.dynamic32
                };
                list.push((reg, offset));
                return Ok(reg);
            }
            Some(Binding::Global { index }) => {
                if !wide {
                    return Err(Refusal::NotModelled);
                }
                if let Some(reg) = self.interned.globals.get(&(index, offset)) {
                    return Ok(*reg);
                }
                let reg = self.new_registers(File::R64, 1);
                self.interned.globals.insert((index, offset), reg);
                self.constants.globals.push((reg, index, offset));
                return Ok(reg);
            }
            Some(
                Binding::Shared { offset: at, .. }
                | Binding::Local { offset: at }
                | Binding::Constant { offset: at }
                | Binding::EntryParam { offset: at, .. },
            ) => u64::from(at),
            Some(_) => return Err(Refusal::NotModelled),
        };
        let address = address.wrapping_add(offset as u64);
        Ok(if wide {
            self.constant64(address)
        } else {
            self.constant32(address as u32)
        })
    }

    pub(super) fn undeclared(&self, name: &str) -> Refusal {
        CompileError::Undeclared {
            name: name.to_owned(),
            line: self.place.line,
        }
        .into()
    }

    /// The register that a result goes to.
    pub(super) fn destination<T: Typed>(&mut self, operand: &Operand) -> Decoded<Reg> {
        if *operand == Operand::Sink {
            return Ok(self.new_registers(T::FILE, 1));
        }
        let (ty, reg) = self.register(operand)?;
        if file_of(ty) == (T::FILE, 1) && ty.bits() >= T::TY.bits() {
            Ok(reg)
        } else {
            Err(Refusal::NotModelled)
        }
    }

    /// The declared type and register of an operand that is a plain register.
    pub(super) fn register(&mut self, operand: &Operand) -> Decoded<(Type, Reg)> {
        let Operand::Name { name, component } = operand else {
            return Err(Refusal::NotModelled);
        };
        match (self.resolve(name)?, component) {
            (Some(Binding::Register { ty, reg }), None) => Ok((ty, reg)),
            (Some(Binding::Vector { ty, first, count }), Some(component)) => {
                element(ty, first, count, *component).ok_or(Refusal::NotModelled)
            }
            (None, _) => Err(self.undeclared(name)),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// The elements of a vector operand: as written, or those of a vector register.
    pub(super) fn vector(&mut self, operand: &Operand, count: usize) -> Decoded<Vec<Operand>> {
        match operand {
            Operand::Vector(elements) if elements.len() == count => Ok(elements.clone()),
            Operand::Name {
                name,
                component: None,
            } => match self.resolve(name)? {
                Some(Binding::Vector {
                    count: declared, ..
                }) if declared as usize == count => {
                    let elements = ['x', 'y', 'z', 'w'].into_iter().take(count);
                    Ok(elements
                        .map(|c| Operand::Name {
                            name: name.clone(),
                            component: Some(c),
                        })
                        .collect())
                }
                _ if count == 1 => Ok(vec![operand.clone()]),
                _ => Err(Refusal::NotModelled),
            },
            _ if count == 1 => Ok(vec![operand.clone()]),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// An address operand.
    pub(super) fn address(&mut self, operand: &Operand) -> Decoded<Address> {
        let Operand::Address(address) = operand else {
            return Err(Refusal::NotModelled);
        };
        if address.coordinates.is_some() {
            return Err(Refusal::NotModelled);
        }
        self.address_of(address)
    }

    /// The address of a tensor map, and the coordinates behind it.
    pub(super) fn address_with_coordinates<'a>(
        &mut self,
        operand: &'a Operand,
    ) -> Decoded<(Address, &'a [Operand])> {
        let Operand::Address(address) = operand else {
            return Err(Refusal::NotModelled);
        };
        let coordinates = address.coordinates.as_ref().ok_or(Refusal::NotModelled)?;
        // The address is generic, which that of a variable elsewhere is not by itself.
        if let AddressBase::Name(name) = &address.base
            && !matches!(
                self.resolve(name)?,
                Some(Binding::Register { .. } | Binding::Global { .. })
            )
        {
            return Err(Refusal::NotModelled);
        }
        Ok((self.address_of(address)?, coordinates))
    }

    fn address_of(&mut self, address: &ast::Address) -> Decoded<Address> {
        match &address.base {
            AddressBase::Number(number) => {
                let base = self.constant64(number.wrapping_add(address.offset as u64));
                Ok(Address {
                    base,
                    wide: true,
                    offset: 0,
                })
            }
            AddressBase::Name(name) => match self.resolve(name)? {
                Some(Binding::Register { ty, reg }) => match file_of(ty) {
                    (File::R64, 1) => Ok(Address {
                        base: reg,
                        wide: true,
                        offset: address.offset,
                    }),
                    (File::R32, 1) if ty.bits() == 32 => Ok(Address {
                        base: reg,
                        wide: false,
                        offset: address.offset,
                    }),
                    _ => Err(Refusal::NotModelled),
                },
                _ => {
                    let base = self.symbol::<u64>(name, address.offset)?;
                    Ok(Address {
                        base,
                        wide: true,
                        offset: 0,
                    })
                }
            },
        }
    }

    /// Emits a conditional branch around what follows, for an instruction whose lanes may have to wait:
    /// a guard on it is a branch, and the lanes that skip it wait behind it.
    /// Returns what [`end_skip`](Self::end_skip) needs.
    pub(super) fn begin_skip(&mut self, guard: Guard) -> Option<usize> {
        if guard == Guard::ALWAYS {
            return None;
        }
        let around = Guard {
            pred: guard.pred,
            flip: !guard.flip,
        };
        self.push(
            around,
            Op::Branch {
                target: 0,
                meet: crate::program::op::Meet::Never,
            },
        );
        Some(self.code.len() - 1)
    }

    /// Ends what [`begin_skip`](Self::begin_skip) began.
    pub(super) fn end_skip(&mut self, skip: Option<usize>) {
        let next = self.code.len() as u32;
        if let Some(branch) = skip
            && let Op::Branch { target, .. } = &mut self.code[branch].op
        {
            *target = next;
        }
    }
}

/// One element of a vector register.
fn element(ty: Type, first: Reg, count: u32, component: char) -> Option<(Type, Reg)> {
    let index = match component {
        'x' | 'r' => 0,
        'y' | 'g' => 1,
        'z' | 'b' => 2,
        _ => 3,
    };
    (index < count).then(|| (ty, first + index * file_of(ty).1))
}

fn special(name: &str, component: Option<char>) -> Option<Special> {
    let axis = match component {
        None => 0,
        Some('x' | 'r') => 0,
        Some('y' | 'g') => 1,
        Some('z' | 'b') => 2,
        Some(_) => 3,
    };
    Some(match (name, component.is_some()) {
        ("%tid", true) => Special::Tid(axis),
        ("%ntid", true) => Special::Ntid(axis),
        ("%ctaid", true) => Special::Ctaid(axis),
        ("%nctaid", true) => Special::Nctaid(axis),
        ("%cluster_ctaid", true) => Special::ClusterCtaid(axis),
        ("%cluster_nctaid", true) => Special::ClusterNctaid(axis),
        ("%clusterid", true) => Special::ClusterId(axis),
        ("%nclusterid", true) => Special::NclusterId(axis),
        ("%cluster_ctarank", false) => Special::ClusterCtarank,
        ("%cluster_nctarank", false) => Special::ClusterNctarank,
        ("%laneid", false) => Special::Laneid,
        ("%warpid", false) => Special::Warpid,
        ("%nwarpid", false) => Special::Nwarpid,
        ("%smid", false) => Special::Smid,
        ("%nsmid", false) => Special::Nsmid,
        ("%lanemask_eq", false) => Special::LanemaskEq,
        ("%lanemask_le", false) => Special::LanemaskLe,
        ("%lanemask_lt", false) => Special::LanemaskLt,
        ("%lanemask_ge", false) => Special::LanemaskGe,
        ("%lanemask_gt", false) => Special::LanemaskGt,
        ("%dynamic_smem_size", false) => Special::DynamicSmemSize,
        ("%total_smem_size" | "%aggr_smem_size", false) => Special::TotalSmemSize,
        (name, false) if name.starts_with("%reserved_smem_offset_") => Special::ReservedSmem,
        ("%is_explicit_cluster", false) => Special::IsExplicitCluster,
        ("%gridid", false) => Special::Zero,
        (name, false) if name.starts_with("%envreg") => Special::Zero,
        _ => return None,
    })
}
