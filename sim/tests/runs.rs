//! Small kernels, each with one claim about how threads proceed and what memory holds.
//!
//! Every `.ptx` file under `runs/` says in comments how it is launched and what comes of it; `common/kernel_file.rs` says how.
//!
//! Each runs under every landing without the checker; what is clean there also runs under it,
//! and must be clean again, or what `// checked: hazard NAME` says.

use std::path::Path;

use nstage_sim::{Landing, Program, Severity, Verdict};

#[path = "common/kernel_file.rs"]
mod kernel_file;

use kernel_file::{Case, Ran, execute, parse};

const LANDINGS: [(&str, Landing); 4] = [
    ("late", Landing::Late),
    ("random", Landing::Random(1)),
    ("random", Landing::Random(2)),
    ("early", Landing::Early),
];

fn compare(case: &Case, expect: &[String], name: &str, ran: &Ran) -> Result<(), String> {
    let outcome = &ran.outcome;
    let verdict = outcome.verdict().to_string();
    if verdict != expect[0] {
        return Err(format!("{verdict}, {} wanted: {outcome:?}", expect[0]));
    }
    if let Some(class) = expect.get(1)
        && !outcome
            .findings
            .iter()
            .any(|finding| finding.class.name() == class && finding.severity == Severity::Error)
    {
        return Err(format!("no finding `{class}` among {:?}", outcome.findings));
    }
    if let Some(part) = &case.message {
        let findings = outcome
            .findings
            .iter()
            .flat_map(|finding| finding.notes.iter().chain([&finding.message]));
        let ends = [
            outcome.trap.as_ref().map(|trap| &trap.message),
            outcome.incomplete.as_ref().map(|end| &end.message),
        ];
        let mut messages = findings.chain(ends.into_iter().flatten());
        if !messages.any(|message| message.contains(part)) {
            return Err(format!("nothing says `{part}`: {outcome:?}"));
        }
    }
    if let Some(printed) = &case.printed
        && *printed != outcome.printed
    {
        return Err(format!("printed {:?}, {printed:?} wanted", outcome.printed));
    }
    for (index, landing, wanted) in &case.memory {
        if landing.as_ref().is_some_and(|landing| landing != name) {
            continue;
        }
        let got = &ran.buffers[*index][..wanted.len()];
        if got != wanted {
            return Err(format!("buffer {index} holds {got:?}, {wanted:?} wanted"));
        }
    }
    Ok(())
}

#[test]
fn kernels_come_to_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = std::fs::read_to_string(path).unwrap();
        let case = parse(&text);
        let module = nstage_ptx::parse(&text).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        let program =
            Program::compile(&module, "test").unwrap_or_else(|error| panic!("{name}: {error}"));
        for (landing, mode) in LANDINGS {
            if let Err(message) = compare(
                &case,
                &case.expect,
                landing,
                &execute(&program, &case, mode, false),
            ) {
                failures.push(format!("{name}, {landing}: {message}"));
            }
        }
        if case.expect[0] == Verdict::Clean.to_string() {
            let ran = execute(&program, &case, Landing::Late, true);
            let expect = case.checked.as_ref().unwrap_or(&case.expect);
            if let Err(message) = compare(&case, expect, "late", &ran) {
                failures.push(format!("{name}, under the checker: {message}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
