//! Calls a person to a run that has begun to need one: by the terminal's bell, and by OSC 9, which many terminals show as a
//! notification. No program is started.

use std::collections::BTreeMap;

use crate::model::{RunId, is_terminal_control};
use crate::runs::{Card, CardGroup};

/// Longest notification, in characters.
const LONGEST: usize = 200;

/// The runs that need a person, and why, as they were seen last.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    known: Option<BTreeMap<RunId, String>>,
}

impl Notifier {
    /// What to write to the terminal now that these are the cards: one notification for each run that needs a person and did
    /// not before, or needs one for another reason. Nothing the first time, when the person is at the screen.
    pub(super) fn calls<'c>(&mut self, cards: impl Iterator<Item = &'c Card>) -> String {
        let mut now = BTreeMap::new();
        let mut calls = String::new();
        for card in cards {
            if !matches!(card.group, CardGroup::Waits | CardGroup::InDoubt | CardGroup::LeftBehind) {
                continue;
            }
            let run = &card.run.head.run_id;
            if let Some(known) = &self.known
                && known.get(run) != Some(&card.reason)
            {
                calls += &call(run, &card.reason);
            }
            now.insert(run.clone(), card.reason.clone());
        }
        self.known = Some(now);
        calls
    }
}

/// The bell, and the notification. It begins with a word, since some terminals take a number there for another command.
fn call(run: &RunId, reason: &str) -> String {
    let words = format!("flow: {} needs you: {reason}", run.name());
    let mut text = String::new();
    for c in words.chars().take(LONGEST) {
        // A control character could end the notification, and what follows would be a command to the terminal.
        text.push(if is_terminal_control(c) { ' ' } else { c });
    }
    format!("\u{7}\u{1b}]9;{text}\u{7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_says_cannot_leave_the_notification() {
        let run = RunId::new("2026-05-20T143000Z-issue-7").unwrap();
        assert_eq!(
            call(&run, "a\u{7}\u{1b}]52;c;eA==\u{9c}\nb"),
            "\u{7}\u{1b}]9;flow: issue-7 needs you: a  ]52;c;eA==  b\u{7}"
        );
        assert_eq!(call(&run, &"é".repeat(500)).chars().count(), LONGEST + 6);
    }
}
