//! `show`: one run, now or as it was.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::codec::parse_value;
use crate::engine::reconcile;
use crate::model::{ReportType, RunId, Seq, SessionId, StepStatus};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::select::select_run;
use crate::runs::view::{View, for_reading};

/// The run document with `steps`, `activities` and `artifacts`. With `at` it is the state after that event.
///
/// # Errors
/// [`Error::NoSuchRun`], [`Error::NoSuchEvent`], and those of reading a run.
pub fn show(
    cx: &Context,
    run: Option<&str>,
    session: Option<SessionId>,
    at: Option<u64>,
) -> Result<Map<String, Value>> {
    let project = cx.project()?;
    let caller = cx.caller(session, None)?;
    let run = select_run(cx, &project, run, caller.session.as_ref())?;
    let mut view = for_reading(cx, &project, &*run)?;
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
    let skipped =
        view.history.skips().iter().map(|skip| json!({ "phase": skip.phase, "reason": skip.reason, "seq": skip.seq }));
    shown.insert("skipped".into(), skipped.collect());
    let features: BTreeSet<_> = view.history.reports().iter().filter_map(|report| report.text("feature")).collect();
    shown.insert("features".into(), json!(features));
    shown.insert("notes".into(), json!(view.notes));
    Ok(shown)
}

/// The run as it was after the event `at`: that of a log which ends there.
fn go_back(run: &RunId, view: &mut View, at: u64) -> Result<()> {
    let last = view.log.last_seq().0;
    let missing = || Error::NoSuchEvent { run: run.clone(), seq: at, last };
    if at == 0 || at > last {
        return Err(missing());
    }
    let log = view.log.until(Seq(at));
    let then = reconcile(Ok(None), &log, Seq(0)).run.ok_or_else(missing)?;
    view.text = then.text().text().to_owned();
    view.history = then.history(&log);
    Ok(())
}

/// The workflow's phases in order, each with how its work stands and with its units.
fn steps(view: &View) -> Value {
    let history = &view.history;
    let state = history.state();
    let run = &state.document().state;
    let mut names: Vec<_> = match &view.machine {
        Some(machine) => machine.states().iter().map(|state| state.name.clone()).collect(),
        None if run.steps.is_empty() => state.phase().cloned().into_iter().collect(),
        None => run.steps.iter().map(|(step, _)| step.clone()).collect(),
    };
    let units = history.units();
    for unit in &units {
        if !names.contains(unit.below) {
            names.push(unit.below.clone());
        }
    }
    let steps = names.into_iter().map(|name| {
        let here = run.positions().any(|here| *here == name) && !state.status().is_terminal();
        let work = history.work(&name);
        let at_work = here && work.status == StepStatus::NotStarted && !work.reported;
        let status = if at_work { StepStatus::Running } else { work.status };
        let below = units.iter().filter(|unit| *unit.below == name);
        let units: Vec<_> =
            below.map(|unit| json!({ "step": unit.step, "unit": unit.unit, "status": unit.status })).collect();
        let mut step = json!({ "step": name, "status": status, "current": here, "units": units });
        if let Some(reason) = work.skipped {
            step["skip_reason"] = reason.into();
        }
        step
    });
    steps.collect()
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
