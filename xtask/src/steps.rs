//! Steps of a long task, and the summary at its end.

use anyhow::{Result, bail};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// How a step ended.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Runs steps one after the other. A failure does not stop the rest: a person wants to know all that is wrong.
#[derive(Default)]
pub(crate) struct Steps(Vec<(String, Outcome, Duration)>);

impl Steps {
    /// Runs one step.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) {
        println!("\n--- {name}");
        let started = Instant::now();
        let outcome = match run() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                println!("error: {error:#}");
                // The summary has one line a step; the rest stands above.
                Outcome::Failed(
                    format!("{error:#}")
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                )
            }
        };
        self.0.push((name.to_owned(), outcome, started.elapsed()));
    }

    /// Notes something that cannot be done here.
    pub(crate) fn skip(&mut self, name: &str, reason: impl Into<String>) {
        let reason = reason.into();
        println!("\n--- {name}\nskipping: {reason}");
        self.0
            .push((name.to_owned(), Outcome::Skipped(reason), Duration::ZERO));
    }

    /// Prints the summary; an error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        print!("\n{}", self.summary());
        let failed = self
            .0
            .iter()
            .filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
            .count();
        if failed > 0 {
            bail!("{failed} of {} steps failed", self.0.len());
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let mut text = String::from("--- summary\n");
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for (name, outcome, took) in &self.0 {
            let (word, reason) = match outcome {
                Outcome::Passed => (tally("passed", &mut passed), ""),
                Outcome::Failed(reason) => (tally("FAILED", &mut failed), reason.as_str()),
                Outcome::Skipped(reason) => (tally("skipped", &mut skipped), reason.as_str()),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{}",
                format!("{word:8} {name:34} {:>7.1} s  {reason}", took.as_secs_f64()).trim_end()
            );
        }
        let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        text
    }
}

fn tally(word: &'static str, count: &mut u32) -> &'static str {
    *count += 1;
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_and_gives_reasons() {
        let mut steps = Steps::default();
        steps.step("works", || Ok(()));
        steps.step("breaks", || bail!("a reason\nwith more below it"));
        steps.skip("cannot", "needs a CUDA device");
        let summary = steps.summary();
        assert!(
            summary.contains("FAILED   breaks") && summary.contains("  a reason\n"),
            "{summary}"
        );
        assert!(
            summary.contains("skipped  cannot") && summary.contains("needs a CUDA device"),
            "{summary}"
        );
        assert!(
            summary.ends_with("1 passed, 1 failed, 1 skipped\n"),
            "{summary}"
        );
        assert_eq!(
            steps.finish().expect_err("one failed").to_string(),
            "1 of 3 steps failed"
        );
    }
}
