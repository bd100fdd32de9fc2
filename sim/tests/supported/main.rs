//! What the simulator models of the instruction table: `SUPPORTED.md`, and a case for each instruction.

mod cases;
mod probe;

#[path = "../common/case_file.rs"]
mod case_file;
#[path = "../common/kernel_file.rs"]
mod kernel_file;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use nstage_ptx::table::{Op, Row, rows};
use nstage_sim::{GlobalMemory, Launch, Options, Program, Verdict, run};
use rayon::prelude::*;

use probe::Support;

/// What is modelled of each form, in the table's order.
static SUPPORT: LazyLock<Vec<(&'static Row, Vec<Support>)>> = LazyLock::new(|| {
    rows()
        .par_iter()
        .map(|row| {
            let forms = row.forms.iter();
            (
                row,
                forms.map(|form| probe::support(row.op, form)).collect(),
            )
        })
        .collect()
});

fn is_modelled(forms: &[Support]) -> bool {
    forms.iter().any(|form| *form != Support::None)
}

#[test]
fn every_modelled_instruction_has_a_case_that_executes_it() {
    let shown = cases::shown();
    let missing: Vec<Op> = SUPPORT
        .iter()
        .filter(|(row, forms)| is_modelled(forms) && !shown.contains_key(&row.op))
        .map(|(row, _)| row.op)
        .collect();
    assert!(
        missing.is_empty(),
        "no case executes {missing:?}; add one under sim/tests/instructions or sim/tests/runs"
    );
}

#[test]
fn what_is_not_modelled_ends_as_incomplete_with_instruction_and_line() {
    for (row, forms) in SUPPORT.iter() {
        for (form, support) in row.forms.iter().zip(forms) {
            if *support != Support::None {
                continue;
            }
            let text = probe::any(row.op, &form.skeletons()[0]);
            let mnemonic = text.split([' ', ';']).next().unwrap_or_default().to_owned();
            let (text, line) = probe::module(&[text]);
            let module = nstage_ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
            let program = Program::compile(&module, "test")
                .unwrap_or_else(|error| panic!("{}: {error}", form.syntax));
            let launch = Launch {
                params: vec![vec![0; 64]],
                ..Launch::new(1, 32)
            };
            let outcome = run(
                &program,
                &mut GlobalMemory::new(),
                &launch,
                &Options::default(),
            );
            assert_eq!(outcome.verdict(), Verdict::Incomplete, "{}", form.syntax);
            let message = outcome
                .incomplete
                .map(|end| end.message)
                .unwrap_or_default();
            let expected = format!("`{mnemonic}` at line {line} is not modelled");
            assert!(message.starts_with(&expected), "{message}: {expected}");
        }
    }
}

#[test]
fn supported_md_is_up_to_date() {
    let path = cases::root().join("SUPPORTED.md");
    let text = document(&cases::shown());
    if std::env::var_os("NSTAGE_BLESS").is_some() {
        std::fs::write(&path, &text).expect("SUPPORTED.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = kept
        .lines()
        .zip(text.lines())
        .find(|(kept, text)| kept != text);
    assert!(
        kept == text,
        "SUPPORTED.md is not what the table and the decoder say: {difference:?}; run `cargo xtask supported --bless` and review the change"
    );
}

fn document(shown: &BTreeMap<Op, String>) -> String {
    let modelled = SUPPORT
        .iter()
        .filter(|(_, forms)| is_modelled(forms))
        .count();
    let forms: Vec<&Support> = SUPPORT.iter().flat_map(|(_, forms)| forms).collect();
    let whole = forms
        .iter()
        .filter(|form| ***form == Support::Whole)
        .count();
    let none = forms.iter().filter(|form| ***form == Support::None).count();
    let mut text = format!(
        "# Supported PTX\n\n\
         Made by `cargo xtask supported --bless` from the instruction table of `nstage-ptx` and the decoder of `nstage-sim`; do not edit.\n\n\
         The parser reads every instruction, the table knows {} of them in {} forms, and the simulator models {modelled}: \
         {whole} forms wholly, {} in part, {none} not.\n\
         What is not modelled ends a run as *incomplete*, with instruction and line, when control comes to it; it is never taken for clean.\n\n\
         A form is in the notation of the PTX ISA, with the classes of words that it names behind it.\n\
         *in part* lists words without which the form is modelled.\n\
         The case is a file in which the instruction is executed, and its effect checked.\n",
        SUPPORT.len(),
        forms.len(),
        forms.len() - whole - none,
    );
    let mut section = "";
    for (row, forms) in SUPPORT.iter() {
        if row.section != section {
            section = row.section;
            let _ = write!(
                text,
                "\n## {section}\n\n| form | modelled | case |\n|---|---|---|\n"
            );
        }
        let case = shown
            .get(&row.op)
            .map_or_else(String::new, |path| format!("[{}]({path})", name_of(path)));
        for (number, (form, support)) in row.forms.iter().zip(forms).enumerate() {
            let classes = if form.classes.is_empty() {
                String::new()
            } else {
                format!("<br>{}", form.classes.replace('|', "\\|"))
            };
            let support = match support {
                Support::Whole => "yes".to_owned(),
                Support::None => "no".to_owned(),
                Support::Without(words) => format!("in part, not `.{}`", words.join("`, `.")),
            };
            let _ = writeln!(
                text,
                "| `{}`{classes} | {support} | {} |",
                form.syntax.replace('|', "\\|"),
                if number == 0 { case.as_str() } else { "" }
            );
        }
    }
    text
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
