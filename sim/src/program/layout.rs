//! Where variables live, and what they start as.

use nstage_ptx::ast::{Immediate, Init, Type, Variable};

use super::CompileError;
use crate::scalar::exact::{F32, F64, Rounding, convert};

/// Unmapped bytes between shared variables, and between constant ones, so that running off one is not reading the next.
const GUARD: u32 = 256;
/// The largest array that a variable may be.
const MAX_BYTES: u64 = 1 << 40;
/// Bytes of a block's shared window.
pub(crate) const SHARED_WINDOW: u32 = 1 << 24;

/// Bytes of a block's shared memory that the system keeps for itself.
pub(crate) const RESERVED: u32 = 1 << 10;

/// A parameter of the entry.
#[derive(Clone, Debug)]
pub(crate) struct ParamSlot {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// A variable in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub(crate) name: String,
    pub(crate) offset: u32,
    /// Zero for dynamic shared memory, whose size the launch says.
    pub(crate) bytes: u32,
    pub(crate) dynamic: bool,
}

/// Shared memory of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLayout {
    pub(crate) variables: Vec<SharedVariable>,
    /// One past the last static byte.
    pub(crate) end: u32,
    /// First byte of dynamic shared memory.
    pub(crate) dynamic: u32,
    /// The system's own bytes, where the program asks where they are; cooperative groups keep the barriers of tiles of several warps there.
    pub(crate) reserved: Option<u32>,
}

/// The constant bank.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstantBank {
    pub(crate) image: Vec<u8>,
    /// Name, offset and size of each variable.
    pub(crate) variables: Vec<(String, u32, u32)>,
    pub(crate) relocations: Vec<Relocation>,
}

/// A `.global` variable.
#[derive(Clone, Debug)]
pub(crate) struct GlobalVariable {
    pub(crate) name: String,
    pub(crate) image: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
}

/// What an address in an initialiser points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A global variable.
    Global(u32),
    /// A fixed address: a constant's, a function's.
    Fixed(u64),
}

/// An address in an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// Byte of the variable it is written to.
    pub(crate) at: u32,
    /// Bytes written.
    pub(crate) bytes: u32,
    pub(crate) target: Target,
    pub(crate) addend: i64,
    /// `0xFF00(name)`: these bits of the address, moved down.
    pub(crate) mask: Option<u64>,
}

/// Bytes of a variable; an array without a size has none.
pub(crate) fn size(variable: &Variable) -> Result<u64, CompileError> {
    let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector.max(1));
    let total = variable
        .dims
        .iter()
        .try_fold(element, |total, dim| total.checked_mul(*dim));
    match total {
        Some(total) if total <= MAX_BYTES => Ok(total),
        _ => Err(refuse(
            variable,
            format!("its size is over {MAX_BYTES} bytes"),
        )),
    }
}

/// Its alignment in bytes.
pub(crate) fn align(variable: &Variable) -> Result<u32, CompileError> {
    let natural = variable.ty.bytes() * u32::from(variable.vector.max(1));
    let align = variable.align.unwrap_or(natural).max(1);
    if align.is_power_of_two() && align <= 1 << 16 {
        Ok(align)
    } else {
        Err(refuse(
            variable,
            format!("alignment {align} is not a power of two up to 65536"),
        ))
    }
}

/// The error of a variable.
pub(crate) fn refuse(variable: &Variable, reason: impl Into<String>) -> CompileError {
    CompileError::Variable {
        name: variable.name.clone(),
        line: variable.pos.line,
        reason: reason.into(),
    }
}

impl SharedLayout {
    /// Places a variable and says where.
    pub(crate) fn place(
        &mut self,
        variable: &Variable,
        dynamic: bool,
    ) -> Result<u32, CompileError> {
        let align = align(variable)?;
        if dynamic {
            // All such arrays are the same memory; where it starts is known when all static ones are placed.
            self.variables.push(SharedVariable {
                name: variable.name.clone(),
                offset: 0,
                bytes: 0,
                dynamic,
            });
            return Ok(0);
        }
        let bytes = size(variable)?;
        let start = if self.end == 0 {
            0
        } else {
            (self.end + GUARD).next_multiple_of(align)
        };
        if u64::from(start) + bytes > u64::from(SHARED_WINDOW / 2) {
            return Err(refuse(
                variable,
                format!("{bytes} bytes of shared memory are more than any device has"),
            ));
        }
        self.end = start + bytes as u32;
        self.variables.push(SharedVariable {
            name: variable.name.clone(),
            offset: start,
            bytes: bytes as u32,
            dynamic,
        });
        Ok(start)
    }

