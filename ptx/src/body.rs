//! A function's body as one row of instructions, with every name resolved in its scope.
//!
//! The tree keeps scopes, because inline assembly repeats the same label and register names over and over; whoever runs or analyses a body wants numbers.
//! Here each instruction has an index, each used register an id, and each label the index of the instruction behind it.

use std::collections::HashMap;
use std::ops::Range;

use crate::ast::{Function, Instruction, Pos, Space, Statement, Variable};
use crate::uses::{Role, uses};

/// A register that is used in a body, numbered from zero in order of first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegisterId(pub u32);

/// A register: its declaration, and which of a range it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RegisterKey {
    declaration: usize,
    element: Option<u32>,
}

/// What a used register was declared as.
#[derive(Clone, Copy, Debug)]
pub struct Register<'a> {
    /// The declaration.
    pub declaration: &'a Variable,
    /// The name as used: `%r7` of `%r<10>`.
    pub name: &'a str,
}

/// A use of a name by an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// The name, without its component.
    pub name: &'a str,
    /// How it is used.
    pub role: Role,
    /// The register, if the name is one; otherwise it is a special register, a variable, a label or a function.
    pub register: Option<RegisterId>,
}

/// Where in the source of the PTX an instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The number of a `.file`.
    pub file: u32,
    /// The line in it.
    pub line: u32,
    /// The column in it.
    pub column: u32,
    /// For inlined code, file, line and column of the call.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// Names a scope of a body; zero is the body itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeId(u32);

/// An instruction with what surrounds it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The scope in which its names are looked up.
    pub scope: ScopeId,
    /// The `.loc` that applies to it.
    pub source: Option<SourceLine>,
}

#[derive(Default)]
struct Scope<'a> {
    parent: Option<ScopeId>,
    /// Names, and stems of ranges, to indices into the body's declarations.
    variables: HashMap<&'a str, usize>,
    labels: HashMap<&'a str, usize>,
    targets: HashMap<&'a str, &'a [String]>,
    prototypes: HashMap<&'a str, &'a str>,
}

/// A flattened body. See the module's text.
pub struct Body<'a> {
    /// The instructions in order.
    pub lines: Vec<Line<'a>>,
    /// Every declaration of the body and its parameters, in order.
    pub declarations: Vec<&'a Variable>,
    /// The used registers, by [`RegisterId`].
    pub registers: Vec<Register<'a>>,
    scopes: Vec<Scope<'a>>,
    uses: Vec<Use<'a>>,
    /// For each line, where its uses lie in `uses`.
    use_ranges: Vec<Range<usize>>,
}

impl<'a> Body<'a> {
    /// Flattens a function. A declaration without a body has no lines.
    #[must_use]
    pub fn new(function: &'a Function) -> Self {
        let mut body = Body {
            lines: Vec::new(),
            declarations: Vec::new(),
            registers: Vec::new(),
            scopes: vec![Scope::default()],
            uses: Vec::new(),
            use_ranges: Vec::new(),
        };
        let outermost = ScopeId(0);
        for variable in function.returns.iter().chain(&function.params) {
            body.declare(outermost, variable);
        }
        let statements = function.body.as_deref().unwrap_or_default();
        body.flatten(statements, outermost, &mut None);
        body.resolve_uses();
        body
    }

    /// What a line uses: the guard first, then operands in order.
    #[must_use]
    pub fn uses(&self, line: usize) -> &[Use<'a>] {
        self.use_ranges
            .get(line)
            .map_or(&[], |range| &self.uses[range.clone()])
    }

    /// The index of the instruction behind a label; the number of lines if none is behind it.
    #[must_use]
    pub fn label(&self, scope: ScopeId, name: &str) -> Option<usize> {
        self.chain(scope)
            .find_map(|scope| scope.labels.get(name).copied())
    }

