//! `block`, `unblock`, `complete`, `fail`, `cancel`, `reopen`: changes of a run's status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Command, Decision, History, Trail};
use crate::model::{
    EventId, EventKind, Help, Kind, LastSeen, Problem, RunId, RunStatus, Seq, SessionId, StateName, StatusChange,
    Timestamp,
};
use crate::runs::commands::{reopen, wait_for_commands};
use crate::runs::context::{Context, OpenedProject};
use crate::runs::error::{Error, Result};
use crate::runs::open::listing::to_remember;
use crate::runs::open::name::open_run_exactly;
use crate::runs::open::reading::{Runs, read_all};
use crate::runs::open::same_work::{SameWork, has_second_run, refuse_second_run, refuse_work_in_git};
use crate::runs::open::select::select_run_to_write;
use crate::runs::open::view::for_reading;
use crate::runs::write::begun::exec_at_work;
use crate::runs::write::journal;
use crate::runs::write::questions::append_and_warn;
use crate::runs::write::transaction::Transaction;
use crate::runs::write::transaction::lost::transact_though_lost;
use crate::store::Reopening;

/// A change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusVerb {
    /// Wait for a person.
    Block,
    /// Continue a blocked run.
    Unblock,
    /// Complete the run: its work is done.
    Complete,
    /// Mark the run as failed.
    Fail,
    /// Cancel the run.
    Cancel,
    /// Reopen a run that is over.
    Reopen,
}

/// Which run to change, and how.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// The run; otherwise the session's or the only active one.
    #[serde(rename = "run_id")]
    pub run: Option<String>,
    /// The change.
    pub verb: StatusVerb,
    /// The reason.
    pub reason: Option<String>,
    /// Why the run may be completed although the work of some phases is not done; logged, and shown from then on.
    pub skip_reason: Option<String>,
    /// Whether a run may be reopened while another open run is about the same work.
    #[serde(default)]
    pub another: bool,
    /// An idempotency key: repeating a request with the same id has no further effect.
    #[serde(default)]
    pub id: Option<EventId>,
    /// The last event for the caller; if another one is by now, the run is not changed.
    #[serde(default)]
    pub seen: Option<LastSeen>,
    /// The session that calls.
    pub session: Option<SessionId>,
    /// The epoch under which the caller holds the run.
    pub epoch: Option<u64>,
}

/// The report of a change of status.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// The run.
    pub run_id: RunId,
    /// Its status now.
    pub status: RunStatus,
    /// The current phase.
    pub phase: Option<StateName>,
    /// Its latest event.
    pub seq: Seq,
    /// Whether anything was written; `false` if the run had that status already.
    pub changed: bool,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Changes a run's status. A run that has the status already stays unchanged.
