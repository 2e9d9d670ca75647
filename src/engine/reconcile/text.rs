//! The `run.yaml` that follows from a log, or from its events after some position.

use crate::codec::{LogScan, RunText, RunTextError, line_at, line_with};
use crate::engine::{RunState, drops_edit, rebase};
use crate::model::{Event, EventKind, RunDocument, Seq};

/// Rebuilds `run.yaml` from the log. It has the comments of adopted edits, because the log contains them. `None` if no
/// event begins a run.
pub(crate) fn rebuilt<'a>(
    events: impl DoubleEndedIterator<Item = &'a Event> + Clone,
) -> Result<Option<RunText>, RunTextError> {
    let begin = events.clone().find_map(|event| Some((RunState::begin(event)?, event.run.as_ref())));
    let (Some((begin, digest)), Some(state)) = (begin, RunState::fold(events.clone())) else {
        return Ok(None);
    };
    let text = match events.rev().find_map(text_of) {
        Some(text) => RunText::parse(text)?,
        None => RunText::create_as_begun(begin.document(), digest),
    };
    let text = text.with_state(&state.document().state)?;
    // A sealed line may have values that no `run.yaml` can have. Written, it could never be read again.
    RunText::parse(text.text())?;
    Ok(Some(text))
}

/// The text of `run.yaml` in an event, if it has one.
pub(crate) fn text_of(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::RunEdited(edit) => Some(&edit.text),
        EventKind::RunAdopted(adopted) => Some(&adopted.text),
        EventKind::LogRepaired(repair) => Some(&repair.text),
        _ => None,
    }
}

pub(crate) fn is_repair(event: &Event) -> bool {
    matches!(event.kind, EventKind::LogRepaired(_))
}

/// The `run.yaml` that replaces `found` if the log was repaired since. Positions have another meaning after the repair,
/// so the two texts cannot be compared.
pub(crate) fn superseded(newer: &[Event], found: &RunText) -> Result<Option<RunText>, RunTextError> {
    let Some(at) = newer.iter().rposition(is_repair) else {
        return Ok(None);
    };
    let Some(mut text) = text_of(&newer[at]).map(RunText::parse).transpose()? else {
        return Ok(None);
    };
    if text.document().id != found.document().id {
        return Ok(None);
    }
    let mut state = RunState::from_document(text.document().clone());
    for event in &newer[at + 1..] {
        // A later edit has comments that the repair does not know.
        if let Some(edited) = text_of(event) {
            text = RunText::parse(edited)?;
        }
        state.apply(event);
    }
    Ok(Some(text.with_state(&state.document().state)?))
}

/// The current state of a run whose `run.yaml` shows it as of `since`, maybe with a person's edits.
pub(crate) fn caught_up(document: &RunDocument, since: Seq, log: &LogScan) -> RunState {
    let newer: Vec<Event> = log.events().filter(|event| event.seq > since).cloned().collect();
    let until = log.events().filter(|event| event.seq <= since);
    match (RunState::fold(until), RunState::fold(log.events())) {
        (Some(base), Some(ours)) if !newer.is_empty() => rebase(&base, document, &newer, &ours),
        _ => {
            let mut state = RunState::from_document(document.clone());
            for event in &newer {
                state.apply(event);
            }
            state
        }
    }
}

/// Whether [`caught_up`] drops a change of the person, since a newer event changed the same.
pub(crate) fn drops_change(document: &RunDocument, since: Seq, log: &LogScan) -> bool {
    let newer: Vec<Event> = log.events().filter(|event| event.seq > since).cloned().collect();
    let until = log.events().filter(|event| event.seq <= since);
    match (RunState::fold(until), RunState::fold(log.events())) {
        (Some(base), Some(ours)) if !newer.is_empty() => drops_edit(&base, document, &newer, &ours),
        _ => false,
    }
}

/// Applies the events to a text that a person saved while `run.yaml` was being replaced. `None` if it shows another
/// position; then the next command has to merge it.
pub(crate) fn merge_save(saved: &str, since: Seq, newer: &[Event]) -> Option<String> {
    let saved = RunText::parse(saved).ok()?;
    if saved.document().state.last_seq != Some(since) {
        return None;
    }
    let mut state = RunState::from_document(saved.document().clone());
    for event in newer {
        match &event.kind {
            // An earlier save that was adopted. This later one has its own changes, and is adopted next.
            EventKind::RunEdited(edit) if !edit.by_command => state.advance(event),
            _ => state.apply(event),
        }
    }
    Some(saved.with_document(state.document()).ok()?.text().to_owned())
}

/// The line of the first conflict marker, if the text has the markers of a merge.
pub(crate) fn conflict_marker(text: &str) -> Option<usize> {
    let begin = line_with(text, "<<<<<<< ")?;
    // One marker alone may be a line of a person's text.
    line_with(&text[begin..], ">>>>>>> ")?;
    Some(line_at(text, begin))
}
