//! Gates, and how they follow a run.
//!
//! A gate is passed by a person's decision and by nothing else. So an edit, a repair, an adopted definition and
//! whatever else moves a run without its transitions leaves the gates [doubtful](GateStatus::is_doubtful), and a
//! doubtful gate that the run turns out to be past [holds](crate::engine::held_by) every writer until a person decides.

use serde_json::Value;

use crate::model::{
    ActivityRecorded, Event, EventKind, Gate, GateStatus, OwnedState, StateName, StepReport, WorkflowAdopted,
};

/// The gate of `phase`, if it is one.
pub(super) fn gate_of<'g>(gates: &'g [Gate], phase: &StateName) -> Option<&'g Gate> {
    gates.iter().find(|gate| gate.phase == *phase)
}

/// The texts in a list of a pinned workflow; none if the list is missing.
fn names_in<'m>(machine: &'m Value, list: &str) -> impl Iterator<Item = &'m str> {
    machine.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The gates of a pinned workflow, before the run does anything.
fn of_machine(machine: &Value) -> Vec<Gate> {
    // Applying an event must not fail, so a name that no phase can have is passed over.
    let phases = names_in(machine, "gates").flat_map(StateName::new);
    phases.map(|phase| Gate { phase, status: GateStatus::Closed }).collect()
}

/// The gates of a run that begins in `phase`. If that is not where its workflow begins, the run may be past some.
pub(super) fn of_start(machine: &Value, phase: Option<&StateName>) -> Vec<Gate> {
    let mut gates = of_machine(machine);
    let Some(phase) = phase else { return gates };
    if names_in(machine, "initial").any(|name| name == phase.as_str()) {
        return gates;
    }
    for gate in gates.iter_mut().filter(|gate| gate.phase != *phase) {
        gate.status = GateStatus::Unproved;
    }
    gates
}

/// Makes the gates of a run doubtful that something else than its own transitions brought to where it is: those that
/// are known, and those of its workflow.
pub fn unprove(state: &mut OwnedState, machine: Option<&Value>, more: &[Gate]) {
    let of_workflow = machine.map(of_machine).unwrap_or_default();
    let mut gates: Vec<Gate> = Vec::new();
    // What is known of a gate comes first: it may be dropped, which the workflow does not tell.
    for gate in state.gates.iter().chain(more).chain(&of_workflow) {
        if gate_of(&gates, &gate.phase).is_some() {
            continue;
        }
        let status = match gate.status {
            GateStatus::Dropped => GateStatus::Dropped,
            _ if state.is_in(&gate.phase) => GateStatus::Closed,
            _ => GateStatus::Unproved,
        };
        gates.push(Gate { phase: gate.phase.clone(), status });
    }
    state.gates = gates;
}

/// Follows an event: `before` are the places of the run before it.
pub(super) fn follow(state: &mut OwnedState, event: &Event, before: &[StateName]) {
    match &event.kind {
        EventKind::WorkflowAdopted(adopted) => adopt(state, adopted),
        EventKind::ActivityRecorded(record) => {
            decide_or_void(state, record);
            // A record in another phase that advances into a gate enters it again, also if the run was in it before. A
            // late one names where the run is already, so it enters nothing.
            if let Some(to) = record.advanced_to.as_ref().filter(|to| !record.late && **to != record.phase) {
                close(&mut state.gates, std::slice::from_ref(to));
            }
        }
        // The person who opened it had not seen why the run goes on after its end.
        EventKind::RunReopened(_) => close(&mut state.gates, before),
        EventKind::Emitted(emitted) => void_by_reports(&mut state.gates, &emitted.reports),
        _ => {}
    }
    enter_or_leave(state, before);
}

/// Closes the gates that the run has come to, and notes those that it left without a decision.
pub(super) fn enter_or_leave(state: &mut OwnedState, before: &[StateName]) {
    // Most runs have no gates, and a whole log is followed.
    if state.gates.is_empty() {
        return;
    }
    let here: Vec<StateName> = state.positions().cloned().collect();
    for gate in &mut state.gates {
        let (was, is) = (before.contains(&gate.phase), here.contains(&gate.phase));
        gate.status = match gate.status {
            GateStatus::Dropped => continue,
            _ if is && !was => GateStatus::Closed,
            GateStatus::Unproved | GateStatus::PassedOver if is => GateStatus::Closed,
            GateStatus::Closed | GateStatus::Rejected if was && !is => GateStatus::PassedOver,
            status => status,
        };
    }
}

/// Follows an edit of the position: what was decided before does not prove how the run came to its new place.
pub(super) fn moved_by_hand(gates: &mut [Gate], before: &[StateName]) {
    for gate in gates {
        gate.status = match gate.status {
            GateStatus::Dropped | GateStatus::PassedOver => continue,
            GateStatus::Closed | GateStatus::Rejected if before.contains(&gate.phase) => GateStatus::PassedOver,
            _ => GateStatus::Unproved,
        };
    }
}

/// Closes the gates among these phases.
fn close(gates: &mut [Gate], phases: &[StateName]) {
    for gate in gates {
        // What becomes of a doubtful gate follows from where the run is afterwards: see `enter_or_leave`.
        if phases.contains(&gate.phase) && !gate.status.is_doubtful() {
            gate.status = GateStatus::Closed;
        }
    }
}

/// A definition may bring new gates. It does not open one: what it drops stays until a person agrees, and so does a
/// gate that it leads around.
fn adopt(state: &mut OwnedState, adopted: &WorkflowAdopted) {
    let mut gates = of_machine(&adopted.machine);
    gates.retain(|gate| !adopted.bypassed.contains(&gate.phase));
    for gate in &mut gates {
        gate.status = match gate_of(&state.gates, &gate.phase) {
            Some(known) if known.status != GateStatus::Dropped => known.status,
            // The run may have come past it while its definition did not have it.
            _ => GateStatus::Unproved,
        };
    }
    for old in &state.gates {
        if gates.iter().all(|gate| gate.phase != old.phase) {
            gates.push(Gate { phase: old.phase.clone(), status: GateStatus::Dropped });
        }
    }
    state.gates = gates;
}

/// A record in a gate's phase is a decision, or voids one: the person had not seen it.
fn decide_or_void(state: &mut OwnedState, record: &ActivityRecorded) {
    let Some(at) = state.gates.iter().position(|gate| gate.phase == record.phase) else { return };
    let status = state.gates[at].status;
    let approves = record.activity.status().is_completed();
    // Only an approval takes a doubt away.
    state.gates[at].status = match (&record.approval, approves) {
        (Some(_), true) if status == GateStatus::Dropped => {
            state.gates.remove(at);
            return;
        }
        (Some(_), true) => GateStatus::Approved,
        (Some(_), false) if !status.is_doubtful() => GateStatus::Rejected,
        (None, _) if !status.is_doubtful() => GateStatus::Closed,
        _ => status,
    };
}

/// Reports on the step of a gate void a decision, as records do.
pub(super) fn void_by_reports(gates: &mut [Gate], reports: &[StepReport]) {
    for report in reports {
        // What flow reports itself is no work that the person had not seen.
        if report.auto {
            continue;
        }
        for gate in gates.iter_mut() {
            let is_decided = matches!(gate.status, GateStatus::Approved | GateStatus::Rejected);
            if is_decided && report.step.as_ref() == Some(&gate.phase) && report.status().is_some() {
                gate.status = GateStatus::Closed;
            }
        }
    }
}
