//! Laws that hold for every text: reading never panics and ends; what is printed reads back to the same tree.

use nstage_ptx::ast::{
    Address, AddressBase, Function, Guard, Immediate, Init, Instruction, Item, Linkage, Module,
    Operand, Pos, Space, Statement, Type, Variable, Version,
};
use nstage_ptx::body::Body;
use nstage_ptx::cfg::Cfg;
use nstage_ptx::parse;
use nstage_ptx::table::identify;
use proptest::prelude::*;

/// A real file with some bytes replaced, cut out or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let files: Vec<String> = crate::common::corpus()
        .into_iter()
        .map(|(_, text)| text)
        .filter(|text| text.len() < 20_000)
        .collect();
    let edits = prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            0..40_usize,
            prop::sample::select(SNIPPETS),
        ),
        1..8,
    );
    (prop::sample::select(files), edits).prop_map(|(text, edits)| {
        let mut bytes = text.into_bytes();
        for (place, cut, snippet) in edits {
            let from = place.index(bytes.len());
            let to = (from + cut).min(bytes.len());
            bytes.splice(from..to, snippet.bytes());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What breaks structure most: brackets, ends, comment and string openers.
const SNIPPETS: &[&str] = &[
    "", "{", "}", "(", ")", "[", "]", ";", ",", ":", "\"", "/*", "//", "\n", "@", "|", "-", "<",
    "?", "0f", "0x", ".reg", "%", "é", "\0", ".",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_a_tree_or_in_errors(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn any_sequence_of_tokens_ends_in_a_tree_or_in_errors(words in prop::collection::vec(prop::sample::select(SNIPPETS), 0..500)) {
        check(&format!(".version 8.0\n.target sm_80\n.entry f() {{ {}", words.join(" ")))?;
    }

    #[test]
    fn damaged_files_end_in_a_tree_or_in_errors(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn what_is_printed_reads_back(module in module()) {
        let printed = module.to_string();
        let again = parse(&printed).map_err(|errors| TestCaseError::fail(format!("{errors}\n{printed}")))?;
        prop_assert_eq!(crate::common::without_places(again), module, "{}", printed);
    }
}

/// Whatever parses can be analysed and looked up without a panic.
fn use_up(module: &Module) {
    for function in module.functions() {
        let body = Body::new(function);
        for line in &body.lines {
            if let Err(error) = identify(line.instruction) {
                assert!(!error.expected.is_empty(), "{error}");
            }
        }
        if let Ok(graph) = Cfg::new(&body) {
            assert_eq!(graph.dominators().immediate(0), None);
            assert!(!graph.post_dominators().dominates(usize::MAX, 0));
        }
    }
    let entries: Vec<&str> = module.entries().map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        let mut module = module.clone();
        module.retain_entry(entry).expect("it was listed");
    }
}

/// Errors lie inside the text and in order; a tree prints to text that reads.
fn check(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(module) => {
            use_up(&module);
            let again = parse(&module.to_string())
                .map_err(|errors| TestCaseError::fail(errors.to_string()))?;
            prop_assert_eq!(
                crate::common::without_places(again),
                crate::common::without_places(module)
            );
        }
        Err(errors) => {
            prop_assert!(!errors.errors.is_empty());
            let lines = u32::try_from(text.split('\n').count()).expect("a short text");
            for error in &errors.errors {
                prop_assert!((1..=lines).contains(&error.pos.line), "{error}");
                prop_assert!(error.pos.column >= 1, "{error}");
            }
        }
    }
    Ok(())
}

fn name() -> impl Strategy<Value = String> {
    "[a-z$%][a-z0-9_$]{1,6}"
}

fn immediate() -> impl Strategy<Value = Immediate> {
    prop_oneof![
        any::<i64>().prop_map(|value| Immediate::Int {
            bits: value.cast_unsigned(),
            negative: value < 0
        }),
        any::<u64>().prop_map(|bits| Immediate::Int {
            bits,
            negative: false
        }),
        any::<u32>().prop_map(Immediate::F32),
        any::<u64>().prop_map(Immediate::F64),
    ]
}

fn plain_operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        (
            name(),
            prop::option::of(prop::sample::select(vec!['x', 'y', 'z', 'w']))
        )
            .prop_map(|(name, component)| Operand::Name { name, component }),
        name().prop_map(Operand::Not),
        immediate().prop_map(Operand::Immediate),
        (name(), any::<i64>()).prop_map(|(name, offset)| Operand::Offset { name, offset }),
        Just(Operand::Sink),
    ]
}

fn pair() -> impl Strategy<Value = Operand> {
    let end = || {
        prop_oneof![
            name().prop_map(|name| Operand::Name {
                name,
                component: None
            }),
            Just(Operand::Sink)
        ]
    };
    (end(), end()).prop_map(|(first, second)| Operand::Pair(Box::new(first), Box::new(second)))
}

fn operand() -> impl Strategy<Value = Operand> {
    let elements = || prop::collection::vec(plain_operand(), 1..5);
    // A number and its offset are one constant, which the parser folds.
    let base = prop_oneof![
        (name().prop_map(AddressBase::Name), any::<i64>()),
        (any::<u64>().prop_map(AddressBase::Number), Just(0)),
    ];
    let address = (base, prop::option::of(elements())).prop_map(|((base, offset), coordinates)| {
        Operand::Address(Address {
            base,
            offset,
            coordinates,
        })
    });
    prop_oneof![
        plain_operand(),
        pair(),
        address,
        elements().prop_map(Operand::Vector)
    ]
}

fn instruction() -> impl Strategy<Value = Statement> {
    let guard = prop::option::of(
        (any::<bool>(), name()).prop_map(|(negated, register)| Guard { negated, register }),
    );
    let modifiers = prop::collection::vec("[a-zA-Z0-9_]{1,8}(::[a-z0-9]{1,5})?", 0..5);
    (
        guard,
        "[a-z]{1,8}",
        modifiers,
        prop::collection::vec(operand(), 0..5),
    )
        .prop_filter("a call's parentheses are lists", |(_, opcode, ..)| {
            opcode != "call"
        })
        .prop_map(|(guard, opcode, modifiers, operands)| {
            Statement::Instruction(Instruction {
                guard,
                opcode,
                modifiers,
                operands,
                pos: Pos::default(),
            })
        })
}

fn init() -> impl Strategy<Value = Init> {
    let symbol = (
        name(),
        any::<i64>(),
        any::<bool>(),
        prop::option::of(any::<u64>()),
    )
        .prop_filter("`generic` is a word of the language", |(name, ..)| {
            name != "generic"
        })
        .prop_map(|(name, offset, generic, mask)| Init::Symbol {
            name,
            offset,
            generic,
            mask,
        });
    let leaf = prop_oneof![immediate().prop_map(Init::Number), symbol];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(Init::List)
    })
}

