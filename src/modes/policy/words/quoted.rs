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
            '\'' if !self.text[..at].chars().next_back().is_some_and(char::is_alphanumeric) => {
                return self.close(at, '\'', true);
            }
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
        let other = (open == '„').then(|| self.close(at, '”', false)).flatten();
        self.close(at, close, false).into_iter().chain(other).min()
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
        // Inside a word it is an apostrophe.
        let ends =
            |end: &usize| close != '\'' || !self.text[end + 1..].chars().next().is_some_and(char::is_alphanumeric);
        let rest = self.text.get(body..limit).unwrap_or_default();
        let found = rest.match_indices(close).map(|(end, _)| body + end).find(ends);
        if found.is_none() {
            self.missing.push((close, limit));
        }
        found.map(|end| end + close.len_utf8())
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
        closes.then_some(end)
    }
}
