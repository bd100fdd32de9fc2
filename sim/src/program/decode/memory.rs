//! `ld` and `st`, parameters included.

use nstage_ptx::ast::{Address as AstAddress, AddressBase, Instruction, Operand, Type};

use super::names::{Binding, file_of};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::event::{Ordering, Scope};
use crate::lanes::{File, lane1, lane2};
use crate::program::op::{Cell, Memory, NONE, Op, Reg, Space};

/// The widest vector of one instruction, in elements.
const MAX_ELEMENTS: usize = 8;

impl<'m> Decoder<'m> {
    pub(super) fn load_store(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let load = instruction.opcode != "st";
        let (ordering, scope) = mods.strength();
        let space = mods.space();
        mods.skip_cache_hints();
        let count = mods.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
        let ty = mods.ty()?;
        mods.finish()?;
        let (values, address) = match (load, instruction.operands.as_slice()) {
            (true, [value, address, ..]) => (value, address),
            (false, [address, value, ..]) => (value, address),
            _ => return Err(Refusal::NotModelled),
        };
        // A third operand is a cache policy, a hint.
        if instruction.operands.len() > 3 {
            return Err(Refusal::NotModelled);
        }
        let elements = &self.vector(values, count)?;
        if space == Space::Param
            && let Operand::Address(at) = address
            && let Some(direct) = self.param_access(guard, load, ty, elements, at)?
        {
            return Ok(direct);
        }
        self.access(
            guard,
            load,
            Shape {
                space,
                ordering,
                scope,
                ty,
            },
            elements,
            address,
        )
    }

    fn access(
        &mut self,
        guard: Guard,
        load: bool,
        shape: Shape,
        elements: &[Operand],
        address: &Operand,
    ) -> Decoded {
        let address = self.address(address)?;
        let mut cell = None;
        let mut registers = [NONE; MAX_ELEMENTS];
        for (register, element) in registers.iter_mut().zip(elements) {
            let (this, reg) = self.element(load, shape.ty, element)?;
            if load && *element == Operand::Sink {
                continue;
            }
            if *cell.get_or_insert(this) != this {
                return Err(Refusal::NotModelled);
            }
            *register = reg;
        }
        let first = self.tables.lists.len() as u32;
        self.tables
            .lists
            .extend_from_slice(&registers[..elements.len()]);
        self.tables.memory.push(Memory {
            space: shape.space,
            address,
            bytes: shape.ty.bytes(),
            count: elements.len() as u32,
            cell: cell.unwrap_or(Cell::Narrow {
                signed: false,
                keep: u32::MAX,
            }),
            first,
            ordering: shape.ordering,
            scope: shape.scope,
        });
        let index = self.tables.memory.len() as u32 - 1;
        self.push(
            guard,
            if load {
                Op::Load(index)
            } else {
                Op::Store(index)
            },
        );
        Ok(())
    }

