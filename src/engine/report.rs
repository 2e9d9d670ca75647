//! What a caller reports on steps.

use serde_json::{Map, Value};

use crate::model::{
    ActivityId, EventId, Number, ReportType, StateName, StepReport, StepStatus, TextDigest, Timestamp, Unit,
};

/// A batch of reports: either all of them happen or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Emit {
    /// The reports, in order.
    pub reports: Vec<Report>,
    /// The digest of the caller's request, if it has an operation id.
    pub request: Option<TextDigest>,
    /// The time of the reports.
    pub now: Timestamp,
    /// Whether the caller writes documents of interviews, so that it may answer their questions.
    pub answers_documents: bool,
    /// Which of them can end the run.
    pub may_end: MayEnd,
}

/// Which reports of a batch can end the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MayEnd {
    /// Each of them.
    #[default]
    Each,
    /// The last one: they move the run from one step to another.
    Last,
    /// None of them: whether the run ends is still to be chosen.
    Never,
}

/// A report from a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its id, which is unique.
    pub id: EventId,
    /// Its type.
    pub kind: ReportType,
    /// The step.
    pub step: Option<StateName>,
    /// The unit of work in the step.
    pub unit: Option<Unit>,
    /// Its data; for a change of status, this includes `status`.
    pub data: Map<String, Value>,
}

/// Supplies ids for reports that flow makes, and numbers for activities.
pub trait Supply {
    /// A new, unused id.
    fn event_id(&mut self) -> EventId;
    /// The number for the next activity, which has this id.
    fn number(&mut self, id: &ActivityId) -> Number;
    /// Is told which report is judged next, counted from 0.
    fn reaches(&mut self, _nth: usize) {}
}

impl Report {
    /// The report as it is logged if it does not move the run.
    #[must_use]
    pub fn logged_at(self, now: Timestamp) -> StepReport {
        let Self { id, kind, step, unit, data } = self;
        StepReport { id, at: now, kind: kind.as_str().to_owned(), step, unit, data, auto: false, from: None }
    }

    pub(super) fn status(&self) -> Option<StepStatus> {
        match self.kind {
            ReportType::StatusChange => self.data.get("status")?.as_str()?.parse().ok(),
            _ => None,
        }
    }

    /// The step of the run's own workflow that a registered subflow belongs to.
    pub(super) fn parent(&self) -> Option<StateName> {
        self.named_parent().filter(|parent| parent.agent().is_none())
    }

    /// The step of a sub-agent that a registered subflow belongs to.
    pub(crate) fn parent_of_agent(&self) -> Option<StateName> {
        self.named_parent().filter(|parent| parent.agent().is_some())
    }

    fn named_parent(&self) -> Option<StateName> {
        match self.kind {
            ReportType::SubflowRegistered => StateName::new(self.data.get("parentStepId")?.as_str()?).ok(),
            _ => None,
        }
    }
}
