//! `brief`: where a run stands, in what an agent has to know when its context is new. Asks no other program.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{CompletedActivity, InDoubt, LeftUndone, Verdict};
use crate::model::{RunId, RunStatus, RunSummary, SessionId, StateName, Timestamp, WorkflowId};
use crate::runs::context::Context;
use crate::runs::error::Result;
use crate::runs::look::card::{CardGroup, HolderLife, holder_life, standing_for_session, word_of};
use crate::runs::look::cause::{Cause, Need, cause_of};
use crate::runs::look::in_time::asks_for_files;
use crate::runs::look::resume::{Looking, ResumeReport, ResumeRequest, resume_here};
use crate::runs::open::listed::ListedRun;
use crate::runs::open::reading::Unreadable;
use crate::runs::open::shared::{Sharing, not_accepted};
use crate::runs::open::view::View;
use crate::runs::open::work::OpenWork;
use crate::runs::open::worktrees::{OtherWorktree, RUNS_NAMED, other_worktrees};

/// Whose run to tell about.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BriefRequest {
    /// The session that calls. Its own run comes first; otherwise the run that changed last.
    pub session: Option<SessionId>,
}

/// Which run it is, and where it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunPosition {
    /// The run.
    pub run_id: RunId,
    /// What it is about, in a few words; absent if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its workflow.
    pub workflow: Option<WorkflowId>,
    /// Its status.
    pub status: Option<RunStatus>,
    /// What a person has to do; null if it cannot be read.
    pub group: Option<CardGroup>,
    /// Why, in one word; null if nothing is needed.
    pub need: Option<Need>,
    /// How it stands, in the word that lists have for it; absent if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The current phase.
    pub phase: Option<StateName>,
    /// The place of that phase in the workflow, from 1.
    pub phase_number: Option<usize>,
    /// How many phases the workflow has.
    pub phases: Option<usize>,
    /// The branch that it is about, if another one is checked out.
    pub other_branch: Option<String>,
    /// The verdict, as `resume` gives it.
    pub verdict: Verdict,
    /// How many things the run left behind without settling them.
    pub undone: usize,
    /// What it waits for, or what went wrong, as it was recorded; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The process that still works for it, although the flow that began that work is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// Where it is shared, and as of when; nothing if it is of this checkout alone.
    #[serde(flatten)]
    pub sharing: Option<Sharing>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BriefReport {
    /// Which run it is, and where it is.
    #[serde(flatten)]
    pub position: RunPosition,
    /// The reason for the verdict.
    pub reason: String,
    /// The phase that the next action is about.
    pub next_phase: Option<StateName>,
    /// The workflow's description of it.
    pub next_description: Option<String>,
    /// Why the run is blocked.
    pub blocked_reason: Option<String>,
    /// Work that was begun and has no known outcome.
    pub in_doubt: Vec<InDoubt>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// The session that holds the run.
    pub session: Option<SessionId>,
    /// Whether the process of that session is gone.
    pub holder_is_gone: bool,
    /// How many activities are completed.
    pub completed_activities: usize,
    /// The latest of them, in order.
    pub completed: Vec<CompletedActivity>,
    /// How many other runs could be resumed.
    pub others: usize,
}

/// What an agent has to know of the work in its project and around it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Overview {
    /// Where the run stands that its session would resume.
    pub(crate) run: Option<BriefReport>,
    /// Whether its verdict may be another one by the files as they are.
    pub(crate) asks_for_files: bool,
    /// Runs that cannot be read.
    pub(crate) unreadable: Vec<Unreadable>,
    /// Other worktrees of the repository in which runs are open.
    pub(crate) worktrees: Vec<OtherWorktree>,
    /// How many runs were not looked at, because the caller's budget was spent.
    pub(crate) passed_over: usize,
    /// That shared runs are not seen, because their store was not accepted.
    pub(crate) not_accepted: Option<String>,
}

/// Looks for work that a session should know of. Without a project, and so without `work`, that can only be in other
/// worktrees.
///
/// # Errors
/// As [`crate::runs::resume`].
pub(crate) fn overview(cx: &Context, work: Option<&OpenWork>, session: Option<&SessionId>) -> Result<Overview> {
    let Some(work) = work else {
        return Ok(Overview { worktrees: other_worktrees(cx, RUNS_NAMED), ..Overview::default() });
    };
    // Its own project first: there may not be time for the other worktrees.
    let found = resume_of_session(work, session, None, Looking::Nothing);
    let worktrees = other_worktrees(cx, RUNS_NAMED);
    let unreadable = &work.runs.unreadable;
    if found.is_err() && !unreadable.is_empty() {
        // The only entry may not be a run, such as a link. Report what could be read.
        return Ok(Overview { unreadable: unreadable.clone(), worktrees, ..Overview::default() });
    }
    let (mut report, view) = found?;
    let passed_over = work.runs.passed_over;
    let unreadable = std::mem::take(&mut report.unreadable);
    let not_accepted = not_accepted(&work.project);
    let asks_for_files = view.as_ref().is_some_and(asks_for_files);
    let run = brief_from(work, report, view.as_ref());
    Ok(Overview { run, asks_for_files, unreadable, worktrees, passed_over, not_accepted })
}

