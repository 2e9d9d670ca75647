//! Whether a session of an agent's host goes on by itself after its turn.
//!
//! A host that always goes on never ends, so there is a budget. It is spent before the host is told, and neither progress
//! nor a compaction of the conversation renews it.

use std::time::{Duration, Instant};

use crate::engine::Verdict;
use crate::host::AgentHost;
use crate::model::{EventKind, MissingProof, ReportType, RunId, RunStatus, Seq, SessionId};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::Result;
use crate::runs::host_note::HostNote;
use crate::runs::look::brief::{BriefReport, brief_of};
use crate::runs::look::in_time::unproved_within;
use crate::runs::open::listing::for_listing;
use crate::runs::open::view::View;
use crate::runs::open::work::OpenWork;
use crate::runs::write::exec::obstacle::obstacle;
use crate::store::Project;

/// How often a session may continue its work by itself, at most once after each prompt.
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
    pub(crate) unproved: Vec<MissingProof>,
}

/// Where the run stands with which the session goes on; `None` if it stops.
///
/// A command that a phase requires sends it on whatever else happened in the turn, and is not counted among the [`TIMES`].
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
    if note.went_on {
        return Ok(None);
    }
    let work = OpenWork::read(cx)?;
    let mut held = Vec::new();
    for run in work.runs.open() {
        if run.session.as_ref() == Some(session) && run.head.status == RunStatus::Active {
            held.push(run.head.run_id.clone());
        }
    }
    let sent = if wanted.gates { sent_to_prove(cx, &work, session, &held)? } else { None };
    let counts = sent.is_none();
    let going_on = match sent {
        None if wanted.continues => continues(&work, &note, session, &held)?,
        sent => sent,
    };
    let Some(going_on) = going_on else { return Ok(None) };
    // Spent before the host is told: a hook that is killed in between must not go on more often.
    Ok(note.spend(&project, counts)?.then_some(going_on))
}

/// The first of the runs that the session `held` whose phase requires a command that was not seen to pass and that the
/// session can run.
fn sent_to_prove(cx: &Context, work: &OpenWork, session: &SessionId, held: &[RunId]) -> Result<Option<GoingOn>> {
    let began = Instant::now();
    for run in held {
        let Some((mut report, Some(view))) = brief_of(work, Some(session), Some(run))? else { continue };
        // Otherwise it waits for a person, or has to be repaired first.
        if !matches!(report.position.verdict, Verdict::Continue | Verdict::Reconcile) {
            continue;
        }
        let mut unproved = known_unproved(cx, &view, LOOKING.saturating_sub(began.elapsed()));
        // What keeps it from being a proof, a person has to change.
        unproved.retain(|one| obstacle(&work.project, one).is_none());
        // What still runs, or whose end is in doubt, must not be begun again unread.
        unproved.retain(|one| {
            let latest = view.history.latest_run(&one.phase, &one.exec);
            latest.is_none_or(|attempt| attempt.exec.is_none() || attempt.is_seen())
        });
        if let Some(first) = unproved.first() {
            // What the report says of the next phase was found without the files.
            if report.position.verdict == Verdict::Continue {
                report.reason = format!("what `{}` requires was not seen to pass", first.phase);
            }
            (report.next_phase, report.next_description) = (None, None);
            return Ok(Some(GoingOn { report, unproved }));
        }
    }
    Ok(None)
}

/// The one run that the session `held`, if it is to work on it further: its next phase is known, it has changed since the
/// user's last prompt, and since then no run of the session was blocked or cancelled.
fn continues(work: &OpenWork, note: &HostNote, session: &SessionId, held: &[RunId]) -> Result<Option<GoingOn>> {
    let Some(prompt) = note.prompt.as_ref().filter(|_| note.times < TIMES) else { return Ok(None) };
    // Among the runs that were not read may be one that needs a person.
    if work.runs.passed_over > 0 {
        return Ok(None);
    }
    let [run] = held else { return Ok(None) };
    for id in prompt.keys() {
        if id != run && was_stopped(&work.project, id) {
            return Ok(None);
        }
    }
    let Some((report, Some(view))) = brief_of(work, Some(session), None)? else { return Ok(None) };
    let since = prompt.get(run).copied().unwrap_or_default();
    let goes_on = report.position.run_id == *run
        && report.position.verdict == Verdict::Continue
        && view.log.last_seq() > since
        && !asks_for_a_person(&work.project, run, since)?;
    Ok(goes_on.then_some(GoingOn { report, unproved: Vec::new() }))
}

/// What is missing of what the run still has to show, as far as it can be known in this time: without an answer of the files,
/// what the log says.
fn known_unproved(cx: &Context, view: &View, time: Duration) -> Vec<MissingProof> {
    let Some(machine) = &view.machine else { return Vec::new() };
    let known = view.history.unproved_by_log(machine);
    if known.is_empty() { unproved_within(cx, view, time).unwrap_or_default() } else { known }
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
