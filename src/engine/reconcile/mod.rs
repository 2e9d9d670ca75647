//! What a run is, judged once from its `run.yaml` and its log.
//!
//! A run is what `run.yaml` shows as of its `last_seq`, plus the sealed events behind it; what a person changed in
//! `run.yaml` counts. [`reconcile`] says what follows from that: the state, what a writer has to put right before it
//! writes, and what is wrong. A reader takes the state, a writer applies the repairs, `verify` asks whether there are any,
//! the doctor tells of them, and an earlier state is that of a shorter log.
//!
//! A record must cost the same in a long run, so a writer first asks [`reconcile_end`], which sees only the log's end. It
//! gives no answer where that could be another one than [`reconcile`]'s.
//!
//! Texts and logs come as the codec reads them. Documents and digests alone would not do: the text that a writer puts
//! keeps what a person wrote beside the state.

mod fault;
mod histories;
mod position;
mod repair;
mod replay;
mod text;

pub use fault::Fault;
pub(crate) use histories::{blind_spots, histories, joined};
pub use repair::Repair;
pub(crate) use replay::Replay;
pub(crate) use text::{caught_up, merge_save, rebuilt};

use crate::codec::{DocumentKind, LogEnd, LogScan, Place, RunText, Violation, digest, parse, validate};
use crate::engine::{EditFault, History, RunState, edited, pinned, with_edit};
use crate::model::{Event, LostRange, RunChanges, RunId, Seq};
use position::Position;
use text::{conflict_marker, is_repair, superseded};

/// A run as its `run.yaml` and its log say together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reconciled {
    /// The run; none when nothing is left that could show it.
    pub run: Option<Current>,
    /// What a writer puts right before anything else, in this order.
    pub repairs: Vec<Repair>,
    /// What is wrong. The first one that forbids something says why.
    pub faults: Vec<Fault>,
}

/// A run as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Its state.
    pub state: RunState,
    /// The `run.yaml` to which the state is to be written.
    base: RunText,
}

/// Reads the `run.yaml` of the run `id`; none when it is missing.
///
/// # Errors
/// A [`Fault`] when it cannot be used, whatever the log says.
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

/// Judges a run by its `run.yaml`, as it was read, and by its whole log. `noted` is the highest position that a
/// writer of this checkout noted; 0 when that is not known.
#[must_use]
pub fn reconcile(file: Result<Option<RunText>, Fault>, log: &LogScan, noted: Seq) -> Reconciled {
    let mut found = Reconciled::default();
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
        let shown = Position::of(text.document().state.last_seq, log.last_seq(), noted);
        found.judge(text, shown, log);
        // What cannot be used shows no event.
        position = found.run.is_some().then_some(shown);
    }
    found.compare_ends(position, log, noted);
    found.look_at_lines(log);
    found.faults.sort_by_key(Fault::precedence);
    found
}

/// As [`reconcile`], by the end of a log that was whole when it was looked at last.
///
/// # Errors
/// The text is given back where only the whole log can tell: when `run.yaml` was edited or is not known, when the log was
/// repaired, put back or joined with another one.
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
    let base = found.roll_forward(text, shown, &state, !end.newer.is_empty());
    let written = end.newer.last().and_then(|event| event.run.as_ref());
    match found.repairs.pop() {
        // Events between them are lost.
        Some(Repair::RollForward { old, .. }) if written.is_some_and(|run| run.0 != digest(base.text().as_bytes())) => {
            return Err(Box::new(old));
        }
        repair => found.repairs.extend(repair),
    }
    found.run = Some(Current { state, base });
    Ok(found)
}

impl Reconciled {
    /// What a person changed in `run.yaml`.
    #[must_use]
    pub fn edit(&self) -> Option<&RunChanges> {
        self.repairs.iter().find_map(|repair| match repair {
            Repair::AdoptEdit { changes, .. } => Some(&**changes),
            _ => None,
        })
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

    /// How far the log goes, compared with what `run.yaml` shows and what the writers here noted.
    fn compare_ends(&mut self, position: Option<Position>, log: &LogScan, noted: Seq) {
        let last = log.last_seq();
        match position {
            Some(Position::Beyond(shown)) => {
                self.faults.push(Fault::EndLost(LostRange { from: last.next(), to: shown }));
            }
            _ if last > Seq(0) && noted > last => self.faults.push(Fault::Rewound { last, noted }),
            _ => {}
        }
    }

    fn look_at_lines(&mut self, log: &LogScan) {
        self.faults.extend(joined(log).map(Fault::Joined));
        self.faults.extend(log.skipped.iter().cloned().map(Fault::Line));
        self.faults.extend(log.gaps().into_iter().map(|(from, to)| Fault::Gap(LostRange { from, to })));
        self.faults.extend(log.doubles().into_iter().map(Fault::Double));
    }

    /// Finds the state, and what has to be written for it.
    fn judge(&mut self, text: RunText, position: Position, log: &LogScan) {
        let (text, since) = match position {
            Position::Event(shown) | Position::Beyond(shown) => (self.end_repair(text, shown, log), Some(shown)),
            Position::ByHand => (Some(text), None),
            Position::Foreign => {
                self.repairs.push(Repair::AdoptRun);
                self.faults.extend(violations(&text).map(Fault::ForeignSchema));
                let state = RunState::from_document(text.document().clone());
                self.run = Some(Current { state, base: text });
                return;
            }
        };
        let Some(text) = text else { return };
        let since = since.and(text.document().state.last_seq);
        let is_own = since.and_then(|since| is_written(&text, since, log));
        if is_own == Some(true) {
            let newer = log.events().filter(|event| Some(event.seq) > since);
            let (state, is_behind) = (applied(&text, newer.clone()), newer.count() > 0);
            let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind);
            if is_behind && is_written(&base, log.last_seq(), log) == Some(false) {
                // Events between them are lost, and what they did is left out of run.yaml from here on.
                return self.judge_unknown(base, Some(log.last_seq()), true, log);
            }
            self.run = Some(Current { state, base });
        } else {
            self.judge_unknown(text, since, is_own.is_some() || since.is_none(), log);
        }
    }

