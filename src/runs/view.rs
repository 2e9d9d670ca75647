//! A run as readers see it: no lock, no writing, and the same answer that recovery would give.

use crate::codec::{RunText, digest};
use crate::engine::{Attempt, History, RunState, edited, with_edit};
use crate::machine::Machine;
use crate::model::{Activity, Doing, EventKind, RunSummary, limits};
use crate::runs::checkout::joined;
use crate::runs::context::Flow;
use crate::runs::error::{Error, Result};
use crate::runs::load::{caught_up, check_schema, parse_run, place, rebuild, superseded};
use crate::runs::pinned::{catalog_machine, is_free, pinned};
use crate::store::{LogScan, Project, RunDir, layout};

/// A run as a reader sees it.
pub(crate) struct View {
    pub(crate) history: History,
    pub(crate) text: String,
    pub(crate) machine: Option<Machine>,
    pub(crate) log: LogScan,
    pub(crate) notes: Vec<String>,
}

/// Reads `run` without a lock and without writing.
pub(crate) fn for_reading(flow: &Flow, project: &Project, run: &RunDir) -> Result<View> {
    let mut notes = Vec::new();
    let found = run.read_text()?;
    // The log is read after run.yaml, so it is never behind it.
    let log = run.read_log()?;
    let text = match found {
        Some(text) => parse_run(run, text)?,
        None => {
            notes.push("run.yaml is missing; the next record rebuilds it from the log".to_owned());
            rebuild(flow, project, run, &log)?
        }
    };
    let shown = text.document().state.last_seq;
    let newer: Vec<_> = log.events().filter(|event| Some(event.seq) > shown && shown.is_some()).cloned().collect();
    let text = match superseded(&newer, &text)? {
        Some(repaired) => repaired,
        None => text,
    };
    let mut state = match text.document().state.last_seq {
        Some(shown) => caught_up(text.document(), shown, &log),
        None => RunState::from_document(text.document().clone()),
    };
    let mut machine = pinned(log.events(), &mut notes);
    if let Some(folded) = RunState::fold(log.events()) {
        let shown = text.document().state.last_seq;
        let written = log.events().find(|event| Some(event.seq) == shown).and_then(|event| event.run.as_ref());
        let differs = written.map(|written| written.0 != digest(text.text().as_bytes()));
        if differs != Some(false) {
            check_schema(run, &text)?;
        }
        match edited(&folded, state.document(), machine.as_ref()) {
            // A person changed it. What flow keeps for itself there is the log's, also when it was deleted.
            Ok(changes) if differs == Some(true) => state = with_edit(&folded, &changes),
            Ok(_) => {}
            Err(fault) => {
                let path = run.file_path(layout::RUN_FILE);
                return Err(Error::Edit { place: place(text.text(), fault.pointer()), path, fault });
            }
        }
    }
    if machine.is_none() && !log.events().any(is_free) {
        machine = catalog_machine(flow, project, text.document(), &mut notes);
    }
    // A run.yaml behind the log is shown as the next writer will make it; what it holds beside the state stays.
    let text = if text.document() == state.document() {
        text
    } else {
        text.with_document(state.document()).unwrap_or_else(|_| RunText::create(state.document()))
    };
    let mut history = History::fold(log.events()).unwrap_or_else(|| History::without_log(state.clone()));
    history.show(state);
    with_earlier(&mut history, run, &log)?;
    Ok(View { history, text: text.text().to_owned(), machine, log, notes })
}

/// Adds what another program recorded before the log of flow began.
pub(crate) fn with_earlier(history: &mut History, run: &RunDir, log: &LogScan) -> Result<()> {
    let is_own = log.events().any(|event| matches!(event.kind, EventKind::RunStarted(_)));
    if !is_own {
        let earlier = earlier_attempts(run, history)?;
        history.add_earlier(earlier);
    }
    Ok(())
}

/// Activities that another program recorded, from their files.
fn earlier_attempts(run: &RunDir, history: &History) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for (number, name) in run.activity_names()? {
        let known = history.attempts().iter().any(|attempt| attempt.number == number);
        let text = if known { None } else { run.read_activity(&name).ok().flatten() };
        let activity = text
            .filter(|text| text.len() <= limits::ACTIVITY_BYTES)
            .and_then(|text| crate::codec::parse_value(&text).ok())
            .and_then(|value| Activity::new(value.as_object()?.clone()).ok());
        if let Some(activity) = activity {
            attempts.push(Attempt {
                number,
                id: activity.id().to_string(),
                phase: activity.phase(),
                status: activity.status(),
                summary: activity.summary().or(activity.name()).map(str::to_owned),
                at: None,
                seq: None,
            });
        }
    }
    Ok(attempts)
}

/// The summary, which says so when a merge joined two histories in the log.
fn with_conflict(summary: RunSummary, log: &LogScan) -> RunSummary {
    match joined(log) {
        Some(_) => RunSummary { doing: Some(Doing::Conflict), ..summary },
        None => summary,
    }
}

/// Only what a list shows: `run.yaml`, and for runs that are not over the events behind it.
pub(crate) fn for_listing(flow: &Flow, project: &Project, run: &RunDir) -> Result<RunSummary> {
    let of_state = |state: &RunState| RunSummary::from(state.document());
    let Some(text) = run.read_text()? else {
        if run.is_leftover() {
            // Where its files are is not asked: there may be many such runs.
            return Err(Error::Elsewhere { run: run.id().clone(), places: Vec::new() });
        }
        return Ok(rebuild(flow, project, run, &run.read_log()?)?.document().into());
    };
    let summary = match RunText::glance(&text) {
        Some(summary) if summary.id == *run.id() => summary,
        // Unusual or wrong: the careful reader says what and where.
        _ => parse_run(run, text.clone())?.document().into(),
    };
    let (false, Some(shown)) = (summary.status.is_terminal(), summary.last_seq) else {
        return Ok(summary);
    };
    let tail = run.read_tail(shown)?;
    let written = tail.as_ref().and_then(|tail| tail.at.as_ref()).filter(|event| event.seq == shown);
    if written.and_then(|event| event.run.as_ref()).is_none_or(|written| written.0 != digest(text.as_bytes())) {
        // A person changed it, or it is behind a log that cannot be found: worth a careful look.
        let view = for_reading(flow, project, run)?;
        return Ok(with_conflict(of_state(view.history.state()), &view.log));
    }
    let ordered = tail.as_ref().is_none_or(|tail| tail.ordered);
    let newer = tail.map(|tail| tail.newer).unwrap_or_default();
    let summary = if newer.is_empty() {
        summary
    } else {
        let mut state = RunState::from_document(parse_run(run, text)?.document().clone());
        newer.iter().for_each(|event| state.apply(event));
        of_state(&state)
    };
    Ok(if ordered { summary } else { with_conflict(summary, &run.read_log()?) })
}
