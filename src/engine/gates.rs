//! Gates: how they follow a run, whether one waits for a person, and what a run may do before a person decides.
//!
//! A gate is passed by a person's decision and by nothing else. So an edit, a repair, an adopted definition and whatever
//! else moves a run without its transitions leaves the gates [doubtful](GateStatus::is_doubtful), and a doubtful gate that
//! the run turns out to be past [holds](held_by) every writer until a person decides.

use serde_json::Value;

use crate::engine::resume::in_doubt;
use crate::engine::{Attempt, History, Refusal, RunState};
use crate::machine::Machine;
use crate::model::{
    APPROVAL, ActivityRecorded, ActivityStatus, Event, EventKind, Gate, GateStatus, Owned, RunStatus, StateName,
    StepReport, StepStatus, WorkflowAdopted,
};

/// The type of a phase that waits for a person from its beginning.
const GATE: &str = "gate";

/// The gates of a pinned workflow, before the run does anything.
pub(super) fn of_machine(machine: &Value) -> Vec<Gate> {
    let names = machine.get("gates").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names = names.iter().filter_map(|name| StateName::new(name.as_str()?).ok());
    names.map(|phase| Gate { phase, status: GateStatus::Closed }).collect()
}

/// The gates of a run that begins in `phase`. If that is not where its workflow begins, the run may be past some.
pub(super) fn of_start(machine: &Value, phase: Option<&StateName>) -> Vec<Gate> {
    let mut gates = of_machine(machine);
    let initial = machine.get("initial").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let Some(phase) = phase.filter(|phase| !initial.iter().any(|name| name.as_str() == Some(phase.as_str()))) else {
        return gates;
    };
    for gate in gates.iter_mut().filter(|gate| gate.phase != *phase) {
        gate.status = GateStatus::Unproved;
    }
    gates
}

/// Makes the gates of a run doubtful that something else than its own transitions brought to where it is: those that are
/// known, and those of its workflow.
pub fn unprove(state: &mut Owned, machine: Option<&Value>, more: &[Gate]) {
    let of_workflow = machine.map(of_machine).unwrap_or_default();
    let mut gates: Vec<Gate> = Vec::new();
    for gate in state.gates.iter().chain(more).chain(&of_workflow) {
        if gates.iter().any(|seen| seen.phase == gate.phase) {
            continue;
        }
        let is_here = state.positions().any(|here| *here == gate.phase);
        let status = match gate.status {
            GateStatus::Dropped => GateStatus::Dropped,
            _ if is_here => GateStatus::Closed,
            _ => GateStatus::Unproved,
        };
        gates.push(Gate { phase: gate.phase.clone(), status });
    }
    state.gates = gates;
}

/// Follows an event: `before` are the places of the run before it.
pub(super) fn follow(state: &mut Owned, event: &Event, before: &[StateName]) {
    match &event.kind {
        EventKind::WorkflowAdopted(adopted) => adopt(state, adopted),
        EventKind::ActivityRecorded(record) => {
            decide_or_void(state, record);
            reenter(&mut state.gates, record);
        }
        // Whoever opened it had not seen why the run goes on after its end.
        EventKind::RunReopened(_) => close(&mut state.gates, before),
        EventKind::Emitted(emitted) => void_by_reports(&mut state.gates, &emitted.reports),
        _ => {}
    }
    enter_or_leave(state, before);
}

/// Closes the gates that the run has come to, and notes those that it left without a decision.
pub(super) fn enter_or_leave(state: &mut Owned, before: &[StateName]) {
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
    for gate in gates.iter_mut().filter(|gate| phases.contains(&gate.phase) && !gate.status.is_doubtful()) {
        gate.status = GateStatus::Closed;
    }
}

/// A record in another phase that advances into a gate enters it anew, also if the run was in it before.
fn reenter(gates: &mut [Gate], record: &ActivityRecorded) {
    if let Some(to) = record.advanced_to.as_ref().filter(|to| !record.late && **to != record.phase) {
        close(gates, std::slice::from_ref(to));
    }
}

