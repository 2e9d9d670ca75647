//! Whether a report may enter its step, and how (rules of rp1).

use crate::engine::emit::draft::EmitDraft;
use crate::engine::leave::has_transition;
use crate::engine::past::work::has_phase;
use crate::engine::{History, ReportRefusal};
use crate::machine::Machine;
use crate::model::{Number, StateName, StepStatus, Unit};

/// How a report enters its step.
pub(super) enum StepEntry {
    /// The run is in the step already.
    Here,
    /// The run moves from these states to the step; empty if the run begins there.
    From(Vec<StateName>),
    /// The step becomes a parallel branch: it and another current step both follow this state.
    Beside(StateName),
    /// Not at all: the run had left the step before and stays where it is.
    Left,
}

impl EmitDraft<'_> {
    /// Whether and how the run can enter `step`.
    pub(super) fn check_transition(&self, step: &StateName) -> Result<StepEntry, ReportRefusal> {
        let over = self.state.status().is_terminal();
        let Some(machine) = self.machine else {
            return Ok(if self.here.contains(step) { StepEntry::Here } else { StepEntry::From(self.here.clone()) });
        };
        if self.here.contains(step) && !over {
            return Ok(StepEntry::Here);
        }
        // A run that begins with its reports begins in an initial state, also if `flow start` put it there already.
        let begins = self.here.is_empty() || self.is_untouched() && !machine.is_phases();
        if begins && !machine.initial().contains(step) {
            return Err(ReportRefusal::CannotStart(self.fault(machine, step, machine.initial().to_vec())));
        }
        if self.here.is_empty() {
            return Ok(StepEntry::From(Vec::new()));
        }
        let mut from = self.here.clone();
        from.retain(|here| has_transition(machine, here, step));
        if !from.is_empty() && !over {
            return Ok(StepEntry::From(from));
        }
        // Beside a phase no other one is entered: a run would come around its work that way.
        if let Some(branch) = self.branch_of(machine, step)
            && !over
            && !machine.is_phases()
        {
            return Ok(StepEntry::Beside(branch));
        }
        Err(ReportRefusal::InvalidStep(self.fault(machine, step, Vec::new())))
    }

    /// Whether nothing was reported or recorded in the run.
    fn is_untouched(&self) -> bool {
        self.steps.is_empty() && self.state.document().state.last_number == Number(0)
    }

    /// Whether a report is about a step that the run left: the outcome of a step that was still running, or work there
    /// that is to be done again. Nothing else can report that.
    pub(super) fn is_of_left(&self, step: &StateName, status: StepStatus) -> bool {
        if self.state.status().is_terminal() {
            return false;
        }
        let ends = !matches!(status, StepStatus::NotStarted | StepStatus::Running);
        let runs = self.steps.get(step) == Some(StepStatus::Running);
        if runs && ends {
            return true;
        }
        let Some(history) = self.history_now() else { return false };
        has_phase(&history.unsettled(), step)
    }

    /// Whether a unit can enter `step` from the step in which it was last.
    pub(super) fn can_enter(&self, unit: &Unit, step: &StateName) -> bool {
        let Some(machine) = self.machine else { return false };
        if self.state.status().is_terminal() {
            return false;
        }
        let mut here = self.reports.iter().rev().find_map(|report| report.step_of(unit));
        // The whole log may have to be read for what was before.
        if here.is_none()
            && let Some(history) = self.trail.history()
        {
            here = history.reports().iter().rev().find_map(|report| report.step_of(unit));
        }
        let Some(here) = here else { return false };
        here == step || has_transition(machine, here, step)
    }

    /// The state from which `step` branches off in parallel: the one from which another current step was first entered.
    /// A step in which the run has been before is reached only by transitions, so going back is not a branch.
    fn branch_of(&self, machine: &Machine, step: &StateName) -> Option<StateName> {
        if self.steps.get(step).is_some() {
            return None;
        }
        for here in &self.here {
            let mut ways = machine.transitions().iter().filter(|way| way.to == *here);
            // Most states have only one successor; then the history is not needed.
            if !ways.any(|way| has_transition(machine, &way.from, step)) {
                continue;
            }
            if let Some(from) = self.first_from(here)
                && has_transition(machine, from, step)
            {
                return Some(from.clone());
            }
        }
        None
    }

    /// The state from which the run first entered `step`: an earlier one than any report of this batch names.
    fn first_from(&self, step: &StateName) -> Option<&StateName> {
        let before = self.trail.history().map(History::reports).unwrap_or_default();
        let mut entries = before.iter().chain(&self.reports).filter(|report| report.step.as_ref() == Some(step));
        entries.find_map(|report| report.from.as_ref())
    }
}
