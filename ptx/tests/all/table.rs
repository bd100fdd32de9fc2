//! The instruction table on real code, what it tells a decoder, and what it says of mistakes.

use nstage_ptx::ast::{Instruction, Operand, Type};
use nstage_ptx::body::Body;
use nstage_ptx::parse;
use nstage_ptx::table::{
    Boolean, Compare, Flag, Layout, Matched, Mode, Modifiers, Op, Operation, Ordering, Rounding,
    Scope, Shape, StateSpace, identify,
};

use crate::common;

/// The instruction that a line of PTX is.
fn instruction(text: &str) -> Instruction {
    let source = format!(".version 8.7\n.target sm_90a\n.func f() {{\n{text}\n}}");
    let module = parse(&source).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    let function = module
        .functions()
        .next()
        .unwrap_or_else(|| panic!("{text}: no function"));
    let body = Body::new(function);
    let [line] = &body.lines[..] else {
        panic!("{text}: {} instructions", body.lines.len())
    };
    line.instruction.clone()
}

#[test]
fn every_real_instruction_is_in_the_table() {
    let mut seen = std::collections::BTreeSet::new();
    for (path, text) in common::corpus() {
        let module = parse(&text).unwrap_or_else(|errors| panic!("{path}: {errors}"));
        for function in module.functions() {
            for line in &Body::new(function).lines {
                let matched =
                    identify(line.instruction).unwrap_or_else(|error| panic!("{path}:{error}"));
                seen.insert(matched.op);
            }
        }
    }
    assert!(
        seen.len() > 90,
        "the files reach only {} of {} rows",
        seen.len(),
        Op::ALL.len()
    );
}

