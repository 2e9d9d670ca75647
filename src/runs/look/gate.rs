//! The gate on which a person can decide, as it is shown before.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{Attempt, LeftUndone, Refusal, gate_to_decide, held_by};
use crate::model::{GateStatus, LastSeen, MissingProof, RunId, StateName, WorkflowId};
use crate::runs::context::Context;
use crate::runs::error::{Error, Result};
use crate::runs::look::seen::{seen_evidence, unproved_now};
use crate::runs::look::show::{ShownSkip, skipped};
use crate::runs::open::select::select_run_to_write;
use crate::runs::open::view::for_reading;

/// What a person decides on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GateReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Its goal.
    pub goal: Option<String>,
    /// The gate.
    pub phase: StateName,
    /// The workflow's description of it: what must be true.
    pub description: Option<String>,
    /// Whether it was approved or rejected, or is still to be decided.
    pub status: GateStatus,
    /// The commands that it requires and that were not seen to pass on the files as they are. Running one takes the decision back.
    pub unproved: Vec<MissingProof>,
    /// What the run left behind without settling it.
    pub left_undone: Vec<LeftUndone>,
    /// Why phases were left although their work was not done.
    pub skipped: Vec<ShownSkip>,
    /// Its latest records, oldest first.
    pub records: Vec<Attempt>,
    /// How far who sees this has seen the run.
    pub seen: LastSeen,
}

/// How many records of a gate are shown.
const RECORDS: usize = 5;

/// The gate on which a person can decide. Writes nothing.
///
/// # Errors
/// [`Error::Refused`] when no gate waits, and those of reading a run.
pub fn gate(cx: &Context, run: Option<&str>) -> Result<GateReport> {
    let project = cx.project()?;
    let run = select_run_to_write(&project, run, None)?;
    let view = for_reading(&project, &*run)?;
    let state = view.history.state();
    let machine = view.machine.as_ref();
    if state.status().is_terminal() && held_by(state, machine).is_empty() {
        return Err(Error::refused(run.id(), Refusal::Terminal { status: state.status() }));
    }
    let phase =
        gate_to_decide(state, machine, Some(&view.history)).map_err(|refusal| Error::refused(run.id(), refusal))?;
    // A file that cannot be read must not keep a person from deciding.
    let seen = seen_evidence(&project, &*run, &view.history, &view.history.seen_last()).unwrap_or_default();
    let mut unproved = unproved_now(&project, &view, &seen);
    unproved.retain(|one| one.phase == phase);
    let mut records: Vec<Attempt> = view.history.attempts().to_vec();
    records.retain(|attempt| attempt.phase.as_ref() == Some(&phase));
    records.drain(..records.len().saturating_sub(RECORDS));
    Ok(GateReport {
        run_id: run.id().clone(),
        workflow: state.document().workflow.clone(),
        goal: state.document().goal.clone(),
        description: machine.and_then(|machine| machine.state(&phase)?.description.clone()),
        status: view.history.gate(&phase).unwrap_or(GateStatus::Closed),
        unproved,
        left_undone: view.history.left_undone(view.machine.as_ref()),
        skipped: skipped(&view.history),
        records,
        seen: view.last_seen(),
        phase,
    })
}
