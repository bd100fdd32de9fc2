//! The mutants that break no rule, each with the reason why.

/// A pattern of mutants' names, and why those that it matches are as good as the original.
#[derive(Debug)]
pub(crate) struct Equivalent {
    pattern: String,
    pub(crate) reason: String,
}

impl Equivalent {
    /// Whether it is about this mutant. `*` stands for anything.
    pub(crate) fn is_about(&self, name: &str) -> bool {
        matches(&self.pattern, name)
    }

    /// Whether no launch can get to what it is about; the reason then begins so.
    pub(crate) fn is_dead_code(&self) -> bool {
        self.reason.trim_start().starts_with("Never executed")
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }
}

/// Reads the list: patterns, a line each, below them the reason, indented; `#` begins a comment.
pub(crate) fn read(text: &str) -> Vec<Equivalent> {
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut list: Vec<Equivalent> = Vec::new();
    // Where the patterns begin that the next line of a reason is for.
    let mut from = 0;
    let mut in_reason = false;
    for line in lines {
        if line.starts_with(' ') {
            for entry in &mut list[from..] {
                entry.reason = format!("{} {}", entry.reason, line.trim());
            }
        } else {
            if in_reason {
                from = list.len();
            }
            list.push(Equivalent {
                pattern: line.trim().to_owned(),
                reason: String::new(),
            });
        }
        in_reason = line.starts_with(' ');
    }
    list
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|end| name.is_char_boundary(end) && matches(rest, &name[end..]))
        }),
    }
}

#[test]
fn patterns_match_whole_names() {
    for (pattern, name, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("*b", "aab", true),
        ("s*: remove * #1", "s3: remove bar.sync 0 #1", true),
        ("s*: remove * #1", "s3: remove bar.sync 0 #11", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}
