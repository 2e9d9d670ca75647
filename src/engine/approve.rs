//! A person's decision at a gate: on which gate it is, and its record.

use crate::engine::gates::gate_of;
use crate::engine::refusal::needed;
use crate::engine::{Decide, Decision, History, Refusal, RunState, Trail, held_by};
use crate::machine::Machine;
use crate::model::{
    APPROVAL, Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, Approval, EventKind, GateStatus,
    StateName,
};

type Result<T = Decision> = std::result::Result<T, Refusal>;

/// Decides on a person's decision. It belongs to the gate that the run is past without one, otherwise to the one in which
/// the run waits; a rejected gate may be approved without new work.
pub(super) fn decide_at_gate(
    state: &RunState,
    machine: Option<&Machine>,
    decision: Decide,
    trail: &dyn Trail,
) -> Result {
    let Decide { approves, reason, approval, request, number, now } = decision;
    let reason = if approves { reason } else { Some(needed(reason)?) };
    let phase = gate_to_decide(state, machine, trail.history())?;
    let name = approval_title(approves, &approval);
    let status = if approves { ActivityStatus::Passed } else { ActivityStatus::Failed };
    let run = state.document();
    let id = ActivityId::new(APPROVAL).expect("BUG: `approval` is an activity id");
    let mut activity = Activity::of_work(&id, ActivityType::Gate, Some(&name), status);
    activity.fill_place(&run.id, &run.workflow, &phase);
    activity.fill("activity", "completed_at", now.to_string());
    if let Some(reason) = reason {
        activity.fill("result", "summary", reason);
    }
    let mut record = ActivityRecorded::new(number, phase, activity);
    record.beside.clone_from(&run.state.other_phases);
    if Some(&record.phase) != state.phase() {
        // The decision is about a phase beside or behind the run, which it does not move.
        record.late = true;
        record.advanced_to = state.phase().cloned();
    }
    record.approval = Some(approval);
    record.request = request;
    Ok(Decision::Commit(EventKind::ActivityRecorded(Box::new(record))))
}

/// The title of the record of a decision.
pub fn approval_title(approves: bool, approval: &Approval) -> String {
    format!("{} by {} {}", if approves { "approved" } else { "rejected" }, approval.by, approval.how)
}

/// The gate that a person can decide on.
///
/// # Errors
/// [`Refusal::NothingToApprove`].
pub fn gate_to_decide(state: &RunState, machine: Option<&Machine>, history: Option<&History>) -> Result<StateName> {
    // A gate that the run is past keeps every writer from going on, so it comes first.
    if let Some(held) = held_by(state, machine).into_iter().next() {
        return Ok(held);
    }
    let run = &state.document().state;
    let mut in_gate = None;
    for here in run.positions() {
        let Some(gate) = gate_of(&run.gates, here) else { continue };
        in_gate = Some(here.clone());
        let waits = history.is_some_and(|history| history.waits_for_a_person(machine, here));
        if waits || gate.status == GateStatus::Rejected {
            return Ok(here.clone());
        }
    }
    Err(Refusal::NothingToApprove { phase: in_gate })
}
