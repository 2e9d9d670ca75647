//! Quotations in a paragraph.

/// Finds where quotations end. Takes time proportional to the text for all of a paragraph's marks.
#[derive(Debug)]
pub(super) struct Quotations<'a> {
    text: &'a str,
    /// The end of the paragraph.
    end: usize,
    /// The end of the line that was looked at last.
    line_end: usize,
    /// Closing marks that are missing up to a position.
    missing: Vec<(char, usize)>,
}

impl<'a> Quotations<'a> {
    pub(super) fn new(text: &'a str, start: usize, end: usize) -> Self {
        Self { text, end, line_end: start, missing: Vec::new() }
    }

    /// The end of the quotation that `open` begins at `at`; none if it is not a quotation.
    pub(super) fn end(&mut self, at: usize, open: char) -> Option<usize> {
        let close = match open {
            '"' => return self.close(at, '"', true).or_else(|| self.long(at)),
            // An apostrophe inside a word is not a quotation mark.
            '\'' if self.text[..at].ends_with(char::is_alphanumeric) => return None,
            '\'' => return self.close(at, '\'', true),
            '‘' => return self.close(at, '’', true),
            '“' => '”',
            '„' => '“',
            '«' => '»',
            '»' => '«',
            '‹' => '›',
            '「' => '」',
            '『' => '』',
            '《' => '》',
            _ => return None,
        };
        // The typographic end of an opening mark below the line is written in two ways.
        let other = if open == '„' { self.close(at, '”', false) } else { None };
        match (self.close(at, close, false), other) {
            (Some(end), Some(other)) => Some(end.min(other)),
            (end, other) => end.or(other),
        }
    }

    fn close(&mut self, at: usize, close: char, on_line: bool) -> Option<usize> {
        if at >= self.line_end {
            self.line_end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
            self.missing.retain(|(_, to)| *to > at);
        }
        let limit = if on_line { self.line_end } else { self.end.max(at) };
        if self.missing.contains(&(close, limit)) {
            return None;
        }
        let body = at + self.text[at..].chars().next().map_or(1, char::len_utf8);
        let rest = self.text.get(body..limit).unwrap_or_default();
        for (offset, mark) in rest.match_indices(close) {
            let end = body + offset + mark.len();
            // Inside a word it is an apostrophe.
            if close != '\'' || !self.text[end..].starts_with(char::is_alphanumeric) {
                return Some(end);
            }
        }
        // Each mark is looked for once, or a text full of opening marks would take quadratic time.
        self.missing.push((close, limit));
        None
    }

    /// The end of a quotation of several lines between straight marks. Its marks stand at the outsides of words.
    fn long(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let opens = !text[..at].ends_with(|c: char| !c.is_whitespace() && c != '(')
            && !text[at + 1..].starts_with(char::is_whitespace);
        if !opens {
            return None;
        }
        let end = self.close(at, '"', false)?;
        let closes = !text[..end - 1].ends_with(char::is_whitespace) && !text[end..].starts_with(char::is_alphanumeric);
        if closes { Some(end) } else { None }
    }
}
