//! The front matter of a Markdown document.

/// The offset in `text` where the Markdown begins, after a byte order mark and after YAML front matter. Front matter is
/// only at the very beginning, between two lines of three hyphens.
#[must_use]
pub fn behind_front_matter(text: &str) -> usize {
    // Some editors begin a file with a byte order mark.
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next() else { return start };
    if first.trim_end() != "---" {
        return start;
    }
    let mut end = start + first.len();
    for (nth, line) in lines.enumerate() {
        // With a blank line below it, the first line is a thematic break.
        if nth == 0 && line.trim().is_empty() {
            return start;
        }
        end += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return end;
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_only_at_the_beginning() {
        for (text, body) in [
            ("", ""),
            ("# T\n", "# T\n"),
            ("\u{feff}# T\n", "# T\n"),
            ("---\na: b\n---\n# T\n", "# T\n"),
            ("\u{feff}---\r\na: b\r\n--- \r\n# T\r\n", "# T\r\n"),
            ("---\na: b\n...\n# T", "# T"),
            ("---\n---\n# T", "# T"),
            ("---\n\n# T\n\n---\n", "---\n\n# T\n\n---\n"),
            ("---\nnever closed\n", "---\nnever closed\n"),
            ("text\n---\na: b\n---\n", "text\n---\na: b\n---\n"),
            (" ---\na: b\n---\n", " ---\na: b\n---\n"),
        ] {
            assert_eq!(&text[behind_front_matter(text)..], body, "{text:?}");
        }
    }
}
