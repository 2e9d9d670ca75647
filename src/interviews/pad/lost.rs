//! A scratch pad that lost its heading: whether a document has one, and how its heading is restored.

use crate::interviews::pad::document::InterviewDocument;
use crate::interviews::pad::edit::EditError;
use crate::interviews::pad::outline::{Outline, lines};
use crate::interviews::pad::question::folded;
use crate::interviews::pad::scratch::{HEADING, NOTICE};
use crate::interviews::pad::stray::questions;

impl InterviewDocument<'_> {
    /// Whether the text certainly has no pad: nothing unclosed can hide one, and no line looks like its heading.
    #[must_use]
    pub fn is_without_pad(&self) -> bool {
        let is_read = self.pads.is_empty() && self.outline.unclosed.is_none();
        let heading = folded(HEADING);
        // Also a heading in a fence counts: the fence may be there by mistake.
        is_read
            && self.lost().is_none()
            && !self.text.lines().any(|line| folded(line.trim_start_matches([' ', '#'])) == heading)
    }

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
        let mut comments = self.outline.comments.iter();
        let notice = comments.find(|comment| Outline::comment(self.text, comment).eq_ignore_ascii_case(NOTICE));
        let question = questions(self.text, &self.outline, &[], self.known).first().copied();
        let mut first = [notice.map(|comment| comment.start), question].into_iter().flatten().min()?;
        let before: Vec<_> = lines(self.text, &(0..first)).collect();
        // The comments at its beginning belong to the pad.
        for line in before.into_iter().rev() {
            if self.text[line.clone()].trim().is_empty() {
                continue;
            }
            if !self.outline.comments.contains(&line) || !is_of_head(Outline::comment(self.text, &line)) {
                break;
            }
            first = line.start;
        }
        Some(first)
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
        // The line may still have the text of the heading, without its marks.
        let spoiled = match self.outline.headings.iter().find(|heading| heading.range.contains(&last)) {
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
        let read = InterviewDocument::among(self.known, &made);
        if let Ok(pad) = read.only_pad()
            && (pad.head.mode.is_some() || !pad.is_empty())
        {
            return Ok(made);
        }
        let why = "what stands above it is never closed, or hides it".to_owned();
        Err(EditError::Unsound { line: Some(self.outline.line_of(at)), why })
    }
}

/// Whether this text is the pad's heading, apart from case, blanks and marks.
fn reads_as_heading(words: &str) -> bool {
    letters(words) == letters(HEADING)
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a comment belongs to the beginning of a pad.
fn is_of_head(comment: &str) -> bool {
    let Some((key, _)) = comment.split_once(':') else { return comment.eq_ignore_ascii_case(NOTICE) };
    matches!(key.trim(), "Mode" | "Started" | "Script" | "Run")
}
