//! What the words behind an opcode mean, as types.
//!
//! A decoder reads these instead of comparing words again. Words that only say which instruction it is (`async` in `cp.async`) have no place here, the [`Op`](super::Op) stands for them; nor have cache and prefetch hints, which change nothing but speed.

use crate::ast::Type;

/// Declares an enumeration of modifier words together with its spelling.
macro_rules! words {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $($word:literal)|+),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// What a word without its dot means.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($($word)|+ => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word, without a dot; where there are several, the usual one.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => [$($word),+][0],)+
                }
            }
        }
    };
}

words! {
    /// Which memory an instruction says it accesses. An instruction that says nothing uses generic addresses.
    StateSpace {
        /// `.const`
        Const = "const",
        /// `.global`
        Global = "global",
        /// `.local`
        Local = "local",
        /// `.param`
        Param = "param" | "param::entry" | "param::func",
        /// `.shared` and `.shared::cta`: the executing block's window.
        Shared = "shared" | "shared::cta",
        /// `.shared::cluster`: the window of any block of the cluster.
        SharedCluster = "shared::cluster",
    }
}

words! {
    /// Strength and direction of a memory access or a fence.
    Ordering {
        /// `.weak`
        Weak = "weak",
        /// `.volatile`: as strong as relaxed at system scope.
        Volatile = "volatile",
        /// `.relaxed`
        Relaxed = "relaxed",
        /// `.acquire`
        Acquire = "acquire",
        /// `.release`
        Release = "release",
        /// `.acq_rel`
        AcqRel = "acq_rel",
        /// `.sc`
        Sc = "sc",
    }
}

words! {
    /// The threads with which a strong access synchronises, narrowest first.
    Scope {
        /// `.cta`
        Cta = "cta",
        /// `.cluster`
        Cluster = "cluster",
        /// `.gpu`, or `.gl` of a `membar`.
        Gpu = "gpu" | "gl",
        /// `.sys`
        Sys = "sys",
    }
}

words! {
    /// Rounding. The forms with an `i` round to an integral value.
    Rounding {
        /// `.rn`: to the nearest, ties to even.
        Nearest = "rn",
        /// `.rna`: to the nearest, ties away from zero.
        NearestAway = "rna",
        /// `.rz`: towards zero.
        Zero = "rz",
        /// `.rm`: towards negative infinity.
        Down = "rm",
        /// `.rp`: towards positive infinity.
        Up = "rp",
        /// `.rni`
        IntegerNearest = "rni",
        /// `.rzi`
        IntegerZero = "rzi",
        /// `.rmi`
        IntegerDown = "rmi",
        /// `.rpi`
        IntegerUp = "rpi",
    }
}

words! {
    /// A comparison.
    #[allow(missing_docs, reason = "each variant is its PTX word")]
    Compare {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
    }
}

words! {
    /// How a comparison is combined with a predicate.
    #[allow(missing_docs, reason = "each variant is its PTX word")]
    Boolean { And = "and", Or = "or", Xor = "xor" }
}

words! {
    /// What an atomic, a reduction or a bulk reduction does.
    #[allow(missing_docs, reason = "each variant is its PTX word")]
    Operation {
        And = "and", Or = "or", Xor = "xor", Add = "add", Inc = "inc", Dec = "dec",
        Min = "min", Max = "max", Exch = "exch", Cas = "cas", Popc = "popc",
    }
}

words! {
    /// The one word that chooses among the ways of an instruction.
    #[allow(missing_docs, reason = "each variant is its PTX word")]
    Mode {
        // mul, mad, dp2a
        Hi = "hi", Lo = "lo", Wide = "wide",
        // shf, szext, bmsk
        Clamp = "clamp", Wrap = "wrap",
        // shfl
        Up = "up", Down = "down", Bfly = "bfly", Idx = "idx",
        // vote and match
        All = "all", Any = "any", Uni = "uni", Ballot = "ballot",
        // prmt
        F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
        // testp
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber",
        Normal = "normal", Subnormal = "subnormal",
        // copies through tensor maps
        Tile = "tile", TileGather4 = "tile::gather4", TileScatter4 = "tile::scatter4",
        Im2col = "im2col", Im2colW = "im2col::w", Im2colW128 = "im2col::w::128", Im2colNoOffsets = "im2col_no_offs",
        // setmaxnreg
        Increase = "inc", Decrease = "dec",
        // griddepcontrol
        LaunchDependents = "launch_dependents", Wait = "wait",
    }
}