#[test]
fn modifiers_come_by_meaning() {
    type Check = fn(&Modifiers) -> bool;
    let cases: &[(&str, Op, Check)] = &[
        ("add.sat.s32 %r1, %r2, 3;", Op::AddInt, |m| {
            m.ty(0) == Some(Type::S32) && m.has(Flag::Sat)
        }),
        ("add.rz.ftz.f32 %f1, %f2, %f3;", Op::AddFloat, |m| {
            m.rounding == Some(Rounding::Zero) && m.has(Flag::Ftz)
        }),
        ("mul.wide.u32 %rd1, %r1, 4;", Op::MulInt, |m| {
            m.mode == Some(Mode::Wide) && m.ty(0) == Some(Type::U32)
        }),
        ("setp.lo.and.u32 %p|%q, %r1, %r2, !%r;", Op::Setp, |m| {
            m.compare == Some(Compare::Lo) && m.boolean == Some(Boolean::And) && m.mode.is_none()
        }),
        ("cvt.rni.s32.f32 %r1, %f1;", Op::Cvt, |m| {
            (m.ty(0), m.ty(1), m.rounding)
                == (
                    Some(Type::S32),
                    Some(Type::F32),
                    Some(Rounding::IntegerNearest),
                )
        }),
        ("cvt.rn.relu.bf16x2.f32 %r1, %f1, %f2;", Op::CvtPair, |m| {
            m.has(Flag::Relu) && m.ty(0) == Some(Type::BF16x2)
        }),
        (
            "ld.acquire.gpu.global.v2.f32 {%f1, %f2}, [%rd1+8];",
            Op::Ld,
            |m| {
                m.ordering == Some(Ordering::Acquire)
                    && m.scope == Some(Scope::Gpu)
                    && m.space() == Some(StateSpace::Global)
                    && m.vector() == 2
            },
        ),
        // As the ISA's own examples have it: the space first.
        ("ld.global.relaxed.sys.u32 %r1, [%rd1];", Op::Ld, |m| {
            m.ordering == Some(Ordering::Relaxed) && m.scope == Some(Scope::Sys)
        }),
        ("ld.u8 %r1, [%rd1];", Op::Ld, |m| {
            m.space().is_none() && m.vector() == 1 && m.ordering.is_none()
        }),
        ("ld.shared::cta.volatile.b32 %r1, [tile];", Op::Ld, |m| {
            m.space() == Some(StateSpace::Shared) && m.ordering == Some(Ordering::Volatile)
        }),
        (
            "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
            Op::LdNonCoherent,
            |m| m.has(Flag::NonCoherent) && m.vector() == 4,
        ),
        (
            "atom.global.acq_rel.sys.exch.b64 %rd1, [%rd2], %rd3;",
            Op::Atom,
            |m| m.operation == Some(Operation::Exch) && m.ordering == Some(Ordering::AcqRel),
        ),
        (
            "red.global.v4.f32.add [%rd1], {%f1, %f2, %f3, %f4};",
            Op::RedVector,
            |m| m.vector() == 4 && m.operation == Some(Operation::Add),
        ),
        ("membar.gl;", Op::Membar, |m| m.scope == Some(Scope::Gpu)),
        ("fence.sc.cluster;", Op::Fence, |m| {
            m.ordering == Some(Ordering::Sc) && m.scope == Some(Scope::Cluster)
        }),
        ("fence.proxy.async.shared::cta;", Op::FenceProxyAsync, |m| {
            m.space() == Some(StateSpace::Shared)
        }),
        ("bar.sync 0;", Op::BarrierSync, |m| m.has(Flag::Aligned)),
        ("barrier.sync 0, 64;", Op::BarrierSync, |m| {
            !m.has(Flag::Aligned)
        }),
        (
            "barrier.red.popc.aligned.u32 %r1, 0, %p;",
            Op::BarrierRed,
            |m| m.operation == Some(Operation::Popc) && m.has(Flag::Aligned),
        ),
        (
            "shfl.sync.bfly.b32 %r1|%p, %r2, 1, 31, -1;",
            Op::ShflSync,
            |m| m.mode == Some(Mode::Bfly),
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 64, [%r2], %h1;",
            Op::BulkLoad,
            |m| {
                m.space() == Some(StateSpace::SharedCluster)
                    && m.source_space() == Some(StateSpace::Global)
                    && m.has(Flag::Multicast)
            },
        ),
        (
            "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2, %r3}], [%r4];",
            Op::TensorStore,
            |m| {
                m.dimension == 3
                    && m.mode == Some(Mode::Tile)
                    && m.space() == Some(StateSpace::Global)
            },
        ),
        ("cp.async.bulk.wait_group.read 1;", Op::BulkWaitGroup, |m| {
            m.has(Flag::Read)
        }),
        (
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%r1], %r2, 100;",
            Op::MbarrierTryWait,
            |m| m.has(Flag::Parity) && m.scope == Some(Scope::Cluster),
        ),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;",
            Op::MbarrierArrive,
            |m| m.has(Flag::ExpectTx),
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];",
            Op::Ldmatrix,
            |m| m.count == 4 && m.has(Flag::Transposed),
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
            Op::Mma,
            |m| {
                m.shape == Some(Shape { m: 16, n: 8, k: 16 })
                    && m.layouts() == [Some(Layout::Row), Some(Layout::Col)]
                    && (m.ty(0), m.ty(1), m.ty(3))
                        == (Some(Type::F32), Some(Type::BF16), Some(Type::F32))
            },
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n136k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;",
            Op::WgmmaMma,
            |m| {
                m.shape
                    == Some(Shape {
                        m: 64,
                        n: 136,
                        k: 16,
                    })
            },
        ),
        ("setmaxnreg.dec.sync.aligned.u32 40;", Op::Setmaxnreg, |m| {
            m.mode == Some(Mode::Decrease)
        }),
    ];
    for (text, op, check) in cases {
        let instruction = instruction(text);
        let matched = identify(&instruction).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(matched.op, *op, "{text}");
        assert!(check(&matched.modifiers), "{text}: {:?}", matched.modifiers);
    }
}

