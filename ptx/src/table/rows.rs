//! The rows. One row is one case of a decoder; its forms share the names of their operands.
//!
//! A row reads: doc sentence, identity, title in the ISA's section, `[lowest .version × 10, lowest target]` of its simplest form where known for sure,
//! then the forms in the notation of `notation.rs`, each with the classes that it does not share with all others.

use super::{Form, Row};
use crate::ast::Version;

macro_rules! instructions {
    ($($section:literal {
        $($(#[doc = $doc:literal])+ $op:ident $title:literal $([$version:literal, $sm:tt])? :
            $($syntax:literal $(where $classes:literal)?;)+)+
    })+) => {
        /// Which instruction it is: one variant for each row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op { $($($(#[doc = $doc])+ $op,)+)+ }

        impl Op {
            /// All of them, in the table's order.
            pub const ALL: &[Self] = &[$($(Self::$op),+),+];

            /// Its row.
            #[must_use]
            pub fn row(self) -> &'static Row {
                &ROWS[self as usize]
            }
        }

        static ROWS: &[Row] = &[$($(Row {
            op: Op::$op,
            doc: concat!($($doc),+).trim_ascii(),
            section: $section,
            title: $title,
            since: first(&[$(version($version))?]),
            target: first(&[$(concat!("sm_", stringify!($sm)))?]),
            forms: &[$(Form { syntax: $syntax, classes: concat!($($classes)?) }),+],
        }),+),+];
    };
}

const fn first<T: Copy>(values: &[T]) -> Option<T> {
    values.first().copied()
}

const fn version(tenfold: u8) -> Version {
    Version {
        major: tenfold / 10,
        minor: tenfold % 10,
    }
}

/// Every row, in the order of the ISA's sections.
#[must_use]
pub fn rows() -> &'static [Row] {
    ROWS
}

