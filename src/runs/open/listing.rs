//! Reads only what a list shows of a run.

use crate::codec::{RunText, digest};
use crate::engine::{Fault, held_by, read_run, reconcile_end};
use crate::model::{Doing, GateStatus, OwnedState, RunHead, RunStatus, RunSummary, Seq};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::open::checkout::may_be_elsewhere;
use crate::runs::open::fault::refusal;
use crate::runs::open::recap::for_deciding;
use crate::runs::open::view::View;
use crate::store::{LogSinceCommit, StoredRun};

/// The summary of a run that is over, if it follows from `run.yaml` alone; only such a summary may be cached.
pub(crate) fn to_remember(project: &OpenedProject, run: &dyn StoredRun) -> Option<RunSummary> {
    let listed = for_listing(project, run).ok()?;
    if listed.basis == Basis::Text { Some(listed.summary) } else { None }
}

/// A run as lists show it.
#[derive(Debug)]
pub(crate) struct ListedSummary {
    pub(crate) summary: RunSummary,
    basis: Basis,
}

/// What the summary of a run follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// `run.yaml` alone: the run is over.
    Text,
    /// `run.yaml` and the log.
    Files,
    /// These and a definition of today, or files that do not match.
    More,
}

impl ListedSummary {
    /// Whether the summary is the same as long as the run's files are; only such a summary may be cached. That of a run that
    /// is over has to follow from `run.yaml` alone.
    pub(crate) fn follows_from_files(&self) -> bool {
        match self.basis {
            Basis::Text => true,
            Basis::Files => !self.summary.head.is_over(),
            Basis::More => false,
        }
    }
}

/// The `run.yaml` of a run, before anything of its log is read; `None` if only that file is missing.
pub(in crate::runs) fn text_of(project: &OpenedProject, run: &dyn StoredRun) -> Result<Option<RunText>> {
    let Some(text) = run.text()? else {
        if may_be_elsewhere(project, run) {
            // Do not search for the places of its files: there may be many such runs.
            return Err(Error::Elsewhere { run: run.id().clone(), places: Vec::new() });
        }
        return Ok(None);
    };
    match read_run(run.id(), Some(text)) {
        Ok(Some(text)) => Ok(Some(text)),
        Ok(None) => Err(refusal(project, run, Fault::Empty)),
        Err(fault) => Err(refusal(project, run, fault)),
    }
}

/// Reads only what a list shows: `run.yaml`, and for runs that are not over the events after it.
pub(crate) fn for_listing(project: &OpenedProject, run: &dyn StoredRun) -> Result<ListedSummary> {
    let Some(text) = text_of(project, run)? else { return careful_summary(project, run) };
    let summary = RunSummary::from(text.document());
    if summary.head.is_over() {
        let joined = if may_be_joined(run) { joined_summary(project, run) } else { None };
        return Ok(joined.unwrap_or(ListedSummary { summary, basis: Basis::Text }));
    }
    if summary.head.status.is_terminal() {
        return careful_summary(project, run);
    }
    // A run that another program made may be one that cannot be adopted.
    let Some(shown) = summary.last_seq else { return careful_summary(project, run) };
    // Where git or another program changed the log, its end alone does not show what else it holds.
    if run.log_since_commit() == LogSinceCommit::Changed {
        return careful_summary(project, run);
    }
    if may_wait_for_a_person(&text.document().state) {
        return careful_summary(project, run);
    }
    let Some(end) = run.orderly_end(shown)? else { return careful_summary(project, run) };
    if end.newer.is_empty() && end.proves(shown, &digest(text.text().as_bytes())) {
        return Ok(ListedSummary { summary, basis: Basis::Files });
    }
    if let Ok(found) = reconcile_end(text, &end, Seq(0))
        && let Some(current) = found.run
        && !may_wait_for_a_person(&current.state.document().state)
    {
        return Ok(ListedSummary { summary: current.state.document().into(), basis: Basis::More });
    }
    // The file was edited, or does not match the log: read everything.
    careful_summary(project, run)
}

/// Whether the log of a run that is over may have another history beside the one that ended. A merge that keeps this side's
/// `run.yaml` leaves no other sign.
pub(in crate::runs) fn may_be_joined(run: &dyn StoredRun) -> bool {
    match run.log_since_commit() {
        LogSinceCommit::Same => false,
        LogSinceCommit::Changed => true,
        LogSinceCommit::Unknown => matches!(run.orderly_end(Seq(u64::MAX)), Ok(None)),
    }
}

/// The summary of a run whose log a merge joined; `None` for another run.
fn joined_summary(project: &OpenedProject, run: &dyn StoredRun) -> Option<ListedSummary> {
    careful_summary(project, run).ok().filter(|listed| listed.summary.head.doing == Some(Doing::Conflict))
}

/// The summary from everything that can be read.
fn careful_summary(project: &OpenedProject, run: &dyn StoredRun) -> Result<ListedSummary> {
    let view = for_deciding(project, run)?;
    let summary = RunSummary { head: head_of(&view), ..RunSummary::from(view.history.state().document()) };
    Ok(ListedSummary { summary, basis: if view.follows_from_files { Basis::Files } else { Basis::More } })
}

/// Which run it is and where it is. Says what `run.yaml` alone does not show: that a merge joined two histories, and that a
/// gate waits for a person.
pub(in crate::runs) fn head_of(view: &View) -> RunHead {
    let state = view.history.state();
    let mut head = RunHead::from(state.document());
    let machine = view.machine.as_ref();
    if view.faults.iter().any(|fault| matches!(fault, Fault::Joined(_))) {
        head.doing = Some(Doing::Conflict);
        return head;
    }
    if head.status == RunStatus::Completed && held_by(state, machine).is_empty() {
        // Without the workflow a gate on a way that the run did not take looks passed.
        head.doing = None;
    }
    if head.status != RunStatus::Active || head.doing == Some(Doing::Asking) {
        return head;
    }
    let waits = state.document().state.positions().any(|here| view.history.waits_for_a_person(machine, here));
    if waits || !held_by(state, machine).is_empty() {
        head.doing = Some(Doing::Waiting);
    }
    head
}

/// Whether only the log shows if the run waits for a person.
fn may_wait_for_a_person(run: &OwnedState) -> bool {
    if run.status != RunStatus::Active {
        return false;
    }
    run.gates.iter().any(|gate| {
        let is_here = run.positions().any(|here| *here == gate.phase);
        gate.status.is_doubtful() || gate.status == GateStatus::Closed && is_here
    })
}
