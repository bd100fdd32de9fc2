//! Each fault of a machine, and the part that it is laid on.

use super::*;
use crate::ptx::Built;

/// A machine that has everything.
fn whole() -> Facts {
    Facts {
        built: Ok(vec![Built {
            target: "sm_80".into(),
            version: (7, 1),
            entries: 30,
        }]),
        compiler: Ok("rustc 1.96.0 (Debian's rustc-web, /usr/bin/rustc)".into()),
        driver_release: Some((13, 0)),
        gpus: Ok(vec![gpu(90, Ok((9, 0)))]),
        tools: vec![tool_found(Some(Ok(("/x/ptxas".into(), "13.0".into()))))],
    }
}

fn gpu(capability: u32, accepts: Result<Version, String>) -> Gpu {
    Gpu {
        id: "cuda:0".into(),
        index: 0,
        name: "NVIDIA H200".into(),
        capability,
        accepts,
    }
}

fn tool_found(found: Option<Result<(String, String), String>>) -> Tool {
    Tool {
        name: "ptxas",
        what_for: "registers in inspect",
        remedy: "install it",
        found,
    }
}

fn states(facts: &Facts) -> Vec<(&'static str, State)> {
    let each = examine(facts).into_iter();
    each.map(|check| (check.part, check.state)).collect()
}

#[test]
fn a_machine_with_everything_needs_nothing() {
    let checks = examine(&whole());
    assert_eq!(checks.len(), 6, "{checks:#?}");
    for check in checks {
        assert_eq!(
            (check.state, &check.remedy),
            (State::Ok, &None),
            "{check:?}"
        );
        assert!(!check.found.is_empty() && !check.needed.is_empty());
    }
}

/// One fault a row: what is changed, which part says so, how badly, and a word of what it found.
#[test]
fn every_fault_is_laid_on_its_part_with_a_remedy() {
    type Fault = (fn(&mut Facts), &'static str, State, &'static str);
    let faults: &[Fault] = &[
        (
            |f| f.built = Err("built without".into()),
            "kernels",
            State::Broken,
            "built without",
        ),
        (
            |f| f.compiler = Err(("rustc is 1.85.0".into(), "run `rustup …`".into())),
            "device compiler",
            State::Missing,
            "1.85.0",
        ),
        (
            |f| f.gpus = Err(("no CUDA driver".into(), State::Missing)),
            "CUDA driver",
            State::Missing,
            "no CUDA driver",
        ),
        (
            |f| f.gpus = Ok(Vec::new()),
            "CUDA driver",
            State::Broken,
            "no GPU",
        ),
        (
            |f| f.gpus = Ok(vec![gpu(75, Ok((9, 0)))]),
            "GPU",
            State::Broken,
            "capability 7.5",
        ),
        (
            |f| f.gpus = Ok(vec![gpu(90, Ok((7, 0)))]),
            "PTX version",
            State::Broken,
            "up to 7.0",
        ),
        (
            |f| f.gpus = Ok(vec![gpu(90, Err("out of memory".into()))]),
            "PTX version",
            State::Broken,
            "cuda:0: out of memory",
        ),
        (
            |f| f.tools = vec![tool_found(None)],
            "ptxas",
            State::Missing,
            "NSTAGE_CUDA_BIN",
        ),
        (
            |f| f.tools = vec![tool_found(Some(Err("/x/ptxas: cannot be run".into())))],
            "ptxas",
            State::Broken,
            "cannot be run",
        ),
    ];
    for (change, part, state, word) in faults {
        let mut facts = whole();
        change(&mut facts);
        let wrong: Vec<Check> = examine(&facts)
            .into_iter()
            .filter(|check| check.state != State::Ok)
            .collect();
        let [check] = &wrong[..] else {
            panic!("{part}: expected one fault, got {wrong:#?}");
        };
        assert_eq!((check.part, check.state), (*part, *state));
        assert!(check.found.contains(word), "{}", check.found);
        assert!(
            check
                .remedy
                .as_ref()
                .is_some_and(|remedy| !remedy.is_empty())
        );
    }
}

#[test]
fn every_gpu_is_judged() {
    let mut facts = whole();
    facts.gpus = Ok(vec![gpu(90, Ok((9, 0))), gpu(70, Ok((9, 0)))]);
    let gpus: Vec<State> = states(&facts)
        .into_iter()
        .filter(|(part, _)| *part == "GPU")
        .map(|(_, state)| state)
        .collect();
    assert_eq!(gpus, [State::Ok, State::Broken]);
}
