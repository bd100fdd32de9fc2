//! Findings of one checker, repeats of one fault folded into one.

use std::collections::HashMap;

use crate::event::Pc;
use crate::finding::Class;

use super::hazard::Hazard;

/// Hazards in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    index: HashMap<(Class, Option<Pc>, Pc), usize>,
    list: Vec<(Hazard, u64)>,
}

impl Ledger {
    /// Counts the hazard, and keeps it if it is the first of its class between these two instructions.
    pub(crate) fn add(&mut self, hazard: Hazard) {
        let key = hazard.key();
        if let Some(&at) = self.index.get(&key) {
            self.list[at].1 += 1;
        } else {
            self.index.insert(key, self.list.len());
            self.list.push((hazard, 1));
        }
    }

    /// Adds the hazard, if there is one.
    pub(crate) fn extend(&mut self, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard {
            self.add(hazard);
        }
    }

    /// Every hazard with how often it was seen.
    pub(crate) fn into_list(self) -> Vec<(Hazard, u64)> {
        self.list
    }
}
