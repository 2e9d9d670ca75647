//! The run that an interview belongs to: its log learns of each question and answer, and the interview is an activity of it.
//!
//! The document is the truth and is written first. What the log has not been told, because something ended in between, it
//! is told by the next command; each report has a key made of what it says, so nothing is told twice.

use std::path::PathBuf;

use crate::interview::Document;
use crate::ops::flow::Flow;
use crate::ops::interview::paper::Paper;

/// How an interview ended.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    /// Its answers stand in the document.
    Finished {
        /// How many.
        answered: usize,
        /// How many questions were passed over.
        skipped: usize,
    },
    /// It was given up.
    Abandoned {
        /// Where everything is.
        copy: PathBuf,
    },
}

impl Flow {
    /// Tells the run of `document` what it does not know yet; what went wrong with that, as warnings.
    pub(super) fn tell_run(&self, _paper: &Paper, _document: &Document<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Tells the run that the interview is over; `document` is as it was before that.
    pub(super) fn tell_end(&self, _paper: &Paper, _document: &Document<'_>, _ending: &Ending) -> Vec<String> {
        Vec::new()
    }
}
