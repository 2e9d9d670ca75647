//! Finds questions outside of a scratch pad. They are reported, so that they are not ignored and no second pad is
//! created.

use crate::interviews::pad::entry::title;
use crate::interviews::pad::escape;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::scratch::Pad;
use crate::interviews::pad::script::Script;

/// The places of questions that are in none of `pads`. A document can have questions of its own, so only entries count
/// that have an **Asked** part and a topic of a script, and the entries directly above them.
pub(super) fn questions(text: &str, outline: &Outline, pads: &[Pad], known: &[Script]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut above = Vec::new();
    for heading in &outline.headings {
        let at = heading.range.start;
        if heading.level > 3 || pads.iter().any(|pad| pad.range.contains(&at)) {
            continue;
        }
        let Some(topic) = topic_asked(text, heading) else {
            above.clear();
            continue;
        };
        above.push(at);
        // An agent asks about topics of its own; what the script asks below it shows that both belong to a pad.
        if known.iter().any(|script| script.section_of(&topic).is_some()) {
            found.append(&mut above);
        }
    }
    found
}

/// The topic of a question that has an **Asked** part below its heading.
fn topic_asked(text: &str, heading: &Heading) -> Option<String> {
    if !heading.hashes || heading.level != 3 {
        return None;
    }
    let body = heading.range.end..text.len();
    let first = lines(text, &body).find(|line| !text[line.clone()].trim().is_empty())?;
    let (label, _) = escape::label(text[first].trim_start_matches(' '))?;
    if label != escape::LABELS[0] {
        return None;
    }
    let (_, topic) = title(&text[heading.range.clone()]).ok()?;
    Some(topic)
}
