//! `nstage inspect`.

use std::path::Path;

use crate::nstage;

const PTX: &str = ".version 7.1
.target sm_80
.address_size 64
.visible .entry ring(.param .u64 p)
{
    .shared .align 16 .b8 tile[2048];
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, tile;
    cp.async.cg.shared.global [%r1], [%rd1], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.u32 %r2, [%r1];
    st.global.u32 [%rd1], %r2;
    ret;
}
";

#[test]
fn instructions_are_counted_and_the_machine_code_where_the_tools_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ring.ptx");
    std::fs::write(&file, PTX).expect("written");
    let file = file.to_str().expect("the path is text");
    let ran = nstage(&["inspect", file, "--format", "json"]).ends(0);
    let found = &ran.json()[0];
    assert_eq!(
        (&found["entry"], &found["version"], &found["target"]),
        (&"ring".into(), &"7.1".into(), &"sm_80".into())
    );
    assert_eq!(found["asynchronous"]["cp.async.cg.shared.global"], 1);
    assert_eq!(found["asynchronous"]["cp.async.wait_group"], 1);
    let tools = std::env::var_os("NSTAGE_CUDA_BIN");
    if !tools.is_some_and(|bin| Path::new(&bin).join("cuobjdump").is_file()) {
        eprintln!("skipping the rest: needs ptxas and cuobjdump (NSTAGE_CUDA_BIN)");
        return;
    }
    assert_eq!(found["compiled"]["shared_bytes"], 2048);
    assert_eq!(found["compiled"]["spill_stores"], 0);
    let told = &found["compiled"]["sass"]["told"];
    assert_eq!(told["LDGSTS.E.BYPASS.128"], 1, "{told}");
    assert_eq!(told["LDGDEPBAR"], 1, "{told}");
    let text = nstage(&["inspect", file, "--sass"]).ends(0).out;
    assert!(text.contains("2048 B static shared"), "{text}");
    assert!(text.contains("        LDGSTS.E.BYPASS.128 ["), "{text}");
}

#[test]
fn what_is_no_ptx_is_refused_in_one_line() {
    for (arguments, word) in [
        (&["inspect", "/nonexistent.ptx"][..], "cannot be read"),
        (&["inspect", "/nonexistent.ptx", "--block", "0"], "1..=1024"),
    ] {
        let ran = nstage(arguments).ends(2);
        assert!(ran.err.contains(word), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
}
