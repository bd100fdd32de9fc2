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
) -> Result<(Modifiers, Operands<'a>), Mismatch> {
    let modifiers = compare_modifiers(&pattern.steps, instruction)?;
    let words = &instruction.modifiers;
    // Operands count more than any number of modifiers.
    let operands = compare_operands(&pattern.operands, &instruction.operands, &modifiers, words)
        .map_err(|failure| {
            let number = failure.at + 1;
            let got = match instruction.operands.get(failure.at) {
                Some(operand) => format!("`{operand}` as operand {number}"),
                None if failure.at == 1 => "1 operand".to_owned(),
                None => format!("{} operands", instruction.operands.len()),
            };
            Mismatch {
                progress: MAX_WORDS + number,
                got,
                expected: failure.expected,
            }
        })?;
    Ok((modifiers, operands))
}

fn compare_modifiers(steps: &[Step], instruction: &Instruction) -> Result<Modifiers, Mismatch> {
    let words = &instruction.modifiers;
    let mut modifiers = Modifiers::default();
    if words.len() > MAX_WORDS {
        let got = format!("{} modifiers", words.len());
        return Err(Mismatch {
            progress: 0,
            got,
            expected: vec![format!("at most {MAX_WORDS}")],
        });
    }
    let mut used = 0_u64;
    let mut missing = Vec::new();
    let mut left_out = Vec::new();
    for step in steps {
        let mut taken = used;
        let mut found = Vec::with_capacity(step.words.len());
        for spec in &step.words {
            let word = (0..words.len()).find(|&at| taken >> at & 1 == 0 && spec.fits(&words[at]));
            if let Some(at) = word {
                taken |= 1 << at;
                found.push((spec, at));
            } else {
                let list = if step.optional {
                    &mut left_out
                } else {
                    &mut missing
                };
                list.push(describe_word(spec));
            }
        }
        if found.len() == step.words.len() {
            used = taken;
            for (spec, at) in found {
                modifiers.take(spec.slot, &words[at]);
            }
        }
    }
    let unused = (0..words.len()).find(|&at| used >> at & 1 == 0);
    if missing.is_empty() && unused.is_none() {
        if instruction.opcode == "bar" {
            modifiers.set(Flag::Aligned);
        }
        return Ok(modifiers);
    }
    let got = unused.map_or_else(
        || "no such modifier".to_owned(),
        |at| format!("`.{}`", words[at]),
    );
    let expected = if missing.is_empty() {
        left_out
    } else {
        missing
    };
    let expected = if expected.is_empty() {
        vec!["no further modifier".to_owned()]
    } else {
        expected
    };
    Err(Mismatch {
        progress: used.count_ones() as usize,
        got,
        expected,
    })
}

fn describe_word(spec: &WordSpec) -> String {
    match &spec.words[..] {
        [word] => format!("`.{word}`"),
        words => words
            .iter()
            .map(|word| format!("`.{word}`"))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

/// The operand that does not fit, and what would.
struct Failure {
    at: usize,
    expected: Vec<String>,
}

/// Fits operands to their places. Optional ones are taken where possible and left out where that lets the rest fit.
fn compare_operands<'a>(
    specs: &[OperandSpec],
    operands: &'a [Operand],
    modifiers: &Modifiers,
    words: &[String],
) -> Result<Operands<'a>, Failure> {
    let mut best = Failure {
        at: 0,
        expected: Vec::new(),
    };
    let mut chosen = Vec::with_capacity(operands.len());
    if fit(specs, operands, 0, modifiers, words, &mut chosen, &mut best) {
        Ok(chosen)
    } else {
        Err(best)
    }
}

fn fit<'a>(
    specs: &[OperandSpec],
    operands: &'a [Operand],
    at: usize,
    modifiers: &Modifiers,
    words: &[String],
    chosen: &mut Operands<'a>,
    best: &mut Failure,
) -> bool {
    let Some((spec, rest)) = specs.split_first() else {
        if at < operands.len() {
            note(best, at, "no further operand".to_owned());
        }
        return at == operands.len();
    };
    // A tied operand is there exactly when its modifier is.
    let (may_take, may_skip) = match spec.tied {
        Some(tie) => {
            let tied = words.iter().any(|word| is_tie(tie, word));
            (tied, !tied)
        }
        None => (true, spec.optional),
    };
    if may_take {
        match operands
            .get(at)
            .filter(|operand| accepts(spec.accept, operand, modifiers))
        {
            Some(operand) => {
                chosen.push((spec.name, operand));
                if fit(rest, operands, at + 1, modifiers, words, chosen, best) {
                    return true;
                }
                chosen.pop();
            }
            None => note(best, at, describe_operand(spec, modifiers)),
        }
    }
    may_skip && fit(rest, operands, at, modifiers, words, chosen, best)
}

fn note(best: &mut Failure, at: usize, expected: String) {
    if at > best.at || best.expected.is_empty() {
        *best = Failure {
            at,
            expected: vec![expected],
        };
    } else if at == best.at && !best.expected.contains(&expected) {
        best.expected.push(expected);
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
