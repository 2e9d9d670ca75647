//! What a model answered, without the fence of code that models like to put around it.

/// The text in the only block of code of `reply`, whatever words stand around the block; otherwise all of it.
#[must_use]
pub fn without_fence(reply: &str) -> &str {
    let reply = reply.trim();
    let mut fences = Vec::new();
    let mut at = 0;
    for line in reply.split_inclusive('\n') {
        if line.trim_start().starts_with(FENCE) {
            fences.push(at..at + line.len());
        }
        at += line.len();
    }
    match fences.as_slice() {
        [first, last] if reply[last.clone()].trim() == FENCE => reply[first.end..last.start].trim(),
        // The last fence may stand behind the text.
        [first] => reply[first.end..].strip_suffix(FENCE).map_or(reply, str::trim),
        _ => reply,
    }
}

const FENCE: &str = "```";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fence_is_taken_off_and_nothing_else() {
        for (reply, bare) in [
            ("{}", "{}"),
            (" {} \n", "{}"),
            ("```json\n{}\n```", "{}"),
            ("```\r\n{}\r\n```\r\n", "{}"),
            (" ```\n{}``` ", "{}"),
            ("Here it is:\n\n```json\n{\"a\": 1,\n \"b\": 2}\n```\nDone.", "{\"a\": 1,\n \"b\": 2}"),
            ("```json\n{\"a\": \"```sh\\n```\"}\n```", "{\"a\": \"```sh\\n```\"}"),
            ("```\n{}\n```\n```\n{}\n```", "```\n{}\n```\n```\n{}\n```"),
            ("```\n{}", "```\n{}"),
            ("```", "```"),
        ] {
            assert_eq!(without_fence(reply), bare, "{reply:?}");
        }
    }
}