words! {
    /// A matrix in memory, by rows or by columns.
    #[allow(missing_docs, reason = "each variant is its PTX word")]
    Layout { Row = "row", Col = "col" }
}

words! {
    /// A word that is there or not.
    Flag {
        /// `.ftz`: subnormal inputs and results become zero.
        Ftz = "ftz",
        /// `.noftz`: they do not.
        NoFtz = "noftz",
        /// `.sat`: the result is clamped, floats to [0, 1], integers to their range.
        Sat = "sat",
        /// `.satfinite`: what overflows becomes the largest finite value.
        SatFinite = "satfinite",
        /// `.relu`: negative results become zero.
        Relu = "relu",
        /// `.oob`: an input that marks an element out of bounds gives zero.
        Oob = "oob",
        /// `.NaN`: a NaN input gives a NaN.
        NaN = "NaN",
        /// `.xorsign`: the result's sign is the exclusive or of the inputs' signs.
        XorSign = "xorsign",
        /// `.abs`: absolute values are compared.
        Abs = "abs",
        /// `.approx`: the result is approximate, within the ISA's bounds.
        Approx = "approx",
        /// `.full`: approximate over the full range.
        Full = "full",
        /// `.cc`: the carry flag is written.
        CarryOut = "cc",
        /// `.shiftamt` of `bfind`.
        ShiftAmount = "shiftamt",
        /// `.uni`: the branch is promised not to diverge.
        Uni = "uni",
        /// `.nc`: the bytes are promised not to change.
        NonCoherent = "nc",
        /// `.mmio`
        Mmio = "mmio",
        /// `.sync`: the named lanes meet.
        Sync = "sync",
        /// `.aligned`: all threads of the warp execute the same instruction. `bar` implies it.
        Aligned = "aligned",
        /// `.noinc` of `cp.async.mbarrier.arrive`.
        NoInc = "noinc",
        /// `.noComplete` of `mbarrier.arrive`.
        NoComplete = "noComplete",
        /// `.expect_tx` of `mbarrier.arrive`.
        ExpectTx = "expect_tx",
        /// `.parity` of a wait.
        Parity = "parity",
        /// `.read` of `cp.async.bulk.wait_group`.
        Read = "read",
        /// `.to` of `cvta`.
        To = "to",
        /// `.trans` of `ldmatrix` and its like.
        Transposed = "trans",
        /// `.multicast::cluster`: every block of a mask gets the bytes.
        Multicast = "multicast::cluster",
        /// `.cp_mask`: a mask says which bytes of sixteen are written.
        ByteMask = "cp_mask",
        /// `.L2::cache_hint`: a cache policy is the last operand.
        CacheHint = "L2::cache_hint",
    }
}

/// Rows, columns and depth of a matrix operation, `m16n8k16`. Matrices alone have no depth: zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of the first matrix and of the result.
    pub m: u16,
    /// Columns of the second matrix and of the result.
    pub n: u16,
    /// Columns of the first and rows of the second.
    pub k: u16,
}

impl Shape {
    /// `m16n8k16`, `m8n8`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').unwrap_or((rest, "0"));
        Some(Shape {
            m: m.parse().ok()?,
            n: n.parse().ok()?,
            k: k.parse().ok()?,
        })
    }
}

/// Which part of the meaning a word of a form has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Type,
    Space,
    Ordering,
    Scope,
    Rounding,
    Compare,
    Boolean,
    Operation,
    Mode,
    Layout,
    Shape,
    /// `v2`, `v4`, `v8`.
    Vector,
    /// `x1`, `x2`, `x4`.
    Count,
    /// `1d` to `5d`.
    Dimension,
    /// A hint, or a word whose meaning the opcode has already.
    Nothing,
}

/// The modifiers of an instruction by meaning. What the instruction does not say is `None`, one or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// Types, in the order of the form: destination first, where there are several.
    types: [Option<Type>; 4],
    /// State spaces, in the order of the form: a copy's destination first.
    spaces: [Option<StateSpace>; 2],
    layouts: [Option<Layout>; 2],
    flags: u64,
    /// How strong the access is; `None` where the word is missing, whose meaning depends on the instruction.
    pub ordering: Option<Ordering>,
    /// With whom it synchronises.
    pub scope: Option<Scope>,
    /// The rounding written.
    pub rounding: Option<Rounding>,
    /// The comparison.
    pub compare: Option<Compare>,
    /// What combines it with a predicate.
    pub boolean: Option<Boolean>,
    /// The operation of an atomic or a reduction.
    pub operation: Option<Operation>,
    /// The way of an instruction that has several.
    pub mode: Option<Mode>,
    /// The shape of a matrix operation.
    pub shape: Option<Shape>,
    /// Elements of `.v2`, `.v4`, `.v8`; zero where no such word is written.
    vector: u8,
    /// Matrices of `.x1`, `.x2`, `.x4`; zero where no such word is written.
    pub count: u8,
    /// Dimensions of `.1d` to `.5d`; zero where no such word is written.
    pub dimension: u8,
}