    /// Places the system's own bytes behind the program's variables.
    pub(crate) fn reserve(&mut self) {
        let start = match self.end {
            0 => 0,
            end => (end + GUARD).next_multiple_of(RESERVED),
        };
        self.end = start + RESERVED;
        self.reserved = Some(start);
        self.variables.push(SharedVariable {
            name: "%reserved_smem".to_owned(),
            offset: start,
            bytes: RESERVED,
            dynamic: false,
        });
    }

    /// Fixes where dynamic shared memory starts, once every static variable is placed.
    pub(crate) fn finish(&mut self) -> u32 {
        self.dynamic = if self.end == 0 {
            0
        } else {
            (self.end + GUARD).next_multiple_of(1024)
        };
        for variable in self
            .variables
            .iter_mut()
            .filter(|variable| variable.dynamic)
        {
            variable.offset = self.dynamic;
        }
        self.dynamic
    }
}

impl ConstantBank {
    /// Places a variable and says where.
    pub(crate) fn place(&mut self, variable: &Variable) -> Result<u32, CompileError> {
        let align = align(variable)?;
        let bytes = size(variable)?;
        let start = match self.image.len() as u32 {
            0 => 0,
            end => (end + GUARD).next_multiple_of(align),
        };
        if u64::from(start) + bytes > 1 << 24 {
            return Err(refuse(
                variable,
                format!("{bytes} bytes of constants are more than any device has"),
            ));
        }
        self.image.resize((u64::from(start) + bytes) as usize, 0);
        self.variables
            .push((variable.name.clone(), start, bytes as u32));
        Ok(start)
    }
}

/// Writes a variable's initialiser into its bytes; `resolve` turns a symbol into what it points to.
pub(crate) fn initialise(
    variable: &Variable,
    image: &mut [u8],
    base: u32,
    relocations: &mut Vec<Relocation>,
    resolve: &mut dyn FnMut(&str) -> Result<Target, CompileError>,
) -> Result<(), CompileError> {
    let Some(init) = &variable.init else {
        return Ok(());
    };
    let mut writer = Writer {
        variable,
        image,
        base,
        relocations,
        resolve,
    };
    let strides = strides(variable);
    writer.put(init, 0, &strides)
}

/// Bytes of one element at each nesting depth, the whole variable first, the scalar last.
fn strides(variable: &Variable) -> Vec<u64> {
    let scalar = u64::from(variable.ty.bytes());
    let mut strides = vec![scalar];
    if variable.vector > 1 {
        strides.push(scalar * u64::from(variable.vector));
    }
    for dim in variable.dims.iter().rev() {
        let inner = *strides.last().unwrap_or(&scalar);
        strides.push(inner * dim);
    }
    strides.reverse();
    strides
}

struct Writer<'a> {
    variable: &'a Variable,
    image: &'a mut [u8],
    base: u32,
    relocations: &'a mut Vec<Relocation>,
    resolve: &'a mut dyn FnMut(&str) -> Result<Target, CompileError>,
}

impl Writer<'_> {
    fn put(&mut self, init: &Init, at: u64, strides: &[u64]) -> Result<(), CompileError> {
        let bytes = self.variable.ty.bytes();
        match init {
            Init::List(elements) => {
                let inner = if strides.len() > 1 {
                    &strides[1..]
                } else {
                    strides
                };
                for (index, element) in elements.iter().enumerate() {
                    self.put(element, at + index as u64 * inner[0], inner)?;
                }
                Ok(())
            }
            Init::Number(number) => {
                let bits = number_bits(*number, self.variable.ty);
                let place = self.place(at, bytes)?;
                self.image[place..place + bytes as usize]
                    .copy_from_slice(&bits.to_le_bytes()[..bytes as usize]);
                Ok(())
            }
            Init::Symbol {
                name, offset, mask, ..
            } => {
                let place = self.place(at, bytes)?;
                let target = (self.resolve)(name)?;
                self.relocations.push(Relocation {
                    at: place as u32 + self.base,
                    bytes,
                    target,
                    addend: *offset,
                    mask: *mask,
                });
                Ok(())
            }
        }
    }

    fn place(&self, at: u64, bytes: u32) -> Result<usize, CompileError> {
        let end = at + u64::from(bytes);
        if bytes > 8 || end > self.image.len() as u64 {
            return Err(refuse(
                self.variable,
                format!("its initialiser reaches byte {end} of {}", self.image.len()),
            ));
        }
        Ok(at as usize)
    }
}

/// The bits of a literal in a type.
pub(crate) fn number_bits(number: Immediate, ty: Type) -> u64 {
    match (number, ty) {
        (Immediate::Int { bits, .. }, Type::F32) => u64::from((bits as i64 as f32).to_bits()),
        (Immediate::Int { bits, .. }, Type::F64) => (bits as i64 as f64).to_bits(),
        (Immediate::Int { bits, .. }, _) => bits,
        (Immediate::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), Type::F32) => convert(&F64, &F32, bits, Rounding::Nearest),
        (Immediate::F64(bits), _) => bits,
    }
}
