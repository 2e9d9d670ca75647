//! A page for the screen.

use crate::model::RunId;
use crate::watch::acts::RunAct;
use crate::watch::line::PageLine;

/// What the screen shows a part of.
#[derive(Debug)]
pub(super) struct ScreenPage {
    /// The line above.
    pub(super) head: PageLine,
    pub(super) lines: Vec<PageLine>,
    /// The commands to copy from here, the one to run next first.
    pub(super) commands: Vec<String>,
    /// Why there are none.
    pub(super) no_command: &'static str,
    /// What a person can do about the run that is shown.
    pub(super) acts: Vec<RunAct>,
}

impl ScreenPage {
    /// The lines with runs to open.
    pub(super) fn runs(&self) -> Vec<(usize, &RunId)> {
        self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, line.run.as_ref()?))).collect()
    }
}
