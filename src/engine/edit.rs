//! What a person changed in `run.yaml`, and whether it can be adopted.

use thiserror::Error;

use crate::engine::refusal::instead_of;
use crate::engine::{RunState, gates, unsettled};
use crate::machine::Machine;
use crate::model::{Event, FieldChange, RunChanges, RunDocument, RunId, StateName, WorkflowId};

/// Why an edit cannot be adopted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EditFault {
    /// The run's id does not match its directory.
    #[error("metadata.id is `{found}`, but this is the directory of `{expected}`")]
    Id {
        /// The directory's name.
        expected: RunId,
        /// The id in the document.
        found: RunId,
    },
    /// The workflow was changed; a run keeps the one that it was started with.
    #[error("metadata.workflow is `{found}`, but the run was started with `{expected}`")]
    Workflow {
        /// The workflow that the run pinned.
        expected: WorkflowId,
        /// The workflow in the document.
        found: WorkflowId,
    },
    /// The phase is not in the workflow.
    #[error("state.current_phase is `{found}`, which the workflow does not have")]
    Phase {
        /// The phase in the document.
        found: StateName,
        /// The phases of the workflow.
        known: Vec<StateName>,
        /// The most similar phase, if one is similar enough.
        suggestion: Option<StateName>,
    },
}

impl EditFault {
    /// The JSON pointer to the wrong value.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        match self {
            Self::Id { .. } => "/metadata/id",
            Self::Workflow { .. } => "/metadata/workflow",
            Self::Phase { .. } => "/state/current_phase",
        }
    }
}

/// Merges an edit of a `run.yaml` that was behind the log. The document `theirs` is the run at `base` plus a person's
/// changes; `newer` are the events since, which lead from `base` to `ours`.
///
/// A field that the person did not change, or that has the same value in `ours`, is taken from `ours`. A changed field
/// is taken from `theirs`, with the newer events applied.
#[must_use]
pub fn rebase(base: &RunState, theirs: &RunDocument, newer: &[Event], ours: &RunState) -> RunState {
    let mut replayed = RunState::from_document(theirs.clone());
    for event in newer {
        replayed.apply(event);
    }
    let (base, ours, mut merged) = (base.document(), ours.document(), replayed.document().clone());
    fn pick<T: Clone + PartialEq>(base: &T, theirs: &T, ours: &T, merged: &mut T) {
        if theirs == base || theirs == ours {
            merged.clone_from(ours);
        }
    }
    pick(&base.goal, &theirs.goal, &ours.goal, &mut merged.goal);
    pick(&base.context, &theirs.context, &ours.context, &mut merged.context);
    pick(&base.limits, &theirs.limits, &ours.limits, &mut merged.limits);
    let (base, theirs, ours, state) = (&base.state, &theirs.state, &ours.state, &mut merged.state);
    pick(&base.status, &theirs.status, &ours.status, &mut state.status);
    pick(&base.current_phase, &theirs.current_phase, &ours.current_phase, &mut state.current_phase);
    pick(&base.current_activity, &theirs.current_activity, &ours.current_activity, &mut state.current_activity);
    pick(
        &base.completed_activities,
        &theirs.completed_activities,
        &ours.completed_activities,
        &mut state.completed_activities,
    );
    pick(&base.blocked_reason, &theirs.blocked_reason, &ours.blocked_reason, &mut state.blocked_reason);
    RunState::from_document(merged)
}

/// Whether [`rebase`] drops a change of the person: a newer event changed the same field to another value, which counts.
#[must_use]
pub fn drops_edit(base: &RunState, theirs: &RunDocument, newer: &[Event], ours: &RunState) -> bool {
    fn is_dropped<T: PartialEq>(versions: [&RunDocument; 4], field: fn(&RunDocument) -> &T) -> bool {
        let [base, theirs, ours, merged] = versions.map(field);
        theirs != base && theirs != ours && merged == ours
    }
    let merged = rebase(base, theirs, newer, ours);
    let versions = [base.document(), theirs, ours.document(), merged.document()];
    is_dropped(versions, |run| &run.goal)
        || is_dropped(versions, |run| &run.context)
        || is_dropped(versions, |run| &run.limits)
        || is_dropped(versions, |run| &run.state.status)
        || is_dropped(versions, |run| &run.state.current_phase)
        || is_dropped(versions, |run| &run.state.current_activity)
        || is_dropped(versions, |run| &run.state.completed_activities)
        || is_dropped(versions, |run| &run.state.blocked_reason)
}

/// The state of the log, with a person's changes of `run.yaml` applied. Fields that flow owns keep the value of the
/// log, whatever the file says.
#[must_use]
pub fn with_edit(log: &RunState, changes: &RunChanges) -> RunState {
    // In the same order as the event that adopts the edit will, so that readers see what a writer makes of it.
    let mut edited = log.clone();
    edited.change(changes);
    let before: Vec<_> = log.document().state.positions().cloned().collect();
    unsettled::leave(&mut edited.run.state, &before);
    gates::enter_or_leave(&mut edited.run.state, &before);
    edited
}

/// Compares `run.yaml` with the log and returns the changed fields; empty if only comments, order or unknown keys
/// changed.
///
/// # Errors
/// [`EditFault`] if the document changes what no edit may change.
pub fn edited(log: &RunState, document: &RunDocument, machine: Option<&Machine>) -> Result<RunChanges, EditFault> {
    let before = log.document();
    if document.id != before.id {
        return Err(EditFault::Id { expected: before.id.clone(), found: document.id.clone() });
    }
    if document.workflow != before.workflow {
        return Err(EditFault::Workflow { expected: before.workflow.clone(), found: document.workflow.clone() });
    }
    if let (Some(phase), Some(machine)) = (&document.state.current_phase, machine)
        && !machine.contains(phase)
    {
        let (known, suggestion) = instead_of(phase, machine);
        return Err(EditFault::Phase { found: phase.clone(), known, suggestion });
    }
    fn new<T: Clone + PartialEq>(before: &T, now: &T) -> Option<T> {
        if before == now { None } else { Some(now.clone()) }
    }
    let (was, is) = (&before.state, &document.state);
    Ok(RunChanges {
        status: new(&was.status, &is.status),
        current_phase: FieldChange::between(was.current_phase.as_ref(), is.current_phase.as_ref()),
        current_activity: FieldChange::between(was.current_activity.as_ref(), is.current_activity.as_ref()),
        completed_activities: new(&was.completed_activities, &is.completed_activities),
        blocked_reason: FieldChange::between(was.blocked_reason.as_ref(), is.blocked_reason.as_ref()),
        goal: FieldChange::between(before.goal.as_ref(), document.goal.as_ref()),
        created_at: new(&before.created_at, &document.created_at),
        workflow_version: new(&before.workflow_version, &document.workflow_version),
        context: new(&before.context, &document.context),
        limits: new(&before.limits, &document.limits),
    })
}
