//! What is known about a run before it is driven: whether it exists, where it is in the graph, and what was answered.

use std::collections::HashMap;

use serde_json::json;

use crate::drive::agent::{self, FinishedState, GraphPosition};
use crate::drive::driven::Drive;
use crate::drive::report::{DriveReport, DriveStop, report};
use crate::engine::{Caller, Drift, History, HoldState};
use crate::machine::{Machine, in_words};
use crate::model::{ReportType, RunId, RunStatus, StateName, StepReport, StepStatus, Suggestion, WorkflowId};
use crate::runs::advice::adopt;
use crate::runs::alternative::Alternative;
use crate::runs::commands::reopen;
use crate::runs::driver::{DRIVER, DRIVER_DIR};
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::reading::{Runs, reasons};
use crate::runs::open::view::for_reading;
use crate::runs::processes::{driver_left, left_in};
use crate::runs::{ClaimRequest, Error, OpenedProject, Result, claim, hold_state, place_of_caller};

/// The run to continue: the one that is named, or the only open run of the workflow; none if a new run is to begin.
pub(super) fn run_to_drive(project: &OpenedProject, workflow: &str, named: Option<&str>) -> Result<Option<RunId>> {
    if let Some(id) = named {
        return match open_run_exactly(project, id) {
            Ok(run) => Ok(Some(run.id().clone())),
            Err(Error::NoSuchRun { .. }) => Ok(None),
            Err(error) => Err(error),
        };
    }
    let runs = Runs::read_open(project)?;
    let of_it = runs.open().filter(|run| run.head.workflow.as_str() == workflow);
    let of_it: Vec<_> = of_it.map(|run| run.head.run_id.clone()).collect();
    match of_it.as_slice() {
        [] if runs.unreadable.is_empty() => Ok(None),
        // An unreadable run may be the one, and a new run would repeat all of its work.
        [] => Err(Error::no_active_run(reasons(&runs.unreadable))),
        [only] => Ok(Some(only.clone())),
        several => Err(Error::several_runs(several)),
    }
}

/// The error for a run that follows another workflow than the one that was `named`.
fn follows_another(run: &RunId, follows: &WorkflowId, named: &str, known: &DrivenRun, place: Option<&str>) -> Error {
    if known.machine.is_some() {
        return Error::Usage(format!("run {run} follows the workflow {follows}, not {named}"));
    }
    let drive = Suggestion::flow("drive").value(follows).option("run-id", run).in_project(place);
    let message =
        format!("there is no workflow {named}; run {run} keeps the one that it follows, and `{drive}` goes on with it");
    Error::Usage(message)
}

/// Whether a run of which this is known can be driven as it was asked for.
pub(super) type RunCheck<'c> = dyn Fn(&DrivenRun) -> Result<()> + 'c;

/// Claims an existing run, and reads where it is in the graph. Gives a report if there is nothing to drive.
pub(super) fn take_up(
    project: &OpenedProject,
    run: &RunId,
    drive: &mut Drive,
    known: &mut DrivenRun,
    check: &RunCheck<'_>,
) -> Result<Option<DriveReport>> {
    let run = project.runs().open(run)?;
    let view = for_reading(project, &*run)?;
    let state = view.history.state();
    let follows = &state.document().workflow;
    if follows.as_str() != drive.workflow {
        let place = place_of_caller(project);
        return Err(follows_another(run.id(), follows, &drive.workflow, known, place.as_deref()));
    }
    // A run that cannot go on is not claimed: its holder keeps it.
    let phase = state.phase().cloned();
    let stopped = |stop, reason: String| Ok(Some(report(drive, stop, phase.clone(), reason, 0)));
    match state.status() {
        RunStatus::Active => {}
        RunStatus::Blocked => {
            let why = state.document().state.blocked_reason.clone().unwrap_or_default();
            return stopped(DriveStop::NeedsHuman, format!("the run is blocked: {why}"));
        }
        RunStatus::Completed => return stopped(DriveStop::Ended, "the run is completed".to_owned()),
        over => {
            let reopen = reopen(run.id(), false).example("reason", "why");
            return stopped(DriveStop::Failed, format!("the run is {over}; `{reopen}` lets it go on"));
        }
    }
    if let [first, ..] = state.document().state.other_phases.as_slice() {
        let message =
            format!("run {} is in several states, `{first}` among them; a driver works on one at a time", run.id());
        return Err(Error::Usage(message));
    }
    let drift = match (&view.machine, &known.machine) {
        (Some(pinned), Some(today)) => Drift::between(pinned, today, state.document().state.positions()),
        _ => Drift::None,
    };
    let mut warnings = Vec::new();
    match drift {
        Drift::None => {}
        Drift::Elsewhere(differences) => {
            let since = in_words(&differences);
            warnings.push(format!("the run goes on with the graph that it began with; since then: {since}"));
        }
        Drift::AtPosition(differences) => {
            let Alternative { command, .. } = adopt(run.id(), known.file.as_deref());
            let reason = format!(
                "run {} began with another graph, and where it stands they differ ({}): move it over with `{command}`, or \
                 begin another one with --run-id",
                run.id(),
                in_words(&differences)
            );
            return stopped(DriveStop::NeedsHuman, reason);
        }
    }
    // A claim names the driver, which is then alive. Without a claim, a command that a dead driver left may still be
    // running.
    let caller = Caller { session: Some(drive.session.clone()), ..Caller::default() };
    let held = hold_state(project, view.history.hold(), &caller)? == HoldState::HeldByOther;
    let begun = phase.as_ref().filter(|here| state.document().state.steps.get(here).is_some_and(StepStatus::is_open));
    if !held
        && let Some(here) = begun
        && let Some(process) = left_in(drive.run_dir.clone(), here)
    {
        return Err(driver_left(process, &format!("`{here}` of run {}", run.id())).into());
    }
    known.machine = view.machine.or(known.machine.take());
    known.warnings = warnings;
    known.read(&view.history);
    // What cannot be driven is not claimed either: a driver that has ended leaves the run behind.
    check(known)?;
    drive.epoch = claim(project, &*run, Some(drive.session.clone()), ClaimRequest::Claim, None)?.epoch;
    Ok(None)
}

