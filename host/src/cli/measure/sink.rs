//! Where results go: standard output in the form asked for, and a folder with all of them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::bench::raw::Raw;
use crate::bench::row::Row;
use crate::bench::write;
use crate::cli::Failure;
use crate::cli::out;
use crate::device::hardware::Hardware;

/// What to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Form {
    /// A Markdown table with the device above and the doubts below.
    #[default]
    Text,
    /// The same.
    Markdown,
    /// One object a line.
    Json,
    /// The raw samples, one configuration a line.
    Csv,
}

/// Where and with what a folder of results was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct Setup {
    /// Seconds since 1970 began.
    pub(in crate::cli) unix_seconds: u64,
    /// The day, `2026-11-29`.
    pub(in crate::cli) date: String,
    /// The device and its driver.
    pub(in crate::cli) device: String,
    /// What the device can do at best.
    pub(in crate::cli) hardware: Hardware,
    /// This program's version.
    pub(in crate::cli) nstage: String,
    /// The command line.
    pub(in crate::cli) command: Vec<String>,
}

impl Setup {
    /// Now, on this device.
    pub(in crate::cli) fn now(device: String, hardware: Hardware) -> Self {
        let unix_seconds = now();
        Self {
            unix_seconds,
            date: date(unix_seconds),
            device,
            hardware,
            nstage: env!("CARGO_PKG_VERSION").to_owned(),
            command: std::env::args().collect(),
        }
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Today's date, by the machine's clock, in UTC.
pub(in crate::cli) fn today() -> String {
    date(now())
}

/// The day that holds a second, in the proleptic Gregorian calendar, as `2026-11-29`.
///
/// Days are counted from 1 March of year 0, so that a leap day is the last of its year (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
fn date(unix_seconds: u64) -> String {
    let days = unix_seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The part of a device's name that a folder is called after: `h200`.
pub(in crate::cli) fn slug(name: &str) -> String {
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && *word != "NVIDIA");
    words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

/// A file of the results that grows line by line.
pub(in crate::cli) struct RawFile {
    path: PathBuf,
    file: File,
}

impl RawFile {
    /// Goes on with a file, or begins it.
    pub(in crate::cli) fn append(path: &Path) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| unwritable(path, &error);
        // What a run that was ended left half written is taken away.
        let kept = if path.exists() {
            write::read(path)?
        } else {
            Vec::new()
        };
        std::fs::write(path, write::csv(&kept).map_err(failed)?).map_err(failed)?;
        let file = File::options().append(true).open(path).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Adds a measurement; it is in the file when this returns.
    pub(in crate::cli) fn add(&mut self, raw: &Raw) -> Result<(), Failure> {
        let text = write::csv(std::slice::from_ref(raw)).and_then(|text| {
            let line = text.split_once('\n').map_or("", |(_, line)| line);
            self.file.write_all(line.as_bytes())?;
            self.file.flush()
        });
        text.map_err(|error| unwritable(&self.path, &error))
    }
}

/// The failure of a file that cannot be written.
pub(in crate::cli) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("{}: cannot be written: {error}", path.display()))
}

/// Writes a file of the folder.
pub(in crate::cli) fn save(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| unwritable(&path, &error))
}

impl From<write::RawError> for Failure {
    fn from(error: write::RawError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Prints rows as they come.
pub(in crate::cli) struct Printer {
    form: Form,
    reference: bool,
    /// The job whose table is open.
    job: Option<String>,
    notes: Vec<String>,
    /// Everything printed as Markdown, for the folder.
    pub(in crate::cli) markdown: String,
}

impl Printer {
    /// A printer; `reference` adds the column of ratios to it.
    pub(in crate::cli) fn new(form: Form, reference: bool) -> Self {
        Self {
            form,
            reference,
            job: None,
            notes: Vec::new(),
            markdown: String::new(),
        }
    }

    /// The device.
    pub(in crate::cli) fn device(&mut self, title: &str) -> Result<(), Failure> {
        match self.form {
            Form::Csv => out::line(&write::COLUMNS.join(","))?,
            Form::Text | Form::Markdown => out::line(&format!("device  {title}"))?,
            Form::Json => {}
        }
        self.markdown += &format!("device  {title}\n");
        Ok(())
    }

    /// A result.
    pub(in crate::cli) fn row(&mut self, raw: &Raw, row: &Row) -> Result<(), Failure> {
        match self.form {
            Form::Json => out::json(row)?,
            Form::Csv => {
                let text = write::csv(std::slice::from_ref(raw))?;
                let line = text.split_once('\n').map_or("", |(_, line)| line);
                out::line(line)?;
            }
            Form::Text | Form::Markdown => {}
        }
        let job = format!("{}, {} elements", row.spec.workload, row.spec.elements);
        if self.job.as_ref() != Some(&job) {
            self.end()?;
            self.say(&format!(
                "\n## {job}\n\n{}",
                write::markdown_head(self.reference)
            ))?;
            self.job = Some(job);
        }
        self.notes.extend(write::notes(row));
        self.say(&write::markdown_row(row, self.reference))
    }

    /// The doubts of the job, below its table.
    pub(in crate::cli) fn end(&mut self) -> Result<(), Failure> {
        let notes = std::mem::take(&mut self.notes);
        if !notes.is_empty() {
            self.say(&format!("\n{}", notes.join("\n")))?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        if matches!(self.form, Form::Text | Form::Markdown) {
            out::line(text)?;
        }
        self.markdown += text;
        self.markdown.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_right() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_798_675_199, "2026-12-30"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn folders_are_called_after_the_device() {
        for (name, expected) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090"),
            ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ] {
            assert_eq!(slug(name), expected);
        }
    }

    #[test]
    fn a_raw_file_goes_on_where_it_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.csv");
        let raw = |entry: &str| {
            let mut raw = Raw::default();
            raw.spec.entry = entry.to_owned();
            raw
        };
        let mut file = RawFile::append(&path).unwrap();
        file.add(&raw("first")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}half,of,a,li")).unwrap();
        let mut file = RawFile::append(&path).unwrap();
        file.add(&raw("second")).unwrap();
        let found = write::read(&path).unwrap();
        let entries: Vec<&str> = found.iter().map(|raw| raw.spec.entry.as_str()).collect();
        assert_eq!(entries, ["first", "second"]);
    }
}
