//! The rows of `nstage run`.

use std::io;

use serde::Serialize;

use super::Failure;
use super::out::{self, Format};
use crate::device::Description;
use crate::device::geometry::grouped;
use crate::workload::Problem;
use crate::workload::job::{Report, gigabytes_per_second};

/// One variant's run; the fields are those of the JSON output.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    kernel: &'static str,
    /// 0 is synchronous.
    stages: u32,
    schedule: Option<&'static str>,
    device: String,
    elements: u64,
    verified: bool,
    max_abs_error: Option<f64>,
    max_rel_error: Option<f64>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gigabytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_gigabytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    #[serde(skip)]
    incomplete: bool,
}

impl Row {
    /// What a report says, against the rate of a copy in the same run.
    pub(super) fn new(
        problem: &dyn Problem,
        report: &Report,
        device: &Description,
        copy_rate: Option<f64>,
    ) -> Self {
        let shape = report.geometry.shape();
        let comparison = report.comparison.as_ref();
        Self {
            kernel: shape.kernel.name,
            stages: shape.variant.stages(),
            schedule: shape.schedule_name(),
            device: device.id.clone(),
            elements: problem.elements(),
            verified: report.verified(),
            max_abs_error: comparison.map(|comparison| comparison.max_abs_error),
            max_rel_error: comparison.map(|comparison| comparison.max_rel_error),
            seconds: report.seconds,
            result: report.result,
            median_ms: report.median_ms,
            gigabytes_per_second: report
                .median_ms
                .map(|ms| gigabytes_per_second(problem.traffic(), ms)),
            copy_gigabytes_per_second: copy_rate,
            trouble: report.trouble.clone(),
            incomplete: report.incomplete(),
        }
    }

    /// The word of the column `result`.
    fn word(&self) -> &'static str {
        match (self.verified, self.incomplete) {
            (true, _) => "verified",
            (false, true) => "incomplete",
            (false, false) => "WRONG",
        }
    }
}

/// Prints rows as they come and keeps count.
pub(super) struct Table<'a> {
    format: Format,
    device: &'a Description,
    name_width: usize,
    rows: usize,
    verified: usize,
    incomplete: usize,
}

impl<'a> Table<'a> {
    /// A table for kernels whose names have up to `name_width` characters.
    pub(super) fn new(format: Format, device: &'a Description, name_width: usize) -> Self {
        Self {
            format,
            device,
            name_width: name_width.max("kernel".len()),
            rows: 0,
            verified: 0,
            incomplete: 0,
        }
    }

    /// The device and why it was chosen.
    pub(super) fn head(&self, reason: &str) -> io::Result<()> {
        if self.format == Format::Text {
            out::line(&format!("device  {}: {reason}", self.device))?;
        }
        Ok(())
    }

    /// What the rows that follow compute, and the names of their columns.
    pub(super) fn begin(&self, problem: &dyn Problem, copy_rate: Option<f64>) -> io::Result<()> {
        if self.format == Format::Json {
            return Ok(());
        }
        if let Some(rate) = copy_rate {
            out::line(&format!(
                "copy    {rate:.0} GB/s device to device, {} B read plus written",
                grouped(problem.traffic())
            ))?;
        }
        let timing = match copy_rate {
            Some(_) => "         ms    GB/s  of copy",
            None => "    seconds",
        };
        out::line(&format!(
            "\n{:<width$}  stages  schedule  {:>13}  {:<10}  {:>9}{timing}",
            "kernel",
            "elements",
            "result",
            "max error",
            width = self.name_width
        ))
    }

    /// One row, and below it what is wrong.
    pub(super) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.rows += 1;
        self.verified += usize::from(row.verified);
        self.incomplete += usize::from(row.incomplete);
        if self.format == Format::Json {
            return out::json(row);
        }
        let stages = match row.stages {
            0 => "-".to_owned(),
            stages => stages.to_string(),
        };
        let error = row
            .max_abs_error
            .map_or_else(|| "-".to_owned(), |error| format!("{error:.1e}"));
        let mut text = format!(
            "{:<width$}  {stages:>6}  {:<8}  {:>13}  {:<10}  {error:>9}",
            row.kernel,
            row.schedule.unwrap_or("-"),
            grouped(row.elements),
            row.word(),
            width = self.name_width
        );
        match (
            row.median_ms,
            row.gigabytes_per_second,
            row.copy_gigabytes_per_second,
        ) {
            (Some(ms), Some(rate), Some(copy)) => {
                text += &format!("  {ms:>9.4}  {rate:>6.0}  {:>7.3}", rate / copy);
            }
            _ => text += &format!("  {:>9.3}", row.seconds),
        }
        if let Some(result) = row.result {
            text += &format!("  = {result}");
        }
        out::line(&text)?;
        match &row.trouble {
            Some(trouble) => out::line(&format!("    {trouble}")),
            None => Ok(()),
        }
    }

    /// The count.
    pub(super) fn end(&self, seconds: f64) -> io::Result<()> {
        if self.format == Format::Text {
            out::line(&format!(
                "\n{} of {} verified in {seconds:.1} s",
                self.verified, self.rows
            ))?;
        }
        Ok(())
    }

    /// How the command ends. A wrong result wins over an incomplete run.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        if self.verified + self.incomplete < self.rows {
            Err(Failure::Verdict)
        } else if self.incomplete > 0 {
            Err(Failure::Incomplete)
        } else {
            Ok(())
        }
    }
}
