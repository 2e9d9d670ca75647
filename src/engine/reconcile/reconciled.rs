//! The state of a run, what a writer has to repair first, and what is wrong.

use crate::codec::{DocumentKind, LogEnd, LogScan, Place, RunText, Violation, digest, parse, validate};
use crate::engine::reconcile::position::ShownPosition;
use crate::engine::reconcile::text::{caught_up, conflict_marker, drops_change, is_repair, rebuilt, superseded};
use crate::engine::reconcile::{Fault, Repair, joined};
use crate::engine::{EditFault, History, RunState, edited, pinned, with_edit};
use crate::model::{Event, LostRange, RunChanges, RunId, Seq, TextDigest};

/// A run, as determined from its `run.yaml` and its log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reconciled {
    /// The run; `None` if it cannot be shown.
    pub run: Option<Current>,
    /// What a writer has to repair first, in this order.
    pub repairs: Vec<Repair>,
    /// The problems. The first one that forbids reading or writing is the reason to show.
    pub faults: Vec<Fault>,
}

/// A run and its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Its state.
    pub state: RunState,
    /// The `run.yaml` into which the state has to be written.
    base: RunText,
}

/// Parses the `run.yaml` of the run `id`; `None` if it is missing.
///
/// # Errors
/// A [`Fault`] if it cannot be used, whatever the log contains.
pub fn read_run(id: &RunId, text: Option<String>) -> Result<Option<RunText>, Fault> {
    let Some(text) = text else { return Ok(None) };
    let marker = conflict_marker(&text);
    let parsed = RunText::parse(text).map_err(|error| match marker {
        Some(line) => Fault::ConflictMarkers { line },
        None => Fault::Unreadable(error),
    })?;
    if parsed.document().id != *id {
        let fault = EditFault::Id { expected: id.clone(), found: parsed.document().id.clone() };
        return Err(Fault::edit(fault, parsed.text()));
    }
    Ok(Some(parsed))
}

/// Determines the state of the run `id` from its `run.yaml` and its whole log. `noted` is the highest position that a
/// writer of this checkout noted; 0 if unknown.
#[must_use]
pub fn reconcile(id: &RunId, file: Result<Option<RunText>, Fault>, log: &LogScan, noted: Seq) -> Reconciled {
    let mut found = Reconciled::default();
    if let Some(begun) = log.events().find_map(RunState::begin)
        && begun.id() != id
    {
        found.faults.push(Fault::OtherRun(begun.id().clone()));
        return found;
    }
    let text = match file {
        Ok(Some(text)) => Some(text),
        Ok(None) => found.rebuild(log),
        Err(fault) => {
            found.faults.push(fault);
            None
        }
    };
    let mut position = None;
    if let Some(text) = text {
        let shown = ShownPosition::of(text.document().state.last_seq, log.last_seq(), noted);
        found.determine(text, shown, log);
        // A file that cannot be used shows no position.
        position = found.run.is_some().then_some(shown);
    }
    found.compare_ends(position, log, noted);
    found.look_at_lines(log);
    found.faults.sort_by_key(Fault::precedence);
    found
}

/// As [`reconcile`], from the end of a log that was complete when it was last checked.
///
/// # Errors
/// The text, if the whole log is needed: `run.yaml` was edited or is unknown, or the log was repaired, put back, or
/// joined with another one.
pub fn reconcile_end(text: RunText, end: &LogEnd, noted: Seq) -> Result<Reconciled, Box<RunText>> {
    let Some(shown) = text.document().state.last_seq.filter(|&shown| shown <= end.last && noted <= end.last) else {
        return Err(Box::new(text));
    };
    let is_plain = end.ordered && !end.newer.iter().any(is_repair);
    if !is_plain || !end.proves(shown, &digest(text.text().as_bytes())) {
        return Err(Box::new(text));
    }
    let mut found = Reconciled::default();
    let state = applied(&text, end.newer.iter());
    let base = found.roll_forward(text, shown, &state, !end.newer.is_empty(), false);
    let is_own = end.newer.last().and_then(|event| is_written_with(event, &base));
    match found.repairs.pop() {
        // The digest does not match, so events in between are lost.
        Some(Repair::RollForward { old, .. }) if is_own == Some(false) => return Err(Box::new(old)),
        repair => found.repairs.extend(repair),
    }
    found.run = Some(Current { state, base });
    Ok(found)
}

impl Reconciled {
    /// Whether `run.yaml` is missing, and follows from the log.
    #[must_use]
    pub fn lacks_text(&self) -> bool {
        self.repairs.iter().any(|repair| matches!(repair, Repair::Rebuild { .. }))
    }

    /// What a person changed in `run.yaml`, if anything.
    #[must_use]
    pub fn edit(&self) -> Option<&RunChanges> {
        self.repairs.iter().find_map(|repair| match repair {
            Repair::AdoptEdit { changes, .. } => Some(&**changes),
            _ => None,
        })
    }

