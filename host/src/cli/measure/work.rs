//! The child's part: it measures on a CUDA device and writes what happens as events.

use std::io::BufRead;
use std::sync::Arc;

use super::super::out;
use super::{Failure, How, WORKER, cuda_index};
use crate::bench::item::Job;
use crate::bench::plan::JobPlan;
use crate::bench::session::{self, Event};
use crate::bench::supervise::Orders;
use crate::bench::work::Rig;
use crate::device::Device;
use crate::device::cuda::Cuda;
use crate::workload;

/// Measures in this process and writes events to standard output.
pub(in crate::cli) fn work(plans: &[JobPlan], how: How) -> Result<(), Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let orders: Orders = serde_json::from_str(&line).map_err(|error| {
        Failure::Usage(format!("{WORKER}: no orders on standard input: {error}"))
    })?;
    let How {
        device,
        ptx,
        peers,
        mut settings,
        distinct,
        seed,
        reuse,
    } = how;
    settings.leave_out = orders.leave_out;
    settings.alone = orders.alone;
    let mut cuda = Cuda::open(cuda_index(device)?, Arc::new(ptx))?;
    out::json(&Event::Device {
        title: format!("{}: {}", cuda.describe(), cuda.describe().facts),
        hardware: cuda.hardware().clone(),
    })?;
    let mut first = 0;
    for plan in plans {
        let left = (0..plan.items.len()).any(|i| !settings.leave_out.contains(&(first + i)));
        if let (true, Some(model)) = (left, plan.model()) {
            out::json(&Event::Doing {
                what: format!("{}: {} elements", plan.name, plan.elements),
                items: vec![],
            })?;
            let problem = workload::generate(plan.workload, plan.elements, seed, reuse)?;
            let job = Job {
                workload: plan.name,
                problem: problem.as_ref(),
                peers: peers.as_ref(),
                model,
                distinct,
            };
            session::measure(
                &mut cuda,
                &job,
                &plan.items,
                first,
                plan.reference,
                &settings,
                &mut |event| out::json(&event),
            )?;
        }
        first += plan.items.len();
    }
    Ok(())
}
