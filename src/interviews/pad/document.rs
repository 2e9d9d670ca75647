//! A document that is being written, with its scratch pad.

use crate::interviews::pad::outline::Outline;
use crate::interviews::pad::scratch::{HEADING, Pad};
use crate::interviews::pad::script::{Script, folded};

/// A text, read once.
#[derive(Debug)]
pub struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) outline: Outline,
    pub(super) pads: Vec<Pad>,
    /// By their topics, questions are known that stand in no pad.
    pub(super) known: &'t [Script],
}

impl<'t> Document<'t> {
    /// Reads `text`. Without any script, no question is known that stands in no pad.
    #[must_use]
    pub fn read(text: &'t str) -> Self {
        Self::among(&[], text)
    }

    /// Reads `text`, in which interviews by these scripts may have left something.
    #[must_use]
    pub fn among(known: &'t [Script], text: &'t str) -> Self {
        let outline = Outline::read(text);
        let pads = Pad::all(text, &outline, known);
        Self { text, outline, pads, known }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Its scratch pad; the first one, when there are several.
    #[must_use]
    pub fn pad(&self) -> Option<&Pad> {
        self.pads.first()
    }

    /// Whether it surely has no pad: none is hidden behind something that is never closed, and no line looks like one.
    #[must_use]
    pub fn is_without_pad(&self) -> bool {
        let is_read = self.pads.is_empty() && self.outline.unclosed.is_none();
        let looks_like_one = |line: &str| folded(line.trim_start_matches([' ', '#'])) == folded(HEADING);
        is_read && self.lost().is_none() && !self.text.lines().any(looks_like_one)
    }

    /// How its lines end.
    pub(super) fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}
