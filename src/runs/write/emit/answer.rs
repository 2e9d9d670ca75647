//! The report of `emit`.

use std::cell::LazyCell;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{History, Refusal, RunState, Undone, in_doubt, progress};
use crate::machine::Machine;
use crate::model::{
    ActivityStatus, Emitted, EventId, Number, ReportType, RunId, Seq, StateName, StepReport, StepStatus, Suggestion,
    Unit,
};
use crate::runs::context::OpenedProject;
use crate::runs::here::place_of_caller;
use crate::runs::write::emit::request::CheckedRequest;
use crate::runs::write::transaction::Transaction;
use crate::store::{Document, StoredRun};

/// The state of a run after the reports.
pub(in crate::runs) struct EmitOutcome<'a> {
    pub(in crate::runs) run: &'a dyn StoredRun,
    pub(in crate::runs) state: &'a RunState,
    /// The run's workflow, if it is known.
    pub(in crate::runs) machine: Option<&'a Machine>,
    /// The id of the event with the reports.
    pub(in crate::runs) id: EventId,
    pub(in crate::runs) seq: Seq,
    pub(in crate::runs) emitted: &'a Emitted,
    pub(in crate::runs) created: bool,
    /// The token of a run that the reports created.
    pub(in crate::runs) token: Option<String>,
    /// Whether the reports are a retry, so that nothing was written.
    pub(in crate::runs) repeated: bool,
    pub(in crate::runs) warnings: Vec<String>,
}

/// The report of `emit`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EmitReport {
    /// Always true: a failure is an error.
    pub success: bool,
    /// Always `emit`.
    pub tool: &'static str,
    /// The result.
    pub data: EmitData,
}

/// The result of reports.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmitData {
    /// The id of the event that holds all reports.
    pub event_id: EventId,
    /// The run.
    pub run_id: RunId,
    /// The type of the report; `batch` for several.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status of the run: `not_started`, `running`, `waiting`, `completed`, `failed` or `cancelled`.
    pub run_status: String,
    /// Steps that were completed because another one began.
    pub completed_predecessors: Vec<StateName>,
    /// The current phase.
    pub phase: Option<StateName>,
    /// The event's position in the log.
    pub seq: Seq,
    /// Whether the reports created the run.
    pub created: bool,
    /// The value for `FLOW_RUN_TOKEN` in the environment of sub-agents with sessions of their own; only if the reports
    /// created the run and a session holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_token: Option<String>,
    /// Whether the reports are a retry, so that nothing was written.
    pub repeated: bool,
    /// The activities that were recorded with the reports.
    pub activities: Vec<EmittedActivity>,
    /// The result of each report.
    pub results: Vec<EmittedReport>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// An activity that was recorded for a reported step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EmittedActivity {
    /// Its number in the run.
    pub number: Number,
    /// Its id.
    pub activity: String,
    /// Its file, relative to the project.
    pub path: String,
    /// Its status.
    pub status: ActivityStatus,
}

/// The result of one report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmittedReport {
    /// Its id.
    pub event_id: EventId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its step.
    pub step: Option<StateName>,
    /// Its unit.
    pub unit: Option<Unit>,
    /// Steps that were completed because this one began.
    pub completed_predecessors: Vec<StateName>,
}

/// Builds the report. Reads the history of the run with `log`, if nothing else shows how the work of sub-agents is.
pub(in crate::runs) fn report_of(
    project: &OpenedProject,
    asked: &CheckedRequest<'_>,
    outcome: EmitOutcome<'_>,
    log: impl FnOnce() -> Option<History>,
) -> EmitReport {
    let emitted = outcome.emitted;
    // The log may be long, and most reports need nothing of it.
    let history = LazyCell::new(log);
    let progress = progress(outcome.state, || history.as_ref().map(History::children).unwrap_or_default());
    let results = results(emitted);
    let mut activities = Vec::new();
    for record in &emitted.records {
        let name = record.number.file_name(&record.id());
        activities.push(EmittedActivity {
            number: record.number,
            activity: record.id().to_string(),
            path: outcome.run.address(Document::Activity(&name)).from(project.root()),
            status: record.activity.status(),
        });
    }
    let kind = match results.as_slice() {
        [only] => only.kind.clone(),
        _ => "batch".to_owned(),
    };
    let mut warnings = outcome.warnings;
    if emitted.ends {
        for step in outcome.state.document().state.running_steps() {
            warnings.push(format!("the run is completed without a report that `{step}` is done"));
        }
        let open = history.as_ref().map(History::open_workers).unwrap_or_default();
        if !open.is_empty() {
            warnings.push(format!("the run is completed while these are not done: {}", open.join(", ")));
        }
    }
    // The first try was warned, and the run may have gone on since then.
    let is_new = !outcome.repeated;
    if is_new && let Some(machine) = outcome.machine {
        warnings.extend(entered_beside(outcome.state, machine, emitted, || place_of_caller(project)));
        warnings.extend(kept_open(outcome.state, machine, emitted, || history.as_ref()));
        let asks_log = may_leave_undone(outcome.state, emitted);
        if asks_log && let Some(history) = history.as_ref() {
            warnings.extend(left_undone(history, emitted));
        }
    }
    EmitReport {
        success: true,
        tool: "emit",
        data: EmitData {
            event_id: outcome.id,
            run_id: asked.run.clone(),
            kind,
            run_status: progress.as_str().to_owned(),
            completed_predecessors: results.iter().flat_map(|one| one.completed_predecessors.clone()).collect(),
            phase: outcome.state.phase().cloned(),
            seq: outcome.seq,
            created: outcome.created,
            run_token: outcome.token,
            repeated: outcome.repeated,
            activities,
            results,
            warnings,
        },
    }
}

