//! `nstage advise`, and what bench and sweep say without a GPU.

use crate::nstage;

/// The sweeps that the README speaks of.
fn results() -> String {
    format!("{}/../results/2026-11-30-h200", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_sweep_is_read_back_as_it_was_advised() {
    for job in ["scale", "sum", "blur"] {
        let ran = nstage(&["advise", job, "--from", &results()]).ends(0);
        let kept = std::fs::read_to_string(format!("{}/advise-{job}.txt", results()));
        assert_eq!(ran.out, kept.expect("the advice is kept"), "{job}");
    }
}

#[test]
fn without_a_sweep_the_model_answers_and_says_so() {
    let ran = nstage(&["advise", "scale", "--gpu", "h200"]).ends(0);
    assert!(
        ran.out.contains("from the model alone, nothing was run"),
        "{}",
        ran.out
    );
}

#[test]
fn measuring_without_a_gpu_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().to_str().expect("the path is text");
    for arguments in [
        &["bench", "kernel_sync"][..],
        &["sweep", "scale", "--output", output],
        &["advise", "scale", "--from", output],
        &["advise", "scale", "--gpu", "h20O"],
        &["advise", "scael", "--gpu", "h200"],
    ] {
        let ran = nstage(arguments).ends(2);
        assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
    }
    assert_eq!(std::fs::read_dir(output).expect("the folder").count(), 0);
}