/// A definition may bring new gates. It does not open one: what it drops stays until a person agrees, and so does a gate
/// that it leads around.
fn adopt(state: &mut Owned, adopted: &WorkflowAdopted) {
    let mut gates = of_machine(&adopted.machine);
    gates.retain(|gate| !adopted.bypassed.contains(&gate.phase));
    for gate in &mut gates {
        let known = state.gates.iter().find(|known| known.phase == gate.phase);
        gate.status = known.map_or(GateStatus::Unproved, |known| known.status);
        if gate.status == GateStatus::Dropped {
            gate.status = GateStatus::Unproved;
        }
    }
    for old in &state.gates {
        if gates.iter().all(|gate| gate.phase != old.phase) {
            gates.push(Gate { phase: old.phase.clone(), status: GateStatus::Dropped });
        }
    }
    state.gates = gates;
}

/// A record in a gate's phase is a decision, or voids one: the person had not seen it.
fn decide_or_void(state: &mut Owned, record: &ActivityRecorded) {
    let Some(at) = state.gates.iter().position(|gate| gate.phase == record.phase) else { return };
    let status = state.gates[at].status;
    let approves = record.activity.status().is_completed();
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
    for report in reports.iter().filter(|report| !report.auto) {
        let Some(gate) = gates.iter_mut().find(|gate| report.step.as_ref() == Some(&gate.phase)) else { continue };
        if report.status().is_some() && matches!(gate.status, GateStatus::Approved | GateStatus::Rejected) {
            gate.status = GateStatus::Closed;
        }
    }
}

/// The gates that the run may be past without a decision. Nothing goes on before a person decides.
#[must_use]
pub fn held_by(state: &RunState, machine: Option<&Machine>) -> Vec<StateName> {
    let run = &state.document().state;
    let holds = |gate: &&Gate| match (gate.status, machine) {
        (GateStatus::Dropped, _) | (GateStatus::PassedOver | GateStatus::Unproved, None) => true,
        (GateStatus::PassedOver, Some(machine)) => !run.positions().all(|here| is_in_front(machine, here, &gate.phase)),
        (GateStatus::Unproved, Some(machine)) => run.positions().any(|here| machine.is_behind(here, &gate.phase)),
        // An edit says that the run is completed, and nobody decided.
        (GateStatus::Closed | GateStatus::Rejected, _) => {
            run.status == RunStatus::Completed && run.positions().any(|here| *here == gate.phase)
        }
        (GateStatus::Approved, _) => false,
    };
    run.gates.iter().filter(holds).map(|gate| gate.phase.clone()).collect()
}

/// Whether what is done in `here` is done before the gate is passed.
fn is_in_front(machine: &Machine, here: &StateName, gate: &StateName) -> bool {
    here == gate || machine.leads_back(gate, here) || machine.is_before(here, gate)
}

/// Whether a gate of the run may hold it, so that its workflow is needed to know.
#[must_use]
pub fn is_doubtful(state: &RunState) -> bool {
    state.document().state.gates.iter().any(|gate| gate.status.is_doubtful())
}

/// Refuses a caller who wants to leave the gate `from` for `to`, or to complete the run there (`to` is `None`), without a
/// person's decision. A gate that does not wait yet lets the run go back for another round, and so does one that a person
/// rejected.
///
/// # Errors
/// [`Refusal::NeedsApproval`].
pub(super) fn refuse_leaving(
    gates: &[Gate],
    machine: Option<&Machine>,
    from: &StateName,
    to: Option<&StateName>,
    history: Option<&History>,
) -> Result<(), Refusal> {
    let Some(gate) = gates.iter().find(|gate| gate.phase == *from) else { return Ok(()) };
    if gate.status == GateStatus::Approved {
        return Ok(());
    }
    let goes_back = match (machine, to) {
        (Some(machine), Some(to)) => is_in_front(machine, to, from),
        _ => false,
    };
    let waits = history.is_some_and(|history| history.waits_for_a_person(machine, from));
    if goes_back && !waits {
        return Ok(());
    }
    Err(Refusal::NeedsApproval { phases: vec![from.clone()] })
}

