//! The launch and the expectation that a PTX file carries in its comments.
//!
//! `// nstage: --grid 1 --block 128 --arg 'f32[128]=ramp'` holds flags, `// nstage-expect: hazard read-before-wait` what a test of the file expects.

/// Splits flags as a shell would, as far as quotes go: `'…'` as it stands, `"…"` with `\` before a quote or a backslash.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(format!("the quote {c} is not closed")),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(chars.next()),
                        Some(inner) => word.push(inner),
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The flags in the header comments of a PTX text, in order.
pub(super) fn flags(text: &str) -> Result<Vec<String>, String> {
    let mut flags = Vec::new();
    for comment in nstage_ptx::comments::directives(text, "nstage") {
        let words =
            split(comment.text).map_err(|error| format!("line {}: {error}", comment.pos.line))?;
        flags.extend(words);
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_split_at_blanks_outside_quotes() {
        for (text, expected) in [
            ("", &[][..]),
            (
                "  --grid 1\t--block 128 ",
                &["--grid", "1", "--block", "128"],
            ),
            ("--arg 'f32[4]=1, 2'", &["--arg", "f32[4]=1, 2"]),
            (r#"--arg "a \"b\" \\""#, &["--arg", r#"a "b" \"#]),
            ("--arg=''", &["--arg="]),
            ("''", &[""]),
            ("a'b c'd", &["ab cd"]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
        assert_eq!(split("--arg 'x").unwrap_err(), "the quote ' is not closed");
    }

    #[test]
    fn flags_come_from_the_comments_of_their_key() {
        let text =
            "// nstage: --grid 2\n.version 7.0\n// nstage-expect: clean\n  //nstage: --block 32\n";
        assert_eq!(flags(text).unwrap(), ["--grid", "2", "--block", "32"]);
        let message = flags(".version 7.0\n// nstage: --arg 'x\n").unwrap_err();
        assert_eq!(message, "line 2: the quote ' is not closed");
    }
}
