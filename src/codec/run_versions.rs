//! The successive versions of a `run.yaml`, as they follow from a log.
//!
//! The list of completed activities grows with every record, so writing ten thousand versions with up to ten thousand
//! lines each would be too slow. Instead, the middle of a long list is taken out of the text once and kept with its
//! checksum. The rest is a `run.yaml` with a shorter list, which is changed and read back like any other. The checksum
//! of a whole version is combined from those of its parts, so the cost of a version does not depend on the length of
//! the run.

use crate::codec::reading::{ELIDE_FROM, Reading};
use crate::codec::seal::{Checksum, LongPart};
use crate::codec::{RunText, RunTextError};
use crate::model::OwnedState;

/// The latest version of a `run.yaml`.
#[derive(Debug, Clone)]
pub struct RunVersions {
    /// The text without the lines that were taken out.
    short: RunText,
    taken: Option<TakenLines>,
}

/// Lines of the list of completed activities that were taken out.
#[derive(Debug, Clone)]
struct TakenLines {
    text: String,
    /// The beginning of it, whose checksum is known.
    known: LongPart,
    /// How many entries of the list are before them.
    before: usize,
    /// The offset in the shortened text where they were.
    at: usize,
}

/// How many taken bytes each version hashes again before they become part of `known`. Computing `known` takes as long as
/// hashing some megabytes.
const KNOW_AFTER: usize = 16 << 10;

impl RunVersions {
    /// Starts with this version.
    ///
    /// # Errors
    /// [`RunTextError`] if the text cannot be read; that does not happen with a [`RunText`] that was parsed.
    pub fn new(text: RunText) -> Result<Self, RunTextError> {
        let mut versions = Self { short: text, taken: None };
        versions.shorten()?;
        Ok(versions)
    }

    /// Advances to the version with this `state`. Its list of completed activities must be the previous one plus
    /// `added` entries; for any other list, start again with [`Self::new`].
    ///
    /// # Errors
    /// As [`RunText::with_state`].
    pub fn advance(&mut self, state: &OwnedState, added: usize) -> Result<(), RunTextError> {
        // The short text has a part of the list only, so what is new is added to that part.
        let mut completed = self.short.document().state.completed_activities.clone();
        let mut new: Vec<&str> = state.completed_activities.iter().rev().take(added).collect();
        new.reverse();
        for id in new {
            completed.push(id);
        }
        self.short = self.short.with_state(&state.with_completed(completed))?;
        self.shorten()
    }

    /// The [`crate::codec::digest`] of the whole text.
    #[must_use]
    pub fn digest(&self) -> String {
        let text = self.short.text().as_bytes();
        let Some(lines) = &self.taken else { return Checksum::of(text).digest() };
        let (before, after) = text.split_at(lines.at);
        let known = lines.known.after(Checksum::of(before));
        known.and(&lines.text.as_bytes()[lines.known.len()..]).and(after).digest()
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.short.text();
        match &self.taken {
            None => text.to_owned(),
            Some(lines) => [&text[..lines.at], &lines.text, &text[lines.at..]].concat(),
        }
    }

    /// Takes out more lines if the list has become long, and updates where the lines were.
    fn shorten(&mut self) -> Result<(), RunTextError> {
        match self.short.reading() {
            // No lines can be cut out of a short list.
            Some(read) if read.elided.is_none() && read.completed.len() < ELIDE_FROM => {}
            _ => self.take_out()?,
        }
        let Some(taken) = &mut self.taken else { return Ok(()) };
        let end = self.short.reading().and_then(|read| read.end_of_entry(taken.before - 1));
        taken.at = end.ok_or_else(|| RunTextError::Edit("the list of activities was not found again".to_owned()))?;
        Ok(())
    }

