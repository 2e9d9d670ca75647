//! How the runs of a workflow went, and how long its phases take: from the runs that are there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::Lane;
use crate::model::{RunStatus, StateName, StepStatus, UsageSum};
use crate::runs::open::listed::ListedRun;

/// The runs of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkflowUse {
    /// How many are open.
    pub open: usize,
    /// How many are over.
    pub over: usize,
    /// How many of the open ones are in each phase.
    pub phases: BTreeMap<StateName, usize>,
    /// How many of those that are over were completed.
    pub completed: usize,
    /// How many of them failed.
    pub failed: usize,
    /// How long a completed run took, in milliseconds: half of them took less. Null if none was completed.
    pub took_ms: Option<u64>,
    #[serde(skip)]
    took: Vec<u64>,
}

impl WorkflowUse {
    /// Counts a run.
    pub(in crate::runs) fn add(&mut self, run: &ListedRun) {
        let head = &run.head;
        if !head.status.is_terminal() {
            self.open += 1;
            if let Some(phase) = &head.phase {
                *self.phases.entry(phase.clone()).or_default() += 1;
            }
            return;
        }
        self.over += 1;
        match head.status {
            RunStatus::Completed => {
                self.completed += 1;
                self.took.push(run.took_ms());
            }
            RunStatus::Failed => self.failed += 1,
            _ => {}
        }
    }

    /// Says how long runs took, once all are counted.
    pub(in crate::runs) fn finish(&mut self) {
        self.took_ms = median(&mut self.took);
    }
}

/// What the latest runs of a workflow show of its phases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseUses {
    /// How many runs were looked at.
    pub runs: usize,
    /// What their work used.
    pub usage: UsageSum,
    /// The phases in which one of them was.
    pub phases: BTreeMap<StateName, PhaseUse>,
}

/// What the latest runs of a workflow show of one of its phases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseUse {
    /// How many runs were in it.
    pub runs: usize,
    /// How long a run that left it was in it, in milliseconds: half of them were in it for less. Null if none left it.
    pub took_ms: Option<u64>,
    /// How long a run was worked on in it, as far as that was recorded: half of them for less. Null without such a record.
    pub worked_ms: Option<u64>,
    /// How many attempts at its work have an outcome.
    pub attempts: usize,
    /// How many of those failed.
    pub failed: usize,
    /// What the work in it used.
    pub usage: UsageSum,
    #[serde(skip)]
    took: Vec<u64>,
    #[serde(skip)]
    worked: Vec<u64>,
}

impl PhaseUse {
    pub(super) fn add(&mut self, lane: &Lane) {
        self.runs += 1;
        let mut took = 0;
        let mut has_left = true;
        for stay in &lane.stays {
            match stay.to {
                Some(to) => took += stay.from.milliseconds_until(to),
                None => has_left = false,
            }
        }
        if has_left {
            self.took.push(took);
        }
        let latest = lane.spans.iter().filter_map(|span| span.to).max();
        let worked = latest.map(|latest| lane.worked_ms(latest));
        self.worked.extend(worked.filter(|worked| *worked > 0));
    }

    /// Says how long runs were in the phase, once all are counted.
    pub(super) fn finish(&mut self) {
        self.took_ms = median(&mut self.took);
        self.worked_ms = median(&mut self.worked);
    }

    /// Counts the attempts of the phase, or of a unit below it.
    pub(super) fn add_attempts(&mut self, lane: &Lane) {
        for span in &lane.spans {
            self.attempts += usize::from(span.outcome.is_some());
            self.failed += usize::from(span.outcome == Some(StepStatus::Failed));
        }
    }
}

fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_even_number_the_lower_middle_counts() {
        assert_eq!([&mut [][..], &mut [7], &mut [9, 1], &mut [3, 9, 1]].map(median), [None, Some(7), Some(1), Some(3)]);
    }
}