///
/// # Errors
/// [`crate::runs::Error::Refused`] when a rule forbids it, [`crate::runs::Error::Store`] when it cannot be written.
pub fn change_status(cx: &Context, request: &StatusRequest) -> Result<StatusReport> {
    let project = cx.project()?;
    let caller = cx.caller(request.session.clone(), request.epoch)?;
    let now = cx.now();
    let reopens = request.verb == StatusVerb::Reopen;
    if reopens && request.run.is_none() && cx.env.run.is_none() {
        return Err(none_to_reopen(&project)?);
    }
    let run = select_run_to_write(&project, request.run.as_deref(), caller.session.as_ref())?;
    // A list of open runs, which others may have cached, does not have the run: it is named beside it before and after.
    if reopens {
        remember_reopening(&project, run.id(), now, Reopening::Begins);
    }
    let ends = matches!(request.verb, StatusVerb::Complete | StatusVerb::Fail | StatusVerb::Cancel);
    let changed = transact_though_lost(&project, &*run, caller, now, ends, |tx| {
        // Before all other rules: the first try has changed what they judge.
        if is_repeated(tx, request)? {
            tx.answer_stands();
            return Ok((report_of(tx), tx.state.document().clone()));
        }
        tx.refuse_moved_on(request.seen.as_ref())?;
        tx.may_share_work = request.another;
        if reopens && !request.another {
            let work = SameWork::of(tx.state.document());
            refuse_second_run(&project, Some(run.id()), &work)?;
            refuse_work_in_git(cx, project.root(), &work)?;
        }
        let changed = match tx.decide(request.command())? {
            Decision::Commit(kind) => {
                match kind {
                    EventKind::RunCompleted(_) => warn_of_early_end(tx)?,
                    EventKind::RunFailed(_) => refuse_over_command(tx, &project)?,
                    EventKind::RunCancelled(_) => warn_of_command(tx, &project),
                    _ => {}
                }
                // Anyone may cancel a run, and need not hold it for that.
                if request.verb != StatusVerb::Cancel {
                    tx.replace_dead_holder()?;
                }
                append_and_warn(tx, kind, request.id.as_ref().map(EventId::as_str))?;
                tx.commit()?;
                true
            }
            Decision::Already => false,
        };
        Ok((StatusReport { changed, ..report_of(tx) }, tx.state.document().clone()))
    });
    if reopens {
        remember_reopening(&project, run.id(), now, Reopening::Ended);
    }
    let (mut report, document) = changed?;
    if report.changed && report.status.is_terminal() {
        remember_end(&project, run.id());
        for observer in &cx.observers {
            report.warnings.extend(observer.run_ended(&project, run.id()));
        }
    }
    if report.changed {
        // After the transaction, so that others need not wait for it.
        report.warnings.extend(journal::note(&project, &document, now));
    }
    Ok(report)
}

/// Tells those who list the open runs that a run is being reopened, or was.
fn remember_reopening(project: &OpenedProject, run: &RunId, now: Timestamp, when: Reopening) {
    let wait = project.commit_wait().unwrap_or_default();
    if let Some(cache) = project.runs().run_cache() {
        cache.remember_reopening(&project.cx.write_request(now, wait), run, when);
    }
}

/// The error that no run was named to reopen, with the one that ended last.
fn none_to_reopen(project: &OpenedProject) -> Result<Error> {
    let (over, _) = read_all(project, |run| {
        let head = run.head;
        head.status.is_terminal().then_some((head.updated_at, head.created_at, head.run_id))
    })?;
    let message = "name the run to reopen";
    let Some((_, _, run)) = over.into_iter().max() else {
        return Ok(Problem::new(Kind::NotFound, "no_run_to_reopen", message).help("no run has ended").into());
    };
    let view = for_reading(project, &*open_run_exactly(project, run.as_str())?)?;
    let another = has_second_run(project, view.history.state().document());
    let command = reopen(&run, another).example("reason", "TEXT");
    Ok(Problem::new(Kind::Usage, "no_run_to_reopen", message)
        .help(Help::from("the one that ended last: ") + command)
        .into())
}

/// Whether an earlier try of the same request changed the run; an error if its id stands for something else.
fn is_repeated(tx: &Transaction<'_>, request: &StatusRequest) -> Result<bool> {
    let Some(id) = &request.id else { return Ok(false) };
    let earlier = tx.earlier(id, |event| {
        let (verb, change) = recorded(&event.kind)?;
        (verb == request.verb && change.reason == request.reason).then_some(())
    })?;
    Ok(earlier.is_some())
}

/// The change of status that an event records.
fn recorded(kind: &EventKind) -> Option<(StatusVerb, &StatusChange)> {
    match kind {
        EventKind::RunBlocked(change) => Some((StatusVerb::Block, change)),
        EventKind::RunUnblocked(change) => Some((StatusVerb::Unblock, change)),
        EventKind::RunCompleted(change) => Some((StatusVerb::Complete, change)),
        EventKind::RunFailed(change) => Some((StatusVerb::Fail, change)),
        EventKind::RunCancelled(change) => Some((StatusVerb::Cancel, change)),
        EventKind::RunReopened(change) => Some((StatusVerb::Reopen, change)),
        _ => None,
    }
}

