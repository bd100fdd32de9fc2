//! What is wrong with a PTX text, told so that it can be mended: the place, what was found, what was expected, and the line with a caret under it.

use std::fmt;

use thiserror::Error;

use crate::ast::Pos;
use crate::lexer::Token;

/// More errors than this are not collected: after so many, the text is something other than PTX.
pub const MAX_ERRORS: usize = 100;

/// Characters of a source line that an error quotes at most.
const EXCERPT: usize = 120;

/// One error, with everything its message needs.
///
/// `Display` starts with `line:column:`, so that a path and a colon in front make it a clickable place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}:{}: got {found}, expected {expected}{excerpt}", pos.line, pos.column)]
pub struct ParseError {
    /// Where.
    pub pos: Pos,
    /// What stands there, quoted where it is text of the file.
    pub found: String,
    /// What would have been right.
    pub expected: String,
    /// The source line and the caret under the place.
    pub excerpt: Excerpt,
}

/// A source line, shortened around the place, with a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Line number, from one.
    pub line: u32,
    /// The line's text; tabs and control characters are blanks, so that the caret stands right.
    pub text: String,
    /// Characters before the caret.
    pub caret: usize,
    /// How many carets.
    pub width: usize,
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        write!(
            f,
            "\n {number} | {}\n {margin} | {}{}",
            self.text,
            " ".repeat(self.caret),
            "^".repeat(self.width)
        )
    }
}

/// All errors of a text, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", Joined(self))]
pub struct ParseErrors {
    /// The errors, at most [`MAX_ERRORS`].
    pub errors: Vec<ParseError>,
    /// Whether reading stopped because there were so many.
    pub truncated: bool,
}

struct Joined<'a>(&'a ParseErrors);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        if self.0.truncated {
            write!(f, "\nstopped after {MAX_ERRORS} errors")?;
        }
        Ok(())
    }
}

/// Quotes the line that holds `token`, with carets under the token.
pub(crate) fn excerpt(source: &str, token: &Token) -> Excerpt {
    let start = (token.start as usize).min(source.len());
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[start..]
        .find('\n')
        .map_or(source.len(), |at| start + at);
    // Long lines are cut a third before the place, at character boundaries.
    let before: Vec<char> = source[line_start..start]
        .chars()
        .rev()
        .take(EXCERPT / 3)
        .collect();
    let rest = source[start..line_end].chars().take(EXCERPT - before.len());
    let caret = before.len();
    let text: String = before
        .into_iter()
        .rev()
        .chain(rest)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let in_line = (token.end as usize).clamp(start, line_end);
    let width = source[start..in_line]
        .chars()
        .take(EXCERPT - caret)
        .count()
        .max(1);
    Excerpt {
        line: token.pos.line,
        text: text.trim_end().to_owned(),
        caret,
        width,
    }
}