instructions! {
    "Integer Arithmetic Instructions" {
        /// Adds two integers.
        AddInt "add" [10, 10]:
            "add.type d, a, b" where "type: INT u16x2 s16x2";
            "add{.sat}.s32 d, a, b";
        /// Subtracts an integer from another.
        SubInt "sub" [10, 10]:
            "sub.type d, a, b" where "type: INT";
            "sub{.sat}.s32 d, a, b";
        /// Multiplies two integers: the low half, the high half or the whole of the product.
        MulInt "mul" [10, 10]:
            "mul.mode.type d, a, b" where "mode: hi lo; type: INT";
            "mul.wide.type d, a, b" where "type: u16 u32 s16 s32";
        /// Multiplies two integers and adds a third.
        MadInt "mad" [10, 10]:
            "mad.mode.type d, a, b, c" where "mode: hi lo; type: INT";
            "mad.wide.type d, a, b, c" where "type: u16 u32 s16 s32";
            "mad.hi.sat.s32 d, a, b, c";
        /// Multiplies the low 24 bits of two integers.
        Mul24 "mul24" [10, 10]:
            "mul24.mode.type d, a, b" where "mode: hi lo; type: u32 s32";
        /// Multiplies the low 24 bits of two integers and adds a third.
        Mad24 "mad24" [10, 10]:
            "mad24.mode.type d, a, b, c" where "mode: hi lo; type: u32 s32";
            "mad24.hi.sat.s32 d, a, b, c";
        /// Adds the absolute difference of two integers to a third.
        Sad "sad" [10, 10]:
            "sad.type d, a, b, c" where "type: INT";
        /// Divides two integers.
        DivInt "div" [10, 10]:
            "div.type d, a, b" where "type: INT";
        /// Remainder of a division of two integers.
        RemInt "rem" [10, 10]:
            "rem.type d, a, b" where "type: INT";
        /// Absolute value of an integer.
        AbsInt "abs" [10, 10]:
            "abs.type d, a" where "type: s16 s32 s64";
        /// Negates an integer.
        NegInt "neg" [10, 10]:
            "neg.type d, a" where "type: s16 s32 s64";
        /// The smaller of two integers.
        MinInt "min" [10, 10]:
            "min.type d, a, b" where "type: INT u16x2 s16x2";
            "min{.relu}.type d, a, b" where "type: s16x2 s32";
        /// The larger of two integers.
        MaxInt "max" [10, 10]:
            "max.type d, a, b" where "type: INT u16x2 s16x2";
            "max{.relu}.type d, a, b" where "type: s16x2 s32";
        /// Counts the bits that are set.
        Popc "popc" [20, 20]:
            "popc.type d, a" where "type: b32 b64";
        /// Counts the leading zeros.
        Clz "clz" [20, 20]:
            "clz.type d, a" where "type: b32 b64";
        /// Finds the highest bit that is not the sign.
        Bfind "bfind" [20, 20]:
            "bfind{.shiftamt}.type d, a" where "type: u32 u64 s32 s64";
        /// Finds the n-th set bit from a place.
        Fns "fns" [60, 30]:
            "fns.b32 d, mask, base, offset";
        /// Reverses the bits.
        Brev "brev" [20, 20]:
            "brev.type d, a" where "type: b32 b64";
        /// Takes a field of bits out.
        Bfe "bfe" [20, 20]:
            "bfe.type d, a, b, c" where "type: u32 u64 s32 s64";
        /// Puts a field of bits in.
        Bfi "bfi" [20, 20]:
            "bfi.type d, a, b, c, e" where "type: b32 b64";
        /// Extends a value of some bits by sign or by zeros.
        Szext "szext" [76, 70]:
            "szext.mode.type d, a, b" where "mode: clamp wrap; type: u32 s32";
        /// Makes a mask of some bits from a place.
        Bmsk "bmsk" [76, 70]:
            "bmsk.mode.b32 d, a, b" where "mode: clamp wrap";
        /// Adds the dot product of four bytes to an integer.
        Dp4a "dp4a" [50, 61]:
            "dp4a.atype.btype d, a, b, c" where "atype: u32 s32; btype: u32 s32";
        /// Adds the dot product of two halves and two bytes to an integer.
        Dp2a "dp2a" [50, 61]:
            "dp2a.mode.atype.btype d, a, b, c" where "mode: lo hi; atype: u32 s32; btype: u32 s32";
    }

    "Extended-Precision Arithmetic Instructions" {
        /// Adds and writes the carry flag.
        AddCc "add.cc" [12, 10]:
            "add.cc.type d, a, b" where "type: u32 s32 u64 s64";
        /// Adds with the carry flag.
        Addc "addc" [12, 10]:
            "addc{.cc}.type d, a, b" where "type: u32 s32 u64 s64";
        /// Subtracts and writes the borrow flag.
        SubCc "sub.cc" [12, 10]:
            "sub.cc.type d, a, b" where "type: u32 s32 u64 s64";
        /// Subtracts with the borrow flag.
        Subc "subc" [12, 10]:
            "subc{.cc}.type d, a, b" where "type: u32 s32 u64 s64";
        /// Multiplies, adds and writes the carry flag.
        MadCc "mad.cc" [30, 20]:
            "mad.mode.cc.type d, a, b, c" where "mode: hi lo; type: u32 s32 u64 s64";
        /// Multiplies and adds with the carry flag.
        Madc "madc" [30, 20]:
            "madc.mode{.cc}.type d, a, b, c" where "mode: hi lo; type: u32 s32 u64 s64";
    }

    "Floating Point Instructions" {
        /// Tests for a class of floats.
        Testp "testp" [20, 20]:
            "testp.mode.type p, a" where "mode: finite infinite number notanumber normal subnormal; type: FLOAT";
        /// The second value with the first one's sign.
        Copysign "copysign" [20, 20]:
            "copysign.type d, a, b" where "type: FLOAT";
        /// Adds two floats.
        AddFloat "add" [10, 10]:
            "add{.rnd}{.ftz}{.sat}.f32 d, a, b";
            "add{.rnd}{.ftz}.f32x2 d, a, b";
            "add{.rnd}.f64 d, a, b";
        /// Subtracts a float from another.
        SubFloat "sub" [10, 10]:
            "sub{.rnd}{.ftz}{.sat}.f32 d, a, b";
            "sub{.rnd}{.ftz}.f32x2 d, a, b";
            "sub{.rnd}.f64 d, a, b";
        /// Multiplies two floats.
        MulFloat "mul" [10, 10]:
            "mul{.rnd}{.ftz}{.sat}.f32 d, a, b";
            "mul{.rnd}{.ftz}.f32x2 d, a, b";
            "mul{.rnd}.f64 d, a, b";
        /// Multiplies two floats and adds a third, with one rounding.
        FmaFloat "fma" [20, 20]:
            "fma.rnd{.ftz}{.sat}.f32 d, a, b, c";
            "fma.rnd{.ftz}.f32x2 d, a, b, c";
            "fma.rnd.f64 d, a, b, c";
        /// Multiplies two floats and adds a third; on every target that is still supported, with one rounding.
        MadFloat "mad" [10, 10]:
            "mad.rnd{.ftz}{.sat}.f32 d, a, b, c";
            "mad.rnd.f64 d, a, b, c";
        /// Divides two floats.
        DivFloat "div" [10, 10]:
            "div.approx{.ftz}.f32 d, a, b";
            "div.full{.ftz}.f32 d, a, b";
            "div.rnd{.ftz}.f32 d, a, b";
            "div.rnd.f64 d, a, b";
        /// Absolute value of a float.
        AbsFloat "abs" [10, 10]:
            "abs{.ftz}.f32 d, a";
            "abs.f64 d, a";
        /// Negates a float.
        NegFloat "neg" [10, 10]:
            "neg{.ftz}.f32 d, a";
            "neg.f64 d, a";
        /// The smaller of two floats.
        MinFloat "min" [10, 10]:
            "min{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b";
            "min.f64 d, a, b";
        /// The larger of two floats.
        MaxFloat "max" [10, 10]:
            "max{.ftz}{.NaN}{.xorsign.abs}.f32 d, a, b";
            "max.f64 d, a, b";
        /// Reciprocal.
        Rcp "rcp" [10, 10]:
            "rcp.approx{.ftz}.f32 d, a";
            "rcp.rnd{.ftz}.f32 d, a";
            "rcp.rnd.f64 d, a";
            "rcp.approx.ftz.f64 d, a";
        /// Square root.
        Sqrt "sqrt" [10, 10]:
            "sqrt.approx{.ftz}.f32 d, a";
            "sqrt.rnd{.ftz}.f32 d, a";
            "sqrt.rnd.f64 d, a";
        /// Reciprocal of the square root.
        Rsqrt "rsqrt" [10, 10]:
            "rsqrt.approx{.ftz}.f32 d, a";
            "rsqrt.approx.f64 d, a";
            "rsqrt.approx.ftz.f64 d, a";
        /// Sine, approximately.
        Sin "sin" [10, 10]:
            "sin.approx{.ftz}.f32 d, a";
        /// Cosine, approximately.
        Cos "cos" [10, 10]:
            "cos.approx{.ftz}.f32 d, a";
        /// Logarithm to base two, approximately.
        Lg2 "lg2" [10, 10]:
            "lg2.approx{.ftz}.f32 d, a";
        /// Power of two, approximately.
        Ex2 "ex2" [10, 10]:
            "ex2.approx{.ftz}.f32 d, a";
        /// Hyperbolic tangent, approximately.
        Tanh "tanh" [70, 75]:
            "tanh.approx.f32 d, a";
    }

    "Half Precision Floating Point Instructions" {
        /// Adds two halves, or two pairs of them.
        AddHalf "add" [42, 53]:
            "add{.rnd}{.ftz}{.sat}.type d, a, b" where "rnd: rn; type: f16 f16x2";
            "add{.rnd}.type d, a, b" where "rnd: rn; type: bf16 bf16x2";
        /// Subtracts halves, or pairs of them.
        SubHalf "sub" [42, 53]:
            "sub{.rnd}{.ftz}{.sat}.type d, a, b" where "rnd: rn; type: f16 f16x2";
            "sub{.rnd}.type d, a, b" where "rnd: rn; type: bf16 bf16x2";
        /// Multiplies two halves, or two pairs of them.
        MulHalf "mul" [42, 53]:
            "mul{.rnd}{.ftz}{.sat}.type d, a, b" where "rnd: rn; type: f16 f16x2";
            "mul{.rnd}.type d, a, b" where "rnd: rn; type: bf16 bf16x2";
        /// Multiplies two halves and adds a third, with one rounding.
        FmaHalf "fma" [42, 53]:
            "fma.rnd{.ftz}{.sat}.type d, a, b, c" where "rnd: rn; type: f16 f16x2";
            "fma.rnd{.ftz}{.relu}.type d, a, b, c" where "rnd: rn; type: f16 f16x2";
            "fma.rnd{.relu}.type d, a, b, c" where "rnd: rn; type: bf16 bf16x2";
            "fma.rnd.oob{.relu}.type d, a, b, c" where "rnd: rn; type: f16 f16x2 bf16 bf16x2";
        /// Negates halves.
        NegHalf "neg" [60, 53]:
            "neg{.ftz}.type d, a" where "type: f16 f16x2";
            "neg.type d, a" where "type: bf16 bf16x2";
        /// Absolute value of halves.
        AbsHalf "abs" [65, 53]:
            "abs{.ftz}.type d, a" where "type: f16 f16x2";
            "abs.type d, a" where "type: bf16 bf16x2";
        /// The smaller of two halves, or of each of two pairs.
        MinHalf "min" [70, 80]:
            "min{.ftz}{.NaN}{.xorsign.abs}.type d, a, b" where "type: f16 f16x2";
            "min{.NaN}{.xorsign.abs}.type d, a, b" where "type: bf16 bf16x2";
        /// The larger of two halves, or of each of two pairs.
        MaxHalf "max" [70, 80]:
            "max{.ftz}{.NaN}{.xorsign.abs}.type d, a, b" where "type: f16 f16x2";
            "max{.NaN}{.xorsign.abs}.type d, a, b" where "type: bf16 bf16x2";
        /// Hyperbolic tangent of halves, approximately.
        TanhHalf "tanh" [70, 75]:
            "tanh.approx.type d, a" where "type: f16 f16x2 bf16 bf16x2";
        /// Power of two of halves, approximately.
        Ex2Half "ex2" [70, 75]:
            "ex2.approx.type d, a" where "type: f16 f16x2";
            "ex2.approx.ftz.type d, a" where "type: bf16 bf16x2";
    }

    "Comparison and Selection Instructions" {
        /// Compares, and writes all ones or one for true.
        Set "set" [10, 10]:
            "set.CmpOp.dtype.stype d, a, b" where "CmpOp: eq ne; dtype: u32 s32 f32; stype: BITS";
            "set.CmpOp.dtype.stype d, a, b" where "CmpOp: INT_COMPARE; dtype: u32 s32 f32; stype: INT";
            "set.CmpOp{.ftz}.dtype.f32 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: u32 s32 f32";
            "set.CmpOp.dtype.f64 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: u32 s32 f32";
            "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c" where "CmpOp: eq ne; dtype: u32 s32 f32; stype: BITS";
            "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c" where "CmpOp: INT_COMPARE; dtype: u32 s32 f32; stype: INT";
            "set.CmpOp.BoolOp{.ftz}.dtype.f32 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: u32 s32 f32";
            "set.CmpOp.BoolOp.dtype.f64 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: u32 s32 f32";
        /// Compares, and writes a predicate and its complement.
        Setp "setp" [10, 10]:
            "setp.CmpOp.type p{|q}, a, b" where "CmpOp: eq ne; type: BITS";
            "setp.CmpOp.type p{|q}, a, b" where "CmpOp: INT_COMPARE; type: INT";
            "setp.CmpOp{.ftz}.f32 p{|q}, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.f64 p{|q}, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp.type p{|q}, a, b, {!}c" where "CmpOp: eq ne; type: BITS";
            "setp.CmpOp.BoolOp.type p{|q}, a, b, {!}c" where "CmpOp: INT_COMPARE; type: INT";
            "setp.CmpOp.BoolOp{.ftz}.f32 p{|q}, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp.f64 p{|q}, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
        /// Selects by a predicate.
        Selp "selp" [10, 10]:
            "selp.type d, a, b, c" where "type: COMPARED";
        /// Selects by a sign.
        Slct "slct" [10, 10]:
            "slct.dtype.s32 d, a, b, c" where "dtype: COMPARED";
            "slct{.ftz}.dtype.f32 d, a, b, c" where "dtype: COMPARED";
    }

    "Half Precision Comparison Instructions" {
        /// Compares halves, and writes a number for true.
        SetHalf "set" [42, 53]:
            "set.CmpOp{.ftz}.dtype.stype d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: f16; stype: COMPARED f16";
            "set.CmpOp.BoolOp{.ftz}.dtype.stype d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: f16; stype: COMPARED f16";
            "set.CmpOp.dtype.stype d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: bf16; stype: COMPARED bf16";
            "set.CmpOp.BoolOp.dtype.stype d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: bf16; stype: COMPARED bf16";
            "set.CmpOp{.ftz}.dtype.f16 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: u16 s16 u32 s32";
            "set.CmpOp.BoolOp{.ftz}.dtype.f16 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: u16 s16 u32 s32";
            "set.CmpOp.dtype.bf16 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: u16 s16 u32 s32";
            "set.CmpOp.BoolOp.dtype.bf16 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: u16 s16 u32 s32";
            "set.CmpOp{.ftz}.dtype.f16x2 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: f16x2 u32 s32";
            "set.CmpOp.BoolOp{.ftz}.dtype.f16x2 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: f16x2 u32 s32";
            "set.CmpOp.dtype.bf16x2 d, a, b" where "CmpOp: FLOAT_COMPARE; dtype: bf16x2 u32 s32";
            "set.CmpOp.BoolOp.dtype.bf16x2 d, a, b, {!}c" where "CmpOp: FLOAT_COMPARE; dtype: bf16x2 u32 s32";
        /// Compares halves, and writes a predicate; for pairs, one for each half.
        SetpHalf "setp" [42, 53]:
            "setp.CmpOp{.ftz}.f16 p, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp{.ftz}.f16 p, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp{.ftz}.f16x2 p|q, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp{.ftz}.f16x2 p|q, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.bf16 p, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp.bf16 p, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.bf16x2 p|q, a, b" where "CmpOp: FLOAT_COMPARE";
            "setp.CmpOp.BoolOp.bf16x2 p|q, a, b, {!}c" where "CmpOp: FLOAT_COMPARE";
    }

    "Logic and Shift Instructions" {
        /// Bitwise and.
        And "and" [10, 10]:
            "and.type d, a, b" where "type: pred BITS";
        /// Bitwise or.
        Or "or" [10, 10]:
            "or.type d, a, b" where "type: pred BITS";
        /// Bitwise exclusive or.
        Xor "xor" [10, 10]:
            "xor.type d, a, b" where "type: pred BITS";
        /// Bitwise complement.
        Not "not" [10, 10]:
            "not.type d, a" where "type: pred BITS";
        /// One for zero, zero for everything else.
        Cnot "cnot" [10, 10]:
            "cnot.type d, a" where "type: BITS";
        /// Any bitwise function of three values, given by its table.
        Lop3 "lop3" [43, 50]:
            "lop3.b32 d, a, b, c, immLut";
            "lop3.BoolOp.b32 d|p, a, b, c, immLut, q-in" where "BoolOp: or and";
        /// Shifts two registers to the left as one, and writes the upper.
        ShfLeft "shf" [31, 32]:
            "shf.l.mode.b32 d, a, b, c" where "mode: clamp wrap";
        /// Shifts two registers to the right as one, and writes the lower.
        ShfRight "shf" [31, 32]:
            "shf.r.mode.b32 d, a, b, c" where "mode: clamp wrap";
        /// Shifts to the left.
        Shl "shl" [10, 10]:
            "shl.type d, a, b" where "type: BITS";
        /// Shifts to the right, by sign or by zeros.
        Shr "shr" [10, 10]:
            "shr.type d, a, b" where "type: BITS INT";
    }

    "Data Movement and Conversion Instructions" {
        /// Copies a register, a constant, a special register or an address.
        Mov "mov" [10, 10]:
            "mov.type d, a" where "type: pred BITS b128 INT FLOAT";
        /// Packs the elements of a vector into a scalar.
        MovPack "mov" [10, 10]:
            "mov.type d, <a>" where "type: BITS b128";
        /// Unpacks a scalar into the elements of a vector.
        MovUnpack "mov" [10, 10]:
            "mov.type <d>, a" where "type: BITS b128";
        /// Exchanges values between lanes that happen to be converged.
        Shfl "shfl" [30, 30]:
            "shfl.mode.b32 d{|p}, a, b, c" where "mode: up down bfly idx";
        /// Exchanges values between the lanes of a mask.
        ShflSync "shfl.sync" [60, 30]:
            "shfl.sync.mode.b32 d{|p}, a, b, c, membermask" where "mode: up down bfly idx";
        /// Picks four of eight bytes.
        Prmt "prmt" [20, 20]:
            "prmt.b32{.mode} d, a, b, c" where "mode: f4e b4e rc8 ecl ecr rc16";
        /// Loads.
        Ld "ld" [10, 10]:
            "ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d.vec, [a]{, cache-policy}"
                where "ss: const global local param param::entry param::func shared shared::cta shared::cluster; cop: ca cg cs lu cv; type: ANY b128";
            "ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d.vec, [a]{, cache-policy}"
                where "ss: const global local param param::entry param::func shared shared::cta shared::cluster; type: ANY b128";
            "ld.sem{.ss}{.level::prefetch_size}{.vec}.type d.vec, [a]"
                where "sem: volatile; ss: global shared shared::cta shared::cluster; type: ANY b128";
            "ld.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d.vec, [a]{, cache-policy}"
                where "sem: relaxed acquire; ss: global shared shared::cta shared::cluster; type: ANY b128";
            "ld.mmio.relaxed.sys{.global}.type d, [a]" where "type: ANY";
        /// Loads bytes that the kernel promises not to change.
        LdNonCoherent "ld.global.nc" [31, 32]:
            "ld.global{.cop}.nc{.level::cache_hint}{.level::prefetch_size}{.vec}.type d.vec, [a]{, cache-policy}" where "cop: ca cg cs; type: ANY b128";
            "ld.global.nc{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d.vec, [a]{, cache-policy}"
                where "type: ANY b128";
        /// Loads an address that all threads of the warp share.
        Ldu "ldu" [20, 20]:
            "ldu{.ss}{.vec}.type d.vec, [a]" where "ss: global; vec: v2 v4; type: ANY b128";
        /// Stores.
        St "st" [10, 10]:
            "st{.weak}{.ss}{.cop}{.level::cache_hint}{.vec}.type [a], b.vec{, cache-policy}"
                where "ss: global local param param::func shared shared::cta shared::cluster; cop: wb cg cs wt; type: ANY b128";
            "st{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.vec}.type [a], b.vec{, cache-policy}"
                where "ss: global local param param::func shared shared::cta shared::cluster; type: ANY b128";
            "st.sem{.ss}{.vec}.type [a], b.vec" where "sem: volatile; ss: global shared shared::cta shared::cluster; type: ANY b128";
            "st.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.vec}.type [a], b.vec{, cache-policy}"
                where "sem: relaxed release; ss: global shared shared::cta shared::cluster; type: ANY b128";
            "st.mmio.relaxed.sys{.global}.type [a], b" where "type: ANY";
        /// Stores into a block of the cluster, asynchronously, and counts on an mbarrier.
        StAsync "st.async" [81, 90]:
            "st.async{.weak}{.ss}.mbarrier::complete_tx::bytes{.vec}.type [a], b.vec, [mbar]"
                where "ss: shared::cluster; vec: v2 v4; type: b32 b64 u32 u64 s32 s64 f32 f64";
        /// Loads from every replica of a multicast object and reduces.
        MultimemLdReduce "multimem.ld_reduce" [81, 90]:
            "multimem.ld_reduce{.weak}{.ss}.op.type d, [a]" where "ss: global; op: min max; type: u32 s32 u64 s64";
            "multimem.ld_reduce{.weak}{.ss}.op.type d, [a]" where "ss: global; op: add; type: u32 s32 u64 f64";
            "multimem.ld_reduce{.weak}{.ss}.op.type d, [a]" where "ss: global; op: and or xor; type: b32 b64";
            "multimem.ld_reduce{.weak}{.ss}.op{.vec}.type d.vec, [a]" where "ss: global; op: min max; type: f16 f16x2 bf16 bf16x2";
            "multimem.ld_reduce{.weak}{.ss}.op{.acc}{.vec}.type d.vec, [a]" where "ss: global; op: add; acc: acc::f32; type: f16 f16x2 bf16 bf16x2";
            "multimem.ld_reduce{.weak}{.ss}.op{.vec}.f32 d.vec, [a]" where "ss: global; op: add; vec: v2 v4";
            "multimem.ld_reduce.sem.scope{.ss}.op.type d, [a]" where "sem: relaxed acquire; ss: global; op: min max; type: u32 s32 u64 s64";
            "multimem.ld_reduce.sem.scope{.ss}.op.type d, [a]" where "sem: relaxed acquire; ss: global; op: add; type: u32 s32 u64 f64";
            "multimem.ld_reduce.sem.scope{.ss}.op.type d, [a]" where "sem: relaxed acquire; ss: global; op: and or xor; type: b32 b64";
            "multimem.ld_reduce.sem.scope{.ss}.op{.vec}.type d.vec, [a]" where "sem: relaxed acquire; ss: global; op: min max; type: f16 f16x2 bf16 bf16x2";
            "multimem.ld_reduce.sem.scope{.ss}.op{.acc}{.vec}.type d.vec, [a]" where "sem: relaxed acquire; ss: global; op: add; acc: acc::f32; type: f16 f16x2 bf16 bf16x2";
            "multimem.ld_reduce.sem.scope{.ss}.op{.vec}.f32 d.vec, [a]" where "sem: relaxed acquire; ss: global; op: add; vec: v2 v4";
        /// Stores into every replica of a multicast object.
        MultimemSt "multimem.st" [81, 90]:
            "multimem.st{.weak}{.ss}.type [a], b" where "ss: global; type: b32 b64 u32 u64 s32 s64 f64";
            "multimem.st{.weak}{.ss}{.vec}.type [a], b.vec" where "ss: global; vec: v2 v4; type: f16 f16x2 bf16 bf16x2 f32";
            "multimem.st.sem.scope{.ss}.type [a], b" where "sem: relaxed release; ss: global; type: b32 b64 u32 u64 s32 s64 f64";
            "multimem.st.sem.scope{.ss}{.vec}.type [a], b.vec" where "sem: relaxed release; ss: global; vec: v2 v4; type: f16 f16x2 bf16 bf16x2 f32";
        /// Reduces into every replica of a multicast object.
        MultimemRed "multimem.red" [81, 90]:
            "multimem.red{.sem}{.scope}{.ss}.op.type [a], b" where "sem: relaxed release; ss: global; op: min max; type: u32 s32 u64 s64";
            "multimem.red{.sem}{.scope}{.ss}.op.type [a], b" where "sem: relaxed release; ss: global; op: add; type: u32 s32 u64 f64";
            "multimem.red{.sem}{.scope}{.ss}.op.type [a], b" where "sem: relaxed release; ss: global; op: and or xor; type: b32 b64";
            "multimem.red{.sem}{.scope}{.ss}.op{.vec}.type [a], b.vec" where "sem: relaxed release; ss: global; op: min max add; type: f16 f16x2 bf16 bf16x2";
            "multimem.red{.sem}{.scope}{.ss}.op{.vec}.f32 [a], b.vec" where "sem: relaxed release; ss: global; op: add; vec: v2 v4";
        /// Fetches a cache line ahead of its use.
        Prefetch "prefetch" [20, 20]:
            "prefetch{.space}.cache [a]" where "space: global local; cache: L1 L2";
            "prefetch.global.evict [a]" where "evict: L2::evict_last L2::evict_normal";
            "prefetch{.space}.tensormap [a]" where "space: const param";
        /// Fetches a cache line into the uniform cache.
        Prefetchu "prefetchu" [20, 20]:
            "prefetchu.L1 [a]";
        /// Gives cached bytes another eviction priority.
        ApplyPriority "applypriority" [74, 80]:
            "applypriority{.global}.L2::evict_normal [a], size";
        /// Lets cached bytes go without writing them back.
        Discard "discard" [74, 80]:
            "discard{.global}.L2 [a], size";
        /// Makes a cache policy.
        CreatePolicy "createpolicy" [74, 80]:
            "createpolicy.range{.global}.first{.second}.b64 d, [a], primary-size, total-size"
                where "first: L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged; second: L2::evict_first L2::evict_unchanged";
            "createpolicy.fractional.first{.second}.b64 d{, fraction}"
                where "first: L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged; second: L2::evict_first L2::evict_unchanged";
            "createpolicy.cvt.L2.b64 d, a";
        /// Asks whether a generic address lies in a window.
        Isspacep "isspacep" [20, 20]:
            "isspacep.space p, a" where "space: const global local shared shared::cta shared::cluster param param::entry";
        /// Turns an address of a window into a generic one, or with `.to` back.
        Cvta "cvta" [20, 20]:
            "cvta{.to}.space.type d, a" where "space: const global local shared shared::cta shared::cluster param param::entry; type: u32 u64";
        /// Converts between scalar types.
        Cvt "cvt" [10, 10]:
            "cvt{.sat}.dtype.atype d, a" where "dtype: INT8; atype: INT8";
            "cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a" where "rnd: rni rzi rmi rpi; dtype: INT8; atype: f16 bf16 f32 f64";
            "cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a" where "dtype: f16 bf16 f32 f64; atype: INT8";
            "cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a" where "rnd: rni rzi rmi rpi rn rz rm rp; dtype: f16 bf16 f32 f64; atype: f16 bf16 f32 f64";
            "cvt.rnd{.relu}{.satfinite}.dtype.f32 d, a" where "rnd: rn rz; dtype: f16 bf16";
            "cvt.rna{.satfinite}.tf32.f32 d, a";
            "cvt.rnd{.satfinite}{.relu}.tf32.f32 d, a" where "rnd: rn rz";
        /// Converts two values into the halves of one, the first into the upper.
        CvtPair "cvt" [70, 80]:
            "cvt.rnd{.relu}{.satfinite}.dtype.f32 d, a, b" where "rnd: rn rz; dtype: f16x2 bf16x2";
            "cvt.rn.satfinite{.relu}.dtype.f32 d, a, b" where "dtype: e4m3x2 e5m2x2";
        /// Converts each half of a pair.
        CvtHalves "cvt" [81, 89]:
            "cvt.rn.satfinite{.relu}.dtype.f16x2 d, a" where "dtype: e4m3x2 e5m2x2";
            "cvt.rn{.relu}.f16x2.atype d, a" where "atype: e4m3x2 e5m2x2";
        /// Converts two integers to narrower ones and packs them, under a third value where there is room.
        CvtPack "cvt.pack" [65, 72]:
            "cvt.pack.sat.dtype.s32 d, a, b" where "dtype: u16 s16";
            "cvt.pack.sat.dtype.s32.b32 d, a, b, c" where "dtype: u4 s4 u8 s8";
        /// The address of a shared variable in another block of the cluster.
        Mapa "mapa" [78, 90]:
            "mapa{.space}.type d, a, b" where "space: shared::cluster; type: u32 u64";
        /// The rank of the block that a shared address belongs to.
        Getctarank "getctarank" [78, 90]:
            "getctarank{.space}.type d, a" where "space: shared::cluster; type: u32 u64";
    }

    "Data Movement and Conversion Instructions: Asynchronous copy" {
        /// Copies 4, 8 or 16 bytes from global to shared memory, asynchronously.
        CpAsync "cp.async" [70, 80]:
            "cp.async.cop.shared{::cta}.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp-size{, src-size}{, cache-policy}"
                where "cop: ca cg";
        /// Makes a group of the thread's copies that are in none yet.
        CpAsyncCommitGroup "cp.async.commit_group" [70, 80]:
            "cp.async.commit_group";
        /// Waits until at most so many of the thread's newest groups are pending.
        CpAsyncWaitGroup "cp.async.wait_group" [70, 80]:
            "cp.async.wait_group N";
        /// Waits for all of the thread's copies.
        CpAsyncWaitAll "cp.async.wait_all" [70, 80]:
            "cp.async.wait_all";
        /// Arrives on an mbarrier once the thread's copies so far are done.
        CpAsyncMbarrierArrive "cp.async.mbarrier.arrive" [70, 80]:
            "cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [addr]";
        /// Copies a row of bytes from global to shared memory, asynchronously, and counts on an mbarrier.
        BulkLoad "cp.async.bulk" [80, 90]:
            "cp.async.bulk.dst.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.level::cache_hint} [dstMem], [srcMem], size, [mbar]{, ctaMask}{, cache-policy}"
                where "dst: shared::cluster shared::cta";
        /// Copies a row of bytes into another block of the cluster, asynchronously, and counts on an mbarrier there.
        BulkShare "cp.async.bulk" [80, 90]:
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dstMem], [srcMem], size, [mbar]";
        /// Copies a row of bytes from shared to global memory, asynchronously, in a bulk group.
        BulkStore "cp.async.bulk" [80, 90]:
            "cp.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}{.cp_mask} [dstMem], [srcMem], size{, cache-policy}{, byteMask}";
        /// Reduces a row of values into another block of the cluster, asynchronously.
        BulkReduceShare "cp.reduce.async.bulk" [80, 90]:
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type [dstMem], [srcMem], size, [mbar]" where "redOp: and or xor; type: b32";
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type [dstMem], [srcMem], size, [mbar]" where "redOp: add; type: u32 s32 u64";
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type [dstMem], [srcMem], size, [mbar]" where "redOp: inc dec; type: u32";
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type [dstMem], [srcMem], size, [mbar]" where "redOp: min max; type: u32 s32";
        /// Reduces a row of values into global memory, asynchronously.
        BulkReduceStore "cp.reduce.async.bulk" [80, 90]:
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type [dstMem], [srcMem], size{, cache-policy}" where "redOp: and or xor; type: b32 b64";
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type [dstMem], [srcMem], size{, cache-policy}" where "redOp: add; type: u32 s32 u64 f32 f64";
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.noftz.type [dstMem], [srcMem], size{, cache-policy}" where "redOp: add; type: f16 bf16";
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type [dstMem], [srcMem], size{, cache-policy}" where "redOp: inc dec; type: u32";
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type [dstMem], [srcMem], size{, cache-policy}" where "redOp: min max; type: u32 s32 u64 s64 f16 bf16";
        /// Fetches a row of bytes into the L2 cache.
        BulkPrefetch "cp.async.bulk.prefetch" [80, 90]:
            "cp.async.bulk.prefetch.L2.global{.level::cache_hint} [srcMem], size{, cache-policy}";
        /// Makes a bulk group of the thread's bulk copies that are in none yet.
        BulkCommitGroup "cp.async.bulk.commit_group" [80, 90]:
            "cp.async.bulk.commit_group";
        /// Waits until at most so many of the thread's newest bulk groups are pending, or with `.read` have sources to read.
        BulkWaitGroup "cp.async.bulk.wait_group" [80, 90]:
            "cp.async.bulk.wait_group{.read} N";
        /// Copies a box of a tensor to shared memory, asynchronously, and counts on an mbarrier.
        TensorLoad "cp.async.bulk.tensor" [80, 90]:
            "cp.async.bulk.tensor.dim.dst.global{.load_mode}.mbarrier::complete_tx::bytes{.multicast::cluster}{.group}{.level::cache_hint} [dstMem], [tensorMap, coords], [mbar]{, im2colInfo/<im2colInfo>}{, ctaMask}{, cache-policy}"
                where "dst: shared::cluster shared::cta; load_mode: tile tile::gather4 im2col im2col::w im2col::w::128; group: cta_group::1 cta_group::2";
        /// Copies a box from shared memory into a tensor, asynchronously, in a bulk group.
        TensorStore "cp.async.bulk.tensor" [80, 90]:
            "cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.level::cache_hint} [tensorMap, coords], [srcMem]{, cache-policy}"
                where "load_mode: tile tile::scatter4 im2col_no_offs";
        /// Reduces a box from shared memory into a tensor, asynchronously, in a bulk group.
        TensorReduce "cp.reduce.async.bulk.tensor" [80, 90]:
            "cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.load_mode}.bulk_group{.level::cache_hint} [tensorMap, coords], [srcMem]{, cache-policy}"
                where "redOp: add min max inc dec and or xor; load_mode: tile im2col_no_offs";
        /// Fetches a box of a tensor into the L2 cache.
        TensorPrefetch "cp.async.bulk.prefetch.tensor" [80, 90]:
            "cp.async.bulk.prefetch.tensor.dim.L2.global{.load_mode}{.level::cache_hint} [tensorMap, coords]{, im2colInfo/<im2colInfo>}{, cache-policy}"
                where "load_mode: tile tile::gather4 im2col im2col::w im2col::w::128";
        /// Changes a field of a tensor map in memory.
        TensormapReplace "tensormap.replace" [83, 90a]:
            "tensormap.replace.tile.global_address{.ss}.b1024.type [addr], a" where "ss: global shared::cta; type: b64";
            "tensormap.replace.tile.rank{.ss}.b1024.type [addr], a" where "ss: global shared::cta; type: b32";
            "tensormap.replace.tile.field{.ss}.b1024.type [addr], imm-value" where "field: elemtype interleave_layout swizzle_mode fill_mode swizzle_atomicity; ss: global shared::cta; type: b32";
            "tensormap.replace.tile.field{.ss}.b1024.type [addr], imm-ord, a" where "field: box_dim global_dim element_stride; ss: global shared::cta; type: b32";
            "tensormap.replace.tile.global_stride{.ss}.b1024.type [addr], imm-ord, a" where "ss: global shared::cta; type: b64";
        /// Copies a tensor map to global memory and fences the proxies.
        TensormapCopyFence "tensormap.cp_fenceproxy" [83, 90]:
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], size";
    }

    "Control Flow Instructions" {
        /// Branches.
        Bra "bra" [10, 10]:
            "bra{.uni} tgt";
        /// Branches to one of a list of labels.
        BrxIdx "brx.idx" [60, 30]:
            "brx.idx{.uni} a, tlist";
        /// Calls a function, by name or by address.
        Call "call" [10, 10]:
            "call{.uni} (ret), fname, (args){, flist}";
            "call{.uni} fname, (args){, flist}";
            "call{.uni} (ret), fname";
            "call{.uni} fname{, flist}";
        /// Returns from a function, or ends the thread of an entry.
        Ret "ret" [10, 10]:
            "ret{.uni}";
        /// Ends the thread.
        Exit "exit" [10, 10]:
            "exit";
    }

    "Parallel Synchronization and Communication Instructions" {
        /// Arrives at a barrier of the block and waits.
        BarrierSync "bar, barrier" [10, 10]:
            "bar{.cta}.sync a{, b}";
            "barrier{.cta}.sync{.aligned} a{, b}";
        /// Arrives at a barrier of the block.
        BarrierArrive "bar, barrier" [20, 20]:
            "bar{.cta}.arrive a, b";
            "barrier{.cta}.arrive{.aligned} a, b";
        /// Arrives at a barrier of the block, waits, and reduces a predicate over all threads.
        BarrierRed "bar, barrier" [20, 20]:
            "bar{.cta}.red.op.u32 d, a{, b}, {!}c" where "op: popc";
            "bar{.cta}.red.op.pred d, a{, b}, {!}c" where "op: and or";
            "barrier{.cta}.red.op{.aligned}.u32 d, a{, b}, {!}c" where "op: popc";
            "barrier{.cta}.red.op{.aligned}.pred d, a{, b}, {!}c" where "op: and or";
        /// Makes the lanes of a mask meet.
        BarWarpSync "bar.warp.sync" [60, 30]:
            "bar.warp.sync membermask";
        /// Arrives at the barrier of the cluster.
        ClusterArrive "barrier.cluster" [78, 90]:
            "barrier.cluster.arrive{.sem}{.aligned}" where "sem: release relaxed";
        /// Waits at the barrier of the cluster.
        ClusterWait "barrier.cluster" [78, 90]:
            "barrier.cluster.wait{.sem}{.aligned}" where "sem: acquire";
        /// Orders memory accesses of the thread; the old spelling of a sequentially consistent fence.
        Membar "membar" [14, 10]:
            "membar.level" where "level: cta gl sys";
        /// Orders memory accesses of the thread.
        Fence "fence" [60, 70]:
            "fence{.sem}.scope" where "sem: sc acq_rel acquire release";
        /// Orders accesses to shared memory of the cluster, in one direction.
        FenceRestricted "fence" [86, 90]:
            "fence.acquire.sync_restrict::shared::cluster.cluster";
            "fence.release.sync_restrict::shared::cta.cluster";
        /// Makes the thread's mbarrier initialisations visible to the cluster.
        FenceMbarrierInit "fence" [80, 90]:
            "fence.mbarrier_init.release.cluster";
        /// Orders accesses to one place under several addresses.
        FenceProxyAlias "fence.proxy" [75, 70]:
            "fence.proxy.alias";
            "membar.proxy.alias";
        /// Orders accesses of the generic and the async proxy.
        FenceProxyAsync "fence.proxy" [80, 90]:
            "fence.proxy.async{.space}" where "space: global shared::cta shared::cluster";
        /// Orders accesses of the generic and the async proxy, in one direction.
        FenceProxyAsyncRestricted "fence.proxy" [86, 90]:
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster";
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster";
        /// Orders accesses of the generic and the tensor map proxy, in one direction.
        FenceProxyTensormap "fence.proxy" [83, 90]:
            "fence.proxy.tensormap::generic.release.scope";
            "fence.proxy.tensormap::generic.acquire.scope [addr], size";
        /// Changes a place atomically and answers its old value.
        Atom "atom" [11, 11]:
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type d/_, [a], b{, cache-policy}"
                where "sem: relaxed acquire release acq_rel; space: global shared shared::cta shared::cluster; op: and or xor exch add inc dec min max; type: b32 b64 u32 u64 s32 s64 f32 f64";
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.b128 d, [a], b{, cache-policy}"
                where "sem: relaxed acquire release acq_rel; space: global shared shared::cta shared::cluster; op: exch";
            "atom{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type d/_, [a], b{, cache-policy}"
                where "sem: relaxed acquire release acq_rel; space: global shared shared::cta shared::cluster; op: add; type: f16 f16x2 bf16 bf16x2";
        /// Compares and exchanges atomically.
        AtomCas "atom" [11, 11]:
            "atom{.sem}{.scope}{.space}.op.type d/_, [a], b, c"
                where "sem: relaxed acquire release acq_rel; space: global shared shared::cta shared::cluster; op: cas; type: b16 b32 b64 b128";
        /// Changes the elements of a vector atomically, each for itself.
        AtomVector "atom" [81, 90]:
            "atom{.sem}{.scope}{.global}.op{.level::cache_hint}.vec.f32 d.vec, [a], b.vec{, cache-policy}"
                where "sem: relaxed acquire release acq_rel; op: add; vec: v2 v4";
            "atom{.sem}{.scope}{.global}.op.noftz{.level::cache_hint}.vec.type d.vec, [a], b.vec{, cache-policy}"
                where "sem: relaxed acquire release acq_rel; op: add min max; type: f16 bf16 f16x2 bf16x2";
        /// Changes a place atomically.
        Red "red" [12, 11]:
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.type [a], b{, cache-policy}"
                where "sem: relaxed release; space: global shared shared::cta shared::cluster; op: and or xor add inc dec min max; type: b32 b64 u32 u64 s32 s64 f32 f64";
            "red{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type [a], b{, cache-policy}"
                where "sem: relaxed release; space: global shared shared::cta shared::cluster; op: add; type: f16 f16x2 bf16 bf16x2";
        /// Changes the elements of a vector atomically, each for itself.
        RedVector "red" [81, 90]:
            "red{.sem}{.scope}{.global}.op{.level::cache_hint}.vec.f32 [a], b.vec{, cache-policy}" where "sem: relaxed release; op: add; vec: v2 v4";
            "red{.sem}{.scope}{.global}.op.noftz{.level::cache_hint}.vec.type [a], b.vec{, cache-policy}"
                where "sem: relaxed release; op: add min max; type: f16 bf16 f16x2 bf16x2";
        /// Changes a place in a block of the cluster, asynchronously, and counts on an mbarrier.
        RedAsync "red.async" [81, 90]:
            "red.async.relaxed.cluster{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]" where "ss: shared::cluster; op: and or xor; type: b32";
            "red.async.relaxed.cluster{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]" where "ss: shared::cluster; op: add; type: u32 s32 u64";
            "red.async.relaxed.cluster{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]" where "ss: shared::cluster; op: inc dec; type: u32";
            "red.async.relaxed.cluster{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]" where "ss: shared::cluster; op: min max; type: u32 s32";
        /// Votes among lanes that happen to be converged.
        Vote "vote" [12, 12]:
            "vote.mode.pred d, {!}a" where "mode: all any uni";
            "vote.mode.b32 d, {!}a" where "mode: ballot";
        /// Votes among the lanes of a mask.
        VoteSync "vote.sync" [60, 30]:
            "vote.sync.mode.pred d, {!}a, membermask" where "mode: all any uni";
            "vote.sync.mode.b32 d, {!}a, membermask" where "mode: ballot";
        /// Finds the lanes of a mask that have the same value.
        MatchSync "match.sync" [60, 70]:
            "match.mode.sync.type d, a, membermask" where "mode: any; type: b32 b64";
            "match.mode.sync.type d{|p}, a, membermask" where "mode: all; type: b32 b64";
        /// The lanes that are executing.
        Activemask "activemask" [62, 30]:
            "activemask.b32 d";
        /// Reduces over the lanes of a mask.
        ReduxSync "redux.sync" [70, 80]:
            "redux.sync.op.type d, a, membermask" where "op: add min max; type: u32 s32";
            "redux.sync.op.b32 d, a, membermask" where "op: and or xor";
            "redux.sync.op{.abs}{.NaN}.f32 d, a, membermask" where "op: min max";
        /// Lets dependent grids start, or waits for the grids before.
        Griddepcontrol "griddepcontrol" [78, 90]:
            "griddepcontrol.mode" where "mode: launch_dependents wait";
        /// Elects one lane of a mask.
        ElectSync "elect.sync" [80, 90]:
            "elect.sync d|p, membermask";
    }

    "Parallel Synchronization and Communication Instructions: mbarrier" {
        /// Makes an mbarrier.
        MbarrierInit "mbarrier.init" [70, 80]:
            "mbarrier.init{.shared{::cta}}.b64 [addr], count";
        /// Ends the life of an mbarrier.
        MbarrierInval "mbarrier.inval" [70, 80]:
            "mbarrier.inval{.shared{::cta}}.b64 [addr]";
        /// Raises the bytes that the current phase waits for.
        MbarrierExpectTx "mbarrier.expect_tx" [80, 90]:
            "mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [addr], txCount" where "sem: relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
        /// Lowers the bytes that the current phase waits for.
        MbarrierCompleteTx "mbarrier.complete_tx" [80, 90]:
            "mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [addr], txCount" where "sem: relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
        /// Arrives.
        MbarrierArrive "mbarrier.arrive" [70, 80]:
            "mbarrier.arrive{.sem}{.scope}{.space}.b64 state, [addr]{, count}" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta";
            "mbarrier.arrive{.sem}{.scope}{.space}.b64 _, [addr]{, count}" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
            "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta";
            "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 _, [addr], txCount" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
            "mbarrier.arrive.noComplete{.sem}{.scope}{.space}.b64 state, [addr], count" where "sem: release; scope: cta; space: shared shared::cta";
        /// Arrives, and is expected no more in later phases.
        MbarrierArriveDrop "mbarrier.arrive_drop" [70, 80]:
            "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 state, [addr]{, count}" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta";
            "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 _, [addr]{, count}" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 state, [addr], txCount" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta";
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 _, [addr], txCount" where "sem: release relaxed; scope: cta cluster; space: shared shared::cta shared::cluster";
            "mbarrier.arrive_drop.noComplete{.sem}{.scope}{.space}.b64 state, [addr], count" where "sem: release; scope: cta; space: shared shared::cta";
        /// Asks whether a phase is complete.
        MbarrierTestWait "mbarrier.test_wait" [70, 80]:
            "mbarrier.test_wait{.sem}{.scope}{.shared{::cta}}.b64 waitComplete, [addr], state-in" where "sem: acquire relaxed; scope: cta cluster";
            "mbarrier.test_wait.parity{.sem}{.scope}{.shared{::cta}}.b64 waitComplete, [addr], phaseParity" where "sem: acquire relaxed; scope: cta cluster";
        /// Waits for a phase for a while.
        MbarrierTryWait "mbarrier.try_wait" [78, 90]:
            "mbarrier.try_wait{.sem}{.scope}{.shared{::cta}}.b64 waitComplete, [addr], state-in{, suspendTimeHint}" where "sem: acquire relaxed; scope: cta cluster";
            "mbarrier.try_wait.parity{.sem}{.scope}{.shared{::cta}}.b64 waitComplete, [addr], phaseParity{, suspendTimeHint}" where "sem: acquire relaxed; scope: cta cluster";
        /// Reads the pending count out of a phase's state.
        MbarrierPendingCount "mbarrier.pending_count" [70, 80]:
            "mbarrier.pending_count.b64 d, state-in";
    }

    "Warp Level Matrix Multiply-Accumulate Instructions" {
        /// Loads the fragment of the first matrix.
        WmmaLoadA "wmma.load" [60, 70]:
            "wmma.load.a.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: WMMA; ss: WMMA_SPACE; type: f16 bf16 s8 u8";
            "wmma.load.a.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m16n16k8; ss: WMMA_SPACE; type: tf32";
            "wmma.load.a.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m8n8k4; ss: WMMA_SPACE; type: f64";
            "wmma.load.a.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row; shape: m8n8k32; ss: WMMA_SPACE; type: s4 u4";
            "wmma.load.a.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row; shape: m8n8k128; ss: WMMA_SPACE; type: b1";
        /// Loads the fragment of the second matrix.
        WmmaLoadB "wmma.load" [60, 70]:
            "wmma.load.b.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: WMMA; ss: WMMA_SPACE; type: f16 bf16 s8 u8";
            "wmma.load.b.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m16n16k8; ss: WMMA_SPACE; type: tf32";
            "wmma.load.b.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m8n8k4; ss: WMMA_SPACE; type: f64";
            "wmma.load.b.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: col; shape: m8n8k32; ss: WMMA_SPACE; type: s4 u4";
            "wmma.load.b.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: col; shape: m8n8k128; ss: WMMA_SPACE; type: b1";
        /// Loads the fragment of the matrix that is added.
        WmmaLoadC "wmma.load" [60, 70]:
            "wmma.load.c.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: WMMA; ss: WMMA_SPACE; type: f16 f32 s32";
            "wmma.load.c.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m16n16k8; ss: WMMA_SPACE; type: f32";
            "wmma.load.c.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m8n8k4; ss: WMMA_SPACE; type: f64";
            "wmma.load.c.sync.aligned.layout.shape{.ss}.type <d>, [a]{, stride}" where "layout: row col; shape: m8n8k32 m8n8k128; ss: WMMA_SPACE; type: s32";
        /// Stores the fragment of a result.
        WmmaStore "wmma.store" [60, 70]:
            "wmma.store.d.sync.aligned.layout.shape{.ss}.type [a], <b>{, stride}" where "layout: row col; shape: WMMA; ss: WMMA_SPACE; type: f16 f32 s32";
            "wmma.store.d.sync.aligned.layout.shape{.ss}.type [a], <b>{, stride}" where "layout: row col; shape: m16n16k8; ss: WMMA_SPACE; type: f32";
            "wmma.store.d.sync.aligned.layout.shape{.ss}.type [a], <b>{, stride}" where "layout: row col; shape: m8n8k4; ss: WMMA_SPACE; type: f64";
            "wmma.store.d.sync.aligned.layout.shape{.ss}.type [a], <b>{, stride}" where "layout: row col; shape: m8n8k32 m8n8k128; ss: WMMA_SPACE; type: s32";
        /// Multiplies two matrices and adds a third, in the fragments of `wmma.load`.
        WmmaMma "wmma.mma" [60, 70]:
            "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite} <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col; shape: WMMA; dtype: f16 f32; ctype: f16 f32";
            "wmma.mma.sync.aligned.alayout.blayout.shape.f32.bf16.bf16.f32 <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col; shape: WMMA";
            "wmma.mma.sync.aligned.alayout.blayout.m16n16k8.f32.tf32.tf32.f32 <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col";
            "wmma.mma.sync.aligned.alayout.blayout.m8n8k4{.rnd}.f64.f64.f64.f64 <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col";
            "wmma.mma.sync.aligned.alayout.blayout.shape.s32.s8.s8.s32{.satfinite} <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col; shape: WMMA";
            "wmma.mma.sync.aligned.alayout.blayout.shape.s32.u8.u8.s32{.satfinite} <d>, <a>, <b>, <c>" where "alayout: row col; blayout: row col; shape: WMMA";
            "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32{.satfinite} <d>, <a>, <b>, <c>";
            "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32{.satfinite} <d>, <a>, <b>, <c>";
            "wmma.mma.op.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 <d>, <a>, <b>, <c>" where "op: xor and";
        /// Multiplies two matrices and adds a third, in registers.
        Mma "mma" [64, 70]:
            "mma.sync.aligned.shape.alayout.blayout.dtype.f16.f16.ctype <d>, <a>, <b>, <c>" where "shape: m8n8k4; alayout: row col; blayout: row col; dtype: f16 f32; ctype: f16 f32";
            "mma.sync.aligned.shape.row.col.dtype.f16.f16.ctype <d>, <a>, <b>, <c>" where "shape: m16n8k8 m16n8k16; dtype: f16 f32; ctype: f16 f32";
            "mma.sync.aligned.shape.row.col.f32.tf32.tf32.f32 <d>, <a>, <b>, <c>" where "shape: m16n8k4 m16n8k8";
            "mma.sync.aligned.shape.row.col.f32.bf16.bf16.f32 <d>, <a>, <b>, <c>" where "shape: m16n8k8 m16n8k16";
            "mma.sync.aligned.shape.row.col.f32.atype.btype.f32 <d>, <a>, <b>, <c>" where "shape: m16n8k16 m16n8k32; atype: e4m3 e5m2; btype: e4m3 e5m2";
            "mma.sync.aligned.shape.row.col.f16.atype.btype.f16 <d>, <a>, <b>, <c>" where "shape: m16n8k16 m16n8k32; atype: e4m3 e5m2; btype: e4m3 e5m2";
            "mma.sync.aligned.shape.row.col.f64.f64.f64.f64 <d>, <a>, <b>, <c>" where "shape: m8n8k4 m16n8k4 m16n8k8 m16n8k16";
            "mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 <d>, <a>, <b>, <c>" where "shape: m8n8k16 m16n8k16 m16n8k32; atype: u8 s8; btype: u8 s8";
            "mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 <d>, <a>, <b>, <c>" where "shape: m8n8k32 m16n8k32 m16n8k64; atype: u4 s4; btype: u4 s4";
            "mma.sync.aligned.shape.row.col.s32.b1.b1.s32.op.popc <d>, <a>, <b>, <c>" where "shape: m8n8k128 m16n8k128 m16n8k256; op: xor and";
        /// Multiplies a sparse and a dense matrix and adds a third, in registers.
        MmaSparse "mma.sp" [71, 80]:
            "mma.sparsity.sync.aligned.shape.row.col.dtype.f16.f16.ctype <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k16 m16n8k32; dtype: f16 f32; ctype: f16 f32";
            "mma.sparsity.sync.aligned.shape.row.col.f32.bf16.bf16.f32 <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k16 m16n8k32";
            "mma.sparsity.sync.aligned.shape.row.col.f32.tf32.tf32.f32 <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k8 m16n8k16";
            "mma.sparsity.sync.aligned.shape.row.col.f32.atype.btype.f32 <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k64; atype: e4m3 e5m2; btype: e4m3 e5m2";
            "mma.sparsity.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k32 m16n8k64; atype: u8 s8; btype: u8 s8";
            "mma.sparsity.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 <d>, <a>, <b>, <c>, e, f" where "sparsity: sp sp::ordered_metadata; shape: m16n8k64 m16n8k128; atype: u4 s4; btype: u4 s4";
        /// Loads matrices, a row a lane.
        Ldmatrix "ldmatrix" [65, 75]:
            "ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type d.num, [a]" where "shape: m8n8; num: x1 x2 x4; ss: shared shared::cta; type: b16";
        /// Stores matrices, a row a lane.
        Stmatrix "stmatrix" [78, 90]:
            "stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [a], b.num" where "shape: m8n8; num: x1 x2 x4; ss: shared shared::cta; type: b16";
        /// Transposes a matrix in registers.
        Movmatrix "movmatrix" [78, 75]:
            "movmatrix.sync.aligned.m8n8.trans.b16 d, a";
    }

    "Asynchronous Warpgroup Level Matrix Instructions" {
        /// Orders registers and shared memory before `wgmma.mma_async`.
        WgmmaFence "wgmma.fence" [80, 90a]:
            "wgmma.fence.sync.aligned";
        /// Multiplies two matrices and adds into registers, asynchronously.
        WgmmaMma "wgmma.mma_async" [80, 90a]:
            "wgmma.mma_async.sync.aligned.shape.dtype.f16.f16 <d>, a-desc, b-desc, scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b" where "shape: m64nNk16; dtype: f16 f32";
            "wgmma.mma_async.sync.aligned.shape.dtype.f16.f16 <d>, <a>, b-desc, scale-d, imm-scale-a, imm-scale-b, imm-trans-b" where "shape: m64nNk16; dtype: f16 f32";
            "wgmma.mma_async.sync.aligned.shape.dtype.bf16.bf16 <d>, a-desc, b-desc, scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b" where "shape: m64nNk16; dtype: f32";
            "wgmma.mma_async.sync.aligned.shape.dtype.bf16.bf16 <d>, <a>, b-desc, scale-d, imm-scale-a, imm-scale-b, imm-trans-b" where "shape: m64nNk16; dtype: f32";
            "wgmma.mma_async.sync.aligned.shape.dtype.tf32.tf32 <d>, a-desc/<a>, b-desc, scale-d, imm-scale-a, imm-scale-b" where "shape: m64nNk8; dtype: f32";
            "wgmma.mma_async.sync.aligned.shape.dtype.atype.btype <d>, a-desc/<a>, b-desc, scale-d, imm-scale-a, imm-scale-b" where "shape: m64nNk32; dtype: f16 f32; atype: e4m3 e5m2; btype: e4m3 e5m2";
            "wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype <d>, a-desc/<a>, b-desc, scale-d" where "shape: m64nNk32; dtype: s32; atype: s8 u8; btype: s8 u8";
            "wgmma.mma_async.sync.aligned.shape.dtype.b1.b1.op.popc <d>, a-desc/<a>, b-desc, scale-d" where "shape: m64nNk256; dtype: s32; op: and";
        /// Makes a group of the warpgroup's products that are in none yet.
        WgmmaCommitGroup "wgmma.commit_group" [80, 90a]:
            "wgmma.commit_group.sync.aligned";
        /// Waits until at most so many of the warpgroup's newest groups are pending.
        WgmmaWaitGroup "wgmma.wait_group" [80, 90a]:
            "wgmma.wait_group.sync.aligned N";
    }

    "SIMD Video Instructions" {
        /// Absolute differences of four bytes, or their sum onto an integer.
        Vabsdiff4 "vabsdiff4" [30, 20]:
            "vabsdiff4.dtype.atype.btype{.sat} d, a, b, c" where "dtype: u32 s32; atype: u32 s32; btype: u32 s32";
            "vabsdiff4.dtype.atype.btype.add d, a, b, c" where "dtype: u32 s32; atype: u32 s32; btype: u32 s32";
    }

    "Stack Manipulation Instructions" {
        /// Saves the stack pointer.
        Stacksave "stacksave" [73, 52]:
            "stacksave.type d" where "type: u32 u64";
        /// Restores the stack pointer.
        Stackrestore "stackrestore" [73, 52]:
            "stackrestore.type a" where "type: u32 u64";
        /// Takes memory from the stack.
        Alloca "alloca" [73, 52]:
            "alloca.type d, size{, imm-align}" where "type: u32 u64";
    }

    "Miscellaneous Instructions" {
        /// Stops in a debugger.
        Brkpt "brkpt" [10, 11]:
            "brkpt";
        /// Sleeps for about so many nanoseconds.
        Nanosleep "nanosleep" [63, 70]:
            "nanosleep.u32 t";
        /// Counts performance events.
        Pmevent "pmevent" [14, 10]:
            "pmevent a";
            "pmevent.mask a";
        /// Ends the kernel with an error.
        Trap "trap" [10, 10]:
            "trap";
        /// Gives registers of the warp back, or asks for more.
        Setmaxnreg "setmaxnreg" [80, 90a]:
            "setmaxnreg.mode.sync.aligned.u32 imm-reg-count" where "mode: inc dec";
    }
}
