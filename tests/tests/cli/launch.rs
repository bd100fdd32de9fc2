//! `nstage launch`, as far as it goes without a device.

use crate::nstage;

const KERNEL: &str = "// nstage: --grid 1 --block 32 --arg 'u32[32]=ramp'
.version 7.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 x)
{
    ret;
}
";

#[test]
fn what_stops_a_launch_is_one_line_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.ptx");
    std::fs::write(&path, KERNEL).unwrap();
    let path = path.to_str().unwrap();
    for (arguments, expected) in [
        (
            &[][..],
            "no CUDA driver: /nonexistent/libcuda.so.1 not found",
        ),
        (&["--device", "cuda:3"], "no CUDA driver"),
        (
            &["--device", "sim"],
            "nstage check runs the same file in the simulator",
        ),
        (
            &["--block", "2000"],
            "block 2000x1x1 is not launchable; a block has 1 to 1024 threads",
        ),
        (
            &["--arg", "u32=1"],
            "parameter 0 of `kernel` has 8 bytes, 4 were given",
        ),
        (
            &["--dump", "1=x.npy"],
            "there is no argument 1, the last is 0",
        ),
        (&["--timeout", "nan"], "--timeout NaN: "),
        (&["--compare", "--unwritten"], "cannot be used with"),
    ] {
        let mut all = vec!["launch", path];
        all.extend(arguments);
        let ran = nstage(&all).ends(2);
        assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
}
