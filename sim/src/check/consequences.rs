//! Findings that are only what another finding looks like from elsewhere.

use crate::finding::{Class, Finding, Severity};

/// Drops reads of bytes that nobody wrote where the same instruction is found to read before, or in no order with, the copy or store that writes them.
///
/// Whether such bytes are written when they are read depends on when copies land and which thread runs first; the order does not.
pub(crate) fn drop_consequences(findings: &mut Vec<Finding>) {
    let guilty: Vec<u32> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error && is_about_order(finding.class))
        .flat_map(|finding| finding.parties.iter().map(|party| party.line))
        .collect();
    findings.retain(|finding| {
        finding.class != Class::UninitializedRead
            || !finding
                .parties
                .iter()
                .all(|party| guilty.contains(&party.line))
    });
}

fn is_about_order(class: Class) -> bool {
    matches!(
        class,
        Class::ReadBeforeWait
            | Class::UnpublishedCopy
            | Class::WaitCount
            | Class::UncommittedCopy
            | Class::OverwriteInUse
            | Class::StoreReadEarly
            | Class::SharedRace
            | Class::WarpRace
            | Class::PartialRelease
            | Class::StalePhase
            | Class::GlobalRace
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Party;

    fn finding(class: Class, lines: &[u32]) -> Finding {
        Finding {
            class,
            severity: class.default_severity(),
            certain: true,
            count: 1,
            message: String::new(),
            space: "shared",
            bytes: 0..4,
            parties: lines
                .iter()
                .map(|&line| Party {
                    what: String::new(),
                    line,
                    source: None,
                    thread: [0; 3],
                    block: [0; 3],
                })
                .collect(),
            notes: Vec::new(),
            remedy: String::new(),
        }
    }

    #[test]
    fn an_uninitialised_read_goes_where_order_explains_it() {
        // The other finding, and whether a read of unwritten bytes at line 9 stays beside it.
        let cases = [
            (finding(Class::ReadBeforeWait, &[5, 9]), false),
            (finding(Class::SharedRace, &[9, 12]), false),
            (finding(Class::ReadBeforeWait, &[5, 8]), true),
            (finding(Class::OutstandingAtExit, &[5, 9]), true),
            (finding(Class::OutOfBounds, &[9]), true),
        ];
        for (other, stays) in cases {
            let mut findings = vec![finding(Class::UninitializedRead, &[9]), other];
            drop_consequences(&mut findings);
            assert_eq!(findings.len() == 2, stays, "{findings:?}");
        }
    }
}