    /// The register of one element and how the element sits in it.
    fn element(&mut self, load: bool, ty: Type, operand: &Operand) -> Decoded<(Cell, Reg)> {
        let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32);
        if *operand == Operand::Sink && load {
            return Ok((Cell::Pair, NONE));
        }
        if !self.is_register(operand) {
            // A literal, a special register or an address to be stored.
            return match ty {
                _ if load => Err(Refusal::NotModelled),
                Type::F32 => Ok((
                    Cell::Narrow {
                        signed: false,
                        keep: u32::MAX,
                    },
                    self.source::<f32>(operand)?,
                )),
                Type::F64 => Ok((Cell::Wide { signed: false }, self.source::<f64>(operand)?)),
                _ if ty.bits() <= 32 => Ok((
                    Cell::Narrow {
                        signed: false,
                        keep: u32::MAX,
                    },
                    self.source::<u32>(operand)?,
                )),
                _ if ty.bits() == 64 => {
                    Ok((Cell::Wide { signed: false }, self.source::<u64>(operand)?))
                }
                _ => Err(Refusal::NotModelled),
            };
        }
        let (declared, reg) = self.register(operand)?;
        if declared.bits() < ty.bits() {
            return Err(Refusal::NotModelled);
        }
        let cell = match file_of(declared) {
            (File::R32, _) => {
                let keep = if declared.bits() == 32 {
                    u32::MAX
                } else {
                    (1 << declared.bits()) - 1
                };
                // What a store writes does not depend on the bits above the element.
                if load {
                    Cell::Narrow { signed, keep }
                } else {
                    Cell::Narrow {
                        signed: false,
                        keep: u32::MAX,
                    }
                }
            }
            (File::R64, 1) => Cell::Wide {
                signed: signed && load,
            },
            (File::R64, 2) if ty.bits() == 128 => Cell::Pair,
            _ => return Err(Refusal::NotModelled),
        };
        Ok((cell, reg))
    }

    /// `ld.param` and `st.param` at an address that is a name with an offset: moves between registers.
    /// `None` when the address is computed, which is a load from memory like any other.
    fn param_access(
        &mut self,
        guard: Guard,
        load: bool,
        ty: Type,
        elements: &[Operand],
        at: &AstAddress,
    ) -> Decoded<Option<()>> {
        let AddressBase::Name(name) = &at.base else {
            return Ok(None);
        };
        let step = i64::from(ty.bytes());
        match self.resolve(name)? {
            Some(Binding::EntryParam { offset, bytes }) if load => {
                for (index, element) in elements.iter().enumerate() {
                    let from = at.offset + index as i64 * step;
                    if from < 0
                        || from + step > i64::from(bytes)
                        || ty.bits() > 64
                        || from % step != 0
                    {
                        return Ok(None);
                    }
                    if *element == Operand::Sink {
                        continue;
                    }
                    let (cell, d) = self.element(true, ty, element)?;
                    let from = offset + from as u32;
                    match cell {
                        Cell::Narrow { signed, keep } => {
                            let value =
                                self.param_constant(from, ty.bytes(), false, signed, keep.into());
                            self.lane(guard, lane1(|a: u32| a), d, [value, NONE, NONE, NONE]);
                        }
                        Cell::Wide { signed } => {
                            let value =
                                self.param_constant(from, ty.bytes(), true, signed, u64::MAX);
                            self.lane(guard, lane1(|a: u64| a), d, [value, NONE, NONE, NONE]);
                        }
                        Cell::Pair => return Err(Refusal::NotModelled),
                    }
                }
                Ok(Some(()))
            }
            Some(Binding::Words { first, bytes }) => {
                for (index, element) in elements.iter().enumerate() {
                    let from = at.offset + index as i64 * step;
                    if from < 0
                        || from + step > i64::from(bytes)
                        || ty.bits() > 64
                        || from % step != 0
                    {
                        return Err(Refusal::NotModelled);
                    }
                    if *element == Operand::Sink {
                        continue;
                    }
                    let (cell, reg) = self.element(load, ty, element)?;
                    let word = first + from as u32 / 4;
                    let place = Word {
                        word,
                        shift: (from as u32 % 4) * 8,
                        bytes: ty.bytes(),
                    };
                    if load {
                        self.load_word(guard, place, cell, reg)?
                    } else {
                        self.store_word(guard, place, cell, reg)?
                    }
                }
                Ok(Some(()))
            }
            None => Err(self.undeclared(name)),
            _ => Ok(None),
        }
    }

    fn load_word(&mut self, guard: Guard, place: Word, cell: Cell, d: Reg) -> Decoded {
        let Word { word, shift, bytes } = place;
        match (bytes, cell) {
            (8, Cell::Wide { .. }) => {
                let f = lane2(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32);
                self.lane(guard, f, d, [word, word + 1, NONE, NONE]);
            }
            (4, Cell::Narrow { .. }) => {
                self.lane(guard, lane1(|a: u32| a), d, [word, NONE, NONE, NONE])
            }
            (1 | 2, Cell::Narrow { signed, keep }) => {
                let by = self.constant32(shift);
                let f = match (bytes, signed) {
                    (1, false) => lane2(|a: u32, by: u32| u32::from((a >> by) as u8)),
                    (1, true) if keep == 0xffff => {
                        lane2(|a: u32, by: u32| i16::from((a >> by) as i8))
                    }
                    (1, true) => lane2(|a: u32, by: u32| i32::from((a >> by) as i8)),
                    (_, true) if keep == u32::MAX => {
                        lane2(|a: u32, by: u32| i32::from((a >> by) as i16))
                    }
                    _ => lane2(|a: u32, by: u32| u32::from((a >> by) as u16)),
                };
                self.lane(guard, f, d, [word, by, NONE, NONE]);
            }
            _ => return Err(Refusal::NotModelled),
        }
        Ok(())
    }

    fn store_word(&mut self, guard: Guard, place: Word, cell: Cell, value: Reg) -> Decoded {
        let Word { word, shift, bytes } = place;
        match (bytes, cell) {
            (8, Cell::Wide { .. }) => {
                self.lane(
                    guard,
                    lane1(|a: u64| a as u32),
                    word,
                    [value, NONE, NONE, NONE],
                );
                self.lane(
                    guard,
                    lane1(|a: u64| (a >> 32) as u32),
                    word + 1,
                    [value, NONE, NONE, NONE],
                );
            }
            (4, Cell::Narrow { .. }) => {
                self.lane(guard, lane1(|a: u32| a), word, [value, NONE, NONE, NONE])
            }
            (1 | 2, Cell::Narrow { .. }) => {
                let by = self.constant32(shift);
                let f = if bytes == 1 {
                    crate::lanes::lane3(|a: u32, b: u32, by: u32| {
                        (a & !(0xff << by)) | (b & 0xff) << by
                    })
                } else {
                    crate::lanes::lane3(|a: u32, b: u32, by: u32| {
                        (a & !(0xffff << by)) | (b & 0xffff) << by
                    })
                };
                self.lane(guard, f, word, [word, value, by, NONE]);
            }
            _ => return Err(Refusal::NotModelled),
        }
        Ok(())
    }
}

/// What a load or store says beside its operands.
struct Shape {
    space: Space,
    ordering: Ordering,
    scope: Scope,
    ty: Type,
}

/// Part of a parameter that is kept in registers.
#[derive(Clone, Copy)]
struct Word {
    word: Reg,
    /// Bits that the part stands above the word's lowest.
    shift: u32,
    bytes: u32,
}