impl Modifiers {
    /// The type at an index: destination first, in the order of the form.
    #[must_use]
    pub fn ty(&self, index: usize) -> Option<Type> {
        self.types.get(index).copied().flatten()
    }

    /// The state space of an access, or the destination's of a copy; `None` for generic addresses.
    #[must_use]
    pub fn space(&self) -> Option<StateSpace> {
        self.spaces[0]
    }

    /// The source's state space of a copy.
    #[must_use]
    pub fn source_space(&self) -> Option<StateSpace> {
        self.spaces[1]
    }

    /// The layouts of the first and the second matrix.
    #[must_use]
    pub fn layouts(&self) -> [Option<Layout>; 2] {
        self.layouts
    }

    /// Elements per access: 1, 2, 4 or 8.
    #[must_use]
    pub fn vector(&self) -> usize {
        usize::from(self.vector.max(1))
    }

    /// Whether a flag is written, or implied by the opcode.
    #[must_use]
    pub fn has(&self, flag: Flag) -> bool {
        self.flags >> flag as u32 & 1 == 1
    }

    pub(super) fn set(&mut self, flag: Flag) {
        self.flags |= 1 << flag as u32;
    }

    /// Puts a word where it belongs. A word without a slot of its own goes where all its uses agree.
    pub(super) fn take(&mut self, slot: Option<Slot>, word: &str) {
        match slot.unwrap_or_else(|| natural(word)) {
            Slot::Type => push(&mut self.types, Type::parse(word)),
            Slot::Space => push(&mut self.spaces, StateSpace::parse(word)),
            Slot::Layout => push(&mut self.layouts, Layout::parse(word)),
            Slot::Ordering => self.ordering = Ordering::parse(word),
            Slot::Scope => self.scope = Scope::parse(word),
            Slot::Rounding => self.rounding = Rounding::parse(word),
            Slot::Compare => self.compare = Compare::parse(word),
            Slot::Boolean => self.boolean = Boolean::parse(word),
            Slot::Operation => self.operation = Operation::parse(word),
            Slot::Mode => self.mode = Mode::parse(word),
            Slot::Shape => self.shape = Shape::parse(word),
            Slot::Vector => self.vector = digits(word),
            Slot::Count => self.count = digits(word),
            Slot::Dimension => self.dimension = digits(word),
            Slot::Nothing => {
                if let Some(flag) = Flag::parse(word) {
                    self.set(flag);
                }
            }
        }
    }
}

/// What a literal word of a form means wherever it stands.
pub(super) fn natural(word: &str) -> Slot {
    if Type::parse(word).is_some() {
        Slot::Type
    } else if StateSpace::parse(word).is_some() {
        Slot::Space
    } else if Ordering::parse(word).is_some() {
        Slot::Ordering
    } else if Scope::parse(word).is_some() {
        Slot::Scope
    } else if Rounding::parse(word).is_some() {
        Slot::Rounding
    } else if Layout::parse(word).is_some() {
        Slot::Layout
    } else if Shape::parse(word).is_some() {
        Slot::Shape
    } else if matches!(word, "hi" | "lo" | "wide") {
        Slot::Mode
    } else {
        Slot::Nothing
    }
}

fn push<T>(places: &mut [Option<T>], value: Option<T>) {
    if let Some(place) = places.iter_mut().find(|place| place.is_none()) {
        *place = value;
    }
}

/// The number in `v4`, `x2` or `3d`.
fn digits(word: &str) -> u8 {
    word.trim_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_fit_their_word() {
        assert!(Flag::ALL.len() <= 64);
        for &flag in Flag::ALL {
            assert_eq!(Flag::parse(flag.word()), Some(flag));
        }
    }

    #[test]
    fn shapes_read() {
        assert_eq!(Shape::parse("m16n8k16"), Some(Shape { m: 16, n: 8, k: 16 }));
        assert_eq!(Shape::parse("m8n8"), Some(Shape { m: 8, n: 8, k: 0 }));
        assert_eq!(Shape::parse("min"), None);
    }
}