    /// What stands in `run.yaml`, if the next writer has to record that before anything else.
    pub(crate) fn unlogged_text(&self) -> Option<String> {
        for repair in &self.repairs {
            if matches!(repair, Repair::AdoptEdit { .. } | Repair::AdoptRun) {
                return Some(self.run.as_ref()?.base.text().to_owned());
            }
        }
        None
    }

    fn rebuild(&mut self, log: &LogScan) -> Option<RunText> {
        match rebuilt(log.events()) {
            Ok(Some(text)) => {
                self.repairs.push(Repair::Rebuild { text: text.clone() });
                Some(text)
            }
            Ok(None) => {
                self.faults.push(Fault::Empty);
                None
            }
            Err(error) => {
                self.faults.push(Fault::Unreadable(error));
                None
            }
        }
    }

    /// Compares the log's end with the position that `run.yaml` shows and with the one that writers noted.
    fn compare_ends(&mut self, position: Option<ShownPosition>, log: &LogScan, noted: Seq) {
        let last = log.last_seq();
        match position {
            Some(ShownPosition::Beyond(shown)) => {
                self.faults.push(Fault::EndLost(LostRange { from: last.next(), to: shown }));
            }
            _ if last > Seq(0) && noted > last => self.faults.push(Fault::Rewound { last, noted }),
            _ => {}
        }
    }

    fn look_at_lines(&mut self, log: &LogScan) {
        self.faults.extend(joined(log).map(Fault::Joined));
        for skipped in log.damaged() {
            self.faults.push(Fault::Line(skipped.clone()));
        }
        for (from, to) in log.gaps() {
            self.faults.push(Fault::Gap(LostRange { from, to }));
        }
        self.faults.extend(log.doubles().into_iter().map(Fault::Double));
    }

    /// Determines the state, and what has to be written.
    fn determine(&mut self, text: RunText, position: ShownPosition, log: &LogScan) {
        let (text, since) = match position {
            ShownPosition::Event(shown) | ShownPosition::Beyond(shown) => {
                (self.end_repair(text, shown, log), Some(shown))
            }
            ShownPosition::ByHand => (Some(text), None),
            ShownPosition::Foreign => {
                self.repairs.push(Repair::AdoptRun);
                if let Some(violations) = violations(&text) {
                    self.faults.push(Fault::Schema(violations));
                    return;
                }
                let state = RunState::from_document(text.document().clone());
                self.run = Some(Current { state, base: text });
                return;
            }
        };
        let Some(text) = text else { return };
        // The text that replaces one from before a repair shows another position.
        let since = since.and(text.document().state.last_seq);
        let is_own = since.and_then(|since| is_written(&text, since, log));
        if is_own == Some(true) {
            let newer = log.events().filter(|event| Some(event.seq) > since);
            let (state, is_behind) = (applied(&text, newer.clone()), newer.count() > 0);
            let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind, false);
            if is_behind && is_written(&base, log.last_seq(), log) == Some(false) {
                // Events in between are lost, so `run.yaml` lacks what they did.
                return self.determine_unproved(base, Some(log.last_seq()), true, log);
            }
            self.run = Some(Current { state, base });
        } else {
            self.determine_unproved(text, since, is_own.is_some() || since.is_none(), log);
        }
    }

    /// The text that replaces `text` if the log was repaired after the event that it shows.
    fn end_repair(&mut self, text: RunText, shown: Seq, log: &LogScan) -> Option<RunText> {
        let newer: Vec<_> = log.events().filter(|event| event.seq > shown).cloned().collect();
        match superseded(&newer, &text) {
            Ok(Some(repaired)) => {
                // A text that flow did not write may be a person's edit: then a copy of it is kept.
                let own = TextDigest(digest(text.text().as_bytes()));
                let is_own = log.events().any(|event| event.run.as_ref() == Some(&own));
                self.repairs.push(Repair::EndRepair { old: text, text: repaired.clone(), is_own });
                Some(repaired)
            }
            Ok(None) => Some(text),
            Err(error) => {
                self.faults.push(Fault::Unreadable(error));
                None
            }
        }
    }

    /// Determines the state if `run.yaml` cannot be proved to be as flow wrote it. `since` is the position that it
    /// shows, or `None` if a person changed it. `is_edited` means that a person certainly changed something.
    fn determine_unproved(&mut self, text: RunText, since: Option<Seq>, is_edited: bool, log: &LogScan) {
        // A file whose position a person changed shows no event after which others could be newer.
        let newer = log.events().filter(|event| since.is_some_and(|since| event.seq > since));
        let is_behind = newer.clone().next().is_some();
        let state = match since {
            Some(since) if is_edited => caught_up(text.document(), since, log),
            _ => applied(&text, newer),
        };
        let Some(folded) = RunState::fold(log.events()) else {
            let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind, false);
            self.run = Some(Current { state, base });
            return;
        };
        // What the log itself has is not a person's edit.
        if !self.lacks_text()
            && let Some(violations) = violations(&text)
        {
            self.faults.push(Fault::Schema(violations));
            return;
        }
        let changes = match edited(&folded, state.document(), pinned(log.events(), &mut Vec::new()).as_ref()) {
            Ok(changes) => changes,
            Err(fault) => {
                self.faults.push(Fault::edit(fault, text.text()));
                return;
            }
        };
        let drops_edit = is_edited && since.is_some_and(|since| drops_change(text.document(), since, log));
        let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind, drops_edit);
        // A writer may have died after it logged an edit and before it updated run.yaml: then the edit is adopted
        // already.
        let is_new = if is_behind { is_written(&base, log.last_seq(), log) == Some(false) } else { is_edited };
        let state = if is_new {
            // Fields that flow owns keep the log's value, even if they were deleted from the file.
            let edited = with_edit(&folded, &changes);
            self.repairs.push(Repair::AdoptEdit { log: Box::new(folded), changes: Box::new(changes) });
            edited
        } else {
            state
        };
        self.run = Some(Current { state, base });
    }

    /// If there are events after `since`, writes `state`, which includes them, into `text`.
    fn roll_forward(
        &mut self,
        text: RunText,
        since: Seq,
        state: &RunState,
        is_behind: bool,
        drops_edit: bool,
    ) -> RunText {
        if !is_behind {
            return text;
        }
        match text.with_document(state.document()) {
            Ok(newer) => {
                self.repairs.push(Repair::RollForward { since, old: text, text: newer.clone(), drops_edit });
                newer
            }
            Err(error) => {
                self.faults.push(Fault::Fixed(error));
                text
            }
        }
    }
}

