//! The checker as the executor sees it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::exec::Watch;
use crate::finding::Finding;
use crate::launch::Launch;
use crate::program::Program;

use super::{BlockMonitor, BlockReport, Checker, Listed, Listing, Policy};

/// Watches a whole launch.
#[derive(Debug)]
pub struct Watcher {
    checker: Arc<Checker>,
    reports: Mutex<Vec<BlockReport>>,
}

impl Watcher {
    /// A watcher for one launch of a program.
    #[must_use]
    pub fn new(program: &Program, launch: &Launch, policy: Policy) -> Self {
        let checker = Checker::new(
            list(program, launch),
            launch.grid,
            launch.block,
            launch.cluster,
            policy,
        );
        Self {
            checker: Arc::new(checker),
            reports: Mutex::default(),
        }
    }
}

impl Watch for Watcher {
    type Monitor = BlockMonitor;

    fn begin(&self, first_block: u64) -> BlockMonitor {
        let blocks = u64::from(self.checker.shape.blocks());
        self.checker.group((first_block / blocks) as u32)
    }

    fn end(&self, monitor: BlockMonitor) {
        let report = monitor.finish();
        self.reports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(report);
    }

    fn findings(self) -> Vec<Finding> {
        let reports = self
            .reports
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        self.checker.findings(reports)
    }
}

/// What reports need to know about a program.
fn list(program: &Program, launch: &Launch) -> Listing {
    let mnemonic = |text: u32| {
        program
            .texts
            .get(text as usize)
            .cloned()
            .unwrap_or_default()
    };
    let instructions = program
        .places
        .iter()
        .map(|place| Listed {
            line: place.line,
            mnemonic: mnemonic(place.text),
            source: program.source(*place),
        })
        .collect();
    let shared = program
        .shared
        .variables
        .iter()
        .map(|variable| {
            let bytes = if variable.dynamic {
                launch.dynamic_shared
            } else {
                variable.bytes
            };
            let from = u64::from(variable.offset);
            (variable.name.clone(), from..from + u64::from(bytes))
        })
        .collect();
    Listing {
        instructions,
        shared,
        bulk_copies: program.texts.iter().any(|text| {
            text.starts_with("cp.async.bulk")
                || text.starts_with("cp.reduce.async.bulk")
                || text.starts_with("wgmma")
        }),
    }
}
