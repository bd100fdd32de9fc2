//! The notation of the table: the ISA's own way of writing syntax, read into patterns once.
//!
//! `opcode.word{.optional}.class operand, [address]{, optional}`
//!
//! - A word is itself, unless it is the name of a class; then it is any word of the class. Classes are given with the form, or are among [`CLASSES`].
//! - `.shared{::cta, ::cluster}` is any of `shared`, `shared::cta`, `shared::cluster`.
//! - `{.a.b}` is there whole or not at all. Order is not checked: the ISA's own examples write qualifiers in several orders, and the assembler takes them.
//! - `[a]` is an address, `[map, coords]` one with coordinates, `<a>` a vector, `(a)` a list, `d{|p}` a name with an optional second half, `{!}c` a predicate that may be negated, `_` the sink.
//! - `a.vec` is a scalar, or with `.v2`, `.v4`, `.v8` a vector of that many elements; `a.num` a vector of as many as `.x1`, `.x2`, `.x4` say.
//! - `a/<a>` is one or the other. What a plain name is, [`kind`] says.

use std::borrow::Cow;

use super::modifiers::Slot;

/// Classes that mean the same wherever a form does not say otherwise.
const CLASSES: &[(&str, &str)] = &[
    ("rnd", "rn rz rm rp"),
    ("BoolOp", "and or xor"),
    ("scope", "cta cluster gpu sys"),
    ("vec", "v2 v4 v8"),
    ("dim", "1d 2d 3d 4d 5d"),
    ("level::cache_hint", "L2::cache_hint"),
    ("level::prefetch_size", "L2::64B L2::128B L2::256B"),
    (
        "level1::eviction_priority",
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
    ),
    (
        "level2::eviction_priority",
        "L2::evict_normal L2::evict_first L2::evict_last",
    ),
];

/// Lists of words that several forms share.
const SETS: &[(&str, &str)] = &[
    ("INT", "u16 u32 u64 s16 s32 s64"),
    ("INT8", "u8 u16 u32 u64 s8 s16 s32 s64"),
    ("BITS", "b16 b32 b64"),
    ("FLOAT", "f32 f64"),
    (
        "ANY",
        "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
    ),
    ("INT_COMPARE", "eq ne lt le gt ge lo ls hi hs"),
    (
        "FLOAT_COMPARE",
        "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
    ),
    ("WMMA", "m16n16k16 m8n32k16 m32n8k16"),
    ("WMMA_SPACE", "global shared shared::cta"),
    ("COMPARED", "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
];

/// Operands that belong to a modifier: there with it, and only with it.
const TIED: &[(&str, &str)] = &[
    ("cache-policy", "L2::cache_hint"),
    ("ctaMask", "multicast::cluster"),
    ("byteMask", "cp_mask"),
    ("im2colInfo", "im2col"),
];

/// A form, ready to be compared with instructions.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) opcode: &'static str,
    pub(super) steps: Vec<Step>,
    pub(super) operands: Vec<OperandSpec>,
}

/// Words that stand together.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) optional: bool,
    pub(super) words: Vec<WordSpec>,
}

/// A word of a form: any of several.
#[derive(Debug)]
pub(super) struct WordSpec {
    /// Its meaning, if that does not follow from the word alone.
    pub(super) slot: Option<Slot>,
    pub(super) words: Vec<Cow<'static, str>>,
}

impl WordSpec {
    pub(super) fn fits(&self, word: &str) -> bool {
        let wide = self.slot == Some(Slot::Shape);
        self.words
            .iter()
            .any(|known| known == word || wide && is_wide_shape(known, word))
    }
}

/// `m64nNk16` stands for every N that is a multiple of eight up to 256.
fn is_wide_shape(known: &str, word: &str) -> bool {
    let Some((before, after)) = known.split_once("nN") else {
        return false;
    };
    let number = word
        .strip_prefix(before)
        .and_then(|rest| rest.strip_prefix('n'))
        .and_then(|rest| rest.strip_suffix(after));
    number
        .and_then(|number| number.parse::<u32>().ok())
        .is_some_and(|n| n % 8 == 0 && (8..=256).contains(&n))
}

