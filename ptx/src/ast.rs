//! The parsed form of a PTX module.
//!
//! Everything keeps the line and column it was read from, because every message of the checker and of the builder ends at a place in the text.
//! Names are `Rc`-free plain strings: a module is parsed once, and whoever runs it resolves names to indices once.
//! The tree says what is written, not what it means; [`crate::table`] says which instruction forms exist.

/// Where something stands in the PTX text. Both count from one; a column counts characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos {
    /// Line, from one.
    pub line: u32,
    /// Column, from one.
    pub column: u32,
}

/// A whole PTX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// `.version`.
    pub version: Version,
    /// `.target`, all its words in order: `["sm_90"]`, `["sm_80", "debug"]`.
    pub target: Vec<String>,
    /// `.address_size`; 64 where the file is silent.
    pub address_size: u8,
    /// Everything below the header, in order.
    pub items: Vec<Item>,
}

/// A PTX version, `8.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

/// Something at module level.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `.global`, `.const`, `.shared` … at module scope.
    Variable(Variable),
    /// `.entry` or `.func`, declared or defined.
    Function(Function),
    /// `.file index "name"`.
    File {
        /// The number that `.loc` uses.
        index: u32,
        /// The path as written, without quotes.
        name: String,
    },
    /// A directive with no effect on execution, kept as text for the printer: `.section {…}`, `.pragma`, `.alias`.
    Other {
        /// The text, without the line end.
        text: String,
        /// Where it starts.
        pos: Pos,
    },
}

/// Who can see a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// No word in front: this module only.
    #[default]
    Local,
    /// `.visible`.
    Visible,
    /// `.extern`: declared here, defined elsewhere.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`.
    Reg,
    /// `.global`.
    Global,
    /// `.shared`, the executing block's window.
    Shared,
    /// `.local`.
    Local,
    /// `.const`.
    Const,
    /// `.param`.
    Param,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is its PTX name")]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    BF16,
    BF16x2,
    F32,
    F32x2,
    F64,
    TF32,
    E4M3,
    E5M2,
    E4M3x2,
    E5M2x2,
    U16x2,
    S16x2,
    U4,
    S4,
    B1,
    Pred,
}

