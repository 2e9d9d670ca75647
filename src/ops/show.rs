//! `show`: one run, now or as it was.

use serde_json::{Map, Value, json};

use crate::codec::{RunText, parse_value};
use crate::engine::{History, RunState};
use crate::model::{EventKind, RunId, Seq, SessionId};
use crate::ops::error::{Error, Result};
use crate::ops::flow::Flow;
use crate::ops::view::{View, for_reading};

impl Flow {
    /// The run document with `steps`, `activities` and `artifacts`. With `at` it is the state after that event.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`], [`Error::NoSuchEvent`], and those of reading a run.
    pub fn show(&self, run: Option<&str>, session: Option<SessionId>, at: Option<u64>) -> Result<Map<String, Value>> {
        let project = self.project()?;
        let caller = self.caller(session, None)?;
        let run = self.select(&project, run, caller.session.as_ref())?;
        let mut view = for_reading(self, &project, &run)?;
        if let Some(at) = at {
            go_back(run.id(), &mut view, at)?;
        }
        let mut shown = match parse_value(&view.text) {
            Ok(Value::Object(document)) => document,
            _ => Map::new(),
        };
        shown.insert("steps".into(), steps(&view));
        shown.insert("activities".into(), json!(view.history.attempts()));
        shown.insert("artifacts".into(), json!([]));
        shown.insert("notes".into(), json!(view.notes));
        Ok(shown)
    }
}

/// Folds only the events up to `at`.
fn go_back(run: &RunId, view: &mut View, at: u64) -> Result<()> {
    let last = view.log.last_seq().0;
    let missing = || Error::NoSuchEvent { run: run.clone(), seq: at, last };
    if at == 0 || at > last {
        return Err(missing());
    }
    let until = || view.log.events().filter(|event| event.seq <= Seq(at));
    let state = RunState::fold(until()).ok_or_else(missing)?;
    let history = History::fold(until()).ok_or_else(missing)?;
    // The text of the last adopted edit before that moment carries what flow does not know.
    let mut edited = until().filter_map(|event| match &event.kind {
        EventKind::RunEdited(edit) => Some(edit.text.as_str()),
        EventKind::RunAdopted(adopted) => Some(adopted.text.as_str()),
        _ => None,
    });
    let text = match edited.next_back().map(RunText::parse) {
        Some(Ok(text)) => {
            text.with_state(&state.document().state).unwrap_or_else(|_| RunText::create(state.document()))
        }
        _ => RunText::create(state.document()),
    };
    view.text = text.text().to_owned();
    view.history = history;
    Ok(())
}

/// The workflow's phases in order, each with what was done in it.
fn steps(view: &View) -> Value {
    let state = view.history.state();
    let names: Vec<_> = match &view.machine {
        Some(machine) => machine.states().iter().map(|state| state.name.clone()).collect(),
        None => state.phase().cloned().into_iter().collect(),
    };
    let steps = names.into_iter().map(|name| {
        let latest = view.history.attempts().iter().rev().find(|attempt| attempt.phase.as_ref() == Some(&name));
        let here = state.phase() == Some(&name) && !state.status().is_terminal();
        let status = match latest.map(|attempt| attempt.status) {
            None if here => "running",
            None => "not_started",
            Some(crate::model::ActivityStatus::Failed) => "failed",
            Some(crate::model::ActivityStatus::Skipped) => "skipped",
            Some(crate::model::ActivityStatus::Blocked) => "waiting",
            Some(crate::model::ActivityStatus::Passed) => "completed",
            Some(crate::model::ActivityStatus::Pending | crate::model::ActivityStatus::Running) => "running",
        };
        json!({ "step": name, "status": status, "current": here, "units": [] })
    });
    steps.collect()
}
