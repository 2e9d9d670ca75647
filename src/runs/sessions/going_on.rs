//! Whether a session of an agent's host goes on by itself after its turn.
//!
//! A host that always goes on never ends, so there is a budget. It is spent before the host is told, and neither progress
//! nor a compaction of the conversation renews it.

use crate::engine::Verdict;
use crate::host::AgentHost;
use crate::model::{EventKind, ReportType, RunId, RunStatus, Seq, SessionId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::host_note::HostNote;
use crate::runs::look::brief::{BriefReport, brief_of};
use crate::runs::open::listing::for_listing;
use crate::runs::open::work::OpenWork;
use crate::store::Project;

/// How often a session goes on by itself; once after each prompt.
const TIMES: u32 = 3;

/// Where the run stands with which the session goes on; `None` if it stops.
///
/// It goes on if it holds exactly one active run, whose next phase is known and which has changed since the user's last
/// prompt, and if since then no run of the session was blocked or cancelled.
///
/// # Errors
/// When the runs cannot be read, or the budget cannot be spent. Then the session must stop.
pub(crate) fn going_on(cx: &Context, host: AgentHost, session: &SessionId) -> Result<Option<BriefReport>> {
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
    // Spent before the host is told: a hook that is killed in between must not go on more often.
    Ok((goes_on && note.spend(&project)?).then_some(report))
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
