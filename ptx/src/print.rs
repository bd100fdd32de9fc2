//! Tree to text.
//!
//! What is printed reads back to the same tree, places apart; floats are printed by their bits.

use std::fmt::{Display, Formatter, Result, Write};

use crate::ast::{
    Address, AddressBase, Directive, Function, Guard, Immediate, Init, Instruction, Item, Module,
    Operand, Statement, Variable, Version,
};

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, ".version {}", self.version)?;
        writeln!(f, ".target {}", self.target.join(", "))?;
        writeln!(f, ".address_size {}\n", self.address_size)?;
        for item in &self.items {
            writeln!(f, "{item}")?;
        }
        Ok(())
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Item::Variable(variable) => write!(f, "{variable};"),
            Item::Function(function) => write!(f, "{function}"),
            Item::File { index, name } => write!(f, "\t.file\t{index} \"{name}\""),
            Item::Other { text, .. } => f.write_str(text),
        }
    }
}

impl Display for Variable {
    /// The declaration without its `;`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let linkage = self.linkage.word();
        if !linkage.is_empty() {
            write!(f, "{linkage} ")?;
        }
        write!(f, ".{} ", self.space.word())?;
        if let Some(attribute) = &self.attribute {
            write!(f, ".attribute({attribute}) ")?;
        }
        if let Some(align) = self.align {
            write!(f, ".align {align} ")?;
        }
        if self.vector > 1 {
            write!(f, ".v{} ", self.vector)?;
        }
        write!(f, ".{} ", self.ty.word())?;
        if let Some(ptr) = &self.ptr {
            write!(f, "{ptr} ")?;
        }
        f.write_str(&self.name)?;
        if let Some(count) = self.register_range {
            write!(f, "<{count}>")?;
        }
        for &dim in &self.dims {
            match dim {
                0 => f.write_str("[]")?,
                _ => write!(f, "[{dim}]")?,
            }
        }
        match &self.init {
            Some(init) => write!(f, " = {init}"),
            None => Ok(()),
        }
    }
}

impl Display for Init {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Init::Number(number) => write!(f, "{number}"),
            Init::Symbol {
                name,
                offset,
                generic,
                mask,
            } => {
                if let Some(mask) = mask {
                    write!(f, "0x{mask:X}(")?;
                }
                match generic {
                    true => write!(f, "generic({name})")?,
                    false => f.write_str(name)?,
                }
                print_offset(f, *offset)?;
                if mask.is_some() {
                    f.write_char(')')
                } else {
                    Ok(())
                }
            }
            Init::List(list) => {
                f.write_char('{')?;
                print_list(f, list)?;
                f.write_char('}')
            }
        }
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let linkage = self.linkage.word();
        if !linkage.is_empty() {
            write!(f, "{linkage} ")?;
        }
        f.write_str(if self.is_entry { ".entry " } else { ".func " })?;
        if !self.returns.is_empty() {
            f.write_char('(')?;
            print_list(f, &self.returns)?;
            f.write_str(") ")?;
        }
        write!(f, "{}(", self.name)?;
        for (index, param) in self.params.iter().enumerate() {
            write!(f, "{}\n\t{param}", if index > 0 { "," } else { "" })?;
        }
        f.write_str(if self.params.is_empty() { ")" } else { "\n)" })?;
        for directive in &self.directives {
            write!(f, "\n{directive}")?;
        }
        match &self.body {
            None => f.write_str("\n;"),
            Some(body) => {
                f.write_str("\n{\n")?;
                print_body(f, body, 1)?;
                f.write_str("}\n")
            }
        }
    }
}

impl Display for Directive {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.name)?;
        for (index, value) in self.values.iter().enumerate() {
            write!(f, "{}{value}", if index > 0 { ", " } else { " " })?;
        }
        match &self.text {
            Some(text) => write!(f, " \"{text}\";"),
            None => Ok(()),
        }
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print_statement(f, self, 0)
    }
}

