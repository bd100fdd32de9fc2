//! The checker against mutants of the library's own kernels.
//!
//! From the PTX of every kernel one wait, commit, barrier, fence or arrive at a time is taken out, and each wait count is raised and lowered by one.
//! The original must be silent whenever copies land, and each mutant must be reported whenever they land, unless `equivalent.txt` says why it breaks no rule, or owns up to a rule that is missing.
//! That list is held to what happens as well: what it names must be silent, and must be reached by a launch.

mod equivalent;
mod launches;
mod mutate;

use std::collections::BTreeMap;

use nstage::catalogue::{Kernel, Schedule, Variant};
use nstage_host::check::Check;
use nstage_host::ptx::PtxSet;
use nstage_ptx::ast::Module;
use nstage_sim::{Landing, Outcome, Verdict};
use rayon::prelude::*;

use self::launches::Launch;
use self::mutate::Mutation;

const EQUIVALENT: &str = include_str!("equivalent.txt");

/// What nvcc 13.0.88 makes of `tests/cuda/scale.cu` with `-ptx -arch sm_80 -std=c++17`.
const NVCC: &str = include_str!("nvcc/scale.ptx");

/// Far above what any launch here takes, far below a minute.
const MAX_STEPS: u64 = 3_000_000;

const LANDINGS: [Landing; 3] = [Landing::Late, Landing::Early, Landing::Random(1)];

/// An entry alone, with its launches.
struct Original {
    entry: &'static str,
    /// Names of the advisories that it deserves.
    advised: &'static [&'static str],
    module: Module,
    launches: Vec<Launch>,
}

/// What the checker says of one mutant.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// The names of the findings.
    Findings(String),
    Nothing,
    /// A verdict that depends on when copies land, or none.
    Unsettled(String),
}

/// One variant of each pattern: every kernel, schedule and depth once, and every number of pieces at one depth.
fn variants() -> Vec<(&'static Kernel, &'static Variant)> {
    let mut chosen: BTreeMap<(&str, u32, Schedule, u32), (&Kernel, &Variant)> = BTreeMap::new();
    let known = |name: &str| {
        nstage_kernels::CATALOGUE
            .iter()
            .any(|kernel| kernel.name == name)
    };
    for name in launches::NOT_YET {
        assert!(known(name), "{name} is no kernel; take it out of NOT_YET");
    }
    for kernel in nstage_kernels::CATALOGUE {
        if launches::NOT_YET.contains(&kernel.name) {
            continue;
        }
        for variant in kernel.variants {
            let (stages, pieces) = (variant.stages(), variant.pieces());
            let deep = stages != 3
                && pieces > 1
                && kernel.variants.iter().any(|other| {
                    other.stages() == stages
                        && other.schedule() == variant.schedule()
                        && other.pieces() < pieces
                });
            if !deep {
                chosen.insert(
                    (kernel.name, stages, variant.schedule(), pieces),
                    (kernel, variant),
                );
            }
        }
    }
    chosen.into_values().collect()
}

/// The library's kernels, and those that nvcc made of ordinary CUDA C++.
fn originals() -> Vec<Original> {
    let mut all = of_the_library();
    all.extend(of_nvcc());
    all
}

fn of_nvcc() -> impl Iterator<Item = Original> {
    let module = nstage_ptx::parse(NVCC).expect("nvcc writes PTX");
    launches::OF_NVCC.iter().map(move |of_nvcc| {
        let mut module = module.clone();
        module
            .retain_entry(of_nvcc.entry)
            .expect("nvcc made this entry");
        Original {
            entry: of_nvcc.entry,
            advised: of_nvcc.advised,
            module,
            launches: vec![of_nvcc.launch()],
        }
    })
}

fn of_the_library() -> Vec<Original> {
    let ptx = PtxSet::embedded().expect("the program under test has its kernels");
    variants()
        .into_par_iter()
        .map(|(kernel, variant)| {
            let entry = variant.entry;
            let mut module = ptx
                .module(entry, 90)
                .expect("the entry is built in")
                .clone();
            module.retain_entry(entry).expect("it was just found");
            let launches = launches::of(kernel, variant);
            assert!(
                !launches.is_empty(),
                "{}: no launch is written for this kernel; add one in launches.rs",
                kernel.name
            );
            Original {
                entry,
                // One stage is one tile at a time, which is what the advisory says.
                advised: if variant.stages() == 1 {
                    &["no-overlap"]
                } else {
                    &[]
                },
                module,
                launches,
            }
        })
        .collect()
}

/// Runs a module under a launch, copies landing each way.
fn outcomes(module: &Module, launch: &Launch) -> Vec<(Landing, Outcome)> {
    let mut module = module.clone();
    if launch.first_block_only {
        mutate::first_block_only(&mut module);
    }
    let text = format!(
        "// nstage: {} --max-steps {MAX_STEPS}\n{module}",
        launch.flags
    );
    let check = Check::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    LANDINGS
        .iter()
        .map(|&landing| {
            let run = check.run(landing).expect("the launch fits the entry");
            (landing, run.outcome)
        })
        .collect()
}

