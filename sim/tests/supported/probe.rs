//! Whether the simulator's decoder has an operation for a form of the instruction table.
//!
//! The table does not say which registers an instruction takes, the decoder does:
//! so each form is tried with registers of every kind, and counts as modelled if one choice decodes.

use std::fmt::Write as _;

use nstage_ptx::table::{Form, Op, Place, Skeleton, Takes};
use nstage_sim::Program;

/// Names of declared registers, by kind: 32 and 64 bits, predicates, 128 bits.
const KINDS: [&str; 4] = ["%w", "%l", "%p", "%q"];
const WORD: usize = 0;
const LONG: usize = 1;
const PRED: usize = 2;
const QUAD: usize = 3;

/// Lengths of vectors where a form leaves them open.
const LENGTHS: [usize; 4] = [1, 2, 4, 8];

/// How much of a form is modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    /// All of it.
    Whole,
    /// All but instructions with one of these words.
    Without(Vec<String>),
    /// Nothing that was tried.
    None,
}

/// Asks the decoder about a form.
pub(crate) fn support(op: Op, form: &Form) -> Support {
    let takes = |skeletons: &[Skeleton]| {
        skeletons
            .iter()
            .any(|skeleton| accepted(op, skeleton).is_some())
    };
    if !takes(&form.skeletons()) {
        return Support::None;
    }
    // A word counts as modelled if any instruction with it is: not every two words of a form go together.
    let refused: Vec<String> = form
        .choices()
        .iter()
        .filter(|choice| !takes(&form.skeletons_with(choice)))
        .map(|choice| choice.word.clone())
        .collect();
    if refused.is_empty() {
        Support::Whole
    } else {
        Support::Without(refused)
    }
}

/// An instruction of the skeleton that the decoder has an operation for.
pub(crate) fn accepted(op: Op, skeleton: &Skeleton) -> Option<String> {
    let likely = [Attempt::default()];
    first_accepted(op, skeleton, &likely)
        .or_else(|| first_accepted(op, skeleton, &attempts(skeleton)))
}

/// One instruction of the skeleton, accepted or not.
pub(crate) fn any(op: Op, skeleton: &Skeleton) -> String {
    instruction(op, skeleton, &Attempt::default())
}

/// The registers and numbers of one attempt.
#[derive(Clone, Debug)]
struct Attempt {
    /// Kinds of the destination, of the sources and of the last source.
    destination: usize,
    source: usize,
    last: usize,
    address: &'static str,
    constant: u32,
    /// Lengths of vectors that are open, in order.
    lengths: [usize; 4],
    coordinates: usize,
}

impl Default for Attempt {
    fn default() -> Self {
        Self {
            destination: WORD,
            source: LONG,
            last: LONG,
            address: "%l0",
            constant: 16,
            lengths: [1; 4],
            coordinates: 0,
        }
    }
}

/// Every attempt that can make a difference for this skeleton.
fn attempts(skeleton: &Skeleton) -> Vec<Attempt> {
    let count = |wanted: fn(&Takes) -> bool| {
        let places = skeleton.places.iter();
        places.filter(|place| wanted(&place.takes)).count()
    };
    let open = count(|takes| *takes == Takes::Vector(0));
    // A tensor map's coordinates leave nothing else open: masks are the low parts of long registers.
    let boxes = count(|takes| *takes == Takes::Coordinates) > 0;
    let kinds: &[usize] = if boxes {
        &[LONG]
    } else {
        &[WORD, LONG, PRED, QUAD]
    };
    let only = |there: bool, all: &'static [u32]| if there { all } else { &all[..1] };
    let constants = only(
        count(|takes| *takes == Takes::Constant) > 0,
        &[16, 4, 1, 0, 24, 128],
    );
    let addresses: &[&str] = if count(|takes| *takes == Takes::Address) > 0 && !boxes {
        &["%l0", "%w0", "par", "cpar"]
    } else {
        &["%l0"]
    };
    let coordinates = only(boxes, &[1, 2, 3, 4, 5]);
    let mut lengths = vec![[1; 4]];
    for at in 0..open.min(4) {
        lengths = lengths
            .into_iter()
            .flat_map(|before| {
                LENGTHS.map(|length| {
                    let mut with = before;
                    with[at] = length;
                    with
                })
            })
            .collect();
    }
    let mut all = Vec::new();
    for &destination in kinds {
        for &source in kinds {
            // The last source may be a predicate or a count while the others are values.
            let mut lasts = vec![source, PRED, WORD];
            lasts.dedup();
            lasts.truncate(if boxes { 1 } else { lasts.len() });
            for last in lasts {
                for &address in addresses {
                    for &constant in constants {
                        for &coordinates in coordinates {
                            all.extend(lengths.iter().map(|&lengths| Attempt {
                                destination,
                                source,
                                last,
                                address,
                                constant,
                                lengths,
                                coordinates: coordinates as usize,
                            }));
                        }
                    }
                }
            }
        }
    }
    all
}

