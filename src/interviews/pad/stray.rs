//! Finds a scratch pad that lost its heading, and questions outside of a pad. They are reported, so that neither is
//! ignored and no second pad is created.

use std::ops::Range;

use crate::interviews::pad::document::Document;
use crate::interviews::pad::edit::EditError;
use crate::interviews::pad::escape;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::scratch::{HEADING, NOTICE, Pad, title};
use crate::interviews::pad::script::Script;

/// Whether this text is the pad's heading, apart from case, blanks and marks.
fn reads_as_heading(words: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (words, heading): (String, String) = (letters(words), letters(HEADING));
    words == heading
}

/// The places of questions that are in none of `pads`. A document can have questions of its own, so only entries count
/// that have an **Asked** part and a topic of a script, and the entries directly above them.
pub(super) fn questions(text: &str, outline: &Outline, pads: &[Pad], known: &[Script]) -> Vec<usize> {
    let is_outside = |at: usize| !pads.iter().any(|pad| pad.range.contains(&at));
    let is_known = |topic: &str| known.iter().any(|script| script.section_of(topic).is_some());
    let mut found = Vec::new();
    let mut above = Vec::new();
    for heading in outline.headings.iter().filter(|heading| heading.level <= 3 && is_outside(heading.range.start)) {
        match topic_asked(text, heading) {
            Some(topic) => {
                above.push(heading.range.start);
                if is_known(&topic) {
                    found.append(&mut above);
                }
            }
            None => above.clear(),
        }
    }
    found
}

/// The topic of a question that has an **Asked** part below its heading.
fn topic_asked(text: &str, heading: &Heading) -> Option<String> {
    let body = heading.range.end..text.len();
    let first = lines(text, &body).find(|line| !text[line.clone()].trim().is_empty())?;
    let (label, _) = escape::label(text[first].trim_start_matches(' '))?;
    let is_one = heading.hashes && heading.level == 3 && label == escape::LABELS[0];
    let (_, topic) = title(&text[heading.range.clone()]).ok().filter(|_| is_one)?;
    Some(topic)
}

impl Document<'_> {
    /// The line, from 1, in which a pad without its heading begins; none if there is a pad, or no such rest of one.
    #[must_use]
    pub fn lost(&self) -> Option<usize> {
        self.remains().map(|at| self.outline.line_of(at))
    }

    /// The beginning of a pad that lost its heading.
    fn remains(&self) -> Option<usize> {
        if !self.pads.is_empty() {
            return None;
        }
        let is_notice = |comment: &&Range<usize>| Outline::comment(self.text, comment).eq_ignore_ascii_case(NOTICE);
        let notice = self.outline.comments.iter().find(is_notice).map(|comment| comment.start);
        let question = questions(self.text, &self.outline, &[], self.known).first().copied();
        let first = [notice, question].into_iter().flatten().min()?;
        // The comments at its beginning belong to the pad.
        let is_head = |line: &Range<usize>| {
            let is_blank = self.text[line.clone()].trim().is_empty();
            is_blank || (self.outline.comments.contains(line) && says_how_it_began(Outline::comment(self.text, line)))
        };
        let before: Vec<_> = lines(self.text, &(0..first)).collect();
        let head = before.iter().rev().take_while(|line| is_head(line));
        let head = head.filter(|line| !self.text[(*line).clone()].trim().is_empty()).last();
        Some(head.map_or(first, |line| line.start))
    }

    /// Restores the heading of a pad that lost it; gives the new text.
    ///
    /// # Errors
    /// [`EditError`]; [`EditError::NoPad`] if no heading was lost.
    pub fn with_heading(&self) -> Result<String, EditError> {
        self.settled()?;
        let at = self.remains().ok_or(EditError::NoPad)?;
        let newline = self.newline();
        let before = self.text[..at].trim_end();
        let last = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let is_last = |heading: &&Heading| (heading.range.start..heading.range.end).contains(&last);
        // The line may still have the text of the heading, without its marks.
        let spoiled = match self.outline.headings.iter().find(is_last) {
            Some(heading) if reads_as_heading(&heading.title) => Some(heading.range.start),
            _ if reads_as_heading(&self.text[last..before.len()]) => Some(last),
            _ => None,
        };
        let kept = &self.text[..spoiled.unwrap_or(at)];
        let end = match kept {
            "" | "\u{feff}" => "",
            kept if kept.ends_with(&newline.repeat(2)) => "",
            kept if kept.ends_with('\n') => newline,
            _ => &newline.repeat(2),
        };
        let made = format!("{kept}{end}## {HEADING}{newline}{newline}{}", &self.text[at..]);
        let read = Document::among(self.known, &made);
        let is_found = read.only_pad().is_ok_and(|pad| pad.head.mode.is_some() || !pad.is_empty());
        match is_found {
            true => Ok(made),
            false => {
                let why = "what stands above it is never closed, or hides it".to_owned();
                Err(EditError::Unsound { line: self.outline.line_of(at), why })
            }
        }
    }
}

/// Whether a comment belongs to the beginning of a pad.
fn says_how_it_began(comment: &str) -> bool {
    let key = comment.split_once(':').map(|(key, _)| key.trim());
    comment.eq_ignore_ascii_case(NOTICE) || key.is_some_and(|key| ["Mode", "Started", "Script", "Run"].contains(&key))
}