/// Statements, one a line.
fn print_body(f: &mut Formatter<'_>, body: &[Statement], depth: usize) -> Result {
    for statement in body {
        print_statement(f, statement, depth)?;
        f.write_char('\n')?;
    }
    Ok(())
}

fn print_statement(f: &mut Formatter<'_>, statement: &Statement, depth: usize) -> Result {
    // Labels stand at the margin; everything else is indented by its scope.
    let labelled = matches!(statement, Statement::Label { .. });
    for _ in 0..if labelled {
        depth.saturating_sub(1)
    } else {
        depth
    } {
        f.write_char('\t')?;
    }
    match statement {
        Statement::Variable(variable) => write!(f, "{variable};"),
        Statement::Label { name, .. } => write!(f, "{name}:"),
        Statement::Instruction(instruction) => write!(f, "{instruction}"),
        Statement::Block(body) => {
            f.write_str("{\n")?;
            print_body(f, body, depth + 1)?;
            for _ in 0..depth {
                f.write_char('\t')?;
            }
            f.write_char('}')
        }
        Statement::Loc {
            file,
            line,
            column,
            rest,
        } => {
            write!(f, ".loc\t{file} {line} {column}")?;
            rest.as_ref().map_or(Ok(()), |rest| write!(f, ", {rest}"))
        }
        Statement::BranchTargets { name, labels, .. } => {
            write!(f, "{name}: .branchtargets {};", labels.join(", "))
        }
        Statement::CallPrototype { name, text, .. } => write!(f, "{name}: .callprototype {text};"),
        Statement::Pragma { text, .. } => write!(f, ".pragma \"{text}\";"),
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(guard) = &self.guard {
            write!(f, "{guard} ")?;
        }
        f.write_str(&self.opcode)?;
        for modifier in &self.modifiers {
            write!(f, ".{modifier}")?;
        }
        if !self.operands.is_empty() {
            f.write_char(' ')?;
            print_list(f, &self.operands)?;
        }
        f.write_char(';')
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "@{}{}",
            if self.negated { "!" } else { "" },
            self.register
        )
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operand::Name {
                name,
                component: None,
            } => f.write_str(name),
            Operand::Name {
                name,
                component: Some(component),
            } => write!(f, "{name}.{component}"),
            Operand::Not(name) => write!(f, "!{name}"),
            Operand::Immediate(immediate) => write!(f, "{immediate}"),
            Operand::Offset { name, offset } => {
                f.write_str(name)?;
                // An offset of zero was written, and is an offset still.
                write!(f, "+{offset}")
            }
            Operand::Address(address) => write!(f, "{address}"),
            Operand::Vector(elements) => {
                f.write_char('{')?;
                print_list(f, elements)?;
                f.write_char('}')
            }
            Operand::List(elements) => {
                f.write_char('(')?;
                print_list(f, elements)?;
                f.write_char(')')
            }
            Operand::Pair(first, second) => write!(f, "{first}|{second}"),
            Operand::Sink => f.write_char('_'),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('[')?;
        match &self.base {
            AddressBase::Name(name) => f.write_str(name)?,
            AddressBase::Number(number) => write!(f, "{number}")?,
        }
        print_offset(f, self.offset)?;
        if let Some(coordinates) = &self.coordinates {
            f.write_str(", {")?;
            print_list(f, coordinates)?;
            f.write_char('}')?;
        }
        f.write_char(']')
    }
}

impl Display for Immediate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Immediate::Int {
                bits,
                negative: true,
            } => write!(f, "-{}", bits.wrapping_neg()),
            Immediate::Int {
                bits,
                negative: false,
            } => write!(f, "{bits}"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

fn print_offset(f: &mut Formatter<'_>, offset: i64) -> Result {
    if offset == 0 {
        Ok(())
    } else {
        write!(f, "+{offset}")
    }
}

fn print_list<T: Display>(f: &mut Formatter<'_>, list: &[T]) -> Result {
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{element}")?;
    }
    Ok(())
}