impl StatusRequest {
    /// The change `verb` of the caller's run.
    #[must_use]
    pub fn new(verb: StatusVerb) -> Self {
        Self {
            run: None,
            verb,
            reason: None,
            skip_reason: None,
            another: false,
            id: None,
            seen: None,
            session: None,
            epoch: None,
        }
    }

    fn command(&self) -> Command {
        let reason = self.reason.clone();
        match self.verb {
            StatusVerb::Block => Command::Block { reason },
            StatusVerb::Unblock => Command::Unblock { reason },
            StatusVerb::Complete => Command::Complete { reason, skip: self.skip_reason.clone() },
            StatusVerb::Fail => Command::Fail { reason },
            StatusVerb::Cancel => Command::Cancel { reason },
            StatusVerb::Reopen => Command::Reopen { reason },
        }
    }
}

/// Updates the store's cache of open runs; a failure is ignored, because nothing depends on the cache.
pub(crate) fn remember_end(project: &OpenedProject, run: &RunId) {
    let Some(cache) = project.runs().run_cache() else { return };
    let outside = project.outside();
    let is_kept =
        cache.remember_end(run, outside.as_deref(), &|| to_remember(project, &*project.runs().open(run).ok()?));
    if !is_kept {
        // Nothing was cached that could be kept up to date.
        let _ = Runs::read_open_and_remember(project);
    }
}

/// Refuses to end a run of which a command is at work: how that ends could not be recorded.
///
/// # Errors
/// `exec_runs`.
fn refuse_over_command(tx: &Transaction<'_>, project: &OpenedProject) -> Result<()> {
    match command_at_work(tx, project) {
        Some(problem) => Err(problem.into()),
        None => Ok(()),
    }
}

/// Warns when a command of a run that is cancelled is at work. Anyone may cancel a run at any time.
fn warn_of_command(tx: &mut Transaction<'_>, project: &OpenedProject) {
    if let Some(Problem { message, .. }) = command_at_work(tx, project) {
        tx.warnings.push(format!("{message}; how it ends can be recorded only if the run is reopened before that"));
    }
}

/// The command of the run that is at work, as the refusal of what has to wait for it.
fn command_at_work(tx: &Transaction<'_>, project: &OpenedProject) -> Option<Problem> {
    let trail = tx.trail();
    let history = trail.history()?;
    let at_work = exec_at_work(project, history)?;
    Some(at_work.refusal(Help::from("wait for its end with ") + wait_for_commands(history.state().id())))
}

/// Warns when the run ends before its last phase, or with units that are not done. The caller may decide so, but should
/// know it.
fn warn_of_early_end(tx: &mut Transaction<'_>) -> Result<()> {
    let units = tx.trail().history().map(History::open_workers).unwrap_or_default();
    if !units.is_empty() {
        tx.warnings.push(format!("completed while these are not done: {}", units.join(", ")));
    }
    let machine = tx.machine()?;
    if let (Some(phase), Some(machine)) = (tx.state.phase(), machine)
        && !machine.is_terminal(phase)
        && !machine.terminal().is_empty()
    {
        let last = machine.terminal().iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        tx.warnings.push(format!("completed in `{phase}`; the workflow ends in {last}"));
    }
    Ok(())
}

fn report_of(tx: &Transaction<'_>) -> StatusReport {
    let state = tx.state.document();
    StatusReport {
        run_id: state.id.clone(),
        status: state.state.status,
        phase: state.state.current_phase.clone(),
        seq: state.state.last_seq.unwrap_or_default(),
        changed: false,
        blocked_reason: state.state.blocked_reason.clone(),
        warnings: tx.warnings.clone(),
    }
}
