//! Reads runs without a lock and without writing; gives the state that recovery would produce.

use std::sync::Arc;

use crate::engine::{Attempt, Fault, History, Repair, is_free, pinned, read_run, reconcile};
use crate::machine::Machine;
use crate::model::{Activity, EventKind, Explain as _, LastSeen, RunId, Seq, limits};
use crate::runs::context::OpenedProject;
use crate::runs::error::{Error, Result};
use crate::runs::open::fault::refusal;
use crate::runs::open::pinned::catalog_machine;
use crate::store::{Document, LogScan, StoredRun};

/// A run as a reader sees it.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) history: History,
    pub(crate) text: Arc<String>,
    pub(crate) machine: Option<Machine>,
    /// The log; only its end for a run that was read from its recap.
    pub(crate) log: LogScan,
    pub(crate) notes: Vec<String>,
    /// What stands in `run.yaml`, if the next writer has to record that before anything else.
    pub(crate) unlogged_text: Option<String>,
    /// Whether no event has the status yet: a person wrote it into `run.yaml`.
    pub(crate) has_unlogged_status: bool,
    /// Faults of a run that can nevertheless be read.
    pub(crate) faults: Vec<Fault>,
    /// The last event that was written in this checkout.
    pub(crate) noted: Seq,
    /// Whether it follows from `run.yaml` and the log alone, without a definition of today or activity files.
    pub(crate) follows_from_files: bool,
}

/// That a `run.yaml` with this text will soon take no more work; `None` as long as there is room.
pub(in crate::runs) fn nearly_full(text: &str) -> Option<String> {
    if text.len() <= limits::FULL_RUN_BYTES / 4 * 3 {
        return None;
    }
    let percent = text.len() / (limits::FULL_RUN_BYTES / 100);
    Some(format!("run.yaml is {percent} % full; end this run soon and start another one"))
}

impl View {
    /// How far a reader of this has seen the run.
    pub(in crate::runs) fn last_seen(&self) -> LastSeen {
        // The log may be ahead of run.yaml, and the other way round if it lost its end.
        let last = self.history.state().document().state.last_seq.unwrap_or_default().max(self.log.last_seq());
        match &self.unlogged_text {
            Some(text) => LastSeen::with_edit(last, text),
            None => last.into(),
        }
    }

    /// Reduces the view to the state after the event `at`, as if the log ended there.
    ///
    /// # Errors
    /// `event_not_found`.
    pub(in crate::runs) fn go_back(&mut self, run: &RunId, at: Seq) -> Result<()> {
        let last = self.log.last_seq();
        let missing = || Error::no_such_event(run, at.0, last.0);
        if at.0 == 0 || at > last {
            return Err(missing());
        }
        let log = self.log.until(at);
        // By the log alone: `run.yaml` says how the run is now.
        let Some(then) = reconcile(run, Ok(None), &log, Seq(0)).run else { return Err(missing()) };
        self.text = then.text().shared_text();
        let now = std::mem::replace(&mut self.history, then.history(&log));
        if !is_own(&log) {
            let mut earlier = now.attempts().to_vec();
            earlier.retain(|attempt| attempt.seq.is_none());
            self.history.add_earlier(earlier);
        }
        if let Some(machine) = pinned(log.events(), &mut self.notes) {
            self.machine = Some(machine);
        }
        self.log = log;
        Ok(())
    }
}

