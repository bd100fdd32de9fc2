//! Results as text: a Markdown table for people, JSON and CSV for programs, and the raw file that everything else is made from.

use std::io;
use std::path::Path;

use super::raw::{How, Raw, Spec};
use super::row::Row;
use super::stats::Estimate;

/// The names of the raw file's columns, in order.
pub const COLUMNS: &[&str] = &[
    "workload",
    "peer",
    "kernel",
    "entry",
    "mechanism",
    "stages",
    "schedule",
    "pieces",
    "tile",
    "block",
    "blocks",
    "grid",
    "resident",
    "shared_bytes",
    "in_flight_per_sm",
    "elements",
    "bytes",
    "read_bytes",
    "verified",
    "max_abs_error",
    "trouble",
    "samples_ms",
    "warm_up_ms",
    "copy_ms",
    "copy_bytes",
    "reference",
    "reference_ms",
    "reference_bytes",
    "rotation_bytes",
    "clock_before_mhz",
    "clock_after_mhz",
    "resolution_ms",
];

/// Why a raw file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: line {line}: {reason}; it is no raw file of nstage {}", env!("CARGO_PKG_VERSION"))]
pub struct RawError {
    path: String,
    line: u64,
    reason: String,
}

/// One line of the raw file; lists are in one field, with spaces between.
pub fn record(raw: &Raw) -> Vec<String> {
    let Raw {
        spec,
        verified,
        max_abs_error,
        trouble,
        warm_up_ms,
        samples_ms,
        copy_ms,
        copy_bytes,
        reference,
        reference_ms,
        reference_bytes,
        rotation_bytes,
        clock_mhz,
        resolution_ms,
    } = raw;
    let list = |times: &[f64]| {
        let words: Vec<String> = times.iter().map(f64::to_string).collect();
        words.join(" ")
    };
    let maybe = |value: &Option<String>| value.clone().unwrap_or_default();
    let clock = |value: Option<u32>| value.map(|mhz| mhz.to_string()).unwrap_or_default();
    vec![
        spec.workload.clone(),
        spec.peer.clone(),
        spec.kernel.clone(),
        spec.entry.clone(),
        spec.mechanism.clone(),
        spec.stages.to_string(),
        spec.schedule.clone(),
        spec.pieces.to_string(),
        spec.tile.to_string(),
        spec.block.to_string(),
        spec.blocks.to_string(),
        spec.grid.clone(),
        spec.resident.to_string(),
        spec.shared_bytes.to_string(),
        spec.in_flight_per_sm.to_string(),
        spec.elements.to_string(),
        spec.bytes.to_string(),
        spec.read_bytes.to_string(),
        match verified {
            Some(How::Elements) => "elements",
            Some(How::Bits) => "bits",
            None => "no",
        }
        .to_owned(),
        max_abs_error
            .map(|error| error.to_string())
            .unwrap_or_default(),
        maybe(trouble),
        list(samples_ms),
        list(warm_up_ms),
        list(copy_ms),
        copy_bytes.to_string(),
        maybe(reference),
        list(reference_ms),
        reference_bytes.to_string(),
        rotation_bytes.to_string(),
        clock(clock_mhz.0),
        clock(clock_mhz.1),
        resolution_ms.to_string(),
    ]
}

/// The whole of a raw file.
pub fn read(path: &Path) -> Result<Vec<Raw>, RawError> {
    let failed = |line: u64, reason: String| RawError {
        path: path.display().to_string(),
        line,
        reason,
    };
    let mut reader = csv::Reader::from_path(path).map_err(|error| failed(0, error.to_string()))?;
    let header = reader
        .headers()
        .map_err(|error| failed(1, error.to_string()))?;
    if !header.iter().eq(COLUMNS.iter().copied()) {
        return Err(failed(1, "the columns are others".to_owned()));
    }
    let mut all = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            // A run that was ended while it wrote leaves half a line at the end.
            Err(error) if matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. }) => break,
            Err(error) => return Err(failed(0, error.to_string())),
        };
        let line = record.position().map_or(0, csv::Position::line);
        all.push(parse(&record).map_err(|reason| failed(line, reason))?);
    }
    Ok(all)
}

/// Fields one after the other.
struct Fields<'a>(
    std::iter::Zip<csv::StringRecordIter<'a>, std::slice::Iter<'static, &'static str>>,
);

