//! `show`: one run, now or as it was.

use serde_json::{Map, Value, json};

use crate::codec::{RunText, parse_value};
use crate::engine::{History, RunState};
use crate::model::{EventKind, ReportType, RunId, Seq, SessionId, StateName, StepStatus, Unit};
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
        shown.insert("artifacts".into(), artifacts(&view));
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
    let run = &state.document().state;
    let names: Vec<_> = match &view.machine {
        Some(machine) => machine.states().iter().map(|state| state.name.clone()).collect(),
        None if run.steps.is_empty() => state.phase().cloned().into_iter().collect(),
        None => run.steps.iter().map(|(step, _)| step.clone()).collect(),
    };
    let units = units(view);
    let steps = names.into_iter().map(|name| {
        let latest = view.history.attempts().iter().rev().find(|attempt| attempt.phase.as_ref() == Some(&name));
        let here = run.positions().any(|here| *here == name) && !state.status().is_terminal();
        let status = match (run.steps.get(&name), latest) {
            (Some(status), _) => status,
            (None, Some(latest)) => latest.status.into(),
            (None, None) if here => StepStatus::Running,
            (None, None) => StepStatus::NotStarted,
        };
        let units: Vec<_> = units.iter().filter(|(step, _)| *step == name).map(|(_, unit)| unit).collect();
        json!({ "step": name, "status": status, "current": here, "units": units })
    });
    steps.collect()
}

/// The units of each step, and what sub-agents do, under the step in which the run stood when they began.
fn units(view: &View) -> Vec<(StateName, Value)> {
    let mut step_then = None;
    let mut under: Vec<(&StateName, Option<&Unit>, StateName)> = Vec::new();
    for report in view.history.reports() {
        if let Some((step, _)) = report.own_step() {
            step_then = Some(step);
        }
        let Some(step) = report.step.as_ref().filter(|_| report.status().is_some()) else { continue };
        let unit = report.unit.as_ref();
        let parent = if step.agent().is_some() { step_then.unwrap_or(step) } else { step };
        if !under.iter().any(|(known, of, _)| *known == step && *of == unit) {
            under.push((step, unit, parent.clone()));
        }
    }
    let shown = view.history.units().into_iter().map(|(step, unit, status)| {
        let parent = under.iter().find(|(known, of, _)| *known == step && *of == unit).map(|(.., parent)| parent);
        let parent = parent.unwrap_or(step).clone();
        (parent, json!({ "step": step, "unit": unit, "status": status }))
    });
    shown.collect()
}

/// What was registered, the latest of each place.
fn artifacts(view: &View) -> Value {
    let mut artifacts: Vec<(String, Value)> = Vec::new();
    let registered =
        view.history.reports().iter().filter(|report| report.kind() == Some(ReportType::ArtifactRegistered));
    for report in registered {
        let (kind, place) = match report.text("url") {
            Some(url) => ("link", url.trim_end_matches('/')),
            None => ("file", report.text("path").unwrap_or_default()),
        };
        let mut artifact = report.data.clone();
        artifact.insert("kind".into(), kind.into());
        artifact.insert("step".into(), json!(report.step));
        artifact.insert("unit".into(), json!(report.unit));
        artifact.insert("at".into(), json!(report.at));
        artifacts.retain(|(known, _)| known != place);
        artifacts.push((place.to_owned(), Value::Object(artifact)));
    }
    artifacts.into_iter().map(|(_, artifact)| artifact).collect()
}
