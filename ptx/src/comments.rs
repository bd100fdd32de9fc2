//! Comments that carry a key: `// nstage-entry: scale_s2 maxntid=256`.
//!
//! Comments are not part of the tree. Tools that speak to each other through them read the text once more, which is quick.

use crate::ast::Pos;

/// A comment that carries a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// Where its `//` stands.
    pub pos: Pos,
    /// What stands behind the key's colon, trimmed.
    pub text: &'a str,
}

/// The comments `// KEY: …` of a text, in order. Only a comment that begins its line counts, so that no string and no block comment can hide one.
pub fn directives<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = Comment<'a>> {
    let mut in_block = false;
    text.lines().zip(1_u32..).filter_map(move |(line, number)| {
        let inside = in_block;
        in_block = block_comment_stays_open(line, in_block);
        let comment = line.trim_start();
        let value = comment
            .strip_prefix("//")?
            .trim_start()
            .strip_prefix(key)?
            .trim_start()
            .strip_prefix(':')?;
        if inside {
            return None;
        }
        let indent = line[..line.len() - comment.len()].chars().count();
        let column = u32::try_from(indent).unwrap_or(u32::MAX).saturating_add(1);
        Some(Comment {
            pos: Pos {
                line: number,
                column,
            },
            text: value.trim(),
        })
    })
}

/// Whether a `/*` is open at the end of the line.
fn block_comment_stays_open(line: &str, mut open: bool) -> bool {
    let mut rest = line;
    loop {
        if open {
            let Some(at) = rest.find("*/") else {
                return true;
            };
            rest = &rest[at + 2..];
            open = false;
            continue;
        }
        let Some(at) = rest.find(['/', '"']) else {
            return false;
        };
        rest = &rest[at..];
        if rest.starts_with("//") {
            return false;
        } else if let Some(after) = rest.strip_prefix("/*") {
            rest = after;
            open = true;
        } else if let Some(after) = rest.strip_prefix('"') {
            // A string ends on its line; what it holds is no comment.
            let Some(end) = after.find('"') else {
                return false;
            };
            rest = &after[end + 1..];
        } else {
            rest = &rest[1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_of_the_key_that_begin_a_line_count() {
        let text = "// nstage: --grid 1\n.version 8.0\n  //nstage : --block 32 \n// nstage-expect: clean\n/*\n// nstage: hidden\n*/\n\
                    add; // nstage: trailing\n.file 1 \"/*\"\n// nstage:\n";
        let found: Vec<_> = directives(text, "nstage")
            .map(|comment| (comment.pos.line, comment.pos.column, comment.text))
            .collect();
        assert_eq!(
            found,
            [(1, 1, "--grid 1"), (3, 3, "--block 32"), (10, 1, "")]
        );
        let expected: Vec<_> = directives(text, "nstage-expect")
            .map(|comment| comment.text)
            .collect();
        assert_eq!(expected, ["clean"]);
    }
}
