//! `next` and `advance`: the states that a run can go to, and going there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::digest;
use crate::engine::{Choices, MayEnd, Refusal, Trail, complete_by_leaving, refuse_held, refuse_other_session};
use crate::machine::Machine;
use crate::model::{
    Event, EventId, EventKind, Question, ReportType, RunId, Seq, SessionId, StateName, StepStatus, TextDigest,
    WorkflowId,
};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::damage::notes_of;
use crate::runs::open::proof::{ProofTrail, Proofs};
use crate::runs::open::recap::for_deciding;
use crate::runs::open::select::{select_run, select_run_to_write};
use crate::runs::open::shared::ask_store;
use crate::runs::open::view::{View, for_reading};
use crate::runs::write::emit::{EmitRequest, EmittedActivity, MissingRun, Reporter, emit_by};
use crate::runs::write::payload::ReportRequest;
use crate::runs::write::transaction::attempts::transact;
use crate::store::{RefreshScope, StoredRun};

/// Which run to move, and where.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdvanceRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The next state; otherwise the only one that can follow.
    pub to: Option<StateName>,
    /// The result of the state that the run leaves.
    pub summary: Option<String>,
    /// An idempotency key: repeating a request with the same id has no further effect.
    pub id: Option<EventId>,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// The states that a run can go to, with ARKOS's names.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NextStatesReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// The current state; none before the first one.
    pub state: Option<StateName>,
    /// Whether the run can end there, or has ended.
    pub terminal: bool,
    /// `tt`, the names of the states that can follow, and `td`, their descriptions.
    #[serde(flatten)]
    pub choices: Choices,
    /// A JSON Schema for the choice; none if no state can follow.
    pub schema: Option<Value>,
    /// Notes for people.
    pub notes: Vec<String>,
    /// Whether the run is over, so that nothing follows whatever its definition says.
    #[serde(skip)]
    pub is_over: bool,
}

/// The report of `advance`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AdvanceReport {
    /// The run.
    pub run_id: RunId,
    /// The state before.
    pub from: Option<StateName>,
    /// The requested state.
    pub to: StateName,
    /// The current state.
    pub phase: Option<StateName>,
    /// The status of the run, as in the report of `emit`.
    pub run_status: String,
    /// The position of the event.
    pub seq: Seq,
    /// The activities that were recorded with it.
    pub activities: Vec<EmittedActivity>,
    /// The states that can follow now.
    pub next: Choices,
    /// Whether the request is a retry, so that nothing was written.
    pub repeated: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Which run to look at.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NextStatesRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// The states that can follow, with a schema for a model's structured output.
///
/// # Errors
/// Those of reading a run.
pub fn next_states(cx: &Context, request: &NextStatesRequest) -> Result<NextStatesReport> {
    let project = cx.project()?;
    let asked = ask_store(&project, RefreshScope::Open);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let view = for_deciding(&project, &*run)?;
    let state = view.history.state();
    let machine = view.machine.as_ref();
    let over = state.status().is_terminal();
    let choices = if over { Choices::default() } else { choices_from(machine, state.phase()) };
    let mut notes = notes_of(&project, &*run, &view);
    notes.extend(asked);
    if over {
        notes.push(format!("the run is {}", state.status()));
    }
    Ok(NextStatesReport {
        run_id: run.id().clone(),
        workflow: state.document().workflow.clone(),
        state: state.phase().cloned(),
        terminal: matches!((machine, state.phase()), (Some(machine), Some(phase)) if machine.is_terminal(phase)),
        schema: choices.schema(),
        choices,
        notes,
        is_over: over,
    })
}

/// The states that can follow `from`; none without a workflow.
fn choices_from(machine: Option<&Machine>, from: Option<&StateName>) -> Choices {
    machine.map(|machine| Choices::of(machine, from)).unwrap_or_default()
}

