//! Golden PTX: what the compiler makes of one kernel, so that a change in it is seen in review.
//!
//! Another compiler release may write other PTX that is just as good, so the files are kept by release.

use anyhow::{Context, Result, bail};
use nstage_builder::{Built, BuiltPtx, Target};
use std::path::PathBuf;

use crate::workspace;

/// The entry that is kept, for `sm_80`: the project's main kernel at the depth that is asked for most.
const ENTRY: &str = "kernel_async_pipeline_s3_two_p1";

/// Where the golden files of one compiler release are.
fn folder(release: &str) -> PathBuf {
    workspace::root()
        .join("tests/golden")
        .join(format!("rustc-{release}"))
}

/// Whether there are golden files for this compiler.
pub(crate) fn exist_for(release: &str) -> bool {
    folder(release).is_dir()
}

/// Compares what was built with the golden files, or makes it the new ones.
pub(crate) fn check(built: &Built, bless: bool) -> Result<()> {
    let release = &built.compiler().release;
    let folder = folder(release);
    if !bless && !folder.is_dir() {
        eprintln!("no golden PTX for rustc {release}");
        return Ok(());
    }
    let Some(ptx) = built.ptx().iter().find(|ptx| ptx.target() == Target::SM_80) else {
        bail!("nothing was built for {}", Target::SM_80);
    };
    let path = folder.join(format!("{ENTRY}.{}.ptx", ptx.target()));
    let text = entry_text(ptx, ENTRY)?;
    if bless {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", workspace::shown(&path));
    } else if let Some(difference) =
        first_difference(&std::fs::read_to_string(&path).unwrap_or_default(), &text)
    {
        let path = workspace::shown(&path);
        bail!(
            "{path}: {difference}; if that is meant, run `cargo xtask ptx --bless` and review the change"
        );
    }
    Ok(())
}

/// The text of one entry, from its first line to its closing brace.
fn entry_text(ptx: &BuiltPtx, entry: &str) -> Result<String> {
    let text = ptx.text()?;
    let head = format!(".visible .entry {entry}(");
    let from = text
        .find(&head)
        .with_context(|| format!("{} has no entry `{entry}`", workspace::shown(ptx.path())))?;
    let body = &text[from..];
    let to = body
        .find("\n}")
        .with_context(|| format!("entry `{entry}` has no end"))?;
    Ok(without_entry_number(&format!("{}\n}}\n", &body[..to])))
}

/// Labels without the number of their entry, which changes with every kernel that is added before: `$L__BB17_4` is `$L__BB_4`.
fn without_entry_number(text: &str) -> String {
    let mut parts = text.split("$L__BB");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "$L__BB" + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

/// Where two texts first differ, `None` if they do not.
fn first_difference(golden: &str, built: &str) -> Option<String> {
    if golden == built {
        return None;
    }
    let mut lines = golden.lines().zip(built.lines()).enumerate();
    Some(match lines.find(|(_, (golden, built))| golden != built) {
        Some((index, (golden, built))) => format!(
            "line {}: got `{}`, expected `{}`",
            index + 1,
            built.trim(),
            golden.trim()
        ),
        None => format!(
            "got {} lines, expected {}",
            built.lines().count(),
            golden.lines().count()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::{first_difference, without_entry_number};

    #[test]
    fn labels_lose_the_number_of_their_entry() {
        let text = "$L__BB17_4:\n\t@%p1 bra \t$L__BB17_12;\n";
        assert_eq!(
            without_entry_number(text),
            "$L__BB_4:\n\t@%p1 bra \t$L__BB_12;\n"
        );
    }

    #[test]
    fn a_difference_is_named_by_its_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            first_difference("a\n\tb\n", "a\n\tc\n").as_deref(),
            Some("line 2: got `c`, expected `b`")
        );
        assert_eq!(
            first_difference("a\nb\n", "a\n").as_deref(),
            Some("got 1 lines, expected 2")
        );
    }
}
