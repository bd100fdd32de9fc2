//! What a name means where it stands.

use std::collections::HashMap;

use nstage_ptx::ast::{Space, Type, Variable};

use super::{CompileError, Decoder, Known, layout};
use crate::lanes::File;
use crate::memory::window;
use crate::program::allocate::slot;
use crate::program::op::Reg;

/// The most registers that one declaration may make; nvcc's largest ones have some ten thousand.
const MAX_REGISTERS: u32 = 1 << 20;
/// The most local memory of a thread, as on hardware.
const MAX_LOCAL: u64 = 512 << 10;
/// The most bytes of a call's parameter.
const MAX_PARAM: u64 = 1 << 16;
/// The most bytes of a module's global variable.
const MAX_GLOBAL: u64 = 1 << 32;

/// A parameter of a function as its callers and its body see it.
#[derive(Clone, Debug)]
pub(super) struct Formal {
    pub(super) name: String,
    pub(super) binding: Binding,
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A register; those of 128 bits are this one and the next.
    Register { ty: Type, reg: Reg },
    /// `.reg .v4`: so many registers, read one by one.
    Vector { ty: Type, first: Reg, count: u32 },
    /// `%r<10>`.
    Range { ty: Type, first: Reg, count: u32 },
    /// A parameter of the entry.
    EntryParam { offset: u32, bytes: u32 },
    /// A `.param` of a function or of a call, kept in 32-bit registers, a word each.
    Words { first: Reg, bytes: u32 },
    /// A shared variable; dynamic ones start where the layout ends.
    Shared { offset: u32, dynamic: bool },
    /// A local variable at a fixed place in the thread's local memory.
    Local { offset: u32 },
    /// A constant variable.
    Constant { offset: u32 },
    /// A global variable.
    Global { index: u32 },
    /// A label of the function at hand.
    Label(usize),
    /// `.branchtargets`.
    Targets(Vec<String>),
    /// `.callprototype`, which says nothing that a call does not.
    Prototype,
}

/// The file that registers of a type are in, and how many they take.
pub(in crate::program) fn file_of(ty: Type) -> (File, u32) {
    match ty {
        Type::Pred => (File::Pred, 1),
        _ if ty.bits() <= 32 => (File::R32, 1),
        _ => (File::R64, ty.bits() / 64),
    }
}

/// Nested scopes of names, innermost last.
#[derive(Default)]
pub(super) struct Scopes(Vec<HashMap<String, Binding>>);

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn bind(&mut self, name: &str, binding: Binding) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name.to_owned(), binding);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        self.0.iter().rev().find_map(|scope| scope.get(name))
    }
}

impl<'m> Decoder<'m> {
    /// Declares a variable of a body.
    pub(super) fn declare(&mut self, variable: &'m Variable) -> Result<(), CompileError> {
        let binding = match variable.space {
            Space::Reg if self.allocation.is_some() => {
                let count = variable.register_range.unwrap_or(1);
                if count > MAX_REGISTERS {
                    return Err(layout::refuse(
                        variable,
                        format!("{count} registers are over {MAX_REGISTERS}"),
                    ));
                }
                // The allocation knows it where it is used.
                return Ok(());
            }
            Space::Reg => {
                let (file, words) = file_of(variable.ty);
                let vector = u32::from(variable.vector.max(1));
                if vector > 1 {
                    let first = self.new_registers(file, vector * words);
                    let binding = Binding::Vector {
                        ty: variable.ty,
                        first,
                        count: vector,
                    };
                    self.scopes.bind(&variable.name, binding);
                    return Ok(());
                }
                let count = variable.register_range.unwrap_or(1);
                if count > MAX_REGISTERS {
                    return Err(layout::refuse(
                        variable,
                        format!("{count} registers are over {MAX_REGISTERS}"),
                    ));
                }
                let first = self.new_registers(file, count * words);
                match variable.register_range {
                    Some(count) => Binding::Range {
                        ty: variable.ty,
                        first,
                        count,
                    },
                    None => Binding::Register {
                        ty: variable.ty,
                        reg: first,
                    },
                }
            }
            Space::Param => self.words(variable)?,
            Space::Local => {
                if self
                    .current
                    .is_some_and(|current| self.calls_itself(current))
                {
                    // Each activation would need its own.
                    return Err(layout::refuse(
                        variable,
                        "local memory of a recursive function is not modelled",
                    ));
                }
                let offset = self.local_bytes.next_multiple_of(layout::align(variable)?);
                let end = u64::from(offset) + layout::size(variable)?;
                if end > MAX_LOCAL {
                    return Err(layout::refuse(
                        variable,
                        format!("{end} bytes of local memory are over {MAX_LOCAL}"),
                    ));
                }
                self.local_bytes = end as u32;
                Binding::Local { offset }
            }
            Space::Shared | Space::Global | Space::Const => self.place_variable(variable)?,
        };
        self.scopes.bind(&variable.name, binding);
        Ok(())
    }

