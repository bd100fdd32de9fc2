//! `nstage check`.

use std::path::PathBuf;

use crate::{Ran, nstage};

const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// y[i] = x[i] + 1 for the threads of one block, and nothing wrong.
const PLUS_ONE: &str = "// nstage: --grid 1 --block 64 --arg 'u32[64]=zero' --arg 'u32[64]=ramp'
.version 7.0
.target sm_80
.address_size 64
.visible .entry plus_one(.param .u64 y, .param .u64 x)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [y];
    ld.param.u64 %rd2, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r2, [%rd5];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd4], %r3;
    ret;
}
";

struct File {
    folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.ptx");
    std::fs::write(&path, text).unwrap();
    File { folder, path }
}

impl File {
    fn check(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["check", self.path.to_str().unwrap()];
        all.extend(arguments);
        nstage(&all)
    }
}

#[test]
fn a_clean_kernel_is_clean_and_its_buffer_can_be_dumped() {
    let file = file(PLUS_ONE);
    let dump = file.folder.path().join("y.npy");
    let ran = file
        .check(&["--dump", &format!("0={}", dump.display())])
        .ends(0);
    assert!(
        ran.out
            .contains("plus_one: clean, 0 errors and 0 advisories, "),
        "{}",
        ran.out
    );
    let bytes = std::io::BufReader::new(std::fs::File::open(&dump).unwrap());
    let values: Vec<u32> = npyz::NpyFile::new(bytes).unwrap().into_vec().unwrap();
    assert!(values.iter().copied().eq(1..=64));
}

#[test]
fn json_has_the_fields_that_programs_read() {
    let object = &file(PLUS_ONE)
        .check(&["--format", "json", "--landing", "all"])
        .ends(0)
        .json()[0];
    assert_eq!(
        (&object["entry"], &object["outcome"]),
        (&"plus_one".into(), &"clean".into())
    );
    assert!(object["findings"].as_array().unwrap().is_empty());
    assert!(object["warp_instructions"].as_u64().unwrap() > 10 && object["seconds"].is_f64());
}

#[test]
fn the_command_line_wins_over_the_file() {
    // Twice the threads run past the end of both buffers.
    let ran = file(PLUS_ONE)
        .check(&["--block", "128", "--format", "json"])
        .ends(1);
    let object = &ran.json()[0];
    assert_eq!(object["outcome"], "hazard");
    let finding = &object["findings"][0];
    assert_eq!(
        (&finding["class"], &finding["name"]),
        (&"H26".into(), &"out-of-bounds".into())
    );
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["parties"][0]["line"], 15);
    assert!(
        finding["remedy"]
            .as_str()
            .is_some_and(|remedy| !remedy.is_empty())
    );
}

