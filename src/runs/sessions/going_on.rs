//! Whether a session of an agent's host goes on by itself after its turn.
//!
//! A host that always goes on never ends, so there is a budget. It is spent before the host is told, and neither progress
//! nor a compaction of the conversation renews it.

use std::time::Duration;

use crate::engine::Verdict;
use crate::host::AgentHost;
use crate::model::{EventKind, ReportType, RunId, RunStatus, Seq, SessionId, Unproved};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::host_note::HostNote;
use crate::runs::look::brief::{BriefReport, brief_of};
use crate::runs::look::in_time::within;
use crate::runs::look::seen::{seen_evidence, unproved_now};
use crate::runs::open::listing::for_listing;
use crate::runs::open::recap::for_deciding;
use crate::runs::open::view::View;
use crate::runs::open::work::OpenWork;
use crate::runs::write::exec::trust::trusted;
use crate::store::Project;

/// How often a session goes on by itself; once after each prompt.
const TIMES: u32 = 3;

/// How long a hook looks at the files of a checkout.
const LOOKING: Duration = Duration::from_millis(1500);

/// Why a session goes on instead of stopping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopOptions {
    /// To work on its next phase.
    pub continues: bool,
    /// To run what its phase requires and was not seen to pass.
    pub gates: bool,
}

impl StopOptions {
    /// Whether it may go on at all.
    #[must_use]
    pub fn any(self) -> bool {
        self.continues || self.gates
    }

    /// What either of the two asks for.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { continues: self.continues || other.continues, gates: self.gates || other.gates }
    }
}

/// With what a session goes on.
#[derive(Debug)]
pub(crate) struct GoingOn {
    /// Where its run stands.
    pub(crate) report: BriefReport,
    /// What its phase requires and was not seen to pass; only if that was asked for.
    pub(crate) unproved: Vec<Unproved>,
}

/// Where the run stands with which the session goes on; `None` if it stops.
///
/// It goes on if it holds exactly one active run, whose next phase is known and which has changed since the user's last
/// prompt, and if since then no run of the session was blocked or cancelled. For what the phase of the run requires, it goes
/// on only if it can run that.
///
/// # Errors
/// When the runs cannot be read, or the budget cannot be spent. Then the session must stop.
pub(crate) fn going_on(
    cx: &Context,
    host: AgentHost,
    session: &SessionId,
    wanted: StopOptions,
) -> Result<Option<GoingOn>> {
    if let Some(setting) = &cx.env.hook_continue
        && !setting.yes()?
    {
        return Ok(None);
    }
    let project = cx.project()?;
    let note = HostNote::of(&project, host, session);
    let Some(prompt) = note.prompt.as_ref().filter(|_| !note.went_on && note.times < TIMES) else { return Ok(None) };
    let work = OpenWork::read(cx)?;
    // Among the runs that were not read may be one that needs a person.
    if work.runs.passed_over > 0 {
        return Ok(None);
    }
    let mut active =
        work.runs.open().filter(|run| run.session.as_ref() == Some(session) && run.head.status == RunStatus::Active);
    let (Some(run), None) = (active.next(), active.next()) else { return Ok(None) };
    for id in prompt.keys() {
        if *id != run.head.run_id && was_stopped(&project, id) {
            return Ok(None);
        }
    }
    let Some((report, Some(view))) = brief_of(&work, Some(session))? else { return Ok(None) };
    let since = prompt.get(&run.head.run_id).copied().unwrap_or_default();
    let goes_on = report.position.run_id == run.head.run_id
        && report.position.verdict == Verdict::Continue
        && view.log.last_seq() > since
        && !asks_for_a_person(&project, &run.head.run_id, since)?;
    if !goes_on {
        return Ok(None);
    }
    let mut unproved = if wanted.gates { unproved_within(cx, &view, LOOKING) } else { Vec::new() };
    // One that the project does not name, or that was not accepted here, the session cannot run.
    unproved.retain(|one| trusted(&project, &one.exec).is_ok());
    if unproved.is_empty() && !wanted.continues {
        return Ok(None);
    }
    // Spent before the host is told: a hook that is killed in between must not go on more often.
    Ok(if note.spend(&project)? { Some(GoingOn { report, unproved }) } else { None })
}

/// What is missing of what the current phases require, as far as it can be known in this time: without an answer of the files,
/// what the log says.
fn unproved_within(cx: &Context, view: &View, time: Duration) -> Vec<Unproved> {
    let Some(machine) = &view.machine else { return Vec::new() };
    let known = view.history.unproved_here(machine);
    let mut here = view.history.state().document().state.positions();
    let asks_files = here.any(|phase| machine.requires_of(phase).any(|one| one.fresh));
    if !known.is_empty() || !asks_files {
        return known;
    }
    let (cx, run) = (cx.clone(), view.history.state().id().clone());
    within(time, move || look(&cx, &run)).unwrap_or_default()
}

/// What is missing of what the current phases of `run` require on the files as they are.
fn look(cx: &Context, run: &RunId) -> Vec<Unproved> {
    let Ok(project) = cx.project() else { return Vec::new() };
    let Ok(run) = project.runs().open(run) else { return Vec::new() };
    let Ok(view) = for_deciding(&project, &*run) else { return Vec::new() };
    match seen_evidence(&project, &*run, &view.history) {
        Ok(seen) => unproved_now(&project, &view, &seen),
        Err(_) => Vec::new(),
    }
}

/// Whether the run is blocked or cancelled, or cannot be read.
fn was_stopped(project: &OpenedProject, id: &RunId) -> bool {
    let Ok(run) = project.runs().open(id) else { return true };
    match for_listing(project, &*run) {
        Ok(run) => matches!(run.summary.head.status, RunStatus::Blocked | RunStatus::Cancelled),
        Err(_) => true,
    }
}

/// Whether the run was blocked, or asked a question, since then. It may have gone on meanwhile.
fn asks_for_a_person(project: &Project, run: &RunId, since: Seq) -> Result<bool> {
    let Some(end) = project.runs().open(run)?.end(since)? else { return Ok(false) };
    Ok(end.newer.iter().any(|event| match &event.kind {
        EventKind::RunBlocked(_) | EventKind::RunCancelled(_) => true,
        EventKind::Emitted(emitted) => {
            emitted.reports.iter().any(|report| report.kind() == Some(ReportType::WaitingForUser))
        }
        _ => false,
    }))
}