/// Compiles all attempts at once; each has a line of its own.
fn first_accepted(op: Op, skeleton: &Skeleton, choices: &[Attempt]) -> Option<String> {
    let attempts: Vec<String> = choices
        .iter()
        .map(|choice| instruction(op, skeleton, choice))
        .collect();
    let (text, first) = module(&attempts);
    let refused = |text: &str| -> Option<Vec<u32>> {
        let module = nstage_ptx::parse(text).ok()?;
        let program = Program::compile(&module, "test").ok()?;
        Some(program.unsupported().map(|(_, line)| line).collect())
    };
    match refused(&text) {
        Some(lines) => attempts
            .iter()
            .zip(first..)
            .find(|(_, line)| !lines.contains(line))
            .map(|(attempt, _)| attempt.clone()),
        // An attempt makes no sense at all, which ends the whole compilation.
        None if attempts.len() > 1 => {
            let (left, right) = choices.split_at(choices.len() / 2);
            first_accepted(op, skeleton, left).or_else(|| first_accepted(op, skeleton, right))
        }
        None => None,
    }
}

/// A module with these instructions, one a line, and the line of the first.
pub(crate) fn module(instructions: &[String]) -> (String, u32) {
    let head = ".version 8.7\n.target sm_90a\n.address_size 64\n\
        .func nothing() { ret; }\n\
        .func gives (.reg .b32 r) { mov.u32 r, 1; ret; }\n\
        .func takes (.reg .b32 a) { ret; }\n\
        .func both (.reg .b32 r, .reg .b32 a) { mov.u32 r, a; ret; }\n\
        .visible .entry test(.param .align 16 .b8 par[64])\n{\n\
        .reg .b32 %w<64>; .reg .b64 %l<64>; .reg .pred %p<64>; .reg .b128 %q<64>;\n\
        .param .align 16 .b8 cpar[64];\n\
        TO:\nTARGETS: .branchtargets TO;\nPROTOTYPE: .callprototype _ ();\n";
    // A function is declared with its results before its name.
    let head = head
        .replace(".func gives (.reg .b32 r)", ".func (.reg .b32 r) gives ()")
        .replace(
            ".func both (.reg .b32 r, .reg .b32 a)",
            ".func (.reg .b32 r) both (.reg .b32 a)",
        );
    let first = head.lines().count() as u32 + 1;
    let mut text = head;
    for instruction in instructions {
        text.push_str(instruction);
        text.push('\n');
    }
    text.push_str("ret;\n}\n");
    (text, first)
}

fn instruction(op: Op, skeleton: &Skeleton, choice: &Attempt) -> String {
    let mut text = skeleton.opcode.to_owned();
    for word in &skeleton.modifiers {
        let _ = write!(text, ".{word}");
    }
    let last = skeleton
        .places
        .iter()
        .rposition(|place| place.takes == Takes::Source);
    let mut open = choice.lengths.iter();
    let mut next = 0;
    for (index, place) in skeleton.places.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        let mut register = |kind: usize| {
            next += 1;
            format!("{}{next}", KINDS[kind])
        };
        let written = match place.takes {
            Takes::Coordinates => {
                let coordinates: Vec<String> = (0..choice.coordinates.max(1))
                    .map(|_| register(WORD))
                    .collect();
                format!("[%l0, {{{}}}]", coordinates.join(", "))
            }
            Takes::Address => format!("[{}]", choice.address),
            Takes::Vector(length) => {
                let length = match length {
                    0 => *open.next().unwrap_or(&1),
                    length => length,
                };
                let kind = if index == 0 {
                    choice.destination
                } else {
                    choice.source
                };
                let elements: Vec<String> = (0..length).map(|_| register(kind)).collect();
                format!("{{{}}}", elements.join(", "))
            }
            Takes::List => "(%w60)".to_owned(),
            Takes::Pair => format!("{}|%p62", register(choice.destination)),
            Takes::Label => label(op, skeleton, *place).to_owned(),
            Takes::Destination => register(choice.destination),
            Takes::Predicate => "%p61".to_owned(),
            Takes::Source if Some(index) == last => register(choice.last),
            Takes::Source => register(choice.source),
            Takes::Sink => "_".to_owned(),
            Takes::Constant => choice.constant.to_string(),
        };
        text.push_str(&written);
    }
    text.push(';');
    text
}

/// The name that stands in a label's place.
fn label(op: Op, skeleton: &Skeleton, place: Place) -> &'static str {
    let lists = |name: &str| skeleton.places.iter().any(|place| place.name == name);
    match place.name {
        "tlist" => "TARGETS",
        "flist" => "PROTOTYPE",
        "fname" if op == Op::Call && lists("flist") => "%l0",
        "fname" => match (lists("ret"), lists("args")) {
            (true, true) => "both",
            (true, false) => "gives",
            (false, true) => "takes",
            (false, false) => "nothing",
        },
        _ => "TO",
    }
}