/// What can stand in an operand's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) name: bool,
    pub(super) constant: bool,
    pub(super) symbol: bool,
    pub(super) vector: bool,
    pub(super) by_width: bool,
    pub(super) by_count: bool,
    pub(super) address: bool,
    pub(super) coordinates: bool,
    pub(super) list: bool,
    pub(super) pair: bool,
    pub(super) negated: bool,
    pub(super) sink: bool,
}

/// An operand of a form.
#[derive(Debug)]
pub(super) struct OperandSpec {
    /// Its name, without brackets.
    pub(super) name: &'static str,
    /// As the form has it.
    pub(super) text: &'static str,
    pub(super) accept: Accept,
    pub(super) optional: bool,
    /// The modifier that it comes and goes with.
    pub(super) tied: Option<&'static str>,
}

/// What a plain name in a form stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A register that is written.
    Written,
    /// A constant only.
    Constant,
    /// A label, a function, a list or a prototype.
    Label,
    /// A register, a constant or a symbol that is read.
    Read,
}

pub(super) fn kind(name: &str) -> Kind {
    match name {
        "d" | "p" | "q" | "state" | "waitComplete" => Kind::Written,
        "cp-size" | "N" | "immLut" => Kind::Constant,
        _ if name.starts_with("imm-") => Kind::Constant,
        "tgt" | "tlist" | "fname" | "flist" => Kind::Label,
        _ => Kind::Read,
    }
}

/// Reads a form. The table is fixed, so a form that does not read is a mistake in it, which its tests find.
pub(super) fn read(syntax: &'static str, classes: &'static str) -> Pattern {
    let (head, tail) = syntax.split_once(' ').unwrap_or((syntax, ""));
    let opcode_end = head.find(['.', '{']).unwrap_or(head.len());
    let (opcode, words) = head.split_at(opcode_end);
    Pattern {
        opcode,
        steps: read_steps(words, classes),
        operands: read_operands(tail),
    }
}

fn read_steps(mut rest: &'static str, classes: &'static str) -> Vec<Step> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (group, optional) = match rest.strip_prefix("{.") {
            Some(_) => {
                let end = closing(rest);
                let group = &rest[1..end];
                rest = &rest[end + 1..];
                (group, true)
            }
            None => {
                let end = word_end(rest);
                let group = &rest[..end];
                rest = &rest[end..];
                (group, false)
            }
        };
        let mut words = Vec::new();
        let mut group = group;
        while !group.is_empty() {
            let end = word_end(group);
            words.push(read_word(&group[1..end], classes));
            group = &group[end..];
        }
        steps.push(Step { optional, words });
    }
    steps
}

/// The end of `.word` or `.word{::a, ::b}` at the start of a text.
fn word_end(text: &str) -> usize {
    let end = text[1..]
        .find(['.', '{', '}'])
        .map_or(text.len(), |at| at + 1);
    if text[end..].starts_with("{::") {
        end + closing(&text[end..]) + 1
    } else {
        end
    }
}

/// Where the brace that opens a text is closed.
fn closing(text: &str) -> usize {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 1 => return at,
            b'}' => open -= 1,
            _ => {}
        }
    }
    panic!("`{text}` has a brace without its end")
}

