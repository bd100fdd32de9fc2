//! The case collection in `tests/cases`: every file has the outcome that its head names, whenever copies land.

use std::fs;
use std::path::{Path, PathBuf};

use nstage_sim::check::Policy;
use nstage_sim::{
    Dim3, Expectation, Fill, GlobalMemory, Landing, Launch, Options, Outcome, Program, Severity,
    run_with_policy,
};

const LANDINGS: [Landing; 4] = [
    Landing::Late,
    Landing::Early,
    Landing::Random(1),
    Landing::Random(2),
];

/// What a file says about itself.
struct Head {
    launch: Launch,
    policy: Policy,
    memory: GlobalMemory,
}

/// The flags of a `// nstage:` line; quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("never empty").push(c),
        }
    }
    words
}

fn extent(text: &str) -> Dim3 {
    let numbers: Vec<u32> = text
        .split(',')
        .map(|n| n.parse().expect("an extent"))
        .collect();
    let at = |index: usize| numbers.get(index).copied().unwrap_or(1);
    Dim3::new(at(0), at(1), at(2))
}

/// `u32=5`, or `f32[64]+4=ramp`: the parameter's bytes.
fn argument(memory: &mut GlobalMemory, spec: &str) -> Vec<u8> {
    let (place, value) = spec.split_once('=').expect("TYPE=VALUE");
    let Some((ty, rest)) = place.split_once('[') else {
        return value.parse::<u32>().expect("a u32").to_le_bytes().to_vec();
    };
    let (count, offset) = rest.split_once(']').expect("TYPE[COUNT]");
    let count: u32 = count.parse().expect("a count");
    let offset: u64 = offset
        .strip_prefix('+')
        .map_or(0, |bytes| bytes.parse().expect("bytes"));
    let ramp: Vec<u8> = (0..count)
        .flat_map(|i| match ty {
            "f32" => (i as f32).to_le_bytes(),
            _ => i.to_le_bytes(),
        })
        .collect();
    let fill = match value {
        "zero" => Fill::Zero,
        "poison" => Fill::Poison,
        "ramp" => Fill::Bytes(&ramp),
        other => panic!("`{other}` is no fill that cases use"),
    };
    let pointer = memory.alloc(u64::from(count) * 4, fill).expect("memory");
    pointer.offset(offset).0.to_le_bytes().to_vec()
}

fn head(text: &str) -> Head {
    let mut head = Head {
        launch: Launch::new(1, 1),
        policy: Policy::default(),
        memory: GlobalMemory::new(),
    };
    for line in text.lines() {
        if let Some(flags) = line.strip_prefix("// nstage: ") {
            for pair in words(flags).chunks(2) {
                let [flag, value] = pair else {
                    panic!("a flag without a value in `{line}`");
                };
                match flag.as_str() {
                    "--grid" => head.launch.grid = extent(value),
                    "--block" => head.launch.block = extent(value),
                    "--cluster" => head.launch.cluster = extent(value),
                    "--dynamic-shared" => {
                        head.launch.dynamic_shared = value.parse().expect("bytes")
                    }
                    "--arg" => {
                        let bytes = argument(&mut head.memory, value);
                        head.launch.params.push(bytes);
                    }
                    "--policy" => {
                        let (name, level) = value.split_once('=').expect("NAME=LEVEL");
                        head.policy.set(name, level).expect("a policy");
                    }
                    other => panic!("`{other}` is no flag that cases use"),
                }
            }
        }
    }
    head
}

fn run_case(text: &str, landing: Landing) -> Outcome {
    let module = nstage_ptx::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let entry = module.entries().next().expect("an entry").name.clone();
    let program = Program::compile(&module, &entry).unwrap_or_else(|error| panic!("{error}"));
    let mut head = head(text);
    let options = Options {
        landing,
        max_steps: Some(1 << 20),
        ..Options::default()
    };
    run_with_policy(
        &program,
        &mut head.memory,
        &head.launch,
        &options,
        &head.policy,
    )
}

fn files(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/cases")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(path)
        .expect("the case collection")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
}

#[test]
fn every_case_has_the_outcome_it_names() {
    let mut failures = Vec::new();
    let mut passed = 0;
    for path in files("fail").into_iter().chain(files("pass")) {
        let text = fs::read_to_string(&path).expect("a text");
        let expected = Expectation::of_text(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        for landing in LANDINGS {
            let outcome = run_case(&text, landing);
            if expected.is_met_by(&outcome) {
                passed += 1;
                continue;
            }
            let why = outcome.incomplete.map(|incomplete| incomplete.message);
            failures.push(format!(
                "{} ({landing:?}): expected `{expected}`, got {:?} {why:?}",
                path.display(),
                outcome.findings
            ));
            break;
        }
    }
    assert!(
        failures.is_empty(),
        "{passed} passed, {} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_fault_has_its_mended_twin() {
    let names = |folder: &str| -> Vec<_> {
        let files = files(folder).into_iter();
        files
            .filter_map(|path| path.file_name().map(ToOwned::to_owned))
            .collect()
    };
    let mended = names("pass");
    for fault in names("fail") {
        assert!(
            mended.contains(&fault),
            "{} has no twin in pass",
            fault.display()
        );
    }
}

/// Cases with more errors than one, and how many: pairs of instructions that no write has in common, and an advisory that the case makes an error.
const SEVERAL: [(&str, usize); 2] = [
    ("narrow-scope-counter-of-block-scope.ptx", 2),
    ("vacuous-wait-more-groups-than-committed.ptx", 2),
];

#[test]
fn a_fault_is_told_once() {
    for path in files("fail") {
        let text = fs::read_to_string(&path).expect("a text");
        let name = path.file_name().and_then(|name| name.to_str());
        let most = SEVERAL
            .iter()
            .find(|(several, _)| Some(*several) == name)
            .map_or(1, |(_, count)| *count);
        for landing in [Landing::Late, Landing::Random(1)] {
            let outcome = run_case(&text, landing);
            let errors: Vec<_> = outcome
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| finding.class)
                .collect();
            assert!(
                errors.len() <= most,
                "{} ({landing:?}): {errors:?}",
                path.display()
            );
        }
    }
}