/// What is known about a run before it is driven.
pub(super) struct DrivenRun {
    /// The graph; none if the run has none pinned and today's cannot be used either.
    pub(super) machine: Option<Machine>,
    pub(super) standing: GraphPosition,
    pub(super) context: agent::Context,
    /// The run's current state, if it has an open question.
    pub(super) asks: Option<StateName>,
    /// Warnings for the report.
    pub(super) warnings: Vec<String>,
    /// The file that holds the graph, if the request names one.
    pub(super) file: Option<String>,
    /// The directory in which the run was first driven, as it stores it.
    pub(super) stored_dir: Option<String>,
}

impl DrivenRun {
    pub(super) fn new(machine: Option<Machine>) -> Self {
        let (standing, context) = (GraphPosition::New, agent::Context::default());
        Self { machine, standing, context, asks: None, warnings: Vec::new(), file: None, stored_dir: None }
    }

    fn read(&mut self, history: &History) {
        let document = history.state().document();
        let mut context = document.context.clone();
        // The driver's command line may hold secrets that neither commands nor a model may see.
        context.shift_remove(DRIVER);
        context.shift_remove(DRIVER_DIR);
        self.stored_dir = document.context_text(DRIVER_DIR).map(str::to_owned);
        self.context.about = json!({ "goal": document.goal, "context": context });
        let run = &document.state;
        let mut answers = Answers::default();
        let mut begun = None;
        for report in history.reports() {
            match report.own_step() {
                Some((state, StepStatus::Running)) => begun = Some(state),
                Some((state, StepStatus::Completed)) => {
                    // If a person completed the step by hand, the output is the answer from before.
                    let output = report.text("output").map(str::to_owned).or_else(|| answers.0.get(state).cloned());
                    match self.context.done.last_mut() {
                        // The state's command may have reported its completion before the driver did.
                        Some(last) if last.state == *state && begun.take() != Some(state) => {
                            last.output = output.or(last.output.take());
                        }
                        _ => self.context.done.push(FinishedState { state: state.clone(), output }),
                    }
                }
                _ => {}
            }
            answers.note(report);
        }
        let Some(here) = run.current_phase.clone() else { return };
        self.context.answer = answers.0.remove(&here);
        if run.questions.iter().any(|question| question.is_of(&here, None)) {
            self.asks = Some(here.clone());
        }
        self.standing = match run.steps.get(&here) {
            Some(StepStatus::Running | StepStatus::Waiting) => GraphPosition::In(here),
            Some(StepStatus::Completed | StepStatus::Skipped) => {
                let mut reports = history.reports().iter().rev();
                let latest = reports.find(|report| matches!(report.own_step(), Some((state, _)) if *state == here));
                let named = latest.and_then(|report| report.text("next_state")).map(str::to_owned);
                GraphPosition::Behind { state: here, named }
            }
            // The state has to begin, for the first time or again.
            Some(StepStatus::Failed | StepStatus::NotStarted) | None => GraphPosition::At(here),
        };
    }
}

/// The latest answer of the user in each state, until the state is done. A state that fails, waits or begins again can
/// still use the answer: the user does not have to give it twice.
#[derive(Default)]
struct Answers<'a>(HashMap<&'a StateName, String>);

impl<'a> Answers<'a> {
    fn note(&mut self, report: &'a StepReport) {
        // The questions of units do not concern the driver.
        let (Some(step), None) = (&report.step, &report.unit) else { return };
        // `from`: the run comes from another state, so an answer belongs to an earlier round.
        let is_over = report.status().is_some_and(StepStatus::is_done) || report.from.is_some();
        match report.answer() {
            Some(answer) => drop(self.0.insert(step, answer)),
            None if is_over || report.kind() == Some(ReportType::WaitingForUser) => drop(self.0.remove(step)),
            None => {}
        }
    }
}