fn read_word(text: &'static str, classes: &'static str) -> WordSpec {
    if let Some((base, suffixes)) = text.split_once('{') {
        let suffixes = suffixes.trim_end_matches('}').split(", ");
        let words = std::iter::once(Cow::Borrowed(base))
            .chain(suffixes.map(|suffix| Cow::Owned(format!("{base}{suffix}"))));
        return WordSpec {
            slot: None,
            words: words.collect(),
        };
    }
    let given = classes
        .split(';')
        .filter_map(|class| class.split_once(':'))
        .map(|(name, words)| (name.trim(), words));
    match given
        .chain(CLASSES.iter().copied())
        .find(|(name, _)| *name == text)
    {
        Some((name, words)) => WordSpec {
            slot: Some(slot(name)),
            words: read_list(words),
        },
        None => WordSpec {
            slot: None,
            words: vec![Cow::Borrowed(text)],
        },
    }
}

fn read_list(words: &'static str) -> Vec<Cow<'static, str>> {
    let expand = |word: &'static str| match SETS.iter().find(|set| set.0 == word) {
        Some((_, words)) => words.split_ascii_whitespace(),
        None => word.split_ascii_whitespace(),
    };
    words
        .split_ascii_whitespace()
        .flat_map(expand)
        .map(Cow::Borrowed)
        .collect()
}

/// The meaning of a class, by the ISA's name for it.
fn slot(class: &str) -> Slot {
    match class {
        "type" | "dtype" | "stype" | "atype" | "btype" | "ctype" => Slot::Type,
        "ss" | "space" | "dst" | "src" => Slot::Space,
        "sem" => Slot::Ordering,
        "scope" | "level" => Slot::Scope,
        "rnd" => Slot::Rounding,
        "CmpOp" => Slot::Compare,
        "BoolOp" => Slot::Boolean,
        "op" | "redOp" | "bitOp" => Slot::Operation,
        "mode" | "load_mode" => Slot::Mode,
        "alayout" | "blayout" | "layout" => Slot::Layout,
        "shape" => Slot::Shape,
        "vec" => Slot::Vector,
        "num" => Slot::Count,
        "dim" => Slot::Dimension,
        _ => Slot::Nothing,
    }
}

fn read_operands(text: &'static str) -> Vec<OperandSpec> {
    let mut operands = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (item, optional) = match rest.strip_prefix("{, ") {
            Some(after) => {
                let end = closing(rest) - "{, ".len();
                rest = &after[end + 1..];
                (&after[..end], true)
            }
            None => {
                let item = rest.strip_prefix(", ").unwrap_or(rest);
                let end = operand_end(item);
                rest = &item[end..];
                (&item[..end], false)
            }
        };
        operands.push(read_operand(item, optional));
    }
    operands
}

/// The end of an operand: the next comma outside brackets, or the next `{, `.
fn operand_end(text: &str) -> usize {
    let mut inside = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'(' => inside += 1,
            b']' | b')' => inside -= 1,
            b',' if inside == 0 => return at,
            b'{' if text[at..].starts_with("{, ") => return at,
            _ => {}
        }
    }
    text.len()
}

fn read_operand(text: &'static str, optional: bool) -> OperandSpec {
    let mut accept = Accept::default();
    let mut name = "";
    for alternative in text.split('/') {
        let bare = read_alternative(alternative, &mut accept);
        if name.is_empty() {
            name = bare;
        }
    }
    let tied = TIED.iter().find(|tie| tie.0 == name).map(|tie| tie.1);
    OperandSpec {
        name,
        text,
        accept,
        optional,
        tied,
    }
}