#[test]
fn a_report_names_the_place_and_annotates_it() {
    let file = file(PLUS_ONE);
    let ran = file.check(&["--block", "128"]).ends(1);
    assert!(
        ran.out.contains("error[H26 out-of-bounds, certain]: "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("kernel.ptx:15: "), "{}", ran.out);
    assert!(ran.out.contains("  = help: "), "{}", ran.out);
    let annotated = file.check(&["--block", "128", "--annotate"]).ends(1).out;
    assert!(
        annotated.contains("ld.global.u32 %r2, [%rd5];\n// ^ finding 1 of 1, (1): "),
        "{annotated}"
    );
    assert!(nstage_ptx::parse(&annotated).is_ok());
    // An output leaves the report on standard output; a file alone is the input, wherever it stands.
    let out = file.folder.path().join("annotated.ptx");
    let out = out.to_str().unwrap();
    let told = file.check(&["--block", "128", "--annotate", out]).ends(1);
    assert!(told.out.contains("error[H26 out-of-bounds, certain]: "));
    let written = std::fs::read_to_string(out).unwrap();
    assert_eq!(written, annotated);
    let again = nstage(&["check", "--block", "128", "--annotate", out]).ends(1);
    assert!(again.out.contains("// ^ finding 1 of 1, (1): "));
}

#[test]
fn advisories_fail_only_a_strict_check() {
    // The copy is still under way when its thread ends, and nobody uses it.
    let text = format!(
        "// nstage: --grid 1 --block 1 --arg 'u32[1]=ramp'\n{HEAD}.visible .entry k(.param .u64 x)\n{{\n\
         .reg .b32 %r1; .reg .b64 %rd1; .shared .align 4 .b8 tile[4];\n\
         ld.param.u64 %rd1, [x];\nmov.u32 %r1, tile;\n\
         cp.async.ca.shared.global [%r1], [%rd1], 4;\ncp.async.commit_group;\nret;\n}}\n"
    );
    let file = file(&text);
    let ran = file.check(&[]).ends(0);
    assert!(
        ran.out.contains("advisory[outstanding-at-exit, certain]: "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("k: clean, 0 errors and 1 advisory, "),
        "{}",
        ran.out
    );
    file.check(&["--strict"]).ends(1);
    file.check(&["--policy", "outstanding-at-exit=error"])
        .ends(1);
    let ran = file
        .check(&["--strict", "--policy", "outstanding-at-exit=off"])
        .ends(0);
    assert!(ran.out.contains("0 errors and 0 advisories"), "{}", ran.out);
}

#[test]
fn traps_and_what_is_not_modelled_have_their_own_ends() {
    let body = |statement: &str| format!("{HEAD}.visible .entry k() {{ {statement} ret; }}\n");
    let ran = file(&body("trap;"))
        .check(&["--grid", "1", "--block", "1"])
        .ends(1);
    assert!(ran.out.contains("k: trap, "), "{}", ran.out);
    let ran = file(&body("foo.bar %r1;"))
        .check(&["--grid", "1", "--block", "1"])
        .ends(3);
    assert!(
        ran.out.contains("incomplete: ") && ran.out.contains("foo.bar"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("this says nothing about the kernel"),
        "{}",
        ran.out
    );
    let endless = body("LOOP: bra LOOP;");
    let ran = file(&endless)
        .check(&["--grid", "1", "--block", "1", "--max-steps", "1000"])
        .ends(3);
    assert!(ran.out.contains("incomplete: "), "{}", ran.out);
}

#[test]
fn mistakes_are_one_line() {
    let clean = file(PLUS_ONE);
    let two = file(&format!(
        "{HEAD}.visible .entry a() {{ ret; }}\n.visible .entry b() {{ ret; }}\n"
    ));
    let broken = file(&format!("{HEAD}.visible .entry a() {{ add.s32 %r1, ; }}\n"));
    let none = file(HEAD);
    let cases: &[(&File, &[&str], &str)] = &[
        (
            &none,
            &["--grid", "1", "--block", "1"],
            "has no .entry to run",
        ),
        (
            &two,
            &["--grid", "1", "--block", "1"],
            "has several entries; pass --entry a or --entry b",
        ),
        (
            &two,
            &["--entry", "c", "--grid", "1", "--block", "1"],
            "`c`",
        ),
        (
            &two,
            &["--entry", "a", "--block", "1"],
            "--grid is missing; pass it, or write it into the file",
        ),
        (&broken, &[], "line 4, column "),
        (&clean, &["--grid", "0"], "an extent is at least 1"),
        (
            &clean,
            &["--block", "2048"],
            "a block has 1 to 1024 threads",
        ),
        (
            &clean,
            &["--arg", "u32=1"],
            "takes 2 parameters, 1 were given",
        ),
        (
            &clean,
            &["--arg", "u32=1", "--arg", "u32=1"],
            "has 8 bytes, 4 were given",
        ),
        (&clean, &["--arg", "f99=1"], "`f99` is no type"),
        (
            &clean,
            &["--arg", "f32[4]=file:/none.npy", "--arg", "@0"],
            "/none.npy: no such file",
        ),
        (
            &clean,
            &["--landing", "sometimes"],
            "write late, random:SEED, early or all",
        ),
        (&clean, &["--dump", "0"], "write INDEX=FILE.npy"),
        (
            &clean,
            &["--dump", "7=/tmp/y.npy"],
            "there is no argument 7, the last is 1",
        ),
        (&clean, &["--dump", "0=/none/y.npy"], "cannot be written"),
        (
            &clean,
            &["--annotate", "/none/y.ptx"],
            "/none/y.ptx: cannot be written",
        ),
        (
            &clean,
            &["--annotate", clean.path.to_str().unwrap()],
            "is the PTX itself; name another file",
        ),
        (
            &clean,
            &["--annotate", "--format", "json"],
            "prints PTX, not JSON",
        ),
        (
            &clean,
            &["--policy", "nonsense=error"],
            "`nonsense` is no policy",
        ),
        (
            &clean,
            &["--policy", "vacuous-wait=loud"],
            "`loud` is no level",
        ),
        (
            &clean,
            &["--policy", "vacuous-wait"],
            "write NAME=error, NAME=advisory or NAME=off",
        ),
    ];
    for (file, arguments, expected) in cases {
        let ran = file.check(arguments).ends(2);
        assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(expected),
            "{arguments:?}: {}",
            ran.err
        );
    }
    let ran = nstage(&["check", "--annotate"]).ends(2);
    assert!(ran.err.contains("no file to check"), "{}", ran.err);
    for (path, expected) in [("/none.ptx", "cannot be read"), ("/", "cannot be read")] {
        let ran = nstage(&["check", path]).ends(2);
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}
