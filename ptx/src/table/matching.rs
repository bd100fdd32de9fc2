//! Comparing an instruction with the forms of its opcode.

use super::modifiers::{Flag, Modifiers};
use super::notation::{Accept, OperandSpec, Pattern, Step, WordSpec};
use crate::ast::{Instruction, Operand};

/// More modifiers than this no instruction has.
const MAX_WORDS: usize = 64;

/// Why an instruction is not of a form.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// How far the comparison got; the form that got furthest is the one that was meant.
    pub(super) progress: usize,
    /// What stands there.
    pub(super) got: String,
    /// What the form has there, one entry for each possibility.
    pub(super) expected: Vec<String>,
}

/// The operands of a form in its order, by name; those left out are not listed.
pub(super) type Operands<'a> = Vec<(&'static str, &'a Operand)>;

/// Compares, and sorts modifiers and operands by meaning.
pub(super) fn compare<'a>(
    pattern: &Pattern,
    instruction: &'a Instruction,
) -> Option<(Modifiers, Operands<'a>)> {
    let modifiers = sort_modifiers(&pattern.steps, instruction)?;
    let mut chosen = Vec::with_capacity(instruction.operands.len());
    let mut fit = Fit {
        operands: &instruction.operands,
        modifiers: &modifiers,
        words: &instruction.modifiers,
        failure: None,
    };
    fit.rest(&pattern.operands, 0, &mut chosen)
        .then_some((modifiers, chosen))
}

/// Says why [`compare`] found nothing. It is apart from it, so that a comparison that fails costs no words.
pub(super) fn explain(pattern: &Pattern, instruction: &Instruction) -> Mismatch {
    let Some(modifiers) = sort_modifiers(&pattern.steps, instruction) else {
        return explain_modifiers(&pattern.steps, &instruction.modifiers);
    };
    let operands = &instruction.operands;
    let failure = Some(Failure {
        at: 0,
        expected: Vec::new(),
    });
    let mut fit = Fit {
        operands,
        modifiers: &modifiers,
        words: &instruction.modifiers,
        failure,
    };
    fit.rest(&pattern.operands, 0, &mut Vec::new());
    let Failure { at, expected } = fit.failure.unwrap_or_default();
    let got = match operands.get(at) {
        Some(operand) => format!("`{operand}` as operand {}", at + 1),
        None if operands.len() == 1 => "1 operand".to_owned(),
        None => format!("{} operands", operands.len()),
    };
    // Operands count more than any number of modifiers.
    Mismatch {
        progress: MAX_WORDS + at + 1,
        got,
        expected,
    }
}

fn sort_modifiers(steps: &[Step], instruction: &Instruction) -> Option<Modifiers> {
    let words = &instruction.modifiers;
    if words.len() > MAX_WORDS {
        return None;
    }
    let mut modifiers = Modifiers::default();
    let mut used = 0_u64;
    for step in steps {
        match assign(step, words, used) {
            Ok(taken) => {
                for (spec, at) in step.words.iter().zip(taken) {
                    modifiers.take(spec.slot, &words[at]);
                    used |= 1 << at;
                }
            }
            Err(_) if step.optional => {}
            Err(_) => return None,
        }
    }
    if instruction.opcode == "bar" {
        modifiers.set(Flag::Aligned);
    }
    (used.count_ones() as usize == words.len()).then_some(modifiers)
}

/// The longest group of words that stand together.
pub(super) const MAX_GROUP: usize = 2;

/// The word that each specification of a step takes, out of those that are not used; or the one that finds none.
fn assign<'p>(
    step: &'p Step,
    words: &[String],
    mut used: u64,
) -> Result<[usize; MAX_GROUP], &'p WordSpec> {
    let mut taken = [0; MAX_GROUP];
    for (spec, place) in step.words.iter().zip(&mut taken) {
        *place = (0..words.len())
            .find(|&at| used >> at & 1 == 0 && spec.fits(&words[at]))
            .ok_or(spec)?;
        used |= 1 << *place;
    }
    Ok(taken)
}

fn explain_modifiers(steps: &[Step], words: &[String]) -> Mismatch {
    if words.len() > MAX_WORDS {
        let got = format!("{} modifiers", words.len());
        return Mismatch {
            progress: 0,
            got,
            expected: vec![format!("at most {MAX_WORDS}")],
        };
    }
    let mut used = 0_u64;
    let mut missing = Vec::new();
    let mut left_out = Vec::new();
    for step in steps {
        match assign(step, words, used) {
            Ok(taken) => step
                .words
                .iter()
                .zip(taken)
                .for_each(|(_, at)| used |= 1 << at),
            Err(spec) if step.optional => left_out.push(describe_word(spec)),
            Err(spec) => missing.push(describe_word(spec)),
        }
    }
    let unused = (0..words.len()).find(|&at| used >> at & 1 == 0);
    let got = unused.map_or_else(
        || "no such modifier".to_owned(),
        |at| format!("`.{}`", words[at]),
    );
    let mut expected = if missing.is_empty() {
        left_out
    } else {
        missing
    };
    if expected.is_empty() {
        expected.push("no further modifier".to_owned());
    }
    Mismatch {
        progress: used.count_ones() as usize,
        got,
        expected,
    }
}