/// Adds what one alternative accepts, and answers its name.
fn read_alternative(text: &'static str, accept: &mut Accept) -> &'static str {
    let inner = |open, close| {
        text.strip_prefix(open)
            .and_then(|rest: &str| rest.strip_suffix(close))
    };
    if let Some(inside) = inner('[', ']') {
        match inside.split_once(", ") {
            Some((base, _)) => {
                accept.coordinates = true;
                return base;
            }
            None => {
                accept.address = true;
                return inside;
            }
        }
    }
    if let Some(name) = inner('<', '>') {
        accept.vector = true;
        return name;
    }
    if let Some(name) = inner('(', ')') {
        accept.list = true;
        return name;
    }
    if text == "_" {
        accept.sink = true;
        return text;
    }
    if let Some(name) = text.strip_prefix("{!}") {
        accept.name = true;
        accept.negated = true;
        return name;
    }
    if let Some((first, _)) = text.split_once("{|") {
        accept.name = true;
        accept.pair = true;
        return first;
    }
    if let Some((first, _)) = text.split_once('|') {
        accept.pair = true;
        return first;
    }
    if let Some(name) = text.strip_suffix(".num") {
        accept.by_count = true;
        return name;
    }
    let name = match text.strip_suffix(".vec") {
        Some(name) => {
            accept.by_width = true;
            name
        }
        None => text,
    };
    match kind(name) {
        Kind::Written | Kind::Label => accept.name = true,
        Kind::Constant => accept.constant = true,
        Kind::Read => {
            accept.name = true;
            accept.constant = true;
            accept.symbol = true;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_reads_as_its_parts() {
        let pattern = read(
            "cp.async.ca.shared{::cta}.global{.level::cache_hint} [dst], [src], cp-size{, src-size}{, cache-policy}",
            "",
        );
        assert_eq!(pattern.opcode, "cp");
        let steps: Vec<(bool, Vec<&str>)> = pattern
            .steps
            .iter()
            .map(|step| {
                (
                    step.optional,
                    step.words
                        .iter()
                        .flat_map(|word| word.words.iter().map(|word| &**word))
                        .collect(),
                )
            })
            .collect();
        let expected: [(bool, &[&str]); 5] = [
            (false, &["async"]),
            (false, &["ca"]),
            (false, &["shared", "shared::cta"]),
            (false, &["global"]),
            (true, &["L2::cache_hint"]),
        ];
        assert_eq!(
            steps
                .iter()
                .map(|(optional, words)| (*optional, &words[..]))
                .collect::<Vec<_>>(),
            expected
        );
        let operands: Vec<_> = pattern
            .operands
            .iter()
            .map(|operand| (operand.name, operand.optional, operand.tied))
            .collect();
        let expected = [
            ("dst", false, None),
            ("src", false, None),
            ("cp-size", false, None),
            ("src-size", true, None),
            ("cache-policy", true, Some("L2::cache_hint")),
        ];
        assert_eq!(operands, expected);
    }

    #[test]
    fn operands_accept_what_their_notation_says() {
        let accept = |text: &'static str| read_operand(text, false).accept;
        let none = Accept::default();
        assert_eq!(accept("d"), Accept { name: true, ..none });
        assert_eq!(
            accept("a"),
            Accept {
                name: true,
                constant: true,
                symbol: true,
                ..none
            }
        );
        assert_eq!(
            accept("N"),
            Accept {
                constant: true,
                ..none
            }
        );
        assert_eq!(
            accept("d{|p}"),
            Accept {
                name: true,
                pair: true,
                ..none
            }
        );
        assert_eq!(
            accept("{!}c"),
            Accept {
                name: true,
                negated: true,
                ..none
            }
        );
        assert_eq!(
            accept("state/_"),
            Accept {
                name: true,
                sink: true,
                ..none
            }
        );
        assert_eq!(
            accept("[map, coords]"),
            Accept {
                coordinates: true,
                ..none
            }
        );
        assert_eq!(
            accept("d.vec"),
            Accept {
                name: true,
                by_width: true,
                ..none
            }
        );
        assert_eq!(
            accept("a-desc/<a>"),
            Accept {
                name: true,
                constant: true,
                symbol: true,
                vector: true,
                ..none
            }
        );
    }

    #[test]
    fn a_wide_shape_stands_for_every_multiple_of_eight() {
        for (word, fits) in [
            ("m64n8k16", true),
            ("m64n256k16", true),
            ("m64n12k16", false),
            ("m64n264k16", false),
            ("m64n8k8", false),
        ] {
            assert_eq!(is_wide_shape("m64nNk16", word), fits, "{word}");
        }
    }
}
