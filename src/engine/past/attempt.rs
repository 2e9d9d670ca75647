//! A record of an activity, as readers of a history need it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    ActivityRecorded, ActivityStatus, Approval, Event, Execution, KeptEvidence, Number, RunId, Seq, StateName,
    Timestamp, Usage,
};

/// One record of an activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Its number.
    pub number: Number,
    /// The activity's id.
    pub id: String,
    /// The phase in which it was done.
    pub phase: Option<StateName>,
    /// The status that was recorded.
    pub status: ActivityStatus,
    /// The exit code of the command that it was.
    pub exit_code: Option<i64>,
    /// Its title or summary.
    pub summary: Option<String>,
    /// What it refers to as evidence.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(default)]
    pub evidence: Vec<String>,
    /// The ids of failed or blocked activities that it settles.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(default)]
    pub settles: Vec<String>,
    /// The decision of a person that it records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<Approval>,
    /// The command that it was, if flow ran it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exec: Option<Box<Execution>>,
    /// The number of the record whose command flow ran once more, if it tells how that compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<Number>,
    /// The files of evidence, as they were when the end of the command was recorded.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(default)]
    pub kept: Vec<KeptEvidence>,
    /// The run in which it was recorded, if this one is a fork and took it over: there is its evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of: Option<RunId>,
    /// The record in which flow saw the same work fail last before, if this one says something else of it that flow did not
    /// see.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen_to_fail: Option<Number>,
    /// What it used, as it was reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Box<Usage>>,
    /// When it was recorded; absent for records of other programs.
    pub at: Option<Timestamp>,
    /// The position of its event, in a fork that of the event that took it over; absent for records of other programs.
    pub seq: Option<Seq>,
}

impl Attempt {
    /// The record, as `event` has it; without an event, as a repair found it in an activity file.
    pub(in crate::engine) fn new(record: &ActivityRecorded, event: Option<&Event>) -> Self {
        Self {
            number: record.number,
            id: record.id().to_string(),
            phase: Some(record.phase.clone()),
            status: record.activity.status(),
            exit_code: record.activity.exit_code(),
            summary: record.activity.summary().or(record.activity.name()).map(str::to_owned),
            evidence: record.activity.evidence().map(str::to_owned).collect(),
            settles: record.settles.iter().map(ToString::to_string).collect(),
            approval: record.approval.clone(),
            exec: record.exec.clone(),
            replay: record.replay,
            kept: if record.exec.is_some() { record.evidence.clone() } else { Vec::new() },
            of: None,
            seen_to_fail: None,
            usage: record.activity.usage().map(Box::new),
            at: event.map(|event| event.at),
            seq: event.map(|event| event.seq),
        }
    }

    /// Whether flow saw the end of the command that it was.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.exec.as_ref().is_some_and(|exec| exec.end.is_some())
    }

    /// Whether flow saw how it came out: it ran the command, or compared it with a replay.
    #[must_use]
    pub fn flow_saw(&self) -> bool {
        self.is_seen() || self.replay.is_some()
    }

    /// Whether it says that work passed, and flow did not see it. A person's decision is no such claim.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.status == ActivityStatus::Passed && !self.flow_saw() && self.approval.is_none()
    }

    /// Whether it says something of work, other than that it failed, which flow did not see. A person's decision is no such
    /// claim.
    pub(in crate::engine) fn is_said_alone(&self) -> bool {
        !self.flow_saw() && self.approval.is_none() && self.status != ActivityStatus::Failed
    }

    /// What pages say of it behind its status.
    pub(crate) fn seen_or_claimed(&self) -> String {
        let failed = self.seen_to_fail.filter(|_| self.status.is_completed());
        seen_or_claimed(self.flow_saw(), self.is_claimed(), failed)
    }

    /// Whether it has an outcome, or is blocked.
    pub(in crate::engine) fn is_tried(&self) -> bool {
        self.status.is_settled() || self.status == ActivityStatus::Blocked
    }

    /// Whether it was recorded in `phase` after the number `since`.
    pub(in crate::engine) fn is_in(&self, phase: &StateName, since: Number) -> bool {
        self.phase.as_ref() == Some(phase) && self.number > since
    }
}

/// What pages say behind a status: of which flow saw the end, what is only said to have passed, and the number of the record
/// in which flow saw it fail before.
pub(in crate::engine) fn seen_or_claimed(seen: bool, claimed: bool, failed: Option<Number>) -> String {
    let said = match (seen, claimed) {
        (true, _) => ", seen",
        (false, true) => ", claimed",
        (false, false) => "",
    };
    let failed = failed.map(|failed| format!("; flow saw {failed} fail"));
    said.to_owned() + &failed.unwrap_or_default()
}
