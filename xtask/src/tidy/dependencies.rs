//! Which of our crates may depend on which.

use super::Breach;
use crate::process::{cargo, output};
use anyhow::{Context, Result};
use serde_json::Value;

/// Our crates and the only ones of ours that each may depend on, build and test dependencies included.
const ALLOWED: &[(&str, &[&str])] = &[
    ("nstage", &[]),
    ("nstage-kernels", &["nstage"]),
    ("nstage-ptx", &[]),
    ("nstage-builder", &["nstage-ptx"]),
    ("nstage-sim", &["nstage-ptx"]),
    (
        "nstage-host",
        &[
            "nstage",
            "nstage-kernels",
            "nstage-ptx",
            "nstage-sim",
            "nstage-builder",
        ],
    ),
    ("xtask", &["nstage-builder", "nstage-kernels"]),
    (
        "nstage-tests",
        &[
            "nstage",
            "nstage-kernels",
            "nstage-ptx",
            "nstage-builder",
            "nstage-sim",
            "nstage-host",
        ],
    ),
];

/// One breach for each dependency that the table lacks.
pub(super) fn check() -> Result<Vec<Breach>> {
    let text = output(&mut cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))?;
    let metadata: Value =
        serde_json::from_str(&text).context("cargo metadata wrote something that is not JSON")?;
    Ok(breaches(&edges(&metadata)))
}

/// Each of our crates with its dependencies, ours and others'.
fn edges(metadata: &Value) -> Vec<(String, Vec<String>)> {
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    packages
        .iter()
        .map(|package| {
            (
                name(package),
                list(&package["dependencies"]).iter().map(name).collect(),
            )
        })
        .collect()
}

fn breaches(edges: &[(String, Vec<String>)]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let is_ours = |name: &str| ALLOWED.iter().any(|(ours, _)| *ours == name);
    for (name, dependencies) in edges {
        let Some((_, allowed)) = ALLOWED.iter().find(|(ours, _)| ours == name) else {
            breaches.push(Breach {
                place: name.clone(),
                problem: "is a new crate; add it to ARCHITECTURE.md and to tidy's table".into(),
            });
            continue;
        };
        let wrong = dependencies
            .iter()
            .filter(|dependency| is_ours(dependency) && !allowed.contains(&dependency.as_str()));
        breaches.extend(wrong.map(|dependency| Breach {
            place: name.clone(),
            problem: format!(
                "depends on {dependency}; allowed are {}",
                if allowed.is_empty() {
                    "none".into()
                } else {
                    allowed.join(", ")
                }
            ),
        }));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let edge = |name: &str, dependencies: &[&str]| {
            (
                name.to_owned(),
                dependencies.iter().map(|&name| name.to_owned()).collect(),
            )
        };
        assert_eq!(
            breaches(&[edge("nstage-sim", &["nstage-ptx", "rayon"])]),
            []
        );
        let found = breaches(&[edge("nstage-ptx", &["nstage-sim"]), edge("newcomer", &[])]);
        assert_eq!(found[0].problem, "depends on nstage-sim; allowed are none");
        assert!(found[1].problem.contains("new crate"));
    }
}
