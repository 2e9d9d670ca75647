//! How far a run is, for answers to reports on its steps.

use crate::engine::RunState;
use crate::model::{Number, RunStatus, StepStatus, named};

named! {
    /// How far a run is, in rp1's terms.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Progress {
        /// No work was reported or recorded.
        NotStarted = "not_started",
        /// Work is in progress, or continues with the next step.
        Running = "running",
        /// A person has to answer or resolve something.
        Waiting = "waiting",
        /// The run is completed.
        Completed = "completed",
        /// The current step failed, or the run did.
        Failed = "failed",
        /// The run was cancelled.
        Cancelled = "cancelled",
    }
}

/// How far a run is. `children` are the latest statuses of sub-agents and their units. They matter only until a step of
/// the run's own workflow is reported, since a step includes the work of its sub-agents.
#[must_use]
pub fn progress(state: &RunState, children: impl FnOnce() -> Vec<StepStatus>) -> Progress {
    let run = &state.document().state;
    match run.status {
        RunStatus::Completed => return Progress::Completed,
        RunStatus::Failed => return Progress::Failed,
        RunStatus::Cancelled => return Progress::Cancelled,
        RunStatus::Blocked => return Progress::Waiting,
        RunStatus::Active if !run.questions.is_empty() => return Progress::Waiting,
        RunStatus::Active => {}
    }
    let began = if run.last_number > Number(0) { Progress::Running } else { Progress::NotStarted };
    if run.steps.is_empty() {
        // If only units or sub-agents report, the progress of the run is theirs (rp1).
        let children = children();
        return if children.contains(&StepStatus::Failed) {
            Progress::Failed
        } else if children.contains(&StepStatus::Running) {
            Progress::Running
        } else if children.contains(&StepStatus::Waiting) {
            Progress::Waiting
        } else if children.iter().any(|status| status.is_done()) {
            // In a run that has a place of its own they are not all that there is to do.
            if run.current_phase.is_none() { Progress::Completed } else { Progress::Running }
        } else {
            began
        };
    }
    let here: Vec<_> = run.positions().filter_map(|step| run.steps.get(step)).collect();
    let all: Vec<_> = run.steps.iter().map(|(_, status)| status).collect();
    if here.contains(&StepStatus::Failed) {
        Progress::Failed
    } else if all.contains(&StepStatus::Running) {
        Progress::Running
    } else if all.contains(&StepStatus::Waiting) {
        Progress::Waiting
    } else if here.iter().any(|status| status.is_done()) {
        // Between two steps a run goes on with the next one.
        Progress::Running
    } else {
        began
    }
}