/// Moves a run to a state that can follow. The state that it leaves is completed and recorded.
///
/// # Errors
/// [`Error::Refused`] when no transition leads there, or when none is named and several states can follow;
/// [`Error::Store`] when it cannot be written.
pub fn advance(cx: &Context, request: &AdvanceRequest) -> Result<AdvanceReport> {
    if let Some(agent) = request.to.as_ref().and_then(StateName::agent) {
        let message = format!("--to names a state of the workflow; report a step of the agent {agent} with flow emit");
        return Err(Error::Usage(message));
    }
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let run = select_run_to_write(&project, request.run.as_deref(), caller.session.as_ref())?;
    let mut notes = Vec::new();
    loop {
        match advance_as_seen(&project, &*run, request) {
            // A copy that is behind must not be the reason of a refusal, and what leaving a state reports rests on it.
            Err(error) if !matches!(error, Error::Store(_)) && !run.is_current() => {
                notes.extend(run.catch_up(&cx.write_request(cx.now(), project.commit_wait()?))?);
            }
            Err(error) => return Err(error),
            Ok(mut report) => {
                report.warnings.splice(0..0, notes);
                return Ok(report);
            }
        }
    }
}

/// Moves a run from where it is seen to be.
fn advance_as_seen(project: &OpenedProject, run: &dyn StoredRun, request: &AdvanceRequest) -> Result<AdvanceReport> {
    let view = for_reading(project, run)?;
    let mut destined = destination(request, &view, &view.history);
    if matches!(destined, Err(Refusal::NotProved { looked: false, .. })) {
        let proofs = Proofs::look(project, run)?;
        destined = destination(request, &view, &ProofTrail { history: &view.history, proofs: &proofs });
    }
    let to = match destined {
        Ok(to) => to,
        // The caller looks at a copy that is behind again, when it has what is newer.
        Err(refusal) if !run.is_current() => return Err(Error::refused(run.id(), refusal)),
        Err(refusal) => {
            let caller = project.cx.caller(request.session.clone(), request.epoch)?;
            // What refuses every writer is the first reason: the log, and a session that holds the run.
            return transact(project, run, caller, project.cx.now(), |tx| {
                refuse_other_session(&tx.state, &tx.caller).map_err(|held| tx.refused(held))?;
                Err(tx.refused(refusal.clone()))
            });
        }
    };
    // On a retry the run is already in another state, so a retry is recognised by the request alone.
    let basis = TextDigest(digest(serde_json::json!([request.to, request.summary]).to_string().as_bytes()));
    let (machine, from) = (view.machine.as_ref(), left_for(&view, &to).cloned());
    let asked = EmitRequest {
        workflow: view.history.state().document().workflow.to_string(),
        run: run.id().to_string(),
        reports: reports(request, &view, from.as_ref(), &to),
        id: request.id.clone(),
        session: request.session.clone(),
        epoch: request.epoch,
        ..EmitRequest::default()
    };
    let reporter =
        Reporter { basis: Some(&basis), missing: MissingRun::Gone, may_end: MayEnd::Last, ..Reporter::default() };
    let data = emit_by(&project.cx, &asked, &reporter)?.data;
    let is_over = data.run_status == "completed";
    Ok(AdvanceReport {
        run_id: data.run_id,
        from,
        to: to.clone(),
        phase: data.phase,
        run_status: data.run_status,
        seq: data.seq,
        activities: data.activities,
        next: if is_over { Choices::default() } else { choices_from(machine, Some(&to)) },
        repeated: data.repeated,
        warnings: data.warnings,
    })
}

/// What moving the run from one state to another reports.
fn reports(request: &AdvanceRequest, view: &View, from: Option<&StateName>, to: &StateName) -> Vec<ReportRequest> {
    let mut reports = Vec::new();
    if let (Some(from), Some(summary)) = (from, &request.summary) {
        // Who says what came out of a state answers what it asked. An interview is answered in its document.
        for question in &view.history.state().document().state.questions {
            if question.step == *from && !question.is_of_interview() {
                reports.push(answer_to(question, summary));
            }
        }
    }
    if let Some(from) = from
        && (request.summary.is_some() || completes_by_leaving(view, from, to))
    {
        reports.push(status(from, StepStatus::Completed, request.summary.as_ref()));
    }
    reports.push(status(to, StepStatus::Running, None));
    if let Some(declared) = view.machine.as_ref().and_then(|machine| machine.state(to))
        && declared.kind.as_deref() == Some("terminal")
    {
        // A terminal state has no work of its own, so it is completed at once.
        reports.push(status(to, StepStatus::Completed, None));
    }
    reports
}

