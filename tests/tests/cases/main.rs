//! The case collection in `tests/cases`, run as `nstage check` runs a file: one line a case, and how many passed and failed.
//!
//! Arguments: words, of which a case's name must contain one, and `--bless`, which writes the reports that cases are compared with.
//! `NSTAGE_BLESS` does the same for `cargo test`.

mod case;
mod marks;

use std::process::ExitCode;

use rayon::prelude::*;

use self::case::{Case, Judged};

/// What the command line asks for.
struct Arguments {
    filters: Vec<String>,
    bless: bool,
    list: bool,
    /// A filter that no case fits is a mistake; without this it may be meant for another test.
    some: bool,
}

impl Arguments {
    /// Flags of libtest, which `cargo test` hands to every test alike, are passed over.
    fn read() -> Self {
        let mut arguments = Self {
            filters: Vec::new(),
            bless: std::env::var_os("NSTAGE_BLESS").is_some(),
            list: false,
            some: false,
        };
        for word in std::env::args().skip(1) {
            match word.as_str() {
                "--bless" => arguments.bless = true,
                "--list" => arguments.list = true,
                "--some" => arguments.some = true,
                flag if flag.starts_with("--") => {}
                filter => arguments.filters.push(filter.to_owned()),
            }
        }
        arguments
    }

    fn takes(&self, case: &Case) -> bool {
        let name = case.name();
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let all = match case::collect() {
        Ok(all) => all,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let cases: Vec<&Case> = all.iter().filter(|case| arguments.takes(case)).collect();
    if arguments.list {
        cases
            .iter()
            .for_each(|case| println!("{}: test", case.name()));
        return ExitCode::SUCCESS;
    }
    let judged: Vec<Judged> = cases
        .par_iter()
        .map(|case| case.judge(arguments.bless))
        .collect();
    let mut failed = 0;
    for (case, judged) in cases.iter().zip(&judged) {
        if judged.problems.is_empty() {
            println!("ok      {:60} {}", case.name(), judged.found);
        } else {
            failed += 1;
            println!("FAILED  {:60} {}", case.name(), judged.found);
            for problem in &judged.problems {
                println!("        {}", problem.replace('\n', "\n        "));
            }
        }
    }
    // Reports without a case would never be compared with anything.
    let stale = if arguments.filters.is_empty() {
        case::stale_reports(&all, arguments.bless)
    } else {
        Vec::new()
    };
    for report in &stale {
        failed += 1;
        println!("FAILED  {report}: a report without its case; remove it");
    }
    let passed = judged.len() + stale.len() - failed;
    println!("{passed} passed, {failed} failed");
    let none = judged.is_empty() && (arguments.some || arguments.filters.is_empty());
    if failed > 0 || none {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