    /// Registers for a `.param` variable of a function or a call.
    pub(super) fn words(&mut self, variable: &Variable) -> Result<Binding, CompileError> {
        let bytes = layout::size(variable)?;
        if bytes > MAX_PARAM {
            return Err(layout::refuse(
                variable,
                format!("{bytes} bytes are over {MAX_PARAM}"),
            ));
        }
        let bytes = bytes as u32;
        let first = self.new_registers(File::R32, bytes.div_ceil(4));
        Ok(Binding::Words { first, bytes })
    }

    /// Puts a shared, global or constant variable into its memory.
    fn place_variable(&mut self, variable: &'m Variable) -> Result<Binding, CompileError> {
        match variable.space {
            Space::Shared => {
                let dynamic = variable.dims.contains(&0);
                let offset = self.shared.place(variable, dynamic)?;
                Ok(Binding::Shared { offset, dynamic })
            }
            Space::Const => {
                let offset = self.constant_bank.place(variable)?;
                let binding = Binding::Constant { offset };
                // Placed before its initialiser is read: it may name itself.
                self.placed.insert(variable.name.clone(), binding.clone());
                let bytes = layout::size(variable)? as usize;
                let mut image = vec![0; bytes];
                let mut relocations = Vec::new();
                layout::initialise(
                    variable,
                    &mut image,
                    offset,
                    &mut relocations,
                    &mut |name| self.target(name, variable),
                )?;
                self.constant_bank.image[offset as usize..offset as usize + bytes]
                    .copy_from_slice(&image);
                self.constant_bank.relocations.extend(relocations);
                Ok(binding)
            }
            _ => {
                let bytes = layout::size(variable)?;
                if bytes > MAX_GLOBAL {
                    return Err(layout::refuse(
                        variable,
                        format!("{bytes} bytes are over {MAX_GLOBAL}"),
                    ));
                }
                let index = self.globals.len() as u32;
                let image = vec![0; bytes as usize];
                self.globals.push(layout::GlobalVariable {
                    name: variable.name.clone(),
                    image,
                    relocations: Vec::new(),
                });
                let binding = Binding::Global { index };
                self.placed.insert(variable.name.clone(), binding.clone());
                let mut image = std::mem::take(&mut self.globals[index as usize].image);
                let mut relocations = Vec::new();
                layout::initialise(variable, &mut image, 0, &mut relocations, &mut |name| {
                    self.target(name, variable)
                })?;
                let global = &mut self.globals[index as usize];
                global.image = image;
                global.relocations = relocations;
                Ok(binding)
            }
        }
    }

