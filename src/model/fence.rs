//! Removes the code fence that models like to put around their answers.

/// The text in the only code block of `reply`, whatever is before and after it. If there is not exactly one block, the
/// whole reply.
#[must_use]
pub fn without_fence(reply: &str) -> &str {
    // Some programs begin their output with a byte order mark.
    let reply = reply.trim().trim_start_matches('\u{feff}').trim();
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, usize)> = None;
    let mut at = 0;
    for line in reply.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some((fence, rest)) = Fence::read(line) else { continue };
        match open {
            Some((opened, from)) if fence.closes(opened) && rest.is_empty() => {
                blocks.push(&reply[from..start]);
                open = None;
            }
            Some(_) => {}
            None => match fence.closed_in(rest) {
                Some(text) => blocks.push(text),
                None => open = Some((fence, end)),
            },
        }
    }
    // The closing fence may be at the end of a line of text.
    if let Some((opened, from)) = open {
        match reply[from..].trim_end_matches(opened.mark) {
            text if reply.len() - from - text.len() >= opened.len => blocks.push(text),
            _ => return reply,
        }
    }
    match blocks.as_slice() {
        [only] => only.trim(),
        _ => reply,
    }
}

/// Three or more marks at the beginning of a line.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    len: usize,
}

impl Fence {
    /// The fence at the beginning of `line`, and the text after it.
    fn read(line: &str) -> Option<(Self, &str)> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let len = line.len() - rest.len();
        (len >= 3).then_some((Self { mark, len }, rest))
    }

    fn closes(self, opened: Self) -> bool {
        self.mark == opened.mark && self.len >= opened.len
    }

    /// The text between this fence and another one at the end of the same line. A word before an object is the name of
    /// the language and is dropped.
    fn closed_in(self, rest: &str) -> Option<&str> {
        let text = rest.trim_end_matches(self.mark);
        let is_closed = rest.len() - text.len() >= self.len && !text.is_empty();
        let bare = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start();
        is_closed.then_some(if bare.starts_with(['{', '[']) { bare } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fence_is_taken_off_and_nothing_else() {
        for (reply, bare) in [
            ("{}", "{}"),
            (" {} \n", "{}"),
            ("\u{feff}{}", "{}"),
            ("\u{feff}```\n{}\n```", "{}"),
            ("```json\n{}\n```", "{}"),
            ("```\r\n{}\r\n```\r\n", "{}"),
            (" ```\n{}``` ", "{}"),
            ("~~~json\n{}\n~~~", "{}"),
            ("````json\n{}\n````", "{}"),
            ("````\n```\n{}\n```\n````", "```\n{}\n```"),
            ("~~~\n```\n~~~", "```"),
            ("```json {} ```", "{}"),
            ("```{\"a\": \"```\"}```", "{\"a\": \"```\"}"),
            ("Sure:\n~~~~json{}~~~~\nDone.", "{}"),
            ("``` plan ```", "plan"),
            ("Here it is:\n\n```json\n{\"a\": 1,\n \"b\": 2}\n```\nDone.", "{\"a\": 1,\n \"b\": 2}"),
            ("```json\n{\"a\": \"```sh\\n```\"}\n```", "{\"a\": \"```sh\\n```\"}"),
            ("```\n{}\n```\n```\n{}\n```", "```\n{}\n```\n```\n{}\n```"),
            ("```\n{}\n```\n```\n{}", "```\n{}\n```\n```\n{}"),
            ("```\n{}", "```\n{}"),
            ("```", "```"),
        ] {
            assert_eq!(without_fence(reply), bare, "{reply:?}");
        }
    }
}
