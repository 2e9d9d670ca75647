//! Reads a run from its recap and the end of its log, for questions about its present. How long the log is does not matter
//! then.

use crate::codec::{LogEnd, LogScan};
use crate::engine::{History, Recap, RunState, is_free, joined, machine_of, read_run, reconcile_end};
use crate::machine::Machine;
use crate::model::{Event, EventKind};
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::open::pinned::catalog_machine;
use crate::runs::open::view::{View, for_reading, notes_of_shared, unlogged_status};
use crate::store::{LogSinceCommit, Project, StoredRun};

/// As [`for_reading`], for questions about the run's present. The view has the end of the log only, and the history what a
/// [`Recap`] keeps, unless that was not there; then it is made for the next reader.
pub(crate) fn for_deciding(project: &OpenedProject, run: &dyn StoredRun) -> Result<View> {
    match from_recap(project, run)? {
        Some(view) => Ok(view),
        None => from_log(project, run),
    }
}

/// As [`for_deciding`], for a run that [`from_recap`] does not read.
pub(in crate::runs) fn from_log(project: &OpenedProject, run: &dyn StoredRun) -> Result<View> {
    let view = for_reading(project, run)?;
    if view.faults.is_empty()
        && let Some(text) = sealed(&view.log)
        && project.recap(run.id()).as_ref() != Some(&text)
    {
        // A cache: without it the next reader does the same.
        let _ = project.keep_recap(run.id(), &text);
    }
    Ok(view)
}

/// The last recap that an event of the log names.
fn sealed(log: &LogScan) -> Option<String> {
    let (at, named) = log.events().rev().find_map(|event| Some((event.seq, event.recap.as_ref()?)))?;
    let text = Recap::of(log.events().take_while(|event| event.seq <= at))?.text();
    (Recap::digest_of(&text) == *named).then_some(text)
}

/// How many events there are at most from one recap to the next.
const EVERY: u64 = 32;

/// The length in bytes from which events have a recap of their own: one event can have a thousand reports, and 31 of these
/// would make every reader slow.
const LONG: usize = 8 << 10;

/// The recap that the last of these events names, which are about to be committed; `None` if it is not time for one, or if
/// none can be made.
pub(in crate::runs) fn recap_with(
    project: &Project,
    run: &dyn StoredRun,
    events: &[Event],
    log: impl FnOnce() -> Option<LogScan>,
) -> Option<String> {
    let last = events.last()?.seq;
    let before = events.first()?.seq.0.saturating_sub(1);
    if last.0 / EVERY == before / EVERY && !are_long(events) {
        return None;
    }
    let mut recap = match recap_of(project, run) {
        Some(recap) => recap,
        None => {
            let log = log()?;
            let is_whole = log.skipped.is_empty() && log.gaps().is_empty() && log.doubles().is_empty();
            // A fold does not tell what a damaged or joined log lacks, and a recap of it would go on hiding that.
            if !is_whole || joined(&log).is_some() {
                return None;
            }
            Recap::of(log.events())?
        }
    };
    events.iter().try_for_each(|event| recap.take(event))?;
    Some(recap.text())
}

fn are_long(events: &[Event]) -> bool {
    let mut len = 0;
    for event in events {
        len += serde_json::to_string(event).map_or(0, |text| text.len());
    }
    len >= LONG
}

/// The fold of what is committed, from the recap that is kept; `None` if there is none that counts.
fn recap_of(project: &Project, run: &dyn StoredRun) -> Option<Recap> {
    let kept = project.recap(run.id())?;
    let (recap, _) = caught_up(&kept, run).ok()??;
    Some(recap)
}

/// The history of a run that is written, from its recap and the events that are `pending`; `None` if the whole log is needed.
pub(in crate::runs) fn recapped(
    project: &Project,
    run: &dyn StoredRun,
    pending: &[Event],
    state: &RunState,
) -> Option<History> {
    // Who is about to record is judged by the whole log alone, which does not have the record yet.
    if !pending.iter().all(|event| matches!(event.kind, EventKind::RunClaimed(_))) {
        return None;
    }
    let mut recap = recap_of(project, run)?;
    pending.iter().try_for_each(|event| recap.take(event))?;
    recap.history(state.clone())
}

/// The workflow that a later event than the first one pins, by the run's recap.
pub(in crate::runs) fn pinned_by_recap(project: &Project, run: &dyn StoredRun) -> Option<Machine> {
    Machine::from_value(recap_of(project, run)?.pinned()?).ok()
}

/// The fold of the log from the recap `text`, with the log's end from there; `None` if that does not count.
fn caught_up(text: &str, run: &dyn StoredRun) -> Result<Option<(Recap, LogEnd)>> {
    let Some(mut recap) = Recap::read(text) else { return Ok(None) };
    // The recap is about a past that git or another program may have changed.
    if run.log_since_commit() == LogSinceCommit::Changed {
        return Ok(None);
    }
    let Some(end) = run.orderly_end(recap.seq())?.filter(|end| !end.has_others) else { return Ok(None) };
    // A recap that the log does not name is stale, torn or another program's.
    let named = end.at.as_ref().filter(|at| at.seq == recap.seq()).and_then(|at| at.recap.as_ref());
    if named.is_none_or(|named| *named != Recap::digest_of(text)) {
        return Ok(None);
    }
    let goes_on = end.newer.iter().try_for_each(|event| recap.take(event));
    Ok(goes_on.map(|()| (recap, end)))
}

/// The run from its recap; `None` if the whole log is needed.
pub(in crate::runs) fn from_recap(project: &OpenedProject, run: &dyn StoredRun) -> Result<Option<View>> {
    let Some(kept) = project.recap(run.id()) else { return Ok(None) };
    // Read this before the log: a writer at work must not look like one that was ahead of the log.
    let noted = run.noted();
    let Ok(Some(text)) = read_run(run.id(), run.text()?) else { return Ok(None) };
    // Read the log after run.yaml, so that it is never behind it.
    let Some((recap, end)) = caught_up(&kept, run)? else { return Ok(None) };
    let from = end.at.as_ref().map(|at| at.seq);
    // A `run.yaml` from before the recap was put back: what happened since is not in it.
    let Some(shown) = text.document().state.last_seq.filter(|&shown| Some(shown) >= from) else { return Ok(None) };
    let Ok(found) = reconcile_end(text, &end.after(shown), noted) else { return Ok(None) };
    let unlogged = found.repairs.iter().find_map(unlogged_status);
    let unlogged_text = found.unlogged_text();
    let Some(current) = found.run.filter(|_| found.faults.is_empty()) else { return Ok(None) };
    let has_unlogged_status = unlogged.is_some();
    let mut notes = notes_of_shared(run);
    notes.extend(unlogged);
    let text = current.text();
    let mut follows_from_files = true;
    let machine = match recap.pinned() {
        Some(pinned) => Machine::from_value(pinned).ok(),
        None => match run.first_event()? {
            Some(first) if is_free(&first) => None,
            Some(first) => {
                let own = machine_of(&first, &mut notes);
                follows_from_files = own.is_some();
                own.or_else(|| catalog_machine(project, text.document(), &mut notes))
            }
            None => return Ok(None),
        },
    };
    let Some(history) = recap.history(current.into_parts().1) else { return Ok(None) };
    let (text, log, faults) = (text.shared_text(), LogScan::of_end(end), Vec::new());
    Ok(Some(View {
        history,
        text,
        machine,
        log,
        notes,
        unlogged_text,
        has_unlogged_status,
        faults,
        noted,
        follows_from_files,
    }))
}
