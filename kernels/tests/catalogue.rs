//! The catalogue says of each entry what its name says, and what its launch needs.

use nstage::catalogue::{Kernel, KernelArgs, Schedule, Variant};
use nstage::param::{ParamType, Scalar};
use nstage::{GlobalMut, GlobalPtr};
use nstage_kernels::{CATALOGUE, SUM_PARTIALS, blur, kernel_async_pipeline, sum};
use std::collections::HashSet;

fn kernel(name: &str) -> &'static Kernel {
    CATALOGUE
        .iter()
        .find(|kernel| kernel.name == name)
        .unwrap_or_else(|| panic!("no kernel `{name}`"))
}

fn each_variant() -> impl Iterator<Item = (&'static Kernel, &'static Variant)> {
    CATALOGUE.iter().flat_map(|kernel| {
        kernel
            .variants
            .iter()
            .map(move |variant| (*kernel, variant))
    })
}

#[test]
fn entry_names_are_unique_and_start_with_their_kernel() {
    let mut seen = HashSet::new();
    for (kernel, variant) in each_variant() {
        assert!(seen.insert(variant.entry), "`{}` twice", variant.entry);
        assert!(
            variant.entry.starts_with(kernel.name),
            "`{}` of `{}`",
            variant.entry,
            kernel.name
        );
    }
}

#[test]
fn a_name_says_the_depth_the_schedule_and_the_pieces() {
    let mut read = 0;
    for (kernel, variant) in each_variant() {
        let Some(rest) = variant
            .entry
            .strip_prefix(kernel.name)
            .filter(|rest| !rest.is_empty())
        else {
            continue;
        };
        if kernel.name == "sum_finish" {
            continue;
        }
        for word in rest.trim_start_matches('_').split('_') {
            match word.split_at(1) {
                ("s", digits) => {
                    assert_eq!(digits.parse(), Ok(variant.stages()), "{}", variant.entry)
                }
                ("p", digits) => {
                    assert_eq!(digits.parse(), Ok(variant.pieces()), "{}", variant.entry)
                }
                ("c", digits) => {
                    assert_eq!(digits.parse(), Ok(variant.cluster()), "{}", variant.entry)
                }
                _ => assert_eq!(word, variant.schedule().name(), "{}", variant.entry),
            }
            read += 1;
        }
    }
    assert!(read > 100, "{read} words were read in names");
}

#[test]
fn every_promised_variant_is_there() {
    let pipeline = kernel("kernel_async_pipeline");
    for stages in 1..=8 {
        for pieces in [1, 2, 4] {
            for schedule in [Schedule::OneBarrier, Schedule::TwoBarrier] {
                let found = pipeline
                    .of_depth(stages)
                    .any(|variant| variant.schedule() == schedule && variant.pieces() == pieces);
                let expected = stages > 1 || schedule == Schedule::TwoBarrier;
                assert_eq!(
                    found, expected,
                    "{stages} stages, schedule {schedule}, {pieces} pieces"
                );
            }
        }
    }
    for (name, depths) in [
        ("kernel_sync", vec![0]),
        ("simple_async", vec![1]),
        ("scale_roles_mbarrier", vec![2, 4, 8]),
        ("sum", (0..=8).collect()),
        ("blur", [0].into_iter().chain(2..=8).collect::<Vec<_>>()),
        ("blur_tensor", (2..=8).collect()),
    ] {
        let found: Vec<u32> = kernel(name).variants.iter().map(Variant::stages).collect();
        assert_eq!(found, depths, "{name}");
    }
}

