//! The house rules that a compiler does not check. Each is a row of a table; a breach names file and line.

mod dependencies;
mod docs;
mod mentions;
mod shape;
mod words;

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// A text file of the repository.
struct Source {
    /// Its path from the root, with forward slashes.
    path: String,
    text: String,
}

impl Source {
    /// Lines with their numbers.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of code before the tests, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self
            .lines()
            .take_while(|(_, line)| !matches!(line.trim(), "#[cfg(test)]" | "#![cfg(test)]"));
        code.map(|(number, line)| (number, line.split("//").next().unwrap_or(line)))
    }
}

/// A broken rule: where, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    place: String,
    problem: String,
}

impl Breach {
    fn at(source: &Source, line: usize, problem: impl Into<String>) -> Self {
        Self {
            place: format!("{}:{line}", source.path),
            problem: problem.into(),
        }
    }
}

/// Checks all rules over the whole repository.
pub(crate) fn run() -> Result<()> {
    let sources = sources()?;
    let mut breaches = Vec::new();
    for source in &sources {
        breaches.extend(words::check(source));
        if source.is_rust() {
            breaches.extend(shape::check(source));
            breaches.extend(docs::check(source));
        }
    }
    breaches.extend(mentions::check(&sources));
    breaches.extend(dependencies::check()?);
    if breaches.is_empty() {
        eprintln!("tidy: {} files", sources.len());
        return Ok(());
    }
    for breach in &breaches {
        eprintln!("{}: {}", breach.place, breach.problem);
    }
    bail!("{} breaches of the house rules", breaches.len())
}

/// Folders that hold nothing written by hand.
const SKIPPED: &[&str] = &["target", ".git", "dist", ".venv", "node_modules"];

fn sources() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    collect(workspace::root(), &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn collect(folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        if SKIPPED.contains(&&*entry.file_name().to_string_lossy()) {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&path, sources)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(std::fs::read(&path)?)
        {
            sources.push(Source {
                path: workspace::shown(&path).replace('\\', "/"),
                text,
            });
        }
    }
    Ok(())
}