/// Words of a class that a message lists; the rest are dots.
const MAX_LISTED: usize = 4;

fn describe_word(spec: &WordSpec) -> String {
    let mut listed: Vec<String> = spec
        .words
        .iter()
        .take(MAX_LISTED)
        .map(|word| format!("`.{word}`"))
        .collect();
    if spec.words.len() > MAX_LISTED {
        listed.push("…".to_owned());
    }
    listed.join(" or ")
}

/// The operand that does not fit, and what would.
#[derive(Default)]
struct Failure {
    at: usize,
    expected: Vec<String>,
}

/// Fits operands to their places. Optional ones are taken where possible, and left out where that lets the rest fit.
struct Fit<'a, 'm> {
    operands: &'a [Operand],
    modifiers: &'m Modifiers,
    words: &'m [String],
    /// The furthest failure, where it is asked for.
    failure: Option<Failure>,
}

impl<'a> Fit<'a, '_> {
    fn rest(&mut self, specs: &[OperandSpec], at: usize, chosen: &mut Operands<'a>) -> bool {
        let Some((spec, rest)) = specs.split_first() else {
            if at < self.operands.len() {
                self.fail(at, || "no further operand".to_owned());
            }
            return at == self.operands.len();
        };
        // A tied operand is there exactly when its modifier is.
        let (may_take, may_skip) = match spec.tied {
            Some(tie) => {
                let tied = self.words.iter().any(|word| is_tie(tie, word));
                (tied, !tied)
            }
            None => (true, spec.optional),
        };
        if may_take {
            match self
                .operands
                .get(at)
                .filter(|operand| accepts(spec.accept, operand, self.modifiers))
            {
                Some(operand) => {
                    chosen.push((spec.name, operand));
                    if self.rest(rest, at + 1, chosen) {
                        return true;
                    }
                    chosen.pop();
                }
                None => {
                    let modifiers = self.modifiers;
                    self.fail(at, || describe_operand(spec, modifiers));
                }
            }
        }
        may_skip && self.rest(rest, at, chosen)
    }

    fn fail(&mut self, at: usize, expected: impl FnOnce() -> String) {
        let Some(failure) = &mut self.failure else {
            return;
        };
        if at < failure.at {
            return;
        }
        if at > failure.at {
            *failure = Failure {
                at,
                expected: Vec::new(),
            };
        }
        let expected = expected();
        if !failure.expected.contains(&expected) {
            failure.expected.push(expected);
        }
    }
}

/// The offsets of an image copy come with all its modes but the one that has none.
fn is_tie(tie: &str, word: &str) -> bool {
    if tie == "im2col" {
        word.starts_with("im2col") && word != "im2col_no_offs"
    } else {
        word == tie
    }
}

fn accepts(accept: Accept, operand: &Operand, modifiers: &Modifiers) -> bool {
    let wide = accept.by_width && modifiers.vector() > 1;
    match operand {
        Operand::Name { .. } => accept.name && !wide,
        Operand::Immediate(_) => accept.constant && !wide,
        Operand::Offset { .. } => accept.symbol && !wide,
        Operand::Not(_) => accept.negated,
        Operand::Sink => accept.sink,
        Operand::Pair(..) => accept.pair,
        Operand::List(_) => accept.list,
        Operand::Vector(elements) => {
            let length = elements.len();
            accept.vector
                || wide && length == modifiers.vector()
                || accept.by_count && length == usize::from(modifiers.count)
        }
        Operand::Address(address) => match address.coordinates {
            Some(_) => accept.coordinates,
            None => accept.address,
        },
    }
}

fn describe_operand(spec: &OperandSpec, modifiers: &Modifiers) -> String {
    let accept = spec.accept;
    let vector = format!("a vector of {}", modifiers.vector());
    let counted = format!("a vector of {}", modifiers.count);
    let mut shapes = Vec::new();
    let wide = accept.by_width && modifiers.vector() > 1;
    for (there, shape) in [
        (accept.name && !wide, "a name"),
        (accept.constant && !wide, "a constant"),
        (accept.negated, "a negated predicate"),
        (accept.pair, "a pair"),
        (accept.sink, "`_`"),
        (accept.vector, "a vector"),
        (wide, &vector),
        (accept.by_count, &counted),
        (accept.address, "an address in brackets"),
        (accept.coordinates, "an address with coordinates"),
        (accept.list, "a list in parentheses"),
    ] {
        if there {
            shapes.push(shape);
        }
    }
    format!("{} ({})", spec.text, shapes.join(" or "))
}