/// The names of the findings that the original has not, or how else the run ended; nothing where it is as silent as the original.
fn told(original: &Original, outcome: &Outcome) -> String {
    let mut names: Vec<&str> = outcome
        .findings
        .iter()
        .map(|finding| finding.class.name())
        .filter(|name| !original.advised.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    match outcome.verdict() {
        Verdict::Hazard | Verdict::Clean => names.join(", "),
        other => other.to_string(),
    }
}

/// The first launch that the checker reports decides; a mutant may be sound where another path is taken.
fn judge(original: &Original, mutation: &Mutation) -> Said {
    let module = mutate::mutant(&original.module, mutation);
    for launch in &original.launches {
        let outcomes = outcomes(&module, launch);
        let each: Vec<String> = outcomes
            .iter()
            .map(|(_, outcome)| told(original, outcome))
            .collect();
        if each.iter().all(String::is_empty) {
            continue;
        }
        let unsettled = each.iter().any(String::is_empty)
            || outcomes
                .iter()
                .any(|(_, outcome)| outcome.verdict() == Verdict::Incomplete);
        if unsettled {
            return Said::Unsettled(format!("{each:?} for {LANDINGS:?} with {}", launch.flags));
        }
        return Said::Findings(each.join(" | "));
    }
    Said::Nothing
}

/// Whether any launch gets to the mutation's place.
fn reached(original: &Original, mutation: &Mutation) -> bool {
    let module = mutate::mutant(&original.module, &mutation.probe());
    original.launches.iter().any(|launch| {
        outcomes(&module, launch)
            .iter()
            .any(|(_, outcome)| outcome.trap.is_some())
    })
}

#[test]
fn the_originals_are_silent_whenever_copies_land() {
    let loud: Vec<String> = originals()
        .par_iter()
        .flat_map_iter(|original| {
            original.launches.iter().flat_map(|launch| {
                outcomes(&original.module, launch)
                    .into_iter()
                    .map(|(landing, outcome)| (landing, told(original, &outcome), outcome))
                    .filter(|(_, told, _)| !told.is_empty())
                    .map(|(landing, told, outcome)| {
                        let findings = outcome.findings;
                        let (entry, flags) = (original.entry, &launch.flags);
                        format!("{entry} {flags} {landing:?}: {told}: {findings:#?}")
                    })
            })
        })
        .collect();
    assert!(loud.is_empty(), "{}", loud.join("\n"));
}

#[test]
fn every_mutant_is_reported_or_listed_with_the_reason() {
    let list = equivalent::read(EQUIVALENT);
    let originals = originals();
    let mutants: Vec<(&Original, Mutation)> = originals
        .iter()
        .flat_map(|original| {
            mutate::mutations(&original.module)
                .into_iter()
                .map(move |mutation| (original, mutation))
        })
        .collect();
    let judged: Vec<(String, Said, bool)> = mutants
        .par_iter()
        .map(|(original, mutation)| {
            let name = format!("{}: {}", original.entry, mutation.name);
            let said = judge(original, mutation);
            let reached = said != Said::Nothing || reached(original, mutation);
            (name, said, reached)
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, said, reached) in &judged {
        let listed = list.iter().find(|entry| entry.is_about(name));
        match (said, listed) {
            (Said::Nothing, Some(entry)) if entry.is_dead_code() && !reached => {}
            (Said::Nothing, _) if !reached => {
                wrong.push(format!(
                    "{name}: no launch gets there; add one in launches.rs"
                ));
            }
            (Said::Nothing, None) => wrong.push(format!("{name}: nothing is reported")),
            (Said::Findings(names), Some(entry)) => wrong.push(format!(
                "{name}: reported as {names}, yet `{}` is listed as equivalent",
                entry.pattern()
            )),
            (Said::Unsettled(why), _) => wrong.push(format!("{name}: {why}")),
            (Said::Findings(_), None) | (Said::Nothing, Some(_)) => {}
        }
    }
    for entry in &list {
        if entry.reason.len() < 20 {
            wrong.push(format!("`{}` is listed without a reason", entry.pattern()));
        }
        if !judged.iter().any(|(name, ..)| entry.is_about(name)) {
            wrong.push(format!(
                "`{}` matches no mutant; take it out",
                entry.pattern()
            ));
        }
    }
    let reported = judged
        .iter()
        .filter(|(_, said, _)| matches!(said, Said::Findings(_)))
        .count();
    println!("{} mutants, {reported} reported", judged.len());
    if std::env::var_os("NSTAGE_MUTANTS").is_some() {
        for (name, said, _) in &judged {
            println!("{name}: {said:?}");
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        judged.len(),
        wrong.join("\n")
    );
}
