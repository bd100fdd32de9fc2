//! What an instruction reads and writes, by name.
//!
//! Names are as written: which of register, variable, label and function each is, [`crate::body::Body`] finds out from the declarations.
//! The rule is that the first operand is written, unless it is an address or a constant or the instruction is one of the few that write nothing.

use crate::ast::{AddressBase, Instruction, Operand};

/// How an instruction uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The guard predicate.
    Guard,
    /// A source operand.
    Read,
    /// The base of an address in brackets.
    Address,
    /// A destination. Under a guard, or where only a component is written, the old value may stay.
    Write,
}

/// A name and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameUse<'a> {
    /// The name, without its component.
    pub name: &'a str,
    /// How it is used.
    pub role: Role,
}

/// Every use of a name in an instruction: the guard first, then operands in order.
#[must_use]
pub fn uses(instruction: &Instruction) -> Vec<NameUse<'_>> {
    let mut found = Vec::with_capacity(instruction.operands.len() + 1);
    if let Some(guard) = &instruction.guard {
        found.push(NameUse {
            name: &guard.register,
            role: Role::Guard,
        });
    }
    let writes = writes_first_operand(instruction);
    for (index, operand) in instruction.operands.iter().enumerate() {
        if writes && index == 0 {
            if accumulates(instruction) {
                collect(operand, Role::Read, &mut found);
            }
            collect(operand, Role::Write, &mut found);
        } else {
            collect(operand, Role::Read, &mut found);
        }
    }
    found
}

/// Whether the carry flag is written: `add.cc`, `sub.cc`, `mad.lo.cc`, …
#[must_use]
pub fn writes_carry(instruction: &Instruction) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| modifier == "cc")
}

/// Whether the carry flag is read: `addc`, `subc`, `madc`.
#[must_use]
pub fn reads_carry(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.as_str(), "addc" | "subc" | "madc")
}

fn collect<'a>(operand: &'a Operand, role: Role, found: &mut Vec<NameUse<'a>>) {
    match operand {
        Operand::Name { name, component } => {
            if component.is_some() && role == Role::Write {
                // The other components keep their values.
                found.push(NameUse {
                    name,
                    role: Role::Read,
                });
            }
            found.push(NameUse { name, role });
        }
        Operand::Not(name) | Operand::Offset { name, .. } => found.push(NameUse { name, role }),
        Operand::Address(address) => {
            if let AddressBase::Name(name) = &address.base {
                found.push(NameUse {
                    name,
                    role: Role::Address,
                });
            }
            for coordinate in address.coordinates.iter().flatten() {
                collect(coordinate, Role::Read, found);
            }
        }
        Operand::Vector(elements) | Operand::List(elements) => {
            elements
                .iter()
                .for_each(|element| collect(element, role, found));
        }
        Operand::Pair(first, second) => {
            collect(first, role, found);
            collect(second, role, found);
        }
        Operand::Immediate(_) | Operand::Sink => {}
    }
}

fn writes_first_operand(instruction: &Instruction) -> bool {
    let Some(first) = instruction.operands.first() else {
        return false;
    };
    let has = |word: &str| {
        instruction
            .modifiers
            .iter()
            .any(|modifier| modifier == word)
    };
    match (instruction.opcode.as_str(), first) {
        // Stores, reductions, copies, prefetches: the address is read, the bytes behind it are no register.
        (_, Operand::Address(_) | Operand::Immediate(_)) => false,
        // A call's first operand is the function, or the list of what it returns.
        ("call", Operand::List(_)) => true,
        (
            "call" | "bra" | "brx" | "cp" | "nanosleep" | "pmevent" | "setmaxnreg" | "stackrestore",
            _,
        ) => false,
        ("bar" | "barrier", _) => has("red"),
        ("tcgen05", _) => !has("dealloc"),
        _ => true,
    }
}

/// Whether the destination is also a source: `wgmma` adds into its registers.
fn accumulates(instruction: &Instruction) -> bool {
    instruction.opcode == "wgmma"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Item, Statement};

    /// Uses as words: `g` guard, `r` read, `a` address, `w` write.
    fn words(text: &str) -> String {
        let source = format!(".version 8.0\n.target sm_90\n.func f() {{ {text} }}");
        let module = crate::parse(&source).expect(text);
        let [Item::Function(function)] = &module.items[..] else {
            panic!("one function")
        };
        let Some([Statement::Instruction(instruction)]) = function.body.as_deref() else {
            panic!("one instruction")
        };
        let letter = |role| match role {
            Role::Guard => 'g',
            Role::Read => 'r',
            Role::Address => 'a',
            Role::Write => 'w',
        };
        uses(instruction)
            .iter()
            .map(|used| format!("{}{} ", letter(used.role), used.name))
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    #[test]
    fn roles_follow_from_the_instruction() {
        let cases = [
            ("@!%p add.s32 %a, %b, 4;", "g%p w%a r%b"),
            ("ld.global.v2.f32 {%a, _}, [%b+8];", "w%a a%b"),
            ("st.shared.u32 [%a], %b;", "a%a r%b"),
            ("setp.lt.and.s32 %p|%q, %a, %b, !%r;", "w%p w%q r%a r%b r%r"),
            ("mov.b64 {%a, %b}, %c;", "w%a w%b r%c"),
            ("mov.f32 %v.x, %a;", "r%v w%v r%a"),
            ("mov.u32 %a, %tid.x;", "w%a r%tid"),
            (
                "cp.async.cg.shared.global [%a], [%b], 16, %c;",
                "a%a a%b r%c",
            ),
            (
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%a], [%b, {%x, %y}], [%m];",
                "a%a a%b r%x r%y a%m",
            ),
            ("cp.async.wait_group 1;", ""),
            ("bar.sync %a, %b;", "r%a r%b"),
            ("barrier.cta.red.popc.u32 %a, %b, %p;", "w%a r%b r%p"),
            ("bra.uni LOOP;", "rLOOP"),
            ("call (%a, %b), f, (%c);", "w%a w%b rf r%c"),
            ("call f, (%c);", "rf r%c"),
            ("mbarrier.init.shared.b64 [%a], %b;", "a%a r%b"),
            ("mbarrier.arrive.shared.b64 %a, [%b];", "w%a a%b"),
            ("mbarrier.arrive.shared::cluster.b64 _, [%b];", "a%b"),
            ("elect.sync _|%p, %m;", "w%p r%m"),
            ("atom.global.add.u32 %a, [%b], %c;", "w%a a%b r%c"),
            ("red.global.add.u32 [%b], %c;", "a%b r%c"),
            ("nanosleep.u32 %a;", "r%a"),
            (
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%a, %b}, %c, %d, %p, 1, 1, 0, 0;",
                "r%a r%b w%a w%b r%c r%d r%p",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
