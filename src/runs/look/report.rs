//! `report`: what came out of a run, for a pull request or the next agent. It says nothing that time or the files change,
//! so that it has the same bytes as long as nothing more is recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::{Attempt, LeftUndone, RunUsage, files_in_doubt, held_by, undecided};
use crate::model::{
    ActivityStatus, Doing, MissingProof, NotCovered, Number, Question, RunDocument, RunId, RunStatus, SessionId,
    StateName, Unit, WorkflowId, command_line,
};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::show::{ShownApproval, ShownSkip, ShownUnit, approvals, skipped};
use crate::runs::open::damage::notes_of;
use crate::runs::open::listing::head_of;
use crate::runs::open::select::select_run;
use crate::runs::open::shared::StoreAnswer;
use crate::runs::open::view::{View, for_reading};
use crate::store::RefreshScope;

/// Which run to report on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkReportRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The session of the caller.
    pub session: Option<SessionId>,
}

/// What came out of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its goal.
    pub goal: Option<String>,
    /// The issue that it is about.
    pub issue: Option<String>,
    /// The pull request that it is about.
    pub pr: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its status.
    pub status: RunStatus,
    /// What an active run is doing, if that says more than its status.
    pub doing: Option<Doing>,
    /// Why it is blocked or over, as it was said, or at which gate it waits.
    pub reason: Option<String>,
    /// Its phase.
    pub phase: Option<StateName>,
    /// Work that is done and that flow has someone's word for: the last record of each id.
    pub claimed: Vec<ReportedWork>,
    /// Commands of which flow saw the end, and how replays of them compared: the last record of each id.
    pub seen: Vec<ReportedWork>,
    /// What people decided at gates.
    pub decided: Vec<ShownApproval>,
    /// What was passed over, and why, also where it was done later.
    pub skipped: Vec<ShownSkip>,
    /// Work that failed, is blocked, or has no known outcome: the last record of each id, in each phase.
    pub open: Vec<ReportedWork>,
    /// Units of work and sub-agents that are not reported as done.
    pub open_units: Vec<ShownUnit>,
    /// What the phases in which the run is require and the log does not show to have passed.
    pub required: Vec<MissingProof>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// Questions that wait for an answer.
    pub questions: Vec<ReportedQuestion>,
    /// What its work used, as it was reported.
    pub usage: RunUsage,
    /// What is odd about the files of the run, such as an edit that no event has.
    pub notes: Vec<String>,
    /// What the caller should know of the way to the store: no part of the report, which has the same bytes whether or not that was
    /// reached.
    #[serde(skip)]
    pub asked: Vec<String>,
}

/// The last record of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedWork {
    /// Its number.
    pub number: Number,
    /// Its id.
    pub id: String,
    /// Its phase.
    pub phase: Option<StateName>,
    /// Its status.
    pub status: ActivityStatus,
    /// Its title or summary.
    pub summary: Option<String>,
    /// The name that the project gives the command which flow ran.
    pub name: Option<String>,
    /// The command that flow ran, as a line for a shell.
    pub command: Option<String>,
    /// The directory in which it ran, relative to the top of the checkout.
    pub dir: Option<String>,
    /// The exit status.
    pub exit_code: Option<i64>,
    /// The commit on which it ran, if the files were exactly those of it.
    pub commit: Option<String>,
    /// The digest of the files on which it ran.
    pub tree: Option<String>,
    /// Why the files on which it ended may be others, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_in_doubt: Option<String>,
    /// Files whose content that digest does not cover.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<NotCovered>,
    /// The ids of activities whose failures it settles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<String>,
    /// If it is claimed, the number of the record in which flow saw the same work fail before.
    pub seen_to_fail: Option<Number>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedQuestion {
    /// The step that asks.
    pub step: StateName,
    /// The unit of work that asks.
    pub unit: Option<Unit>,
    /// What is asked.
    pub prompt: String,
}

