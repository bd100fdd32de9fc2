//! `nstage selftest`.

use crate::nstage;

#[test]
fn a_quick_self_test_passes_and_counts() {
    let ran = nstage(&[
        "selftest",
        "kernel_sync",
        "simple_async",
        "blur",
        "blur_tensor",
        "--device",
        "sim",
        "--quick",
    ])
    .ends(0);
    let last = ran.out.lines().last().unwrap_or_default();
    assert!(last.ends_with(" passed, 0 failed"), "{}", ran.out);
    assert!(ran.out.contains("blur_s8 "), "{}", ran.out);
    assert!(ran.out.contains("blur_tensor_s8 "), "{}", ran.out);
}

#[test]
fn a_kernel_that_is_wrong_fails_with_the_case() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .entry kernel_sync(.param .u64 y, .param .u64 x, .param .f32 a, .param .u64 n)\n{ ret; }\n";
    std::fs::write(folder.path().join("mine.ptx"), ptx).unwrap();
    let folder = folder.path().to_str().unwrap();
    let ran = nstage(&[
        "selftest",
        "kernel_sync",
        "--device",
        "sim",
        "--ptx",
        folder,
    ])
    .ends(1);
    assert!(
        ran.out
            .contains("FAILED  kernel_sync, n = 1, 1 block: 1 of 1 elements wrong"),
        "{}",
        ran.out
    );
    // Only the empty input is right.
    assert!(
        ran.out
            .lines()
            .last()
            .unwrap_or_default()
            .contains(": 5 passed, "),
        "{}",
        ran.out
    );
}