/// Refuses to complete a run in or before a gate that nobody decided on; `ahead` are the phases that it would not come to.
/// A run without a place has come to none of its gates.
///
/// # Errors
/// [`Refusal::NeedsApproval`].
pub(super) fn refuse_end(run: &Owned, ahead: &[StateName]) -> Result<(), Refusal> {
    let has_place = run.current_phase.is_some();
    let is_skipped = |gate: &&Gate| {
        let is_here = run.positions().any(|here| *here == gate.phase);
        gate.status != GateStatus::Approved && (is_here || ahead.contains(&gate.phase) || !has_place)
    };
    let phases: Vec<_> = run.gates.iter().filter(is_skipped).map(|gate| gate.phase.clone()).collect();
    if phases.is_empty() { Ok(()) } else { Err(Refusal::NeedsApproval { phases }) }
}

/// The gates that a definition leads around, while the one before did not: without it, a run could not end.
pub(super) fn bypassed(gates: &[Gate], before: Option<&Machine>, newer: &Machine) -> Vec<StateName> {
    let is_needed = |machine: &Machine, gate: &StateName| {
        machine.gates().contains(gate)
            && machine.initial().iter().all(|initial| initial == gate || machine.is_before(initial, gate))
    };
    let is_bypassed =
        |gate: &&Gate| before.is_none_or(|before| is_needed(before, &gate.phase)) && !is_needed(newer, &gate.phase);
    gates.iter().filter(is_bypassed).map(|gate| gate.phase.clone()).collect()
}

impl History {
    /// Takes over the gates of the workflow of a run that another program wrote, as its adoption will.
    pub(crate) fn foresee_gates(&mut self, machine: &Machine) {
        let gates = machine.gates().iter().map(|phase| Gate { phase: phase.clone(), status: GateStatus::Unproved });
        let gates: Vec<_> = gates.collect();
        self.change_state(|state| unprove(state, None, &gates));
    }

    /// How the gate of `phase` stands; `None` if it is not a gate.
    #[must_use]
    pub fn gate(&self, phase: &StateName) -> Option<GateStatus> {
        let gates = &self.state().document().state.gates;
        gates.iter().find(|gate| gate.phase == *phase).map(|gate| gate.status)
    }

    /// Why a person rejected what was done in `phase`, the last time.
    pub(super) fn rejection(&self, phase: &StateName) -> Option<&str> {
        let is_rejection = |attempt: &&Attempt| {
            attempt.approval.is_some()
                && attempt.phase.as_ref() == Some(phase)
                && attempt.status == ActivityStatus::Failed
        };
        self.attempts().iter().rev().find(is_rejection)?.summary.as_deref()
    }

    /// Whether the run stands in the gate `phase` and only a person can let it go on. A phase of the type `gate` waits from
    /// its beginning, another one as soon as something in it passed and nothing runs or failed.
    #[must_use]
    pub fn waits_for_a_person(&self, machine: Option<&Machine>, phase: &StateName) -> bool {
        let run = &self.state().document().state;
        let status = self.gate(phase);
        if !run.positions().any(|here| here == phase) || status == Some(GateStatus::Approved) || status.is_none() {
            return false;
        }
        let records = self.records_here(phase);
        // The newest decision at the beginning of the list: what came before it has been judged.
        let decided = records.iter().rposition(|attempt| attempt.id == APPROVAL);
        let since_rejected = match (status, decided) {
            (Some(GateStatus::Rejected), _) => return false,
            (_, Some(at)) if records[at].status == ActivityStatus::Failed => &records[at + 1..],
            _ => &records[..],
        };
        let is_gate = machine.and_then(|machine| machine.state(phase)?.kind.as_deref()) == Some(GATE);
        if is_gate && decided.is_none() {
            return true;
        }
        // What is open keeps any phase from being left; begun work is not, but the person cannot judge it yet.
        let is_open = self.work(phase).open.iter().any(|attempt| attempt.approval.is_none());
        let runs = in_doubt(self).iter().any(|doubt| doubt.phase.as_ref() == Some(phase));
        if is_open || runs || run.steps.get(phase) == Some(StepStatus::Failed) {
            return false;
        }
        since_rejected.iter().any(|attempt| attempt.status.is_completed() && attempt.id != APPROVAL)
    }
}