    /// The text that takes the place of `text` when the log was repaired behind the event that it shows.
    fn end_repair(&mut self, text: RunText, shown: Seq, log: &LogScan) -> Option<RunText> {
        let newer: Vec<_> = log.events().filter(|event| event.seq > shown).cloned().collect();
        match superseded(&newer, &text) {
            Ok(Some(repaired)) => {
                let own = digest(text.text().as_bytes());
                let is_own = log.events().any(|event| event.run.as_ref().is_some_and(|run| run.0 == own));
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

    /// Judges a `run.yaml` of which nothing proves that flow wrote it as it is. `since` is the event that it shows, none
    /// when a person changed that; `is_edited` says that something in it is a person's.
    fn judge_unknown(&mut self, text: RunText, since: Option<Seq>, is_edited: bool, log: &LogScan) {
        let newer = log.events().filter(|event| since.is_some_and(|since| event.seq > since));
        let is_behind = newer.clone().next().is_some();
        let state = match since {
            Some(since) if is_edited => caught_up(text.document(), since, log),
            _ => applied(&text, newer),
        };
        let Some(folded) = RunState::fold(log.events()) else {
            let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind);
            self.run = Some(Current { state, base });
            return;
        };
        if let Some(violations) = violations(&text) {
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
        let base = self.roll_forward(text, since.unwrap_or_default(), &state, is_behind);
        // A writer may have died between an edit's line in the log and run.yaml: then all of it is adopted already.
        let is_new = if is_behind { is_written(&base, log.last_seq(), log) == Some(false) } else { is_edited };
        let state = if is_new {
            // What flow keeps for itself there is the log's, also when it was deleted.
            let edited = with_edit(&folded, &changes);
            self.repairs.push(Repair::AdoptEdit { log: Box::new(folded), changes: Box::new(changes) });
            edited
        } else {
            state
        };
        self.run = Some(Current { state, base });
    }

    /// Writes `state`, which has the events behind `since`, to `text` when there are such events.
    fn roll_forward(&mut self, text: RunText, since: Seq, state: &RunState, is_behind: bool) -> RunText {
        if !is_behind {
            return text;
        }
        match text.with_document(state.document()) {
            Ok(newer) => {
                self.repairs.push(Repair::RollForward { since, old: text, text: newer.clone() });
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
    /// The `run.yaml` that shows the state. What it holds beside the state is a person's and stays.
    #[must_use]
    pub fn text(&self) -> RunText {
        if self.base.document() == self.state.document() {
            return self.base.clone();
        }
        let changed = self.base.with_document(self.state.document());
        changed.unwrap_or_else(|_| RunText::create(self.state.document()))
    }

    /// The `run.yaml` in place once everything but an edit is put right, and the state.
    #[must_use]
    pub fn into_parts(self) -> (RunText, RunState) {
        (self.base, self.state)
    }

    /// The run's records, reports and phases, as its whole log tells them.
    #[must_use]
    pub fn history(&self, log: &LogScan) -> History {
        let history = History::fold(log.events());
        let mut history = history.unwrap_or_else(|| History::without_log(self.state.clone()));
        history.show(self.state.clone());
        history
    }
}

impl Fault {
    fn edit(fault: EditFault, text: &str) -> Self {
        Self::Edit { place: place(text, fault.pointer()), fault }
    }
}

/// Where the value that a JSON pointer names stands in a text.
fn place(text: &str, pointer: &str) -> Option<Place> {
    parse(text).ok().map(|root| root.nearest(pointer).place)
}

/// What of a `run.yaml` breaks the schema.
fn violations(text: &RunText) -> Option<Vec<Violation>> {
    let root = parse(text.text()).ok()?;
    Some(validate(DocumentKind::Run, &root.to_value(), Some(&root))).filter(|found| !found.is_empty())
}

/// Whether the text was written with the event `shown`; none when the log does not say.
fn is_written(text: &RunText, shown: Seq, log: &LogScan) -> Option<bool> {
    let event = log.events().find(|event| event.seq == shown)?;
    event.run.as_ref().map(|written| written.0 == digest(text.text().as_bytes()))
}

fn applied<'a>(text: &RunText, newer: impl Iterator<Item = &'a Event>) -> RunState {
    let mut state = RunState::from_document(text.document().clone());
    newer.for_each(|event| state.apply(event));
    state
}

#[cfg(test)]
mod tests;