impl Fields<'_> {
    fn text(&mut self) -> Result<(&str, &'static str), String> {
        let (text, name) = self.0.next().ok_or("it ends early")?;
        Ok((text, name))
    }

    fn string(&mut self) -> Result<String, String> {
        self.text().map(|(text, _)| text.to_owned())
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let (text, name) = self.text()?;
        text.parse().map_err(|_| format!("{name} is {text:?}"))
    }

    fn maybe<T: std::str::FromStr>(&mut self) -> Result<Option<T>, String> {
        match self.text()? {
            ("", _) => Ok(None),
            (text, name) => text
                .parse()
                .map(Some)
                .map_err(|_| format!("{name} is {text:?}")),
        }
    }

    fn list(&mut self) -> Result<Vec<f64>, String> {
        let (text, name) = self.text()?;
        let words = text.split_whitespace().map(str::parse);
        words
            .collect::<Result<_, _>>()
            .map_err(|_| format!("{name} is {text:?}"))
    }
}

fn parse(record: &csv::StringRecord) -> Result<Raw, String> {
    let mut fields = Fields(record.iter().zip(COLUMNS));
    let spec = Spec {
        workload: fields.string()?,
        peer: fields.string()?,
        kernel: fields.string()?,
        entry: fields.string()?,
        mechanism: fields.string()?,
        stages: fields.number()?,
        schedule: fields.string()?,
        pieces: fields.number()?,
        tile: fields.number()?,
        block: fields.number()?,
        blocks: fields.number()?,
        grid: fields.string()?,
        resident: fields.number()?,
        shared_bytes: fields.number()?,
        in_flight_per_sm: fields.number()?,
        elements: fields.number()?,
        bytes: fields.number()?,
        read_bytes: fields.number()?,
    };
    Ok(Raw {
        spec,
        verified: match fields.text()? {
            ("elements", _) => Some(How::Elements),
            ("bits", _) => Some(How::Bits),
            ("no", _) => None,
            (other, name) => return Err(format!("{name} is {other:?}")),
        },
        max_abs_error: fields.maybe()?,
        trouble: fields.maybe()?,
        samples_ms: fields.list()?,
        warm_up_ms: fields.list()?,
        copy_ms: fields.list()?,
        copy_bytes: fields.number()?,
        reference: fields.maybe()?,
        reference_ms: fields.list()?,
        reference_bytes: fields.number()?,
        rotation_bytes: fields.number()?,
        clock_mhz: (fields.maybe()?, fields.maybe()?),
        resolution_ms: fields.number()?,
    })
}

