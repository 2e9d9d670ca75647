//! Texts of many lines for a page.

use crate::picture::words::clean;

/// A text of many lines, without control characters.
pub(super) fn clean_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| clean(&line.replace('\t', "    ")).into_owned()).collect();
    lines.join("\n")
}
