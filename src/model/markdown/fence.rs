//! Removes what models like to put around their answers: a code fence, and words.

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// The text in the only code block of `reply`, whatever is before and after it. Without a code block, the only JSON
/// object among its words. If there is not exactly one, the whole reply.
#[must_use]
pub fn bare_reply(reply: &str) -> &str {
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
        [] => only_object(reply),
        _ => reply,
    }
}

/// The only JSON object in a text that is not JSON as a whole; the text if there is another number of them.
fn only_object(text: &str) -> &str {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return text;
    }
    let mut only = None;
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        let start = at + found;
        let mut values = Deserializer::from_str(&text[start..]).into_iter::<IgnoredAny>();
        if !matches!(values.next(), Some(Ok(_))) {
            // A brace of the prose.
            at = start + 1;
            continue;
        }
        at = start + values.byte_offset();
        if only.replace(&text[start..at]).is_some() {
            return text;
        }
    }
    only.unwrap_or(text)
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
        // Fewer marks are code within a line.
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
    fn one_fence_or_the_words_around_one_object_are_taken_off_and_nothing_else() {
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
            ("Sure! {\"a\": {\"b\": \"}\"}}", "{\"a\": {\"b\": \"}\"}}"),
            ("Sure:\n\n{\n \"a\": 1\n}\n\nDone.", "{\n \"a\": 1\n}"),
            ("{\"a\": 1} It is done.", "{\"a\": 1}"),
            ("I put {x} for {\"a\": 1}", "{\"a\": 1}"),
            ("Either {\"a\": 1} or {\"a\": 2}", "Either {\"a\": 1} or {\"a\": 2}"),
            ("[{\"a\": 1}]", "[{\"a\": 1}]"),
            ("Sure! {\"a\": 1", "Sure! {\"a\": 1"),
            ("Sure! {a: 1}", "Sure! {a: 1}"),
            ("\"{}\"", "\"{}\""),
            ("no object", "no object"),
        ] {
            assert_eq!(bare_reply(reply), bare, "{reply:?}");
        }
    }
}