/// Raw measurements as a whole file.
pub fn csv(all: &[Raw]) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for raw in all {
        writer.write_record(record(raw))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// `0.987 ± 0.004`.
fn ratio(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(
        || "–".to_owned(),
        |estimate| format!("{:.3} ± {:.3}", estimate.value, estimate.error()),
    )
}

/// The head of the Markdown table.
pub fn markdown_head(reference: bool) -> String {
    let (name, rule) = if reference {
        (" of reference |", "---:|")
    } else {
        ("", "")
    };
    format!(
        "| kernel | stages | schedule | pieces | block | grid | ms | spread | GB/s | of data sheet | of copy |{name} verified |\n|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|{rule}---|"
    )
}

/// One row of the Markdown table.
pub fn markdown_row(row: &Row, reference: bool) -> String {
    let spec = &row.spec;
    let kernel = if spec.peer == super::item::OWN {
        spec.kernel.clone()
    } else {
        format!("{} ({})", spec.entry, spec.peer)
    };
    let number = |value: u32| match value {
        0 => "–".to_owned(),
        value => value.to_string(),
    };
    let schedule = if spec.schedule == "none" {
        "–"
    } else {
        &spec.schedule
    };
    let (ms, spread, rate) = match (&row.time_ms, row.rate) {
        (Some(time), Some(rate)) => (
            format!("{:.4} ± {:.4}", time.median.value, time.median.error()),
            format!("{:.1} %", 100.0 * time.spread),
            format!("{:.0}", rate.value),
        ),
        _ => ("–".to_owned(), "–".to_owned(), "–".to_owned()),
    };
    let verified = match (row.verified_by, &row.trouble) {
        (Some(How::Elements), _) => "elements",
        (Some(How::Bits), _) => "bits",
        (None, Some(_)) => "**no**",
        (None, None) => "no",
    };
    let compared = if reference {
        format!(" {} |", ratio(row.of_reference))
    } else {
        String::new()
    };
    format!(
        "| {kernel} | {} | {schedule} | {} | {} | {} | {ms} | {spread} | {rate} | {} | {} |{compared} {verified} |",
        number(spec.stages),
        number(spec.pieces),
        spec.block,
        spec.grid,
        ratio(row.of_data_sheet),
        ratio(row.of_copy),
    )
}

/// What is doubtful or wrong of a row, one line each, below the table.
pub fn notes(row: &Row) -> Vec<String> {
    let about = |text: &str| {
        let Spec {
            entry, block, grid, ..
        } = &row.spec;
        format!("- {entry} × {block}, grid {grid}: {text}")
    };
    let mut notes: Vec<String> = row.trouble.iter().map(|text| about(text)).collect();
    let warnings = row.warnings.iter();
    notes.extend(warnings.map(|warning| about(&warning.to_string())));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::hardware::Hardware;

    fn raw() -> Raw {
        Raw {
            spec: Spec {
                workload: "scale".to_owned(),
                peer: "nstage".to_owned(),
                kernel: "ring".to_owned(),
                entry: "ring_s4".to_owned(),
                mechanism: "cp.async".to_owned(),
                stages: 4,
                schedule: "two".to_owned(),
                pieces: 1,
                tile: 1024,
                block: 256,
                blocks: 1056,
                grid: "fit".to_owned(),
                resident: 8,
                shared_bytes: 16384,
                in_flight_per_sm: 131_072,
                elements: 250_000_000,
                bytes: 2_000_000_000,
                read_bytes: 1_000_000_000,
            },
            verified: Some(How::Elements),
            max_abs_error: Some(1.5e-8),
            trouble: None,
            warm_up_ms: vec![0.9, 0.5],
            samples_ms: vec![0.5, 0.5, 0.5, 0.503, 0.497, 0.5],
            copy_ms: vec![0.45; 6],
            copy_bytes: 2_000_000_000,
            reference: None,
            reference_ms: vec![],
            reference_bytes: 0,
            rotation_bytes: 4_000_000_000,
            clock_mhz: (Some(1980), None),
            resolution_ms: 0.0005,
        }
    }

    #[test]
    fn a_raw_file_is_read_as_it_was_written() {
        let wrong = Raw {
            spec: Spec {
                entry: "quoted, \"entry\"".to_owned(),
                ..raw().spec
            },
            verified: None,
            trouble: Some("1 of 2 elements wrong, first at 0".to_owned()),
            reference: Some("ring_s4".to_owned()),
            reference_ms: vec![1.0 / 3.0],
            ..Raw::default()
        };
        let all = [raw(), wrong];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.csv");
        let text = csv(&all).unwrap();
        std::fs::write(&path, &text).unwrap();
        assert_eq!(read(&path).unwrap(), all);

        // A line that was cut off is not there.
        std::fs::write(&path, format!("{text}scale,nstage,ri")).unwrap();
        assert_eq!(read(&path).unwrap(), all);

        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.contains("line 1: the columns are others"),
            "{message}"
        );
        let broken = text.replace(",16384,", ",many,");
        std::fs::write(&path, broken).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.contains("line 2: shared_bytes is \"many\""),
            "{message}"
        );
    }

    #[test]
    fn the_table_of_one_row() {
        let hardware = Hardware {
            memory_gigabytes_per_second: Some(8000.0),
            l2_bytes: 50 << 20,
            ..Hardware::of_capability(90)
        };
        let row = Row::of(&raw(), &hardware);
        assert_eq!(
            markdown_row(&row, false),
            "| ring | 4 | two | 1 | 256 | fit | 0.5000 ± 0.0030 | 0.0 % | 4000 | 0.500 ± 0.003 | 0.900 ± 0.005 | elements |"
        );
        assert_eq!(
            notes(&row),
            [
                "- ring_s4 × 256, grid fit: first run slow: 0.9000 ms against 0.5000 ms; it is not counted"
            ]
        );
        let columns = |text: &str| text.matches('|').count();
        for reference in [false, true] {
            let head = markdown_head(reference);
            let lines: Vec<&str> = head.lines().collect();
            assert_eq!(columns(lines[0]), columns(lines[1]));
            assert_eq!(columns(lines[0]), columns(&markdown_row(&row, reference)));
        }
    }
}