    /// The labels of a `.branchtargets` list.
    #[must_use]
    pub fn targets(&self, scope: ScopeId, name: &str) -> Option<&'a [String]> {
        self.chain(scope)
            .find_map(|scope| scope.targets.get(name).copied())
    }

    /// The text of a `.callprototype`.
    #[must_use]
    pub fn prototype(&self, scope: ScopeId, name: &str) -> Option<&'a str> {
        self.chain(scope)
            .find_map(|scope| scope.prototypes.get(name).copied())
    }

    /// The declaration of a name, as an index into [`Body::declarations`], innermost scope first.
    /// Names of a register range resolve to the range; the second value is which of it.
    #[must_use]
    pub fn declaration(&self, scope: ScopeId, name: &str) -> Option<(usize, Option<u32>)> {
        self.chain(scope).find_map(|scope| {
            let exact = scope.variables.get(name).copied();
            match exact.filter(|&index| self.declarations[index].register_range.is_none()) {
                Some(index) => Some((index, None)),
                None => self.in_range(scope, name),
            }
        })
    }

    fn in_range(&self, scope: &Scope<'a>, name: &str) -> Option<(usize, Option<u32>)> {
        // The number of a register has at most ten digits.
        let digits = name
            .bytes()
            .rev()
            .take(10)
            .take_while(u8::is_ascii_digit)
            .count();
        // `%r<20>` and `%r1<5>` both own a `%r12`; a longer stem is the more exact one.
        (name.len() - digits..name.len()).rev().find_map(|split| {
            let (stem, number) = name.split_at(split);
            let index = *scope.variables.get(stem)?;
            let count = self.declarations[index].register_range?;
            let element: u32 = number.parse().ok().filter(|&element| element < count)?;
            Some((index, Some(element)))
        })
    }

    fn chain(&self, scope: ScopeId) -> impl Iterator<Item = &Scope<'a>> {
        let scopes = &self.scopes;
        let mut next = scopes.get(scope.0 as usize);
        std::iter::from_fn(move || {
            let current = next?;
            next = current
                .parent
                .and_then(|parent| scopes.get(parent.0 as usize));
            Some(current)
        })
    }

    fn declare(&mut self, scope: ScopeId, variable: &'a Variable) {
        let index = self.declarations.len();
        self.declarations.push(variable);
        self.scopes[scope.0 as usize]
            .variables
            .insert(&variable.name, index);
    }

    fn flatten(
        &mut self,
        statements: &'a [Statement],
        scope: ScopeId,
        source: &mut Option<SourceLine>,
    ) {
        for statement in statements {
            let here = self.lines.len();
            let names = &mut self.scopes[scope.0 as usize];
            match statement {
                Statement::Variable(variable) => self.declare(scope, variable),
                Statement::Label { name, .. } => {
                    names.labels.insert(name, here);
                }
                Statement::BranchTargets { name, labels, .. } => {
                    names.targets.insert(name, labels);
                }
                Statement::CallPrototype { name, text, .. } => {
                    names.prototypes.insert(name, text);
                }
                Statement::Loc {
                    file,
                    line,
                    column,
                    rest,
                } => {
                    let inlined_at = rest.as_deref().and_then(inlined_at);
                    *source = Some(SourceLine {
                        file: *file,
                        line: *line,
                        column: *column,
                        inlined_at,
                    });
                }
                Statement::Instruction(instruction) => self.lines.push(Line {
                    instruction,
                    scope,
                    source: *source,
                }),
                Statement::Block(inner) => {
                    let id = ScopeId(u32::try_from(self.scopes.len()).unwrap_or(u32::MAX));
                    self.scopes.push(Scope {
                        parent: Some(scope),
                        ..Scope::default()
                    });
                    self.flatten(inner, id, source);
                }
                Statement::Pragma { .. } => {}
            }
        }
    }

    fn resolve_uses(&mut self) {
        let mut ids: HashMap<RegisterKey, RegisterId> = HashMap::new();
        for index in 0..self.lines.len() {
            let line = self.lines[index];
            let start = self.uses.len();
            for used in uses(line.instruction) {
                let register =
                    self.declaration(line.scope, used.name)
                        .and_then(|(declaration, element)| {
                            let variable = self.declarations[declaration];
                            (variable.space == Space::Reg).then_some((
                                variable,
                                RegisterKey {
                                    declaration,
                                    element,
                                },
                            ))
                        });
                let register = register.map(|(declaration, key)| {
                    *ids.entry(key).or_insert_with(|| {
                        let id =
                            RegisterId(u32::try_from(self.registers.len()).unwrap_or(u32::MAX));
                        self.registers.push(Register {
                            declaration,
                            name: used.name,
                        });
                        id
                    })
                });
                self.uses.push(Use {
                    name: used.name,
                    role: used.role,
                    register,
                });
            }
            self.use_ranges.push(start..self.uses.len());
        }
    }

    /// Where a line stands in the PTX text.
    #[must_use]
    pub fn pos(&self, line: usize) -> Option<Pos> {
        self.lines.get(line).map(|line| line.instruction.pos)
    }
}