/// Where the run stands that a session would resume; `None` if there is none. Takes a few milliseconds.
///
/// # Errors
/// As [`crate::runs::resume`].
pub fn brief(cx: &Context, request: &BriefRequest) -> Result<Option<BriefReport>> {
    let Some(work) = OpenWork::find(cx)? else { return Ok(None) };
    Ok(brief_of(&work, request.session.as_ref(), None)?.map(|(report, _)| report))
}

/// As [`brief`] of this work, by the files as they are, if it can be told in this time whether what was seen still holds.
///
/// # Errors
/// As [`crate::runs::resume`].
pub(crate) fn brief_with_files(
    work: &OpenWork,
    session: Option<&SessionId>,
    time: Duration,
) -> Result<Option<BriefReport>> {
    let (report, view) = resume_of_session(work, session, None, Looking::Files(time))?;
    Ok(brief_from(work, report, view.as_ref()))
}

/// As [`brief`] of this work, with the run as it was read, if it could be. `run` is another one than the session's.
pub(in crate::runs) fn brief_of(
    work: &OpenWork,
    session: Option<&SessionId>,
    run: Option<&RunId>,
) -> Result<Option<(BriefReport, Option<View>)>> {
    let (report, view) = resume_of_session(work, session, run, Looking::Nothing)?;
    Ok(brief_from(work, report, view.as_ref()).map(|report| (report, view)))
}

fn resume_of_session(
    work: &OpenWork,
    session: Option<&SessionId>,
    run: Option<&RunId>,
    looking: Looking<'_>,
) -> Result<(ResumeReport, Option<View>)> {
    let run = run.map(RunId::to_string);
    let request = ResumeRequest { run, session: session.cloned(), ..ResumeRequest::default() };
    resume_here(work, &request, looking)
}

fn brief_from(work: &OpenWork, report: ResumeReport, view: Option<&View>) -> Option<BriefReport> {
    let run_id = report.run_id?;
    // A run that cannot be read has a verdict as well, but neither phases nor a holder.
    let (machine, hold, updated_at) = match view {
        Some(View { machine, history, .. }) => {
            (machine.as_ref(), history.hold(), history.state().document().state.updated_at)
        }
        None => (None, None, None),
    };
    let phase_number = match (machine, &report.phase) {
        (Some(machine), Some(phase)) => machine.place_of(phase),
        _ => None,
    };
    let holder = hold.map(|hold| holder_life(&work.project, hold));
    let process = report.in_doubt.iter().find_map(|doubt| doubt.process);
    let goes_on = process.is_some() || report.begun_at.is_some();
    let standing = view.map(|view| standing_for_session(view, (report.verdict, report.next.action), goes_on, holder));
    let state = match (standing, report.status) {
        (Some((group, need)), Some(status)) => Some(word_of(group, need, status).to_owned()),
        _ => None,
    };
    let title = view.map(|view| ListedRun::from(RunSummary::from(view.history.state().document())).title());
    let position = RunPosition {
        run_id,
        title,
        group: standing.map(|(group, _)| group),
        need: standing.and_then(|(_, need)| need),
        state,
        workflow: report.workflow,
        status: report.status,
        phase_number,
        phase: report.phase,
        phases: machine.map(|machine| machine.states().len()),
        other_branch: report.other_branch,
        verdict: report.verdict,
        undone: report.left_undone.len(),
        cause: view.and_then(|view| cause_of(view, Need::of_action(report.next.action))),
        process,
        updated_at,
        sharing: report.sharing,
    };
    Some(BriefReport {
        position,
        session: hold.map(|hold| hold.session.clone()),
        holder_is_gone: holder == Some(HolderLife::Dead),
        reason: report.reason,
        next_phase: report.next.phase,
        next_description: report.next.description,
        blocked_reason: report.blocked_reason,
        in_doubt: report.in_doubt,
        left_undone: report.left_undone,
        completed_activities: report.completed_activities,
        completed: report.completed,
        others: report.candidates.len(),
    })
}
