//! What a person changed in `run.yaml`, and whether that can be adopted.

use thiserror::Error;

use crate::engine::RunState;
use crate::machine::Machine;
use crate::model::{Event, RunChanges, RunDocument, RunId, StateName, WorkflowId};

/// An edit that cannot be adopted, with the JSON pointer of the value.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EditFault {
    /// The run's name is its directory's.
    #[error("metadata.id is `{found}`, but this is the directory of `{expected}`")]
    Id {
        /// The directory's.
        expected: RunId,
        /// The document's.
        found: RunId,
    },
    /// A run keeps the workflow that it pinned.
    #[error("metadata.workflow is `{found}`, but the run was started with `{expected}`")]
    Workflow {
        /// The pinned one.
        expected: WorkflowId,
        /// The document's.
        found: WorkflowId,
    },
    /// Not a phase of the workflow.
    #[error("state.current_phase is `{found}`, which the workflow does not have")]
    Phase {
        /// The document's.
        found: StateName,
        /// The phases it has.
        known: Vec<StateName>,
        /// The one that was probably meant.
        suggestion: Option<StateName>,
    },
}

impl EditFault {
    /// JSON pointer to the value that is wrong.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        match self {
            Self::Id { .. } => "/metadata/id",
            Self::Workflow { .. } => "/metadata/workflow",
            Self::Phase { .. } => "/state/current_phase",
        }
    }
}

/// The state of a run whose `run.yaml` was edited while it was behind the log: it shows the run as of `base`, with
/// changes; since then the log went on to `ours`.
///
/// A field that the person did not change, or changed to what it is by now, is as the log says. A changed one is taken
/// with the newer events on top.
#[must_use]
pub fn rebase(base: &RunState, theirs: &RunDocument, newer: &[Event], ours: &RunState) -> RunState {
    let mut replayed = RunState::from_document(theirs.clone());
    newer.iter().for_each(|event| replayed.apply(event));
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

/// The state that the log gives, with what a person changed in `run.yaml`. What flow keeps for itself there is the log's,
/// whatever became of it in the file.
#[must_use]
pub fn with_edit(log: &RunState, changes: &RunChanges) -> RunState {
    let mut state = log.clone();
    state.change(changes);
    state
}

/// Compares what `run.yaml` says with what the log says: the changed fields; nothing when only comments, order or
/// unknown keys changed.
///
/// # Errors
/// [`EditFault`] when the document contradicts what no edit may change.
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
        return Err(EditFault::Phase {
            found: phase.clone(),
            known: machine.states().iter().map(|state| state.name.clone()).collect(),
            suggestion: machine.suggest(phase.as_str()).cloned(),
        });
    }
    fn new<T: Clone + PartialEq>(before: &T, now: &T) -> Option<T> {
        (before != now).then(|| now.clone())
    }
    Ok(RunChanges {
        status: new(&before.state.status, &document.state.status),
        current_phase: new(&before.state.current_phase, &document.state.current_phase),
        current_activity: new(&before.state.current_activity, &document.state.current_activity),
        completed_activities: new(&before.state.completed_activities, &document.state.completed_activities),
        blocked_reason: new(&before.state.blocked_reason, &document.state.blocked_reason),
        goal: new(&before.goal, &document.goal),
        created_at: new(&before.created_at, &document.created_at),
        workflow_version: new(&before.workflow_version, &document.workflow_version),
        context: new(&before.context, &document.context),
        limits: new(&before.limits, &document.limits),
    })
}