/// A variable or a parameter: `.shared .align 16 .b8 tile[4096]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// `.extern`, `.visible`, …
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align`, in bytes; `None` where the file is silent (natural alignment).
    pub align: Option<u32>,
    /// `.v2`, `.v4` or `.v8`; one otherwise.
    pub vector: u8,
    /// Element type.
    pub ty: Type,
    /// The name, or for `.reg .b32 %r<10>` the stem before `<`.
    pub name: String,
    /// `Some(10)` for `%r<10>`.
    pub register_range: Option<u32>,
    /// Array dimensions, outermost first; zero stands for an empty `[]`.
    pub dims: Vec<u64>,
    /// `.ptr` attributes of a parameter, as written (`.ptr .global .align 16`).
    pub ptr: Option<String>,
    /// The inside of `.attribute(…)`: `.managed`.
    pub attribute: Option<String>,
    /// The initialiser.
    pub init: Option<Init>,
    /// Where the name stands.
    pub pos: Pos,
}

/// An initialiser of a `.global` or `.const` variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// A number, in the variable's type.
    Number(Immediate),
    /// A symbol's address, `name + offset`; `generic` for `generic(name)`, `mask` for `0xFF(name)`.
    Symbol {
        /// The symbol.
        name: String,
        /// Bytes added.
        offset: i64,
        /// Whether it was wrapped in `generic()`.
        generic: bool,
        /// The byte mask of `0xFF00(name)`.
        mask: Option<u64>,
    },
    /// `{ a, b, { c } }`.
    List(Vec<Init>),
}

/// `.entry` or `.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Whether it is an `.entry`.
    pub is_entry: bool,
    /// Linkage.
    pub linkage: Linkage,
    /// The name.
    pub name: String,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.maxntid 128, 1, 1`, `.minnctapersm 2`, `.noreturn` … between the parameters and the body.
    pub directives: Vec<Directive>,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// Where the name stands.
    pub pos: Pos,
}

/// A performance-tuning or entry directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// With its dot: `.maxntid`.
    pub name: String,
    /// Its numbers.
    pub values: Vec<u64>,
    /// Its text, for `.pragma "…"`.
    pub text: Option<String>,
    /// Where it stands.
    pub pos: Pos,
}

/// One line of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A declaration, registers included.
    Variable(Variable),
    /// `NAME:`.
    Label {
        /// The name.
        name: String,
        /// Where it stands.
        pos: Pos,
    },
    /// An instruction.
    Instruction(Instruction),
    /// `{ … }`, a scope for names.
    Block(Vec<Statement>),
    /// `.loc file line column`, which applies to what follows.
    Loc {
        /// The number of a `.file`.
        file: u32,
        /// Line in it.
        line: u32,
        /// Column in it.
        column: u32,
        /// The rest, as written (`function_name $L, inlined_at …`).
        rest: Option<String>,
    },
    /// `NAME: .branchtargets L1, L2;`.
    BranchTargets {
        /// The list's own name.
        name: String,
        /// The labels.
        labels: Vec<String>,
        /// Where it stands.
        pos: Pos,
    },
    /// `NAME: .callprototype …;`, kept as text after the name.
    CallPrototype {
        /// The prototype's own name.
        name: String,
        /// The rest, as written.
        text: String,
        /// Where it stands.
        pos: Pos,
    },
    /// `.pragma "…";`.
    Pragma {
        /// The text in quotes.
        text: String,
        /// Where it stands.
        pos: Pos,
    },
}

/// One instruction as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The first word, `cp` in `cp.async.cg.shared.global`.
    pub opcode: String,
    /// The words after it, without dots; `::` stays inside a word (`shared::cta`).
    pub modifiers: Vec<String>,
    /// Operands in order, destinations first. A `call`'s return and argument lists are [`Operand::List`].
    pub operands: Vec<Operand>,
    /// Where the opcode starts.
    pub pos: Pos,
}

impl Instruction {
    /// `cp.async.cg.shared.global`: the opcode with its modifiers.
    #[must_use]
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.clone();
        for modifier in &self.modifiers {
            text.push('.');
            text.push_str(modifier);
        }
        text
    }
}

/// A guard predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub register: String,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register or a special register, with a component for `%tid.x` (`Some('x')`).
    /// Which of register, label, variable or function a plain name is, only its declaration tells.
    Name {
        /// The name without its component.
        name: String,
        /// `x`, `y`, `z` or `w` (also `r`, `g`, `b`, `a` as written).
        component: Option<char>,
    },
    /// `!p`.
    Not(String),
    /// A literal.
    Immediate(Immediate),
    /// `name + 8` outside brackets: a symbol's address with an offset.
    Offset {
        /// The symbol.
        name: String,
        /// Bytes added.
        offset: i64,
    },
    /// `[base + offset]`.
    Address(Address),
    /// `{a, b, c, d}`, also a tensor's coordinates.
    Vector(Vec<Operand>),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
    /// `p|q`.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: the result is dropped.
    Sink,
}

/// The inside of square brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// What the address starts from.
    pub base: AddressBase,
    /// Bytes added.
    pub offset: i64,
    /// `[map, {x, y}]`: the coordinates of a tensor copy.
    pub coordinates: Option<Vec<Operand>>,
}

/// What an address starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// A register or a variable.
    Name(String),
    /// A number.
    Number(u64),
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Immediate {
    /// An integer, its 64 bits. Constant expressions are folded while they are read.
    Int {
        /// Two's complement value.
        bits: u64,
        /// Whether the value is signed and below zero, so that the printer writes a minus sign.
        negative: bool,
    },
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d3FF0000000000000`, or a decimal with a point: the bits of an f64.
    F64(u64),
}
