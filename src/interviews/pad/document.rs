//! A document, parsed, with its scratch pad.

use crate::codec::line_break;
use crate::interviews::pad::entry::PadEntry;
use crate::interviews::pad::outline::Outline;
use crate::interviews::pad::scratch::Pad;
use crate::interviews::pad::script::Script;
use crate::interviews::pad::stray::questions;

/// The text of a document, parsed once.
#[derive(Debug)]
pub struct InterviewDocument<'t> {
    pub(super) text: &'t str,
    pub(super) outline: Outline,
    pub(super) pads: Vec<Pad>,
    /// Scripts by whose topics questions outside of any pad are recognised.
    pub(super) known: &'t [Script],
}

impl<'t> InterviewDocument<'t> {
    /// Parses `text`. Without scripts, questions outside of a pad are not recognised.
    #[must_use]
    pub fn read(text: &'t str) -> Self {
        Self::among(&[], text)
    }

    /// Parses `text`. Questions of these scripts are recognised outside of a pad too.
    #[must_use]
    pub fn among(known: &'t [Script], text: &'t str) -> Self {
        let outline = Outline::read(text);
        let mut pads = Pad::all(text, &outline);
        let strays = questions(text, &outline, &pads, known);
        // Without any pad they are the rest of one that lost its heading, which `lost` finds.
        if let Some(pad) = pads.first_mut() {
            pad.take_strays(text, &outline, &strays);
        }
        Self { text, outline, pads, known }
    }

    /// The text as it was given.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The scratch pad; the first one if there are several.
    #[must_use]
    pub fn pad(&self) -> Option<&Pad> {
        self.pads.first()
    }

    /// The entries of the scratch pad; none if there is no pad.
    #[must_use]
    pub fn entries(&self) -> &[PadEntry] {
        self.pad().map(|pad| pad.entries.as_slice()).unwrap_or_default()
    }

    /// The line break that it uses.
    pub(super) fn newline(&self) -> &'static str {
        line_break(self.text)
    }
}
