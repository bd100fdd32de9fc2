//! The table against itself: every form is reachable, every word means something, and the rest of the crate agrees with it.

use std::collections::HashSet;

use super::example::{Skeleton, Takes, skeletons};
use super::matching::MAX_GROUP;
use super::modifiers::{Slot, natural};
use super::notation::{Kind, Pattern, kind, read};
use super::{Flag, Form, Mode, Op, Row, StateSpace, identify, rows};
use crate::ast::{Address, AddressBase, Immediate, Instruction, Operand, Pos, Type};
use crate::uses::{Role, uses};

/// All forms with their rows and patterns.
fn forms() -> impl Iterator<Item = (&'static Row, &'static Form, Pattern)> {
    rows().iter().flat_map(|row| {
        row.forms
            .iter()
            .map(move |form| (row, form, read(form.syntax, form.classes)))
    })
}

/// Instructions of a form: the shortest, the longest, and the longest with each word of each class once.
fn examples(pattern: &Pattern) -> Vec<Instruction> {
    skeletons(pattern).into_iter().map(filled).collect()
}

/// A skeleton with one register in every place.
fn filled(skeleton: Skeleton) -> Instruction {
    let Skeleton {
        opcode,
        modifiers,
        places,
    } = skeleton;
    Instruction {
        guard: None,
        opcode: opcode.to_owned(),
        modifiers,
        operands: places.iter().map(|place| operand(place.takes)).collect(),
        pos: Pos { line: 3, column: 5 },
    }
}

fn operand(takes: Takes) -> Operand {
    let register = || Operand::Name {
        name: "%r1".to_owned(),
        component: None,
    };
    let address = |coordinates| {
        Operand::Address(Address {
            base: AddressBase::Name("%r2".to_owned()),
            offset: 0,
            coordinates,
        })
    };
    match takes {
        Takes::Coordinates => address(Some(vec![register()])),
        Takes::Address => address(None),
        Takes::Vector(count) => Operand::Vector(vec![register(); count.max(1)]),
        Takes::List => Operand::List(vec![register()]),
        Takes::Pair => Operand::Pair(Box::new(register()), Box::new(register())),
        Takes::Label | Takes::Destination | Takes::Predicate | Takes::Source => register(),
        Takes::Sink => Operand::Sink,
        Takes::Constant => Operand::Immediate(Immediate::Int {
            bits: 1,
            negative: false,
        }),
    }
}

#[test]
fn every_form_is_reached_by_its_own_instructions() {
    for (row, form, pattern) in forms() {
        for instruction in examples(&pattern) {
            let matched = identify(&instruction)
                .unwrap_or_else(|error| panic!("{}: {instruction}: {error}", form.syntax));
            assert_eq!(matched.op, row.op, "{}: {instruction}", form.syntax);
        }
    }
}

#[test]
fn groups_are_as_short_as_the_comparison_takes_them() {
    for (_, form, pattern) in forms() {
        assert!(
            pattern
                .steps
                .iter()
                .all(|step| step.words.len() <= MAX_GROUP),
            "{}",
            form.syntax
        );
    }
}

#[test]
fn rows_are_in_the_order_of_their_identities() {
    assert_eq!(rows().len(), Op::ALL.len());
    for (row, &op) in rows().iter().zip(Op::ALL) {
        assert_eq!((row.op, op.row().op), (op, op));
        assert!(row.doc.ends_with('.') && !row.forms.is_empty(), "{row:?}");
    }
}

#[test]
fn every_word_means_what_its_class_says() {
    for (_, form, pattern) in forms() {
        for word in pattern.steps.iter().flat_map(|step| &step.words) {
            for text in word.words.iter().map(|text| text.replace("nN", "n8")) {
                let slot = word.slot.unwrap_or_else(|| natural(&text));
                let known = match slot {
                    Slot::Type => Type::parse(&text).is_some(),
                    Slot::Space => StateSpace::parse(&text).is_some(),
                    Slot::Ordering => super::Ordering::parse(&text).is_some(),
                    Slot::Scope => super::Scope::parse(&text).is_some(),
                    Slot::Rounding => super::Rounding::parse(&text).is_some(),
                    Slot::Compare => super::Compare::parse(&text).is_some(),
                    Slot::Boolean => super::Boolean::parse(&text).is_some(),
                    Slot::Operation => super::Operation::parse(&text).is_some(),
                    Slot::Mode => Mode::parse(&text).is_some(),
                    Slot::Layout => super::Layout::parse(&text).is_some(),
                    Slot::Shape => super::Shape::parse(&text).is_some(),
                    Slot::Vector | Slot::Count | Slot::Dimension => {
                        text.bytes().any(|byte| byte.is_ascii_digit())
                    }
                    Slot::Nothing => true,
                };
                assert!(known, "{}: `.{text}` is no {slot:?}", form.syntax);
            }
        }
    }
}

/// A literal that can be missing must be visible to a decoder, unless it is one of these, which change nothing.
#[test]
fn what_can_be_missing_has_a_meaning() {
    const IDLE: &[&str] = &["cta", "weak"];
    for (_, form, pattern) in forms() {
        for word in pattern
            .steps
            .iter()
            .filter(|step| step.optional)
            .flat_map(|step| &step.words)
        {
            let [text] = &word.words[..] else { continue };
            let known = word.slot.is_some()
                || natural(text) != Slot::Nothing
                || Flag::parse(text).is_some()
                || IDLE.contains(&&**text);
            assert!(known, "{}: `.{text}` has no meaning", form.syntax);
        }
    }
}

#[test]
fn every_flag_and_mode_is_in_use() {
    let words: HashSet<String> = forms()
        .flat_map(|(_, _, pattern)| {
            pattern
                .steps
                .into_iter()
                .flat_map(|step| step.words)
                .flat_map(|word| word.words)
                .map(String::from)
                .collect::<Vec<_>>()
        })
        .collect();
    for &flag in Flag::ALL {
        assert!(words.contains(flag.word()), "{flag:?}");
    }
    for &mode in Mode::ALL {
        assert!(words.contains(mode.word()), "{mode:?}");
    }
}

#[test]
fn uses_agree_with_the_table() {
    for (_, form, pattern) in forms() {
        let written = pattern.operands.first().is_some_and(|first| {
            let accept = first.accept;
            // `(ret)` of a call is the one destination that is a list, and `_` is one that is dropped.
            first.name == "ret"
                || kind(first.name) == Kind::Written && !accept.address && !accept.constant
        });
        let instruction = examples(&pattern).swap_remove(0);
        let found = uses(&instruction)
            .iter()
            .any(|used| used.role == Role::Write);
        assert_eq!(found, written, "{}: {instruction}", form.syntax);
    }
}
