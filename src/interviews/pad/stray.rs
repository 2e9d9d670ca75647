//! What is left of a scratch pad whose heading was lost, and questions that stand outside of one: nothing of it is passed
//! over in silence, and no second pad is begun beside it.

use std::ops::Range;

use crate::interviews::pad::document::Document;
use crate::interviews::pad::edit::EditError;
use crate::interviews::pad::escape;
use crate::interviews::pad::outline::{Heading, Outline, lines};
use crate::interviews::pad::scratch::{HEADING, NOTICE, Pad, title};
use crate::interviews::pad::script::Script;

/// Whether these words are the pad's heading, whatever its case, its blanks and its marks.
fn reads_as_heading(words: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (words, heading): (String, String) = (letters(words), letters(HEADING));
    words == heading
}

/// Where questions of a pad begin that are in none of `pads`. Documents have questions of their own, so only those count
/// that say what was asked, about a topic of a script, and those that stand right above such a one.
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

/// The topic of a question that says below its heading what was asked.
fn topic_asked(text: &str, heading: &Heading) -> Option<String> {
    let body = heading.range.end..text.len();
    let first = lines(text, &body).find(|line| !text[line.clone()].trim().is_empty())?;
    let (label, _) = escape::label(text[first].trim_start_matches(' '))?;
    let is_one = heading.hashes && heading.level == 3 && label == escape::LABELS[0];
    let (_, topic) = title(&text[heading.range.clone()]).ok().filter(|_| is_one)?;
    Some(topic)
}

impl Document<'_> {
    /// The line, from 1, in which a scratch pad begins whose heading was lost; none when there is a pad, or nothing of one.
    #[must_use]
    pub fn lost(&self) -> Option<usize> {
        self.remains().map(|at| self.outline.line_of(at))
    }

    /// Where what is left of a pad begins.
    fn remains(&self) -> Option<usize> {
        if !self.pads.is_empty() {
            return None;
        }
        let is_notice = |comment: &&Range<usize>| Outline::comment(self.text, comment).eq_ignore_ascii_case(NOTICE);
        let notice = self.outline.comments.iter().find(is_notice).map(|comment| comment.start);
        let question = questions(self.text, &self.outline, &[], self.known).first().copied();
        let first = [notice, question].into_iter().flatten().min()?;
        // The comments at its beginning belong to it.
        let is_head = |line: &Range<usize>| {
            let is_blank = self.text[line.clone()].trim().is_empty();
            is_blank || (self.outline.comments.contains(line) && says_how_it_began(Outline::comment(self.text, line)))
        };
        let before: Vec<_> = lines(self.text, &(0..first)).collect();
        let head = before.iter().rev().take_while(|line| is_head(line));
        let head = head.filter(|line| !self.text[(*line).clone()].trim().is_empty()).last();
        Some(head.map_or(first, |line| line.start))
    }

    /// The text with the heading of the pad that lost it.
    ///
    /// # Errors
    /// [`EditError`]; [`EditError::NoPad`] when none was lost.
    pub fn with_heading(&self) -> Result<String, EditError> {
        self.settled()?;
        let at = self.remains().ok_or(EditError::NoPad)?;
        let newline = self.newline();
        let before = self.text[..at].trim_end();
        let last = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let is_last = |heading: &&Heading| (heading.range.start..heading.range.end).contains(&last);
        // What stands where it stood may have lost only its marks.
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

/// Whether a comment stands at the beginning of a pad.
fn says_how_it_began(comment: &str) -> bool {
    let key = comment.split_once(':').map(|(key, _)| key.trim());
    comment.eq_ignore_ascii_case(NOTICE) || key.is_some_and(|key| ["Mode", "Started", "Script", "Run"].contains(&key))
}
