//! What a model answered, without the fence of code that models like to put around it.

/// The text in the only block of code of `reply`, whatever words stand around the block; otherwise all of it.
#[must_use]
pub fn without_fence(reply: &str) -> &str {
    // Some programs put a byte order mark before what they say.
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
    // The last fence may stand behind the text.
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

/// Three marks or more at the beginning of a line.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    len: usize,
}

impl Fence {
    /// The fence of `line`, and what stands behind it.
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

    /// The text between this fence and another one at the end of the same line. The word before an object is the name of
    /// its language.
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