impl Current {
    /// The `run.yaml` that shows the state. A person's comments and unknown keys stay.
    #[must_use]
    pub fn text(&self) -> RunText {
        if self.base.document() == self.state.document() {
            return self.base.clone();
        }
        // A text that cannot be changed safely is only shown, so its comments may go.
        let changed = self.base.with_document(self.state.document());
        changed.unwrap_or_else(|_| RunText::create(self.state.document()))
    }

    /// The `run.yaml` after all repairs except for adopting an edit, and the state.
    #[must_use]
    pub fn into_parts(self) -> (RunText, RunState) {
        (self.base, self.state)
    }

    /// The run's records, reports and phases, from its whole log.
    #[must_use]
    pub fn history(&self, log: &LogScan) -> History {
        let mut history = History::fold(log.events()).unwrap_or_else(|| History::without_log(self.state.clone()));
        history.show(self.state.clone());
        history
    }
}

impl Fault {
    fn edit(fault: EditFault, text: &str) -> Self {
        Self::Edit { place: place(text, fault.pointer()), fault }
    }
}

/// The place in a text of the value at a JSON pointer.
fn place(text: &str, pointer: &str) -> Option<Place> {
    Some(parse(text).ok()?.nearest(pointer).place)
}

/// The violations of the schema in a `run.yaml`.
fn violations(text: &RunText) -> Option<Vec<Violation>> {
    let root = parse(text.text()).ok()?;
    let found = validate(DocumentKind::Run, &root.to_value(), Some(&root));
    if found.is_empty() { None } else { Some(found) }
}

/// Whether the text was written with the event at position `shown`; `None` if the log does not have its digest.
fn is_written(text: &RunText, shown: Seq, log: &LogScan) -> Option<bool> {
    is_written_with(log.events().find(|event| event.seq == shown)?, text)
}

/// Whether the text was written with `event`; `None` if the event does not have its digest.
fn is_written_with(event: &Event, text: &RunText) -> Option<bool> {
    Some(event.run.as_ref()?.0 == digest(text.text().as_bytes()))
}

/// Whether a text differs from the one that flow wrote only in its line ends: with `core.autocrlf` git gives a clone others.
#[must_use]
pub fn has_other_line_ends(text: &RunText, log: &LogScan) -> bool {
    let Some(shown) = text.document().state.last_seq else { return false };
    if !text.text().contains("\r\n") {
        return false;
    }
    match RunText::parse(text.text().replace("\r\n", "\n")) {
        Ok(own) => is_written(&own, shown, log) == Some(true),
        Err(_) => false,
    }
}

fn applied<'a>(text: &RunText, newer: impl Iterator<Item = &'a Event>) -> RunState {
    let mut state = RunState::from_document(text.document().clone());
    for event in newer {
        state.apply(event);
    }
    state
}

#[cfg(test)]
mod tests;
