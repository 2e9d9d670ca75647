//! In which state a writer finds a run.

use crate::engine::{Fault, Reconciled, read_run, reconcile, reconcile_end};
use crate::model::Seq;
use crate::runs::context::OpenedProject;
use crate::runs::error::Result;
use crate::runs::open::checkout::committed_beyond;
use crate::runs::open::fault::refusal;
use crate::runs::open::name::refuse_pruned;
use crate::store::{RunWriter, StoredRun};

/// Reconciles a run for writing, from the end of its log if that is sufficient.
pub(super) fn reconcile_for_writing(
    project: &OpenedProject,
    writer: &mut dyn RunWriter,
    run: &dyn StoredRun,
) -> Result<Reconciled> {
    let mut noted = writer.noted().seq;
    if let Some(committed) = committed_beyond(project, run, noted, writer.end().last) {
        noted = committed;
    }
    let mut file = read_run(run.id(), writer.text()?);
    if let Ok(Some(text)) = file {
        if let Some(shown) = text.document().state.last_seq
            && shown < writer.end().last
        {
            writer.read_end(shown)?;
        }
        // The log has another length than the last writer left: its end alone does not show what someone else changed.
        if !writer.is_as_left() {
            return Ok(reconcile(run.id(), Ok(Some(text)), &writer.log()?, noted));
        }
        match reconcile_end(text, writer.end(), noted) {
            Ok(found) => return Ok(found),
            Err(text) => file = Ok(Some(*text)),
        }
    }
    Ok(reconcile(run.id(), file, &writer.log()?, noted))
}

/// Refuses a run without a log that no writer can take over, before a lock and an empty log are made for it.
pub(super) fn refuse_unfit(project: &OpenedProject, run: &dyn StoredRun) -> Result<()> {
    let noted = run.noted();
    // Before the log, as readers do: a writer may begin it meanwhile.
    let text = run.text()?;
    let found = reconcile(run.id(), read_run(run.id(), text), &run.log()?, noted);
    if found.run.is_none() {
        // Its directory may be gone since it was opened.
        refuse_pruned(project, run.id())?;
    }
    if let Some(fault) = found.faults.iter().find(|fault| fault.forbids_writing()) {
        return Err(refusal(project, run, fault.clone()));
    }
    if found.run.is_none() { Err(refusal(project, run, Fault::Empty)) } else { Ok(()) }
}

/// Warnings about the state in which the run was found.
pub(super) fn warnings(found: &Reconciled, last: Seq) -> Vec<String> {
    let mut warnings = Vec::new();
    if found.lacks_text() {
        warnings.push("run.yaml was missing; it is rebuilt from the log".to_owned());
    }
    if let Some(shown) = found.faults.iter().find_map(Fault::beyond_the_log) {
        let ends = format!("the log ends at event {last}, but run.yaml shows event {shown}; counting goes on there");
        warnings.push(ends);
    }
    warnings
}
