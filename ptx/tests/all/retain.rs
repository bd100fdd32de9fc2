//! Keeping one entry keeps all it reaches and nothing else.

use nstage_ptx::ast::{Item, Module};
use nstage_ptx::parse;

const TEXT: &str = r#"
.version 8.0
.target sm_80, debug
.file 1 "a.rs"
.section .debug_info { .b8 1 }
.section .debug_str
{
$L__info: .b8 0
}
.pragma "nounroll";
.global .u32 counter;
.global .u64 table[2] = {generic(word), helper};
.const .b8 word[4] = {1, 2, 3, 4};
.global .u32 other;
.extern .shared .align 16 .b8 dynamic[];
.func helper();
.func deep() { .reg .b32 a; ld.global.u32 a, [counter]; ret; }
.func helper() { call.uni again; ret; }
.alias again, deep;
.func lonely() { ret; }
.visible .entry first() { .reg .b64 a; { mov.u64 a, table; } ret; }
.visible .entry second() { .reg .b32 a; mov.u32 a, dynamic+4; call lonely; ret; }
"#;

fn names(module: &Module) -> Vec<String> {
    let name = |item: &'_ Item| match item {
        Item::Variable(variable) => variable.name.as_str().to_owned(),
        Item::Function(function) => function.name.as_str().to_owned(),
        Item::File { .. } => ".file".to_owned(),
        Item::Other { text, .. } => text
            .split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" "),
    };
    module.items.iter().map(name).collect()
}

#[test]
fn what_an_entry_reaches_stays() {
    let cases: [(&str, &[&str]); 2] = [
        (
            "first",
            &[
                "counter",
                "table",
                "word",
                "helper",
                "deep",
                "helper",
                ".alias again,",
                "first",
            ],
        ),
        ("second", &["dynamic", "lonely", "second"]),
    ];
    for (entry, expected) in cases {
        let mut module = parse(TEXT).expect("well formed");
        module.retain_entry(entry).expect("it is there");
        let always = [".file", ".section .debug_str", ".pragma \"nounroll\";"];
        assert_eq!(names(&module)[..3], always, "{entry}");
        assert_eq!(names(&module)[3..], *expected, "{entry}");
        assert_eq!(module.target, ["sm_80"], "{entry}");
    }
}

#[test]
fn an_unknown_entry_is_told_with_those_there_are() {
    let mut module = parse(TEXT).expect("well formed");
    let before = module.clone();
    let error = module.retain_entry("third").expect_err("no such entry");
    assert_eq!(
        error.to_string(),
        "no entry `third`, the module has `first`, `second`"
    );
    assert_eq!(module, before);
}

#[test]
fn every_real_entry_stands_alone() {
    for (path, text) in crate::common::corpus() {
        let whole = parse(&text).unwrap_or_else(|errors| panic!("{path}: {errors}"));
        let entries: Vec<String> = whole.entries().map(|entry| entry.name.clone()).collect();
        for entry in entries {
            let mut module = whole.clone();
            module.retain_entry(&entry).expect("it was listed");
            assert_eq!(module.entries().count(), 1, "{path}: {entry}");
            assert!(module.items.len() <= whole.items.len());
            parse(&module.to_string()).unwrap_or_else(|errors| panic!("{path}: {entry}: {errors}"));
        }
    }
}