/// The call's place in `function_name $L, inlined_at 1 20 3`.
fn inlined_at(rest: &str) -> Option<(u32, u32, u32)> {
    let mut words = rest.split_once("inlined_at")?.1.split_ascii_whitespace();
    let mut number = || words.next()?.trim_end_matches(',').parse().ok();
    Some((number()?, number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Item, Type};

    const TEXT: &str = "
        .version 8.0
        .target sm_90
        .func (.reg .b32 %out) f(.reg .b32 %in) {
            .reg .b32 %r<20>, %r1<5>;
            .reg .b64 p;
            .shared .b8 tile[16];
            .loc 1 2 3
            mov.b32 %r7, %in;
            {
                .reg .pred p;
                .loc 2 4 5, function_name $L, inlined_at 1 20 7
            AGAIN:
                setp.eq.s32 p, %r12, 0;
                @p bra AGAIN;
                @p bra END;
            }
            {
            AGAIN:
                add.s64 p, p, tile;
                bra AGAIN;
            }
        TABLE: .branchtargets END, AGAIN;
        END:
        }";

    fn with_body(check: impl FnOnce(&Body<'_>)) {
        let module = crate::parse(TEXT).expect("well formed");
        let [Item::Function(function)] = &module.items[..] else {
            panic!("one function")
        };
        check(&Body::new(function));
    }

    #[test]
    fn names_resolve_in_their_scope() {
        with_body(|body| {
            let register_of = |line: usize, at: usize| {
                let id = body.uses(line)[at].register.expect("a register");
                let register = body.registers[id.0 as usize];
                (
                    register.name,
                    register.declaration.ty,
                    register.declaration.name.as_str(),
                )
            };
            assert_eq!(register_of(0, 0), ("%r7", Type::B32, "%r"));
            assert_eq!(register_of(0, 1), ("%in", Type::B32, "%in"));
            assert_eq!(register_of(1, 0), ("p", Type::Pred, "p"));
            // The longer stem wins: `%r12` is number 2 of `%r1<5>`.
            assert_eq!(register_of(1, 1), ("%r12", Type::B32, "%r1"));
            assert_eq!(register_of(4, 0), ("p", Type::B64, "p"));
            assert!(body.uses(4)[2].register.is_none(), "tile is no register");
            assert_ne!(body.uses(1)[0].register, body.uses(4)[0].register);
        });
    }

    #[test]
    fn labels_resolve_in_their_scope() {
        with_body(|body| {
            assert_eq!(body.lines.len(), 6);
            assert_eq!(body.label(body.lines[2].scope, "AGAIN"), Some(1));
            assert_eq!(body.label(body.lines[5].scope, "AGAIN"), Some(4));
            assert_eq!(body.label(body.lines[3].scope, "END"), Some(6));
            assert_eq!(body.label(body.lines[0].scope, "AGAIN"), None);
            assert_eq!(
                body.targets(body.lines[5].scope, "TABLE")
                    .map(<[String]>::len),
                Some(2)
            );
        });
    }

    #[test]
    fn source_lines_apply_until_the_next() {
        with_body(|body| {
            let place = |line: usize| {
                body.lines[line]
                    .source
                    .map(|source| (source.file, source.line, source.inlined_at))
            };
            assert_eq!(place(0), Some((1, 2, None)));
            assert_eq!(place(1), Some((2, 4, Some((1, 20, 7)))));
            assert_eq!(place(5), place(1));
        });
    }
}