#[test]
fn operands_come_by_name() {
    fn names(matched: &Matched<'_>) -> Vec<String> {
        matched
            .operands()
            .map(|(name, operand)| format!("{name}={operand}"))
            .collect()
    }
    let cases: &[(&str, &[&str])] = &[
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 4;",
            &["dst=[%r1]", "src=[%rd1]", "cp-size=4"],
        ),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;",
            &["dst=[%r1]", "src=[%rd1]", "cp-size=4", "src-size=%r2"],
        ),
        // With a hint, the last operand is the policy.
        (
            "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;",
            &["dst=[%r1]", "src=[%rd1]", "cp-size=16", "cache-policy=%rd2"],
        ),
        ("bar.red.popc.u32 %r1, 0, %p;", &["d=%r1", "a=0", "c=%p"]),
        (
            "bar.red.and.pred %q, 0, 64, !%p;",
            &["d=%q", "a=0", "b=64", "c=!%p"],
        ),
        ("elect.sync _|%p, -1;", &["d=_|%p", "membermask=-1"]),
        (
            "mbarrier.arrive.shared::cluster.b64 _, [%r1];",
            &["_=_", "addr=[%r1]"],
        ),
        (
            "call.uni (%r1), f, (%r2, 4);",
            &["ret=(%r1)", "fname=f", "args=(%r2, 4)"],
        ),
        ("call f;", &["fname=f"]),
    ];
    for (text, expected) in cases {
        let instruction = instruction(text);
        let matched = identify(&instruction).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(names(&matched), *expected, "{text}");
        let (name, operand) = matched.operands().last().expect("each has operands");
        assert_eq!(matched.operand(name), Some(operand), "{text}");
        assert_eq!(matched.operand("no such operand"), None);
    }
    let mov = instruction("mov.b32 %r1, {%h1, %h2};");
    assert!(
        matches!(identify(&mov).map(|matched| matched.operand("a")), Ok(Some(Operand::Vector(elements))) if elements.len() == 2)
    );
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    let cases = [
        (
            "frob.u32 %r1;",
            "4:1: `frob.u32`: got `frob`, expected an opcode of the instruction table",
        ),
        (
            "cp.async.cg.shared.local [%r1], [%rd1], 16;",
            "4:1: `cp.async.cg.shared.local`: got `.local`, expected `.global`",
        ),
        (
            "mul.u32 %r1, %r2, %r3;",
            "4:1: `mul.u32`: got no such modifier, expected `.hi` or `.lo`, or `.wide`",
        ),
        (
            "popc.b32 %r1;",
            "4:1: `popc.b32`: got 1 operand, expected a (a name or a constant)",
        ),
        (
            "popc.b32 5, %r1;",
            "4:1: `popc.b32`: got `5` as operand 1, expected d (a name)",
        ),
        (
            "popc.b32 %r1, %r2, %r3;",
            "4:1: `popc.b32`: got `%r3` as operand 3, expected no further operand",
        ),
        (
            "ld.global.v2.f32 %f1, [%rd1];",
            "4:1: `ld.global.v2.f32`: got `%f1` as operand 1, expected d.vec (a vector of 2)",
        ),
        (
            "ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];",
            "4:1: `ld.global.v2.f32`: got `{%f1, %f2, %f3}` as operand 1, expected d.vec (a vector of 2)",
        ),
        (
            "st.global.f32 %rd1, %f1;",
            "4:1: `st.global.f32`: got `%rd1` as operand 1, expected [a] (an address in brackets)",
        ),
        (
            "cp.async.wait_group %r1;",
            "4:1: `cp.async.wait_group`: got `%r1` as operand 1, expected N (a constant)",
        ),
        (
            "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16;",
            "4:1: `cp.async.cg.shared.global.L2::cache_hint`: got 3 operands, expected src-size (a name or a constant), or cache-policy (a name or a constant)",
        ),
        (
            "ret 5;",
            "4:1: `ret`: got `5` as operand 1, expected no further operand",
        ),
    ];
    for (text, expected) in cases {
        let instruction = instruction(text);
        let error = identify(&instruction).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn endless_modifiers_are_refused() {
    let text = format!("add{}.s32 %r1, %r2, %r3;", ".sat".repeat(1000));
    assert!(identify(&instruction(&text)).is_err_and(|error| error.got == "1001 modifiers"));
}
