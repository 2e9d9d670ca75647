//! Runs in which only units and sub-agents report: no step of the workflow was reported or recorded, so their work is
//! all that the run consists of.

use crate::engine::{History, Refusal, UnitWork};
use crate::model::{Number, StepStatus};

/// How far the work of such a run is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum UnitsAlone {
    /// It is not such a run.
    No,
    /// Every unit is completed or skipped, and at least one is completed.
    Done,
    /// These are not: units and sub-agents with their states, in words.
    Open(Vec<String>),
}

impl UnitsAlone {
    /// Judges a run.
    pub(in crate::engine) fn of(history: &History) -> Self {
        let run = &history.state().document().state;
        if run.current_phase.is_some() || !run.steps.is_empty() || run.last_number > Number(0) {
            return Self::No;
        }
        let units = history.units();
        let open: Vec<_> = units.iter().filter(|unit| !unit.status.is_done()).map(ToString::to_string).collect();
        if !open.is_empty() {
            return Self::Open(open);
        }
        // If all units were skipped, nothing was done that the run could be completed for.
        let is_worked = units.iter().any(|unit| unit.status == StepStatus::Completed);
        if is_worked { Self::Done } else { Self::No }
    }

    /// Whether a run without a completed activity may be completed.
    pub(in crate::engine) fn check_done(history: Option<&History>) -> Result<(), Refusal> {
        let Some(history) = history else { return Err(Refusal::NothingRecorded) };
        match Self::of(history) {
            Self::Done => Ok(()),
            Self::Open(units) => Err(Refusal::UnitsOpen { units }),
            Self::No => Err(Refusal::NothingRecorded),
        }
    }
}

impl History {
    /// The unit or sub-agent that waits; of several the first by name.
    pub(crate) fn waiting_unit(&self) -> Option<UnitWork<'_>> {
        self.units().into_iter().find(|unit| unit.status == StepStatus::Waiting)
    }

    /// The latest status of each sub-agent, or of each unit of a sub-agent.
    #[must_use]
    pub fn children(&self) -> Vec<StepStatus> {
        let of_agents = self.units().into_iter().filter(|worker| worker.step.agent().is_some());
        of_agents.map(|worker| worker.status).collect()
    }

    /// Descriptions of the units and sub-agents that are not reported as done.
    #[must_use]
    pub fn open_workers(&self) -> Vec<String> {
        let mut workers = self.units();
        workers.retain(UnitWork::is_open);
        workers.iter().map(ToString::to_string).collect()
    }
}
