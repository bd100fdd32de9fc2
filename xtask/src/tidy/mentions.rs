//! Documents that must keep up with the folders.

use super::{Breach, Source};

/// Documents that name every folder with a crate.
const MAPS: &[&str] = &["README.md", "ARCHITECTURE.md"];

/// One breach for each crate that a map leaves out.
pub(super) fn check(sources: &[Source]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for map in MAPS {
        let Some(document) = sources.iter().find(|source| source.path == *map) else {
            breaches.push(Breach {
                place: (*map).to_owned(),
                problem: "is missing; it is the first thing that a reader looks for".into(),
            });
            continue;
        };
        let folders = sources
            .iter()
            .filter_map(|source| source.path.strip_suffix("/Cargo.toml"))
            .filter(|folder| !folder.contains('/'));
        let missing = folders.filter(|folder| !document.text.contains(&format!("`{folder}/`")));
        breaches.extend(missing.map(|folder| {
            Breach::at(
                document,
                1,
                format!("does not mention `{folder}/`; say what it is"),
            )
        }));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_no_map_mentions_is_found() {
        let source = |path: &str, text: &str| Source {
            path: path.into(),
            text: text.into(),
        };
        let sources = [
            source("README.md", "`sim/` simulates"),
            source("ARCHITECTURE.md", "`sim/` and `ptx/`"),
            source("sim/Cargo.toml", ""),
            source("ptx/Cargo.toml", ""),
            source("examples/one/Cargo.toml", ""),
            source("Cargo.toml", ""),
        ];
        let found = check(&sources);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].place.as_str(), found[0].problem.contains("`ptx/`")),
            ("README.md:1", true)
        );
    }
}
