//! What a run may do at its gates before a person decides, and whether one waits for a person.

use crate::engine::doubt::in_doubt;
use crate::engine::gates::{gate_of, unprove};
use crate::engine::proof::{Leaving, requires};
use crate::engine::{GateTurn, History, Refusal, RunState, Trail};
use crate::machine::Machine;
use crate::model::{APPROVAL, ActivityStatus, Gate, GateStatus, OwnedState, RunStatus, StateName, StepStatus};

/// The type of a phase that waits for a person from its beginning.
const GATE: &str = "gate";

/// The gates that the run may be past without a decision. Nothing goes on before a person decides.
#[must_use]
pub fn held_by(state: &RunState, machine: Option<&Machine>) -> Vec<StateName> {
    let run = &state.document().state;
    let held = run.gates.iter().filter(|gate| holds(run, gate, machine));
    held.map(|gate| gate.phase.clone()).collect()
}

/// What holds the run that may be past `gate` without a decision.
pub(crate) fn turn_of_held(state: &RunState, gate: &StateName) -> GateTurn {
    let gates = &state.document().state.gates;
    let is_dropped = gates.iter().any(|one| one.phase == *gate && one.status == GateStatus::Dropped);
    if is_dropped { GateTurn::Dropped } else { GateTurn::Passed }
}

/// Whether the run may be past `gate` without a decision.
fn holds(run: &OwnedState, gate: &Gate, machine: Option<&Machine>) -> bool {
    match (gate.status, machine) {
        // Without the workflow nothing shows that the run is in front of the gate.
        (GateStatus::Dropped, _) | (GateStatus::PassedOver | GateStatus::Unproved, None) => true,
        (GateStatus::PassedOver, Some(machine)) => !run.positions().all(|here| is_in_front(machine, here, &gate.phase)),
        (GateStatus::Unproved, Some(machine)) => run.positions().any(|here| machine.is_behind(here, &gate.phase)),
        // An edit says that the run is completed, and no person decided.
        (GateStatus::Closed | GateStatus::Rejected, _) => run.status == RunStatus::Completed && run.is_in(&gate.phase),
        (GateStatus::Approved, _) => false,
    }
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

impl Leaving<'_> {
    /// Refuses a caller who wants to leave a gate, or to complete the run there, without a person's decision. A gate that
    /// does not wait yet lets the run go back for another round, and so does one that a person rejected.
    ///
    /// # Errors
    /// [`Refusal::NeedsApproval`]; [`Refusal::NotProved`] where a command is missing there that the phase requires.
    pub(super) fn refuse(self, gates: &[Gate]) -> Result<(), Refusal> {
        let Self { machine, from, to, history, .. } = self;
        let Some(gate) = gate_of(gates, from) else { return Ok(()) };
        if gate.status == GateStatus::Approved {
            return Ok(());
        }
        let goes_back = matches!((machine, to), (Some(machine), Some(to)) if is_in_front(machine, to, from));
        // While the gate waits, only a decision moves the run, even back.
        if goes_back && !history.is_some_and(|history| history.waits_for_a_person(machine, from)) {
            return Ok(());
        }
        let turn = turn_of(history, machine, from);
        Err(self.command_first(Refusal::NeedsApproval { phases: vec![from.clone()], turn }))
    }

    /// `refusal`, which asks for a person in the gate, unless its phase requires a command that is missing: that comes
    /// first, since it would make the decision void.
    pub(super) fn command_first(self, refusal: Refusal) -> Refusal {
        let is_there = self.history.is_some_and(|history| history.state().document().state.is_in(self.from));
        if !requires(self.machine, self.from) || !is_there {
            return refusal;
        }
        match self.unproved() {
            Ok(missing) if missing.is_empty() => refusal,
            Ok(missing) => Refusal::NotProved { missing, looked: true },
            Err(not_looked) => not_looked,
        }
    }
}

/// When a person can decide at the gate in which the run stands. Without the history it is not known that they have to wait.
fn turn_of(history: Option<&History>, machine: Option<&Machine>, gate: &StateName) -> GateTurn {
    let Some(history) = history else { return GateTurn::Now };
    if held_by(history.state(), machine).contains(gate) {
        return turn_of_held(history.state(), gate);
    }
    if history.waits_for_a_person(machine, gate) { GateTurn::Now } else { GateTurn::AfterWork }
}

/// Refuses to complete a run in or before a gate that no person decided on; `ahead` are the phases that it would not come
/// to. A run without a place has come to none of its gates.
///
/// # Errors
/// [`Refusal::NeedsApproval`].
pub(super) fn refuse_end(
    run: &OwnedState,
    machine: Option<&Machine>,
    ahead: &[StateName],
    trail: &dyn Trail,
) -> Result<(), Refusal> {
    let history = trail.history();
    let mut phases = Vec::new();
    for Gate { phase, status } in &run.gates {
        let is_skipped = run.current_phase.is_none() || run.is_in(phase) || ahead.contains(phase);
        if is_skipped && *status != GateStatus::Approved {
            phases.push(phase.clone());
        }
    }
    if phases.is_empty() {
        return Ok(());
    }
    let Some(here) = phases.iter().find(|phase| run.is_in(phase)).cloned() else {
        return Err(Refusal::NeedsApproval { phases, turn: GateTurn::Later });
    };
    let refusal = Refusal::NeedsApproval { phases, turn: turn_of(history, machine, &here) };
    Err(Leaving { machine, from: &here, to: None, history, trail }.command_first(refusal))
}

/// The gates that a definition leads around, while the one before did not: without it, a run could not end.
pub(super) fn bypassed(gates: &[Gate], before: Option<&Machine>, newer: &Machine) -> Vec<StateName> {
    let mut bypassed: Vec<_> = gates.iter().map(|gate| gate.phase.clone()).collect();
    // Without the earlier definition nothing shows that the run could always get around the gate.
    bypassed.retain(|gate| before.is_none_or(|before| is_needed(before, gate)) && !is_needed(newer, gate));
    bypassed
}

/// Whether no run of this workflow ends without coming to the gate.
fn is_needed(machine: &Machine, gate: &StateName) -> bool {
    machine.gates().contains(gate) && machine.is_on_every_way(gate)
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
        Some(gate_of(&self.state().document().state.gates, phase)?.status)
    }

    /// Why a person rejected what was done in `phase`, the last time.
    pub(super) fn rejection(&self, phase: &StateName) -> Option<&str> {
        let mut decisions = self.attempts().iter().rev().filter(|attempt| attempt.approval.is_some());
        let rejection = decisions.find(|one| one.phase.as_ref() == Some(phase) && one.status == ActivityStatus::Failed);
        rejection?.summary.as_deref()
    }

    /// Whether the run stands in the gate `phase` and only a person can let it go on. A phase of the type `gate` waits from
    /// its beginning, another one as soon as something in it passed and nothing runs or failed.
    #[must_use]
    pub fn waits_for_a_person(&self, machine: Option<&Machine>, phase: &StateName) -> bool {
        let run = &self.state().document().state;
        let status = self.gate(phase);
        if !run.is_in(phase) || matches!(status, None | Some(GateStatus::Approved | GateStatus::Rejected)) {
            return false;
        }
        let records = self.records_here(phase);
        // The newest decision at the beginning of the list: what came before it has been judged.
        let decided = records.iter().rposition(|attempt| attempt.id == APPROVAL);
        let since_rejected = match decided {
            Some(at) if records[at].status == ActivityStatus::Failed => &records[at + 1..],
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
