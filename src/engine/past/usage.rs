//! What the work of a run used, as it was reported, for the run and for each of its phases.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::past::history::PlacedReport;
use crate::engine::{Attempt, History};
use crate::model::{ActivityStatus, ReportType, StateName, StepReport, Usage, UsageSum};

/// What the work of a run used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct RunUsage {
    /// All together.
    #[serde(flatten)]
    pub sum: UsageSum,
    /// The phases in which there is work, in the order of their first work.
    pub phases: Vec<PhaseUsage>,
}

/// What the work in a phase used.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseUsage {
    /// The phase; none for work of other programs that names none.
    pub phase: Option<StateName>,
    /// All together.
    #[serde(flatten)]
    pub sum: UsageSum,
}

impl RunUsage {
    fn add(&mut self, phase: Option<&StateName>, usage: &Usage) {
        self.sum.add(usage);
        let at = self.phases.iter().position(|one| one.phase.as_ref() == phase).unwrap_or_else(|| {
            self.phases.push(PhaseUsage { phase: phase.cloned(), sum: UsageSum::default() });
            self.phases.len() - 1
        });
        self.phases[at].sum.add(usage);
    }
}

impl History {
    /// What the work of the run used. Each attempt counts, also a failed one and one that was repeated under its id: it was
    /// done. Not for a history of a recap, which has no usage.
    #[must_use]
    pub fn usage(&self) -> RunUsage {
        let mut used = RunUsage::default();
        for attempt in &self.attempts {
            if attempt.is_work() {
                let unknown = Usage::default();
                used.add(attempt.phase.as_ref(), attempt.usage.as_deref().unwrap_or(&unknown));
            }
        }
        for PlacedReport { report, step, .. } in self.placed_reports() {
            if let Some(usage) = worker_usage(report) {
                // A sub-agent works for the step that was reported last.
                let own = report.step.as_ref().filter(|step| step.agent().is_none());
                used.add(own.or(step), &usage);
            }
        }
        used
    }
}

/// What a unit or a sub-agent says that it used: its work has no record. The usage of a step is in the record of the step.
#[must_use]
pub fn worker_usage(report: &StepReport) -> Option<Usage> {
    let is_of_worker = report.unit.is_some() || report.step.as_ref().is_some_and(|step| step.agent().is_some());
    if !is_of_worker || report.kind() != Some(ReportType::StatusChange) {
        return None;
    }
    let usage = Usage::of_document(report.data.get("usage")?);
    if usage.is_unknown() { None } else { Some(usage) }
}

impl Attempt {
    /// Whether it is work whose usage someone could have reported. A beginning without usage has its end, a person's decision
    /// uses nothing, and what was skipped was not done.
    fn is_work(&self) -> bool {
        let has_ended = matches!(self.status, ActivityStatus::Passed | ActivityStatus::Failed);
        // What a fork took over counts in its parent.
        self.of.is_none() && (self.usage.is_some() || has_ended && self.approval.is_none())
    }
}
