//! Reads runs without a lock and without writing; gives the state that recovery would produce.

use crate::codec::digest;
use crate::engine::{Attempt, Fault, History, held_by, is_free, pinned, read_run, reconcile, reconcile_end};
use crate::machine::Machine;
use crate::model::{Activity, Doing, EventKind, GateStatus, Owned, RunHead, RunStatus, RunSummary, Seq, limits};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::open::fault::refusal;
use crate::runs::open::pinned::catalog_machine;
use crate::runs::open::recap::for_deciding;
use crate::store::{LogScan, Presence, Project, StoredRun};

/// A run as a reader sees it.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) history: History,
    pub(crate) text: String,
    pub(crate) machine: Option<Machine>,
    /// The log; only its end for a run that was read from its recap.
    pub(crate) log: LogScan,
    pub(crate) notes: Vec<String>,
    /// Faults of a run that can nevertheless be read.
    pub(crate) faults: Vec<Fault>,
    /// The last event that was written in this checkout.
    pub(crate) noted: Seq,
    /// Whether it follows from `run.yaml` and the log alone, without a definition of today or activity files.
    pub(crate) follows_from_files: bool,
}

/// Reads `run` without a lock and without writing.
pub(crate) fn for_reading(cx: &Context, project: &Project, run: &dyn StoredRun) -> Result<View> {
    // Read this before the log: a writer at work must not look like one that was ahead of the log.
    let noted = run.noted();
    let text = run.text()?;
    let mut notes = Vec::new();
    if text.is_none() {
        notes.push("run.yaml is missing; the next record rebuilds it from the log".to_owned());
    }
    // Read the log after run.yaml, so that it is never behind it.
    let log = run.log()?;
    let found = reconcile(read_run(run.id(), text), &log, noted);
    if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_reading()) {
        return Err(refusal(cx, project, run, fault.clone()));
    }
    let Some(current) = found.run else { return Err(refusal(cx, project, run, Fault::Empty)) };
    let text = current.text();
    let mut machine = pinned(log.events(), &mut notes);
    let mut follows_from_files = true;
    if machine.is_none() && !log.events().any(is_free) {
        follows_from_files = false;
        machine = catalog_machine(cx, project, text.document(), &mut notes);
    }
    let mut history = current.history(&log);
    with_earlier(&mut history, run, &log)?;
    follows_from_files &= is_own(&log);
    // A run of another program is adopted by the next writer, with the gates of its workflow.
    if let Some(machine) = machine.as_ref().filter(|_| log.events().next().is_none()) {
        history.foresee_gates(machine);
    }
    Ok(View {
        history,
        text: text.text().to_owned(),
        machine,
        log,
        notes,
        faults: found.faults,
        noted,
        follows_from_files,
    })
}

/// Adds what another program recorded before flow's log began.
pub(crate) fn with_earlier(history: &mut History, run: &dyn StoredRun, log: &LogScan) -> Result<()> {
    if !is_own(log) {
        let earlier = earlier_attempts(run, history)?;
        history.add_earlier(earlier);
    }
    Ok(())
}

/// Whether flow began this run.
fn is_own(log: &LogScan) -> bool {
    log.events().any(|event| matches!(event.kind, EventKind::RunStarted(_)))
}

/// Activities that another program recorded, from their files.
fn earlier_attempts(run: &dyn StoredRun, history: &History) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for (number, name) in run.activity_names()? {
        let known = history.attempts().iter().any(|attempt| attempt.number == number);
        let text = if known { None } else { run.activity(&name).ok().flatten() };
        let activity = text
            .filter(|text| text.len() <= limits::ACTIVITY_BYTES)
            .and_then(|text| crate::codec::parse_value(&text).ok())
            .and_then(|value| Activity::new(value.as_object()?.clone()).ok());
        if let Some(activity) = activity {
            attempts.push(Attempt {
                number,
                id: activity.id().to_string(),
                phase: activity.phase(),
                status: activity.status(),
                exit_code: activity.exit_code(),
                summary: activity.summary().or(activity.name()).map(str::to_owned),
                evidence: activity.evidence().map(str::to_owned).collect(),
                settles: Vec::new(),
                approval: None,
                at: None,
                seq: None,
            });
        }
    }
    Ok(attempts)
}