/// Reads `run` without a lock and without writing.
pub(crate) fn for_reading(project: &OpenedProject, run: &dyn StoredRun) -> Result<View> {
    // Read this before the log: a writer at work must not look like one that was ahead of the log.
    let noted = run.noted();
    let text = run.text()?;
    let mut notes = notes_of_shared(run);
    if text.is_none() {
        let path = run.address(Document::Text).from(project.root());
        notes.push(match project.cx.refuse_left_out(project.root(), &path) {
            Ok(()) => "run.yaml is missing; the next record rebuilds it from the log".to_owned(),
            Err(left_out) => {
                let help = left_out.problem().help.unwrap_or_default();
                format!("{}: {help}", left_out.one_line())
            }
        });
    }
    // Read the log after run.yaml, so that it is never behind it.
    let log = run.log()?;
    let found = reconcile(run.id(), read_run(run.id(), text), &log, noted);
    if log.last_seq() == Seq(0) && found.faults.iter().any(|fault| fault.beyond_the_log().is_some()) {
        project.cx.refuse_left_out(project.root(), &run.address(Document::Log).from(project.root()))?;
    }
    if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_reading()) {
        return Err(refusal(project, run, fault.clone()));
    }
    let unlogged_text = found.unlogged_text();
    let Some(current) = found.run else { return Err(refusal(project, run, Fault::Empty)) };
    let unlogged = found.repairs.iter().find_map(unlogged_status);
    let has_unlogged_status = unlogged.is_some();
    notes.extend(unlogged);
    let text = current.text();
    let mut machine = pinned(log.events(), &mut notes);
    let mut follows_from_files = true;
    if machine.is_none() && !log.events().any(is_free) {
        follows_from_files = false;
        machine = catalog_machine(project, text.document(), &mut notes);
    }
    let mut history = current.history(&log);
    add_earlier_attempts(&mut history, run, &log)?;
    follows_from_files &= is_own(&log);
    // A run of another program is adopted by the next writer, with its open work and the gates of its workflow.
    let is_foreign = log.events().next().is_none();
    if is_foreign {
        history.foresee_open_work();
    }
    if is_foreign && let Some(machine) = &machine {
        history.foresee_gates(machine);
    }
    Ok(View {
        history,
        text: text.shared_text(),
        machine,
        log,
        notes,
        unlogged_text,
        has_unlogged_status,
        faults: found.faults,
        noted,
        follows_from_files,
    })
}

/// Says that a shared run hides one of this checkout, or that its store lost events of it, and what to do.
pub(crate) fn notes_of_shared(run: &dyn StoredRun) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(hidden) = run.hides() {
        notes.push(format!("{hidden}; {}", hidden.help()));
    }
    if let Some(displaced) = run.displaced() {
        notes.push(format!("{displaced}; {}", displaced.help()));
    }
    notes
}

/// Says that a status comes from an edit of `run.yaml` which no event has: what ended a run is otherwise in its log.
pub(super) fn unlogged_status(repair: &Repair) -> Option<String> {
    let Repair::AdoptEdit { log, changes } = repair else { return None };
    let (found, logged) = (changes.status?, log.status());
    Some(format!(
        "run.yaml was edited by hand and says {found}, and the log says {logged}; the next command that writes the run \
         records the edit"
    ))
}

/// Adds what another program recorded before flow's log began.
pub(crate) fn add_earlier_attempts(history: &mut History, run: &dyn StoredRun, log: &LogScan) -> Result<()> {
    if !is_own(log) {
        let earlier = earlier_attempts(run, history)?;
        history.add_earlier(earlier);
    }
    Ok(())
}

/// Whether flow began this run.
fn is_own(log: &LogScan) -> bool {
    log.events().any(|event| matches!(event.kind, EventKind::RunStarted(_) | EventKind::RunForked(_)))
}

/// Activities that another program recorded, from their files.
fn earlier_attempts(run: &dyn StoredRun, history: &History) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for (number, name) in run.activity_names()? {
        // The log comes before the file: people may have edited that.
        if history.attempts().iter().any(|attempt| attempt.number == number) {
            continue;
        }
        let Some(activity) = activity_of(run, &name) else { continue };
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
            replay: None,
            exec: None,
            kept: Vec::new(),
            of: None,
            seen_to_fail: None,
            usage: activity.usage().map(Box::new),
            at: None,
            seq: None,
        });
    }
    Ok(attempts)
}

/// The activity in a file; `None` if it is not one.
fn activity_of(run: &dyn StoredRun, name: &str) -> Option<Activity> {
    let text = run.activity(name).ok()??;
    if text.len() > limits::ACTIVITY_BYTES {
        return None;
    }
    Activity::new(crate::codec::parse_value(&text).ok()?.as_object()?.clone()).ok()
}
