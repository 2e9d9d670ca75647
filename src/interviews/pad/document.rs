//! A document, parsed, with its scratch pad.

use crate::interviews::pad::outline::Outline;
use crate::interviews::pad::scratch::{HEADING, Pad};
use crate::interviews::pad::script::{Script, folded};

/// The text of a document, parsed once.
#[derive(Debug)]
pub struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) outline: Outline,
    pub(super) pads: Vec<Pad>,
    /// Scripts by whose topics questions outside of any pad are recognised.
    pub(super) known: &'t [Script],
}

impl<'t> Document<'t> {
    /// Parses `text`. Without scripts, questions outside of a pad are not recognised.
    #[must_use]
    pub fn read(text: &'t str) -> Self {
        Self::among(&[], text)
    }

    /// Parses `text`. Questions of these scripts are recognised outside of a pad too.
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

    /// The scratch pad; the first one if there are several.
    #[must_use]
    pub fn pad(&self) -> Option<&Pad> {
        self.pads.first()
    }

    /// Whether the text certainly has no pad: nothing unclosed can hide one, and no line looks like its heading.
    #[must_use]
    pub fn is_without_pad(&self) -> bool {
        let is_read = self.pads.is_empty() && self.outline.unclosed.is_none();
        let looks_like_one = |line: &str| folded(line.trim_start_matches([' ', '#'])) == folded(HEADING);
        is_read && self.lost().is_none() && !self.text.lines().any(looks_like_one)
    }

    /// The line break that it uses.
    pub(super) fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }
}