fn status(step: &StateName, status: StepStatus, message: Option<&String>) -> ReportRequest {
    let mut data = serde_json::json!({ "status": status });
    if let Some(message) = message {
        data["message"] = message.as_str().into();
    }
    let kind = Some(ReportType::StatusChange.as_str().to_owned());
    ReportRequest { kind, step: Some(step.to_string()), unit: None, data: Some(data) }
}

/// Whether leaving the state is all that says it is done: nothing was reported or recorded in a state of a graph or diagram,
/// and the run does not go back from it.
fn completes_by_leaving(view: &View, from: &StateName, to: &StateName) -> bool {
    let Some(machine) = &view.machine else { return false };
    !machine.is_phases() && view.history.work(from).is_untouched() && !machine.leads_back(from, to)
}

fn answer_to(question: &Question, summary: &str) -> ReportRequest {
    ReportRequest {
        kind: Some(ReportType::UserAnswered.as_str().to_owned()),
        step: Some(question.step.to_string()),
        unit: question.unit.as_ref().map(ToString::to_string),
        data: Some(serde_json::json!({ "answer": summary })),
    }
}

/// The state that an earlier call of `advance` moved to.
fn went_to(event: &Event) -> Option<StateName> {
    match &event.kind {
        EventKind::Emitted(emitted) => emitted.phase.clone(),
        _ => None,
    }
}

/// The target state, provided that the run may leave its current state for it; that of the first try, if this is a retry.
fn destination(request: &AdvanceRequest, view: &View, trail: &dyn Trail) -> std::result::Result<StateName, Refusal> {
    if let Some(id) = &request.id
        && let Some(to) = view.log.events().filter(|event| event.id == *id).find_map(went_to)
    {
        return Ok(to);
    }
    let (history, machine) = (&view.history, view.machine.as_ref());
    let (status, phase) = (history.state().status(), history.state().phase());
    if status.is_terminal() {
        return Err(Refusal::Terminal { status });
    }
    refuse_held(history.state(), machine)?;
    let to = match &request.to {
        Some(to) => to.clone(),
        None => usual_target(&choices_from(machine, phase), machine, phase)?,
    };
    let from = left_for(view, &to);
    if let Some(from) = from {
        let choices = choices_from(machine, Some(from)).tt;
        // A state that the workflow does not have is refused by its name.
        let is_known = to == *from || machine.is_some_and(|machine| machine.contains(&to));
        if is_known && !choices.contains(&to) {
            return Err(Refusal::InvalidTransition { from: from.clone(), to, choices });
        }
    }
    complete_by_leaving(history, trail, machine, from, &to, request.summary.is_some())?;
    Ok(to)
}

/// The state that the run leaves for `to`: of parallel branches the one from which a transition leads there.
fn left_for<'v>(view: &'v View, to: &StateName) -> Option<&'v StateName> {
    let state = &view.history.state().document().state;
    if let Some(machine) = &view.machine {
        for here in state.positions() {
            if machine.next_of(here).contains(to) {
                return Some(here);
            }
        }
    }
    state.current_phase.as_ref()
}

/// The only state that can follow.
fn usual_target(
    choices: &Choices,
    machine: Option<&Machine>,
    from: Option<&StateName>,
) -> std::result::Result<StateName, Refusal> {
    if let (Some(machine), Some(from)) = (machine, from)
        && let Some(usual) = machine.usual_next(from)
    {
        return Ok(usual);
    }
    match (choices.tt.as_slice(), from) {
        ([only], None) => Ok(only.clone()),
        ([], Some(phase)) if machine.is_none() => Err(Refusal::NextUnknown { phase: phase.clone() }),
        ([], Some(phase)) => Err(Refusal::NoNextPhase { phase: phase.clone() }),
        ([_], Some(phase)) if machine.is_some_and(|machine| machine.ahead_of(phase).is_empty()) => {
            Err(Refusal::NoNextPhase { phase: phase.clone() })
        }
        (choices, phase) => {
            let phase = phase.or(choices.first()).cloned();
            let phase = phase.unwrap_or_else(StateName::unknown);
            Err(Refusal::AmbiguousNext { phase, choices: choices.to_vec() })
        }
    }
}