#[test]
fn launches_have_the_shape_that_the_kernels_compute_with() {
    // Kernel, depth, pieces, threads: bytes of shared memory and elements of a tile.
    let cases = [
        ("kernel_sync", 0, 1, 256, 4096, 1024),
        ("simple_async", 1, 1, 32, 512, 128),
        ("kernel_async_pipeline", 4, 1, 256, 16384, 1024),
        ("kernel_async_pipeline", 8, 4, 128, 65536, 2048),
        ("sum", 3, 2, 256, 3 * 8192 + 128, 2048),
        // A row of 4 · 128 columns and a vector on either side, in grains of 128 bytes.
        ("blur", 2, 0, 128, 2 * 2176, 512),
        // Four rows of 256 columns, of which a vector on either side is no result's, and the barriers.
        ("blur_tensor", 3, 0, 64, 3 * 4096 + 128, 248),
    ];
    for (name, stages, pieces, threads, shared, tile) in cases {
        let variant = kernel(name)
            .of_depth(stages)
            .find(|variant| variant.pieces() == pieces)
            .unwrap_or_else(|| panic!("{name} of {stages} stages and {pieces} pieces"));
        assert!(variant.accepts(threads), "{name}: {threads} threads");
        assert_eq!(
            variant.shared_bytes(threads),
            shared,
            "{name}: shared bytes"
        );
        assert_eq!(variant.tile(threads), tile, "{name}: tile");
    }
}

#[test]
fn what_a_mechanism_needs_is_said() {
    for (name, arch, ptx) in [
        ("kernel_async_pipeline", 80, (7, 0)),
        ("kernel_async_pipeline_mbarrier", 80, (7, 1)),
        ("kernel_async_pipeline_bulk", 90, (8, 0)),
        ("scale_roles", 90, (8, 0)),
    ] {
        for variant in kernel(name).variants {
            let requires = variant.requires();
            assert_eq!(
                (requires.arch, requires.ptx),
                (arch, ptx),
                "{}",
                variant.entry
            );
        }
    }
}

#[test]
fn block_sizes_are_whole_warps_between_the_limits() {
    for (_, variant) in each_variant() {
        let threads = variant.threads();
        assert!(
            variant.accepts(variant.default_threads()),
            "{}",
            variant.entry
        );
        assert!(
            variant.accepts(*threads.start()) && variant.accepts(*threads.end()),
            "{}",
            variant.entry
        );
        assert!(!variant.accepts(threads.end() + 32), "{}", variant.entry);
        assert!(!variant.accepts(threads.start() + 1), "{}", variant.entry);
        assert!(!variant.accepts(0), "{}", variant.entry);
    }
}

#[test]
fn arguments_become_blobs_in_the_order_of_the_declaration() {
    fn blobs(args: &impl KernelArgs) -> Vec<(&'static str, ParamType, Vec<u8>)> {
        let mut blobs = Vec::new();
        args.visit(&mut |param, bytes| blobs.push((param.name, param.ty, bytes.to_vec())));
        blobs
    }
    let (x, y) = (GlobalPtr::new(0x1000), GlobalMut::new(0x2000));
    let float = Scalar::F32;
    assert_eq!(
        blobs(&kernel_async_pipeline::Args { y, x, a: 2.5, n: 7 }),
        [
            ("y", ParamType::Out(float), 0x2000u64.to_le_bytes().to_vec()),
            ("x", ParamType::In(float), 0x1000u64.to_le_bytes().to_vec()),
            ("a", ParamType::Value(float), 2.5f32.to_le_bytes().to_vec()),
            (
                "n",
                ParamType::Value(Scalar::U64),
                7u64.to_le_bytes().to_vec()
            ),
        ]
    );
    assert_eq!(
        blobs(&blur::Args {
            y,
            x,
            width: 5,
            height: 6
        })[2..],
        [
            ("width", ParamType::Value(Scalar::U32), vec![5, 0, 0, 0]),
            ("height", ParamType::Value(Scalar::U32), vec![6, 0, 0, 0]),
        ]
    );
    assert_eq!(
        kernel_async_pipeline::Args::kernel().name,
        "kernel_async_pipeline"
    );
}

#[test]
fn the_documentation_reaches_the_catalogue() {
    assert_eq!(
        sum::KERNEL.summary(),
        "Partial sums of x, for `sum_finish` to add: the first half of a sum whose value depends on nothing but the elements."
    );
    for kernel in CATALOGUE {
        assert!(
            !kernel.summary().is_empty() && !kernel.summary().contains('\n'),
            "{}",
            kernel.name
        );
        for param in kernel.params {
            assert!(
                !param.doc.is_empty(),
                "`{}` of `{}`",
                param.name,
                kernel.name
            );
        }
    }
    assert_eq!(SUM_PARTIALS, 1056);
}
