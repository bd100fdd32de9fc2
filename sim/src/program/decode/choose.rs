//! Choosing the instance of a lane function by what an instruction says.
//!
//! A lane function captures nothing, so each type, rounding mode and flag has an instance of its own;
//! these macros write the `match` that picks one, binding what was matched to a type or a constant.

/// Picks by type: `by_type!(ty; U32 => u32, S32 => i32; T => body)`.
macro_rules! by_type {
    ($ty:expr; $($ptx:ident => $rust:ty),+; $T:ident => $body:expr) => {
        match $ty {
            $(nstage_ptx::ast::Type::$ptx => {
                type $T = $rust;
                $body
            })+
            _ => return Err($crate::program::decode::Refusal::NotModelled),
        }
    };
}

/// Picks by one or two flags: `by_flag!(ftz, sat; FTZ, SAT => body)`.
macro_rules! by_flag {
    ($a:expr; $A:ident => $body:expr) => {
        if $a {
            const $A: bool = true;
            $body
        } else {
            const $A: bool = false;
            $body
        }
    };
    ($a:expr, $b:expr; $A:ident, $B:ident => $body:expr) => {
        by_flag!($a; $A => by_flag!($b; $B => $body))
    };
    ($a:expr, $b:expr, $c:expr; $A:ident, $B:ident, $C:ident => $body:expr) => {
        by_flag!($a; $A => by_flag!($b; $B => by_flag!($c; $C => $body)))
    };
}

/// Picks by the value of an enumeration: `by_value!(how; Compare: Eq, Lt; HOW => body else rest)`.
/// Without `else`, what is not listed is not modelled.
macro_rules! by_value {
    ($value:expr; $ty:ident: $($variant:ident),+; $V:ident => $body:block else $rest:expr) => {
        match $value {
            $($ty::$variant => {
                const $V: $ty = $ty::$variant;
                $body
            })+
            _ => $rest,
        }
    };
    ($value:expr; $ty:ident: $($variant:ident),+; $V:ident => $body:expr) => {
        match $value {
            $($ty::$variant => {
                const $V: $ty = $ty::$variant;
                $body
            })+
            #[allow(unreachable_patterns, reason = "the list may be complete")]
            _ => return Err($crate::program::decode::Refusal::NotModelled),
        }
    };
}

pub(super) use {by_flag, by_type, by_value};
