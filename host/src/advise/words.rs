//! The advice in sentences.

use super::{Advice, Basis, model};

/// `kernel_async_pipeline, 4 stages, two barriers, 1 piece, 256 threads, grid fit`.
fn name(spec: &crate::bench::raw::Spec) -> String {
    let mut parts = vec![spec.kernel.clone()];
    if spec.stages > 0 {
        parts.push(counted(spec.stages.into(), "stage"));
        match spec.schedule.as_str() {
            "one" => parts.push("one barrier a step".to_owned()),
            "two" => parts.push("two barriers a step".to_owned()),
            _ => {}
        }
    }
    if spec.pieces > 0 {
        parts.push(counted(spec.pieces.into(), "piece"));
    }
    parts.push(format!("blocks of {}", spec.block));
    parts.push(match spec.grid.as_str() {
        "fit" => "as many as fit".to_owned(),
        "tiles" => "one for each tile".to_owned(),
        other if other.starts_with("tiles:") => {
            format!("one for every {} tiles", other.trim_start_matches("tiles:"))
        }
        number => format!("{number} for each multiprocessor"),
    });
    parts.join(", ")
}

fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn kibibytes(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}

/// Every sentence, the choice first.
pub fn sentences(advice: &Advice) -> Vec<String> {
    let mut said = Vec::new();
    let spec = &advice.choice.spec;
    let basis = match advice.basis {
        Basis::Measured => "measured",
        Basis::Model => "from the model alone, nothing was run",
    };
    said.push(format!(
        "{} on {} ({basis}): use {}.",
        advice.workload,
        advice.device,
        name(spec)
    ));
    let mut reach = format!("It reaches {:.0} GB/s", advice.choice.rate.value);
    if advice.basis == Basis::Measured {
        reach += &format!(" ± {:.0}", advice.choice.rate.error());
    }
    if let Some(part) = advice.of_data_sheet {
        reach += &format!(", {part:.3} of the data sheet");
    }
    if let Some(copy) = advice.choice.of_copy {
        reach += &format!(", {:.3} ± {:.3} of a copy", copy.value, copy.error());
    }
    said.push(reach + ".");
    if advice.best.spec != *spec {
        said.push(format!(
            "The fastest is {} at {:.0} GB/s, which is {:.1} % more and costs more.",
            name(&advice.best.spec),
            advice.best.rate.value,
            100.0 * (advice.best.rate.value / advice.choice.rate.value - 1.0)
        ));
    }
    if let Some(needed) = advice.needed_in_flight {
        let have = spec.in_flight_per_sm as f64;
        let verdict = if have >= needed {
            "enough"
        } else {
            "too few, so latency limits the rate"
        };
        said.push(format!(
            "Because each multiprocessor has up to {} on the way and needs {} for the ceiling (rate × {:.0} ns of latency): {verdict}.",
            kibibytes(have),
            kibibytes(needed),
            model::LATENCY_NS
        ));
    }
    said.push(format!(
        "Occupancy is {:.0} %: {} of {} threads; a block takes {} of shared memory.",
        100.0 * advice.occupancy,
        counted(advice.at_once.into(), "block"),
        spec.block,
        kibibytes(f64::from(spec.shared_bytes))
    ));
    said.push(format!(
        "At this rate a copy is issued {:.0} ns before its bytes are used up, {:.1} times the latency.",
        advice.overlap_ns,
        advice.overlap_ns / model::LATENCY_NS
    ));
    for pair in advice.depths.windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        let name = |stages: u32| match stages {
            0 => "the synchronous kernel".to_owned(),
            stages => counted(stages.into(), "stage"),
        };
        said.push(format!(
            "From {} to {}: {:+.1} % ({:.0} to {:.0} GB/s), shared memory of a block {} to {}, blocks at once {} to {}.",
            name(from.stages),
            name(to.stages),
            100.0 * to.change.unwrap_or_default(),
            from.rate,
            to.rate,
            kibibytes(f64::from(from.shared_bytes)),
            kibibytes(f64::from(to.shared_bytes)),
            from.resident,
            to.resident
        ));
    }
    if let Some(staging) = &advice.staging {
        let against = format!(
            "{:.0} against {:.0} GB/s, {:.3} ± {:.3}",
            staging.ring.rate.value,
            staging.synchronous.rate.value,
            staging.gain.value,
            staging.gain.error()
        );
        said.push(if staging.pays {
            format!(
                "Staging pays: the best ring against the best synchronous kernel, {against}."
            )
        } else {
            format!(
                "Staging does not pay here: the best ring against the best synchronous kernel, {against}; enough blocks at once hide the latency without a ring."
            )
        });
    }
    if let Some(error) = advice.model_error {
        said.push(format!(
            "The model alone is off by {:.1} % (median of {}), at most {:.1} %; its own choice loses {:.1} % against the fastest.",
            100.0 * error.median,
            counted(error.configurations as u64, "configuration"),
            100.0 * error.most,
            100.0 * error.choice_loss
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::raw::Spec;
    use crate::device::hardware::Hardware;

    #[test]
    fn the_models_answer_says_that_it_is_one() {
        let spec = |stages: u32| Spec {
            workload: "scale".to_owned(),
            kernel: if stages == 0 { "sync" } else { "ring" }.to_owned(),
            schedule: "two".to_owned(),
            stages,
            pieces: 1,
            block: 128,
            grid: "1".to_owned(),
            resident: 1,
            blocks: 132,
            shared_bytes: stages.max(1) * 2048,
            in_flight_per_sm: u64::from(stages.max(1)) * 2048,
            bytes: 8,
            read_bytes: 4,
            ..Spec::default()
        };
        let hardware = Hardware::of_product("h200").unwrap();
        let advice = super::super::from_model(vec![spec(0), spec(4)], &hardware).unwrap();
        let said = sentences(&advice);
        assert_eq!(
            said,
            [
                "scale on NVIDIA H200 (from the model alone, nothing was run): use ring, 4 stages, two barriers a step, 1 piece, blocks of 128, 1 for each multiprocessor.",
                "It reaches 2650 GB/s, 0.552 of the data sheet.",
                "Because each multiprocessor has up to 8.0 KiB on the way and needs 10.1 KiB for the ceiling (rate × 640 ns of latency): too few, so latency limits the rate.",
                "Occupancy is 6 %: 1 block of 128 threads; a block takes 8.0 KiB of shared memory.",
                "At this rate a copy is issued 816 ns before its bytes are used up, 1.3 times the latency.",
                "From the synchronous kernel to 4 stages: +219.8 % (829 to 2650 GB/s), shared memory of a block 2.0 KiB to 8.0 KiB, blocks at once 1 to 1.",
                "Staging pays: the best ring against the best synchronous kernel, 2650 against 829 GB/s, 3.198 ± 0.000.",
            ]
        );
    }
}
