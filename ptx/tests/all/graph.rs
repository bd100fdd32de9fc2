//! Control-flow graphs: known shapes, and the defining property of dominators on random graphs and real files.

use nstage_ptx::ast::{Function, Module};
use nstage_ptx::body::Body;
use nstage_ptx::cfg::{Cfg, CfgError};
use nstage_ptx::parse;
use proptest::prelude::*;

fn module(body: &str) -> Module {
    parse(&format!(
        ".version 8.0\n.target sm_80\n.entry f() {{ {body} }}"
    ))
    .unwrap_or_else(|errors| panic!("{body}: {errors}"))
}

fn graph(function: &Function) -> Cfg {
    Cfg::new(&Body::new(function)).unwrap_or_else(|error| panic!("{}: {error}", function.name))
}

#[test]
fn known_shapes() {
    struct Case {
        body: &'static str,
        /// First line of each block, and the one behind its last.
        lines: &'static [(usize, usize)],
        successors: &'static [&'static [usize]],
        dominators: &'static [Option<usize>],
        post_dominators: &'static [Option<usize>],
    }
    let cases = [
        Case {
            body: "",
            lines: &[(0, 0)],
            successors: &[&[]],
            dominators: &[None],
            post_dominators: &[None],
        },
        Case {
            body: "add.s32 a, a, 1; ret;",
            lines: &[(0, 2)],
            successors: &[&[]],
            dominators: &[None],
            post_dominators: &[None],
        },
        // if and else
        Case {
            body: "@p bra E; add.s32 a, a, 1; bra J; E: add.s32 a, a, 2; J: ret;",
            lines: &[(0, 1), (1, 3), (3, 4), (4, 5)],
            successors: &[&[2, 1], &[3], &[3], &[]],
            dominators: &[None, Some(0), Some(0), Some(0)],
            post_dominators: &[Some(3), Some(3), Some(3), None],
        },
        // a loop with an early way out
        Case {
            body: "L: @p ret; add.s32 a, a, 1; @q bra L; ret;",
            lines: &[(0, 1), (1, 3), (3, 4)],
            successors: &[&[1], &[0, 2], &[]],
            dominators: &[None, Some(0), Some(1)],
            post_dominators: &[None, None, None],
        },
        // nothing leaves the loop
        Case {
            body: "L: bra L;",
            lines: &[(0, 1)],
            successors: &[&[0]],
            dominators: &[None],
            post_dominators: &[None],
        },
        // a label behind the last instruction, and code that nothing reaches
        Case {
            body: "@p bra END; bra END; trap; END:",
            lines: &[(0, 1), (1, 2), (2, 3), (3, 3)],
            successors: &[&[3, 1], &[3], &[], &[]],
            dominators: &[None, Some(0), None, Some(0)],
            post_dominators: &[Some(3), Some(3), None, None],
        },
        Case {
            body: "T: .branchtargets A, B, A; brx.idx i, T; A: nanosleep.u32 1; B: ret;",
            lines: &[(0, 1), (1, 2), (2, 3)],
            successors: &[&[1, 2], &[2], &[]],
            dominators: &[None, Some(0), Some(0)],
            post_dominators: &[Some(2), Some(2), None],
        },
    ];
    for case in cases {
        let module = module(case.body);
        let cfg = graph(module.entry("f").expect("f"));
        let blocks = 0..cfg.blocks.len();
        let lines: Vec<_> = cfg
            .blocks
            .iter()
            .map(|block| (block.lines.start, block.lines.end))
            .collect();
        assert_eq!(lines, case.lines, "{}", case.body);
        let successors: Vec<_> = cfg
            .blocks
            .iter()
            .map(|block| &block.successors[..])
            .collect();
        assert_eq!(successors, case.successors, "{}", case.body);
        let (down, up) = (cfg.dominators(), cfg.post_dominators());
        assert_eq!(
            blocks
                .clone()
                .map(|block| down.immediate(block))
                .collect::<Vec<_>>(),
            case.dominators,
            "{}",
            case.body
        );
        assert_eq!(
            blocks.map(|block| up.immediate(block)).collect::<Vec<_>>(),
            case.post_dominators,
            "{}",
            case.body
        );
    }
}

#[test]
fn branches_to_nowhere_are_told() {
    let error = |body: &str| {
        let module = module(body);
        Cfg::new(&Body::new(module.entry("f").expect("f"))).expect_err(body)
    };
    assert!(
        matches!(error("{ L: ret; } bra L;"), CfgError::UnknownLabel { label, .. } if label == "L")
    );
    assert!(matches!(error("brx.idx i, T;"), CfgError::UnknownTargets { list, .. } if list == "T"));
    assert!(matches!(error("bra;"), CfgError::UnknownLabel { label, .. } if label.is_empty()));
}

#[test]
fn every_real_function_has_a_graph() {
    for (path, text) in crate::common::corpus() {
        let module = parse(&text).unwrap_or_else(|errors| panic!("{path}: {errors}"));
        for function in module
            .functions()
            .filter(|function| function.body.is_some())
        {
            check_dominators(&graph(function));
        }
    }
}

#[test]
fn a_long_body_is_no_burden() {
    let text: String = (0..20_000)
        .map(|index| format!("L{index}: @p bra L{};\n", index / 2))
        .collect();
    let module = module(&text);
    let cfg = graph(module.entry("f").expect("f"));
    assert_eq!(cfg.blocks.len(), 20_000);
    assert_eq!(cfg.dominators().immediate(19_999), Some(19_998));
    assert_eq!(cfg.post_dominators().immediate(0), Some(1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dominators_are_what_they_are_defined_as(ends in prop::collection::vec((0..5_u8, 0..12_usize), 1..12)) {
        let count = ends.len();
        let text: String = ends
            .iter()
            .enumerate()
            .map(|(index, &(kind, target))| match kind {
                0 => format!("L{index}: ret;\n"),
                1 => format!("L{index}: @p exit;\n"),
                2 => format!("L{index}: bra L{};\n", target % count),
                _ => format!("L{index}: @p bra L{};\n", target % count),
            })
            .collect();
        let module = module(&text);
        check_dominators(&graph(module.entry("f").expect("f")));
    }
}

/// `a` dominates `b` exactly if `b` cannot be reached without passing `a`; post-dominates, if the end cannot.
fn check_dominators(cfg: &Cfg) {
    let count = cfg.blocks.len();
    let (down, up) = (cfg.dominators(), cfg.post_dominators());
    let reachable = reach(cfg, 0, None);
    for a in 0..count {
        let without = reach(cfg, 0, Some(a));
        for b in 0..count {
            let expected = a == b || reachable[b] && !without[b];
            assert_eq!(
                down.dominates(a, b),
                expected,
                "{a} dominates {b} in {cfg:?}"
            );
        }
    }
    let ends = |from: usize, without: Option<usize>| {
        let reached = reach(cfg, from, without);
        (0..count).any(|block| reached[block] && cfg.blocks[block].leaves)
    };
    for b in 0..count {
        let leaves = ends(b, None);
        for a in 0..count {
            let expected = a == b || leaves && !ends(b, Some(a));
            assert_eq!(
                up.dominates(a, b),
                expected,
                "{a} post-dominates {b} in {cfg:?}"
            );
        }
    }
}

/// Blocks that are reached from one, itself included, without ever passing another.
fn reach(cfg: &Cfg, from: usize, without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if Some(block) != without && !std::mem::replace(&mut seen[block], true) {
            open.extend(&cfg.blocks[block].successors);
        }
    }
    seen
}