    fn take_out(&mut self) -> Result<(), RunTextError> {
        let reading = Reading::read(self.short.text())?;
        if reading.elided.is_none() {
            self.short.keep(reading);
            return Ok(());
        }
        if let Some((range, at)) = reading.elided.clone().zip(reading.entries_before_cut()) {
            let taken = self.taken.get_or_insert_with(|| TakenLines::none(at));
            // Only what follows the lines that were taken before can be kept in one piece with them.
            if taken.before == at {
                let text = self.short.text();
                let lines = &text[range.clone()];
                taken.text.push_str(lines);
                if taken.text.len() > taken.known.len() + KNOW_AFTER {
                    taken.known = LongPart::of(taken.text.as_bytes());
                }
                self.short = RunText::parse([&text[..range.start], &text[range.end..]].concat())?;
            }
        }
        self.short.keep(Reading::whole(self.short.text())?);
        Ok(())
    }
}

impl TakenLines {
    fn none(before: usize) -> Self {
        Self { text: String::new(), known: LongPart::of(b""), before, at: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::digest;
    use crate::model::Seq;

    const HEAD: &str = "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\nmetadata:\n  id: run-1\n  workflow: debug\n  \
                        created_at: 2026-05-20T14:30:00Z # when\ncontext:\n  repo: r\n  branch: b\n";

    /// Records `ids` one after another, and compares every version with the one that is written whole.
    #[track_caller]
    fn assert_same_versions(state: &str, ids: &[String]) {
        let mut whole = RunText::parse(format!("{HEAD}{state}")).unwrap();
        let mut versions = RunVersions::new(whole.clone()).unwrap();
        for (at, id) in ids.iter().enumerate() {
            let mut wanted = whole.document().state.clone();
            wanted.completed_activities.push(id);
            wanted.current_activity = Some(id.clone());
            wanted.last_seq = Some(Seq(at as u64 + 1));
            // What comes and goes before and behind the list.
            wanted.blocked_reason = (at % 3 == 0).then(|| format!("why {at}\n- x"));
            wanted.workflow_seq = (at % 5 == 0).then_some(Seq(1));
            whole = whole.with_state(&wanted).unwrap();
            versions.advance(&wanted, 1).unwrap();
            assert_eq!(versions.digest(), digest(whole.text().as_bytes()), "{at}");
        }
        assert_eq!(versions.text(), whole.text());
    }

    fn ids(n: usize) -> Vec<String> {
        (0..n).map(|at| if at % 40 == 39 { format!("{at}e1") } else { format!("step-{at}") }).collect()
    }

    #[test]
    fn every_version_is_the_one_that_is_written_whole() {
        let lines = |n: usize| (0..n).map(|at| format!("    - old-{at}\n")).collect::<String>();
        for state in [
            "state:\n  status: active\n".to_owned(),
            "state:\n  completed_activities: []\n  status: active\n".to_owned(),
            "state: {status: active, completed_activities: [a, b]}\n".to_owned(),
            format!("state:\n  status: active\n  completed_activities:\n{}", lines(300)),
            format!(
                "state:\n  completed_activities:\n    - \"0x1\" # odd\n{}    # noted\n  status: active\n",
                lines(90)
            ),
            format!("state:\n  completed_activities:\n{}    # between\n{}  status: active\n", lines(70), lines(70)),
        ] {
            assert_same_versions(&state, &ids(400));
            assert_same_versions(&state.replace('\n', "\r\n"), &ids(90));
        }
    }

    #[test]
    fn the_text_that_is_changed_stays_short() {
        let mut versions =
            RunVersions::new(RunText::parse(format!("{HEAD}state:\n  status: active\n")).unwrap()).unwrap();
        let mut state = versions.short.document().state.clone();
        for at in 0..1000 {
            state.completed_activities.push(&format!("step-{at}"));
            versions.advance(&state, 1).unwrap();
            assert!(versions.short.text().len() < 4000, "{at}");
        }
        assert_eq!(versions.text().matches("- step-").count(), 1000);
    }
}
