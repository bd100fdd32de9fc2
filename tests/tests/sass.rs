//! The machine code of the built kernels has the instructions that were meant, and none that was meant to be avoided.

use nstage_host::ptx::PtxSet;
use std::path::PathBuf;
use std::process::Command;

/// Entry, and what its machine code must hold and must not.
const CASES: &[(&str, &[&str], &[&str])] = &[
    // Commit groups: asynchronous copies, and no barrier in shared memory.
    (
        "kernel_async_pipeline_s3_two_p1",
        &["LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR.SYNC"],
        &["SYNCS", "UBLKCP", "LDL", "STL"],
    ),
    // The same copies, which arrive at a barrier: no group is committed.
    (
        "kernel_async_pipeline_mbarrier_s3_two_p1",
        &["LDGSTS", "ARRIVES.LDGSTSBAR", "SYNCS.PHASECHK"],
        &["LDGDEPBAR", "UBLKCP", "LDL", "STL"],
    ),
    // Bulk copies, whose bytes a barrier counts.
    (
        "kernel_async_pipeline_bulk_s3_two_p1",
        &["UBLKCP.S.G", "SYNCS.ARRIVE", "SYNCS.PHASECHK"],
        &["LDGDEPBAR", "LDL", "STL"],
    ),
    // Roles: no barrier of the block in the loop, warps meet at barriers of the stages.
    (
        "scale_roles_s4_p1",
        &["UBLKCP.S.G", "SYNCS.PHASECHK", "SYNCS.ARRIVE"],
        &["LDGDEPBAR", "LDL", "STL"],
    ),
    // Multicast, and arrivals at other blocks' barriers.
    (
        "outer_c4_s4_p1",
        &["UBLKCP.S.G.MULTICAST", "UCGABAR_ARV", "SYNCS.ARRIVE"],
        &["LDL", "STL"],
    ),
    // Copies out of shared memory and their groups.
    (
        "scale_bulk_out_s4_two_p4",
        &[
            "UBLKCP.S.G",
            "UBLKCP.G.S",
            "UTMACMDFLUSH",
            "FENCE.VIEW.ASYNC",
        ],
        &["LDL", "STL"],
    ),
    // Boxes of a tensor by its map, which is a parameter.
    (
        "blur_tensor_s4",
        &["UTMALDG.2D", "SYNCS.ARRIVE", "SYNCS.PHASECHK", "LDS.128"],
        &["LDL", "STL"],
    ),
    // Products: every term one fused multiply-add, on vectors of shared memory.
    (
        "matmul_s3_two",
        &["LDGSTS", "LDS.128", "FFMA"],
        &["FMUL", "LDL", "STL"],
    ),
];

#[test]
fn kernels_have_the_instructions_that_were_meant() {
    let Some(bin) = std::env::var_os("NSTAGE_CUDA_BIN").map(PathBuf::from) else {
        eprintln!("skipping: needs ptxas and cuobjdump (NSTAGE_CUDA_BIN)");
        return;
    };
    let set = PtxSet::embedded().expect("built in");
    let folder = tempfile::tempdir().expect("a folder");
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    for (entry, wanted, unwanted) in CASES {
        let text = set.entry(entry, 90).expect("built in").text;
        std::fs::write(&ptx, text).expect("written");
        let run = |tool: &str, arguments: &[&std::ffi::OsStr]| {
            let out = Command::new(bin.join(tool))
                .args(arguments)
                .output()
                .unwrap_or_else(|error| panic!("{tool}: {error}"));
            let errors = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{entry}: {tool}: {errors}");
            String::from_utf8_lossy(&out.stdout).into_owned()
        };
        let arguments = ["--gpu-name", "sm_90", "--output-file"].map(std::ffi::OsStr::new);
        let files = [cubin.as_os_str(), ptx.as_os_str()];
        run("ptxas", &[&arguments[..], &files[..]].concat());
        let sass = run("cuobjdump", &["-sass".as_ref(), cubin.as_os_str()]);
        for instruction in *wanted {
            assert!(sass.contains(instruction), "{entry}: no {instruction}");
        }
        for instruction in *unwanted {
            let found = sass.lines().find(|line| line.contains(instruction));
            assert_eq!(found, None, "{entry}: {instruction} was not meant");
        }
    }
}