/// Warnings about steps that began beside another successor of the same step that is not done. The definition may mean
/// only one of them, and then the other one has to be settled.
fn entered_beside(
    state: &RunState,
    machine: &Machine,
    emitted: &Emitted,
    place: impl Fn() -> Option<String>,
) -> Vec<String> {
    let run = state.document();
    let mut warnings = Vec::new();
    for report in &emitted.reports {
        let (Some((step, _)), Some(from)) = (report.own_step(), &report.from) else { continue };
        if report.auto {
            continue;
        }
        for other in run.state.positions() {
            let is_open = run.state.steps.get(other).is_some_and(|status| !status.is_done());
            if other == step || !is_open || !machine.successors(from).any(|way| way.to == *other) {
                continue;
            }
            let settle = Suggestion::flow("emit")
                .option("workflow", &run.workflow)
                .option("run-id", &run.id)
                .option("type", ReportType::StatusChange.as_str())
                .option("step", other)
                .option("data", r#"{"status":"skipped"}"#)
                .in_project(place().as_deref());
            warnings.push(format!(
                "`{step}` was entered beside `{other}`, which is not done. When only one of them is meant, settle the \
                 other: {settle}"
            ));
        }
    }
    warnings
}

/// The states that the reports left, except those that are current again.
fn left<'e>(state: &RunState, emitted: &'e Emitted) -> Vec<&'e StateName> {
    let mut left: Vec<_> = emitted.reports.iter().filter_map(|report| report.from.as_ref()).collect();
    left.retain(|from| !state.document().state.positions().any(|here| here == *from));
    left
}

/// Whether the log is needed to tell if the work is done in a state that the reports left, or in which they ended the
/// run.
fn may_leave_undone(state: &RunState, emitted: &Emitted) -> bool {
    let steps = &state.document().state.steps;
    emitted.ends || left(state, emitted).iter().any(|from| !steps.get(from).is_some_and(StepStatus::is_done))
}

/// Warnings about states whose work is not done, but which the reports left or in which they ended the run. Reports may
/// do that (rp1), but not silently.
fn left_undone(history: &History, emitted: &Emitted) -> Vec<String> {
    let mut warnings = Vec::new();
    let unsettled = if emitted.ends { history.unsettled() } else { Vec::new() };
    for (phase, work) in &unsettled {
        warnings.push(format!("the run is completed, and {}", Undone::new(None, phase, work)));
    }
    for from in left(history.state(), emitted) {
        let work = history.work(from);
        // Steps that run when the run ends are reported as such.
        let is_told = emitted.ends && work.status == StepStatus::Running;
        let is_told = is_told || unsettled.iter().any(|(phase, _)| *phase == from);
        if !work.is_done() && !is_told {
            let run = if emitted.ends { "is completed" } else { "goes on" };
            warnings.push(format!("the run {run}, and {}", Undone::new(None, from, &work)));
        }
    }
    warnings
}

/// Why the run is still open although its last step was reported as completed.
fn kept_open<'h>(
    state: &RunState,
    machine: &Machine,
    emitted: &Emitted,
    history: impl FnOnce() -> Option<&'h History>,
) -> Option<String> {
    let run = &state.document().state;
    let mut is_end = false;
    for (step, status) in emitted.reports.iter().filter_map(StepReport::own_step) {
        // A later report may have moved the run on.
        let is_still_so = run.positions().any(|here| here == step) && run.steps.get(step) == Some(status);
        is_end |= status == StepStatus::Completed && machine.is_terminal(step) && is_still_so;
    }
    if emitted.ends || run.status.is_terminal() || !is_end {
        return None;
    }
    let mut open = Vec::new();
    for step in run.positions() {
        let status = run.steps.get(step).unwrap_or(StepStatus::NotStarted);
        if !machine.is_terminal(step) || !status.is_done() {
            open.push(format!("`{step}` ({status})"));
        }
    }
    if !open.is_empty() {
        return Some(format!("the run stays open, since these steps are not at an end: {}", open.join(", ")));
    }
    let mut running = in_doubt(history()?);
    running.retain(|doubt| doubt.number.is_some());
    let ids: Vec<_> = running.into_iter().map(|doubt| doubt.id).collect();
    if ids.is_empty() { None } else { Some(format!("the run stays open, since {}", Refusal::InDoubt { ids })) }
}

/// The result of reports that change nothing. They are not logged, so the result refers to the last event of the run.
pub(in crate::runs) fn nothing_new(tx: &Transaction<'_>, asked: &CheckedRequest<'_>) -> Emitted {
    let end = tx.writer.end();
    let last = end.newer.last().or(end.at.as_ref()).map_or(&asked.id, |event| &event.id);
    let reports = asked
        .emit
        .reports
        .iter()
        .map(|report| StepReport { id: last.clone(), ..report.clone().logged_at(asked.emit.now) });
    Emitted { reports: reports.collect(), ..Emitted::default() }
}

/// The result of each report, after the steps that it completed.
fn results(emitted: &Emitted) -> Vec<EmittedReport> {
    let mut results = Vec::new();
    let mut completed = Vec::new();
    for report in &emitted.reports {
        // It stands before the report of the caller's that caused it.
        if report.auto {
            completed.extend(report.step.clone());
            continue;
        }
        results.push(EmittedReport {
            event_id: report.id.clone(),
            kind: report.kind.clone(),
            step: report.step.clone(),
            unit: report.unit.clone(),
            completed_predecessors: std::mem::take(&mut completed),
        });
    }
    results
}
