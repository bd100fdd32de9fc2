//! The instruction table: which instructions there are, in which forms, and what the words of a form mean.
//!
//! The rows stand in `rows.rs`, in the ISA's own notation; everything else is derived from them.
//! [`identify`] compares an instruction with the table; a decoder then goes by [`Matched::op`] and [`Matched::modifiers`] and never compares a word.

mod example;
mod matching;
mod modifiers;
mod notation;
mod rows;
pub mod special;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use thiserror::Error;

use crate::ast::{Instruction, Operand, Pos, Version};

use self::notation::Pattern;

pub use self::example::{Choice, Place, Skeleton, Takes};
pub use self::modifiers::{
    Boolean, Compare, Flag, Layout, Mode, Modifiers, Operation, Ordering, Rounding, Scope, Shape,
    StateSpace,
};
pub use self::rows::{Op, rows};

/// A family of forms that one decoder case handles.
#[derive(Debug)]
pub struct Row {
    /// Its identity.
    pub op: Op,
    /// One sentence.
    pub doc: &'static str,
    /// The title of the ISA's section, without its number, which moves between releases.
    pub section: &'static str,
    /// The instruction in that section.
    pub title: &'static str,
    /// The lowest `.version` of its simplest form, if known for sure.
    pub since: Option<Version>,
    /// The lowest target of its simplest form, `sm_80`, or `sm_90a` where only that one has it.
    pub target: Option<&'static str>,
    /// The forms.
    pub forms: &'static [Form],
}

/// One form, in the ISA's notation.
#[derive(Debug)]
pub struct Form {
    /// `add{.sat}.s32 d, a, b`
    pub syntax: &'static str,
    /// What the words of the syntax stand for that are no words themselves: `type: u16 u32; mode: hi lo`.
    pub classes: &'static str,
}

/// An instruction that is in the table.
#[derive(Debug)]
pub struct Matched<'a> {
    /// What it is.
    pub op: Op,
    /// Its row.
    pub row: &'static Row,
    /// Which of the row's forms.
    pub form: &'static Form,
    /// Its modifiers by meaning.
    pub modifiers: Modifiers,
    operands: matching::Operands<'a>,
}

impl<'a> Matched<'a> {
    /// An operand by its name in the form, without brackets: `dst` for `[dst]`, `d` for `d{|p}`.
    /// `None` where the form has it not, or has it optional and the instruction leaves it out.
    #[must_use]
    pub fn operand(&self, name: &str) -> Option<&'a Operand> {
        self.operands
            .iter()
            .find(|operand| operand.0 == name)
            .map(|operand| operand.1)
    }

    /// The operands that are there, with their names in the form, in order.
    pub fn operands(&self) -> impl Iterator<Item = (&'static str, &'a Operand)> {
        self.operands.iter().copied()
    }
}

/// An instruction that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}:{}: `{instruction}`: got {got}, expected {expected}", pos.line, pos.column)]
pub struct FormError {
    /// Where the instruction stands.
    pub pos: Pos,
    /// The opcode with its modifiers.
    pub instruction: String,
    /// What stands there.
    pub got: String,
    /// What would have been right.
    pub expected: String,
}

/// Possibilities that an error lists at most.
const MAX_LISTED: usize = 8;

/// All forms by opcode, in the order of the table.
static FORMS: LazyLock<HashMap<&'static str, Vec<Entry>>> = LazyLock::new(|| {
    let mut forms: HashMap<&'static str, Vec<Entry>> = HashMap::new();
    for row in rows() {
        for form in row.forms {
            let pattern = notation::read(form.syntax, form.classes);
            forms
                .entry(pattern.opcode)
                .or_default()
                .push(Entry { row, form, pattern });
        }
    }
    forms
});

struct Entry {
    row: &'static Row,
    form: &'static Form,
    pattern: Pattern,
}

/// Finds an instruction in the table.
///
/// # Errors
/// What the nearest form has in the place of the first thing that does not fit.
pub fn identify(instruction: &Instruction) -> Result<Matched<'_>, FormError> {
    let error = |got: String, expected: String| FormError {
        pos: instruction.pos,
        instruction: instruction.mnemonic(),
        got,
        expected,
    };
    let Some(entries) = FORMS.get(instruction.opcode.as_str()) else {
        return Err(error(
            format!("`{}`", instruction.opcode),
            "an opcode of the instruction table".to_owned(),
        ));
    };
    for Entry { row, form, pattern } in entries {
        if let Some((modifiers, operands)) = matching::compare(pattern, instruction) {
            return Ok(Matched {
                op: row.op,
                row,
                form,
                modifiers,
                operands,
            });
        }
    }
    let mut nearest = matching::Mismatch {
        progress: 0,
        got: String::new(),
        expected: Vec::new(),
    };
    for entry in entries {
        let mismatch = matching::explain(&entry.pattern, instruction);
        if mismatch.progress > nearest.progress || nearest.got.is_empty() {
            nearest = mismatch;
        } else if mismatch.progress == nearest.progress {
            let new = mismatch
                .expected
                .into_iter()
                .filter(|expected| !nearest.expected.contains(expected));
            nearest.expected.extend(new.collect::<Vec<_>>());
        }
    }
    let more = if nearest.expected.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    nearest.expected.truncate(MAX_LISTED);
    Err(error(nearest.got, nearest.expected.join(", or ") + more))
}