    /// What a name in an initialiser points to.
    fn target(&mut self, name: &str, user: &Variable) -> Result<layout::Target, CompileError> {
        if let Some(function) = self.function_index(name)? {
            return Ok(layout::Target::Fixed(function_address(function)));
        }
        match self.resolve(name)? {
            Some(Binding::Global { index }) => Ok(layout::Target::Global(index)),
            Some(Binding::Constant { offset }) => {
                Ok(layout::Target::Fixed(window::CONST + u64::from(offset)))
            }
            Some(_) => Err(layout::refuse(
                user,
                format!("its initialiser cannot have the address of `{name}`"),
            )),
            None => Err(CompileError::Undeclared {
                name: name.to_owned(),
                line: user.pos.line,
            }),
        }
    }

    /// The meaning of a name: a local one, or a module's variable, which is placed now if it was not.
    pub(super) fn resolve(&mut self, name: &str) -> Result<Option<Binding>, CompileError> {
        if let Some((allocation, first)) = &self.allocation
            && let Some((ty, count, row)) = allocation.register(self.line, name)
        {
            let first = first[slot(file_of(ty).0)] + row;
            return Ok(Some(match count {
                1 => Binding::Register { ty, reg: first },
                count => Binding::Vector { ty, first, count },
            }));
        }
        if let Some(binding) = self.scopes.get(name).or_else(|| self.placed.get(name)) {
            return Ok(Some(binding.clone()));
        }
        if let Some(binding) = self.register_of_range(name) {
            return Ok(Some(binding));
        }
        let Some(variable) = self.variables.get(name).copied() else {
            return Ok(None);
        };
        let binding = self.place_variable(variable)?;
        self.placed.insert(name.to_owned(), binding.clone());
        Ok(Some(binding))
    }

    /// `%r7` of a `%r<10>`.
    fn register_of_range(&self, name: &str) -> Option<Binding> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // Digits may belong to the stem: `%r1<4>` declares `%r10` to `%r13`.
        (stem.len()..name.len()).find_map(|split| {
            let (stem, digits) = name.split_at(split);
            if digits.len() > 1 && digits.starts_with('0') {
                return None;
            }
            let index: u32 = digits.parse().ok()?;
            match self.scopes.get(stem)? {
                Binding::Range { ty, first, count } if index < *count => Some(Binding::Register {
                    ty: *ty,
                    reg: first + index * file_of(*ty).1,
                }),
                _ => None,
            }
        })
    }

    /// The index of a function, which is made known if it was not.
    pub(super) fn function_index(&mut self, name: &str) -> Result<Option<usize>, CompileError> {
        if let Some(index) = self.known_by_name.get(name) {
            return Ok(Some(*index));
        }
        let Some((name, function)) = self
            .functions
            .get_key_value(name)
            .map(|(name, function)| (*name, *function))
        else {
            return Ok(None);
        };
        let params = self.formals(&function.params)?;
        let returns = self.formals(&function.returns)?;
        self.known.push(Known {
            function,
            start: None,
            params,
            returns,
        });
        self.known_by_name.insert(name, self.known.len() - 1);
        Ok(Some(self.known.len() - 1))
    }

    fn formals(&mut self, variables: &[Variable]) -> Result<Vec<Formal>, CompileError> {
        variables
            .iter()
            .map(|variable| {
                let binding = if variable.space == Space::Reg {
                    let (file, words) = file_of(variable.ty);
                    Binding::Register {
                        ty: variable.ty,
                        reg: self.new_registers(file, words),
                    }
                } else {
                    self.words(variable)?
                };
                Ok(Formal {
                    name: variable.name.clone(),
                    binding,
                })
            })
            .collect()
    }

    pub(super) fn new_registers(&mut self, file: File, count: u32) -> Reg {
        let total = match file {
            File::R32 => &mut self.counts.r32,
            File::R64 => &mut self.counts.r64,
            File::Pred => &mut self.counts.pred,
        };
        let first = *total;
        *total += count;
        first
    }
}

/// The address of a function, by its index.
pub(super) const fn function_address(index: usize) -> u64 {
    window::CODE + index as u64 * 16
}