/// The summary of a run that is over, if it follows from `run.yaml` alone; only such a summary may be cached.
pub(crate) fn to_remember(cx: &Context, project: &Project, run: &dyn StoredRun) -> Option<RunSummary> {
    for_listing(cx, project, run).ok().filter(Listed::is_over_by_text).map(|listed| listed.summary)
}

/// A run as lists show it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) summary: RunSummary,
    from: From,
}

/// What the summary of a run follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// `run.yaml` alone: the run is over.
    Text,
    /// `run.yaml` and the log.
    Files,
    /// These and a definition of today, or files that do not match.
    More,
}

impl Listed {
    /// Whether the run is over, independently of its log.
    pub(crate) fn is_over_by_text(&self) -> bool {
        self.from == From::Text
    }

    /// Whether the summary is the same as long as the run's files are; only such a summary may be cached. That of a run that
    /// is over has to follow from `run.yaml` alone.
    pub(crate) fn follows_from_files(&self) -> bool {
        match self.from {
            From::Text => true,
            From::Files => !self.summary.head.status.is_terminal(),
            From::More => false,
        }
    }
}

/// Reads only what a list shows: `run.yaml`, and for runs that are not over the events after it.
pub(crate) fn for_listing(cx: &Context, project: &Project, run: &dyn StoredRun) -> Result<Listed> {
    let Some(text) = run.text()? else {
        if run.presence() == Presence::Away {
            // Do not search for the places of its files: there may be many such runs.
            return Err(Error::Elsewhere { run: run.id().clone(), places: Vec::new() });
        }
        return careful_summary(cx, project, run);
    };
    let read = |text| match read_run(run.id(), Some(text)) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(refusal(cx, project, run, Fault::Empty)),
        Err(fault) => Err(refusal(cx, project, run, fault)),
    };
    let text = read(text)?;
    let summary = RunSummary::from(text.document());
    if summary.head.status.is_terminal() {
        return Ok(Listed { summary, from: From::Text });
    }
    // A run that another program made may be one that cannot be adopted. Where git or another program changed the log, its
    // end alone does not show what else it holds.
    let Some(shown) = summary.last_seq.filter(|_| !run.is_log_changed()) else {
        return careful_summary(cx, project, run);
    };
    if may_wait_for_a_person(&text.document().state) {
        return careful_summary(cx, project, run);
    }
    let Some(end) = run.end(shown)? else { return careful_summary(cx, project, run) };
    if end.ordered && end.newer.is_empty() && end.proves(shown, &digest(text.text().as_bytes())) {
        return Ok(Listed { summary, from: From::Files });
    }
    match reconcile_end(text, &end, Seq(0)).map(|found| found.run) {
        Ok(Some(current)) if !may_wait_for_a_person(&current.state.document().state) => {
            Ok(Listed { summary: current.state.document().into(), from: From::More })
        }
        // The file was edited, or does not match the log: read everything.
        _ => careful_summary(cx, project, run),
    }
}

/// The summary from everything that can be read.
fn careful_summary(cx: &Context, project: &Project, run: &dyn StoredRun) -> Result<Listed> {
    let view = for_deciding(cx, project, run)?;
    let summary = RunSummary { head: head_of(&view), ..RunSummary::from(view.history.state().document()) };
    Ok(Listed { summary, from: if view.follows_from_files { From::Files } else { From::More } })
}

/// Which run it is and where it is. Tells what `run.yaml` alone does not show: that a merge joined two histories, and that a
/// gate waits for a person.
pub(in crate::runs) fn head_of(view: &View) -> RunHead {
    let state = view.history.state();
    let mut head = RunHead::from(state.document());
    if view.faults.iter().any(|fault| matches!(fault, Fault::Joined(_))) {
        head.doing = Some(Doing::Conflict);
        return head;
    }
    if head.status != RunStatus::Active || head.doing == Some(Doing::Asking) {
        return head;
    }
    let machine = view.machine.as_ref();
    let waits = state.document().state.positions().any(|here| view.history.waits_for_a_person(machine, here));
    if waits || !held_by(state, machine).is_empty() {
        head.doing = Some(Doing::Waiting);
    }
    head
}

/// Whether only the log tells if the run waits for a person.
fn may_wait_for_a_person(run: &Owned) -> bool {
    if run.status != RunStatus::Active {
        return false;
    }
    run.gates.iter().any(|gate| {
        let is_here = run.positions().any(|here| *here == gate.phase);
        gate.status.is_doubtful() || gate.status == GateStatus::Closed && is_here
    })
}
