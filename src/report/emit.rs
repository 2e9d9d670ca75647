//! The answers of `emit`, in the shape of the seed (000), and of `next` and `advance` (002).

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::engine::Choices;
use crate::model::{ActivityStatus, EventId, Number, RunId, Seq, StateName, Unit, WorkflowId};

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
    /// For `FLOW_RUN_TOKEN` in the environment of sub-agents with sessions of their own; only when the run began with this
    /// and a session holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_token: Option<String>,
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

/// Where a run can go, in the words of the seed (002).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextStatesReport {
    /// The run.
    pub run_id: RunId,
    /// Its workflow.
    pub workflow: WorkflowId,
    /// Where it stands; none before its first state.
    pub state: Option<StateName>,
    /// Whether it can end there, or is over.
    pub terminal: bool,
    /// `tt`, the names of the states that can follow, and `td`, their descriptions.
    #[serde(flatten)]
    pub choices: Choices,
    /// A JSON Schema of the choice among them; none when nothing can follow.
    pub schema: Option<Value>,
    /// Things to know.
    pub notes: Vec<String>,
}

/// A run that went on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdvanceReport {
    /// The run.
    pub run_id: RunId,
    /// Where it stood.
    pub from: Option<StateName>,
    /// Where it was to go.
    pub to: StateName,
    /// Where it stands now.
    pub phase: Option<StateName>,
    /// How far the run is, as in the answer of `emit`.
    pub run_status: String,
    /// The event.
    pub seq: Seq,
    /// The activities that were recorded with it.
    pub activities: Vec<EmittedActivity>,
    /// What can follow now.
    pub next: Choices,
    /// Whether it was done before, so that nothing was written now.
    pub repeated: bool,
    /// What went wrong beside the work itself.
    pub warnings: Vec<String>,
}
