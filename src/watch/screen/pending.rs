//! An act that a person is about to do: its text is typed, and then it is asked for once more.

use crate::watch::acts::RunAct;
use crate::watch::screen::key::Key;

/// The longest text.
const TEXT: usize = 2000;

/// An act before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingAct {
    pub(super) act: RunAct,
    pub(super) text: String,
    /// Whether the text is complete, and the person is asked whether to do it.
    pub(super) confirms: bool,
}

/// What a key does to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingStep {
    /// It is still pending.
    GoesOn(PendingAct),
    /// It is to be done, with this text.
    Do(RunAct, String),
    /// The person thought better of it.
    Dropped,
}

impl PendingAct {
    pub(super) fn new(act: RunAct) -> Self {
        let confirms = act.shown().label.is_none();
        Self { act, text: String::new(), confirms }
    }

    pub(super) fn press(mut self, key: Key) -> PendingStep {
        match key {
            Key::Escape => return PendingStep::Dropped,
            Key::Char('y') if self.confirms => return PendingStep::Do(self.act, self.text.trim().to_owned()),
            // Any other key than the one that was named: nothing is done by mistake.
            _ if self.confirms => return PendingStep::Dropped,
            Key::Char(c) if self.text.chars().count() < TEXT => self.text.push(c),
            Key::Backspace => drop(self.text.pop()),
            Key::Enter => self.confirms = !self.act.needs_text() || !self.text.trim().is_empty(),
            _ => {}
        }
        PendingStep::GoesOn(self)
    }
}
