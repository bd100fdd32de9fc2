//! Tests of the rules by scripts: each line of a script is one instruction of some threads, and its number is its PTX line.

mod laws;
mod rings;
mod script;

use crate::finding::Severity;

use script::{Script, run};

/// Case files: see `script` for the language.
const FILES: [(&str, &str); 6] = [
    ("copies", include_str!("copies.txt")),
    ("races", include_str!("races.txt")),
    ("mbarriers", include_str!("mbarriers.txt")),
    ("proxies", include_str!("proxies.txt")),
    ("fences", include_str!("fences.txt")),
    ("blocks", include_str!("blocks.txt")),
];

/// Every script has exactly the findings that its head names.
#[test]
fn scripts_have_the_findings_they_name() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (file, text) in FILES {
        for script in Script::parse_all(text) {
            count += 1;
            let findings = run(&script);
            let mut found: Vec<_> = findings
                .iter()
                .map(|finding| match finding.severity {
                    Severity::Error => finding.class.name().to_owned(),
                    Severity::Advisory => format!("~{}", finding.class.name()),
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            if found != script.expected {
                let messages: Vec<_> = findings
                    .iter()
                    .map(|f| {
                        format!(
                            "    {}: {} {:?} {:?}",
                            f.class, f.message, f.parties, f.notes
                        )
                    })
                    .collect();
                failures.push(format!(
                    "{file}: {}\n  expected {:?}, found {found:?}\n{}",
                    script.claim,
                    script.expected,
                    messages.join("\n")
                ));
            }
        }
    }
    assert!(count > 20, "only {count} scripts were read");
    assert!(
        failures.is_empty(),
        "{} of {count} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}
