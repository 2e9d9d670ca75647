//! The answer of `emit`, in the shape of the seed (000).

use std::path::PathBuf;

use serde::Serialize;

use crate::model::{ActivityStatus, EventId, Number, RunId, Seq, StateName, Unit};

/// Reports that were made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmitReport {
    /// Always true: what fails is an error.
    pub success: bool,
    /// `emit`.
    pub tool: &'static str,
    /// What came of it.
    pub data: EmitData,
}

/// What came of reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmitData {
    /// The id of the event that holds all of them.
    pub event_id: EventId,
    /// The run.
    pub run_id: RunId,
    /// The type of the report; `batch` for several.
    #[serde(rename = "type")]
    pub kind: String,
    /// How far the run is: `not_started`, `running`, `waiting`, `completed`, `failed` or `cancelled`.
    pub run_status: String,
    /// Steps that were completed because another one began.
    pub completed_predecessors: Vec<StateName>,
    /// Where the run stands.
    pub phase: Option<StateName>,
    /// The event's position in the log.
    pub seq: Seq,
    /// Whether the run began with it.
    pub created: bool,
    /// Whether it was reported before, so that nothing was written now.
    pub repeated: bool,
    /// The activities that were recorded with it.
    pub activities: Vec<EmittedActivity>,
    /// Each report.
    pub results: Vec<EmittedReport>,
    /// What went wrong beside the reports themselves.
    pub warnings: Vec<String>,
}

/// An activity of a step that was reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmittedActivity {
    /// Its number in the run.
    pub number: Number,
    /// Its id.
    pub activity: String,
    /// Its file, relative to the project.
    pub path: PathBuf,
    /// How it stands.
    pub status: ActivityStatus,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmittedReport {
    /// Its id.
    pub event_id: EventId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its step.
    pub step: Option<StateName>,
    /// Its unit.
    pub unit: Option<Unit>,
    /// Steps that were completed because this one began.
    pub completed_predecessors: Vec<StateName>,
}
