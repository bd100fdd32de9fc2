//! Instructions of a form, made from its notation: what tools that go through the whole table fill with registers of their own.

use super::Form;
use super::notation::{Kind, OperandSpec, Pattern, kind, read};

/// An instruction of a form whose operands are still to be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The opcode.
    pub opcode: &'static str,
    /// The modifiers.
    pub modifiers: Vec<String>,
    /// What its operands are.
    pub places: Vec<Place>,
}

/// The place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name in the form.
    pub name: &'static str,
    /// What stands there.
    pub takes: Takes,
}

/// What stands in an operand's place. Where a form leaves a choice, it is the first of these that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// An address with coordinates.
    Coordinates,
    /// An address.
    Address,
    /// A vector of so many; zero where the form does not say how many.
    Vector(usize),
    /// A list in parentheses.
    List,
    /// Two registers with a bar between them.
    Pair,
    /// A label, a function, a list or a prototype.
    Label,
    /// A register that is written.
    Destination,
    /// A predicate, which may be negated.
    Predicate,
    /// A register, a constant or a symbol that is read.
    Source,
    /// `_`.
    Sink,
    /// A constant only.
    Constant,
}

impl Form {
    /// The shortest instruction of the form, the longest, and the longest with each word of each class once.
    #[must_use]
    pub fn skeletons(&self) -> Vec<Skeleton> {
        skeletons(&read(self.syntax, self.classes))
    }

    /// The words that can be chosen: those of classes with several, and those that can be missing.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        choices(&read(self.syntax, self.classes))
    }

    /// The shortest instruction with this word, and the shortest and the longest with it and each other word beside it.
    #[must_use]
    pub fn skeletons_with(&self, word: &Choice) -> Vec<Skeleton> {
        let pattern = read(self.syntax, self.classes);
        let with = |long, others: &[&Choice]| {
            let special: Vec<&Choice> = others.iter().copied().chain([word]).collect();
            skeleton(&pattern, long, &special)
        };
        let mut all = vec![with(false, &[])];
        for other in &choices(&pattern) {
            if (other.step, other.at) != (word.step, word.at) {
                all.push(with(false, &[other]));
                all.push(with(true, &[other]));
            }
        }
        all
    }
}

/// A word that can stand in an instruction of a form, or be missing, or be another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word; with others that come and go with it, all of them.
    pub word: String,
    step: usize,
    at: usize,
    index: usize,
}

fn choices(pattern: &Pattern) -> Vec<Choice> {
    let mut all = Vec::new();
    for (step, words) in pattern.steps.iter().enumerate() {
        for (at, spec) in words.words.iter().enumerate() {
            let several = spec.words.len() > 1;
            let first = words.optional && at == 0;
            if !several && !first {
                continue;
            }
            for (index, word) in spec.words.iter().enumerate() {
                let word = if several {
                    word.to_string()
                } else {
                    let together: Vec<&str> =
                        words.words.iter().map(|spec| &*spec.words[0]).collect();
                    together.join(".")
                };
                all.push(Choice {
                    word,
                    step,
                    at,
                    index,
                });
            }
        }
    }
    all
}

pub(super) fn skeletons(pattern: &Pattern) -> Vec<Skeleton> {
    let mut all = vec![skeleton(pattern, false, &[]), skeleton(pattern, true, &[])];
    let special = choices(pattern);
    all.extend(
        special
            .iter()
            .filter(|choice| choice.index > 0)
            .map(|choice| skeleton(pattern, true, &[choice])),
    );
    all
}

/// The instruction with or without what is optional, and with these words instead of the first of their classes.
fn skeleton(pattern: &Pattern, long: bool, special: &[&Choice]) -> Skeleton {
    let mut modifiers = Vec::new();
    for (number, step) in pattern.steps.iter().enumerate() {
        let chosen = |choice: &&&Choice| choice.step == number;
        if !long && step.optional && !special.iter().any(|choice| chosen(&choice)) {
            continue;
        }
        for (at, spec) in step.words.iter().enumerate() {
            let choice = special
                .iter()
                .filter(chosen)
                .find(|choice| choice.at == at)
                .map_or(0, |choice| choice.index);
            modifiers.push(spec.words[choice].replace("nN", "n8"));
        }
    }
    let number = |prefix| {
        modifiers
            .iter()
            .find_map(|word: &String| word.strip_prefix(prefix)?.parse().ok())
            .unwrap_or(1)
    };
    let (count, width) = (number('x'), number('v'));
    let tied = |tie: &str| {
        modifiers.iter().any(|word| {
            word == tie || tie == "im2col" && word.starts_with("im2col") && word != "im2col_no_offs"
        })
    };
    let is_there = |spec: &&OperandSpec| spec.tied.map_or(long || !spec.optional, tied);
    let places = pattern
        .operands
        .iter()
        .filter(is_there)
        .map(|spec| Place {
            name: spec.name,
            takes: takes(spec, width, count),
        })
        .collect();
    Skeleton {
        opcode: pattern.opcode,
        modifiers,
        places,
    }
}

fn takes(spec: &OperandSpec, width: usize, count: usize) -> Takes {
    let accept = spec.accept;
    if accept.coordinates {
        Takes::Coordinates
    } else if accept.address {
        Takes::Address
    } else if accept.by_width && width > 1 {
        Takes::Vector(width)
    } else if accept.by_count {
        Takes::Vector(count)
    } else if accept.vector && !accept.name {
        Takes::Vector(0)
    } else if accept.list {
        Takes::List
    } else if accept.pair {
        Takes::Pair
    } else if accept.name {
        match kind(spec.name) {
            Kind::Label => Takes::Label,
            Kind::Written => Takes::Destination,
            _ if accept.negated => Takes::Predicate,
            _ => Takes::Source,
        }
    } else if accept.sink {
        Takes::Sink
    } else {
        Takes::Constant
    }
}