fn variable(space: Space) -> impl Strategy<Value = Variable> {
    let ty = prop::sample::select(vec![
        Type::B8,
        Type::U32,
        Type::B64,
        Type::F16,
        Type::F32,
        Type::BF16x2,
        Type::Pred,
        Type::B128,
    ]);
    let dims = prop::collection::vec(any::<u64>(), 0..3);
    let head = (
        prop::option::of(any::<u32>()),
        prop::sample::select(vec![1_u8, 2, 4]),
        ty,
        name(),
        prop::option::of(any::<u32>()),
    );
    (head, dims, prop::option::of(init())).prop_map(
        move |((align, vector, ty, name, register_range), dims, init)| Variable {
            linkage: Linkage::Local,
            space,
            align,
            vector,
            ty,
            name,
            register_range,
            dims,
            ptr: None,
            attribute: None,
            init,
            pos: Pos::default(),
        },
    )
}

fn statement() -> impl Strategy<Value = Statement> {
    let leaf = prop_oneof![
        4 => instruction(),
        1 => prop::sample::select(vec![Space::Reg, Space::Shared, Space::Local, Space::Param]).prop_flat_map(variable).prop_map(Statement::Variable),
        1 => name().prop_map(|name| Statement::Label { name, pos: Pos::default() }),
        1 => any::<(u32, u32, u32)>().prop_map(|(file, line, column)| Statement::Loc { file, line, column, rest: None }),
        1 => "[a-z ]{0,8}".prop_map(|text| Statement::Pragma { text, pos: Pos::default() }),
        1 => (name(), prop::collection::vec(name(), 1..4))
            .prop_map(|(name, labels)| Statement::BranchTargets { name, labels, pos: Pos::default() }),
    ];
    leaf.prop_recursive(3, 16, 6, |inner| {
        prop::collection::vec(inner, 0..6).prop_map(Statement::Block)
    })
}

fn module() -> impl Strategy<Value = Module> {
    let body = prop::option::of(prop::collection::vec(statement(), 0..12));
    let function = (
        any::<bool>(),
        name(),
        prop::collection::vec(variable(Space::Param), 0..3),
        body,
    )
        .prop_map(|(is_entry, name, mut params, body)| {
            // Parameters have no initialisers.
            params.iter_mut().for_each(|param| param.init = None);
            let (linkage, returns, directives) = (Linkage::Visible, Vec::new(), Vec::new());
            Item::Function(Function {
                is_entry,
                linkage,
                name,
                returns,
                params,
                directives,
                body,
                pos: Pos::default(),
            })
        });
    let item = prop_oneof![3 => function, 1 => variable(Space::Global).prop_map(Item::Variable)];
    prop::collection::vec(item, 0..4).prop_map(|items| Module {
        version: Version { major: 8, minor: 0 },
        target: vec!["sm_90a".to_owned()],
        address_size: 64,
        items,
    })
}