/// Reports on a run.
///
/// # Errors
/// Those of reading a run.
pub fn work_report(cx: &Context, request: &WorkReportRequest) -> Result<WorkReport> {
    let project = cx.project()?;
    let asked = StoreAnswer::now(&project, RefreshScope::All);
    let run = select_run(&project, request.run.as_deref(), request.session.clone())?;
    let view = for_reading(&project, &*run)?;
    let document = view.history.state().document();
    let (mut claimed, mut seen, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for attempt in view.history.latest() {
        if attempt.approval.is_some() {
            continue;
        }
        let work = ReportedWork::of(attempt);
        match attempt.status {
            _ if attempt.flow_saw() => {
                // A failure that flow saw holds the run as any other does.
                if !attempt.status.is_completed() && document.state.open_activities.contains(&attempt.id) {
                    open.push(work.clone());
                }
                seen.push(work);
            }
            ActivityStatus::Passed | ActivityStatus::Skipped => claimed.push(work),
            _ if document.state.open_activities.contains(&attempt.id) => open.push(work),
            // A later record settles it, and names it.
            _ => {}
        }
    }
    // A later record of an id settles nothing in the phase where it failed, if it is of another phase.
    for attempt in view.history.open_records() {
        if open.iter().all(|known: &ReportedWork| known.number != attempt.number) {
            open.push(ReportedWork::of(attempt));
        }
    }
    open.sort_by_key(|work| work.number);
    let mut open_units = Vec::new();
    for unit in view.history.units() {
        if unit.is_open() {
            open_units.push(ShownUnit::of(&unit));
        }
    }
    let questions = document.state.questions.iter().map(ReportedQuestion::of);
    let mut notes = notes_of(&project, &*run, &view);
    notes.extend(view.history.dropped_requirements());
    notes.extend(view.history.losses());
    Ok(WorkReport {
        run_id: run.id().clone(),
        workflow: document.workflow.clone(),
        goal: document.goal.clone(),
        issue: number_of(document, "issue"),
        pr: number_of(document, "pr"),
        branch: document.context_text("branch").map(str::to_owned),
        status: document.state.status,
        doing: head_of(&view).doing,
        reason: reason_of(&view),
        phase: document.state.current_phase.clone(),
        claimed,
        seen,
        decided: approvals(&view.history),
        skipped: skipped(&view.history),
        open,
        open_units,
        required: required_here(&view),
        left_undone: view.history.left_undone(view.machine.as_ref()),
        questions: questions.collect(),
        usage: view.history.usage(),
        notes,
        asked: asked.about(&project, &*run),
    })
}

/// What the log does not show of what is required where the run is, while it is open.
fn required_here(view: &View) -> Vec<MissingProof> {
    let mut required = match &view.machine {
        Some(machine) if !view.history.state().status().is_terminal() => view.history.unproved_by_log(machine),
        _ => Vec::new(),
    };
    // What was left without is reported there.
    required.retain(|one| !one.is_behind);
    required
}

/// Why the run is blocked or over, or at which gate it waits.
fn reason_of(view: &View) -> Option<String> {
    let (history, machine) = (&view.history, view.machine.as_ref());
    let state = &history.state().document().state;
    match state.status {
        RunStatus::Blocked => state.blocked_reason.clone(),
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => history.end_reason().map(str::to_owned),
        RunStatus::Active => {
            let held = held_by(history.state(), machine).into_iter().next();
            Some(undecided(history, machine, held)?.1)
        }
    }
}

/// The issue or the pull request, as people write it.
fn number_of(document: &RunDocument, what: &str) -> Option<String> {
    match document.context.get(what)? {
        Value::Number(number) => Some(format!("#{number}")),
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}

impl ReportedWork {
    fn of(attempt: &Attempt) -> Self {
        let exec = attempt.exec.as_deref().filter(|exec| exec.end.is_some());
        let before = exec.and_then(|exec| exec.before.as_ref());
        Self {
            number: attempt.number,
            id: attempt.id.clone(),
            phase: attempt.phase.clone(),
            status: attempt.status,
            summary: attempt.summary.clone(),
            name: exec.and_then(|exec| exec.name.clone()),
            command: exec.map(|exec| command_line(&exec.argv)),
            dir: exec.map(|exec| exec.dir.clone()),
            exit_code: attempt.exit_code,
            commit: before.filter(|before| before.clean).and_then(|before| before.commit.clone()),
            tree: before.map(|before| before.sha256.clone()),
            files_in_doubt: exec.and_then(files_in_doubt),
            not_covered: before.map(|before| before.not_covered.clone()).unwrap_or_default(),
            settles: attempt.settles.clone(),
            seen_to_fail: attempt.seen_to_fail,
        }
    }
}

impl ReportedQuestion {
    pub(super) fn of(question: &Question) -> Self {
        Self { step: question.step.clone(), unit: question.unit.clone(), prompt: question.prompt.clone() }
    }
}
