//! The request of `emit`, as it is given and as it is checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::Emit;
use crate::model::{EventId, LastSeen, Question, ReportType, RunId, SessionId, WorkflowId};
use crate::runs::write::batch::BatchPlaces;
use crate::runs::write::payload::ReportRequest;

/// Reports on the steps of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmitRequest {
    /// The workflow's name.
    pub workflow: String,
    /// The run.
    #[serde(rename = "run_id")]
    pub run: String,
    /// The reports; all of them are recorded, or none.
    pub reports: Vec<ReportRequest>,
    /// Where the reports stand, if they come from a document.
    #[serde(skip)]
    pub places: Option<BatchPlaces>,
    /// An idempotency key: repeating a request with the same id has no further effect.
    pub id: Option<EventId>,
    /// The last event of an existing run for the caller; if another one is by now, nothing is recorded.
    #[serde(default)]
    pub seen: Option<LastSeen>,
    /// The goal of a run that the reports create.
    pub name: Option<String>,
    /// The session that reports.
    pub session: Option<SessionId>,
    /// The epoch under which the session holds the run.
    pub epoch: Option<u64>,
    /// Whether a run that the reports create is of this checkout alone, if the project shares its runs.
    #[serde(default)]
    pub local: bool,
}

impl EmitRequest {
    /// The answer of a person to a question of a run. If something happened after the event `seen`, nothing is recorded.
    #[must_use]
    pub(crate) fn answering(
        run: &RunId,
        workflow: &WorkflowId,
        question: &Question,
        answer: &str,
        seen: LastSeen,
    ) -> Self {
        let report = ReportRequest {
            kind: Some(ReportType::UserAnswered.to_string()),
            step: Some(question.step.to_string()),
            unit: question.unit.as_ref().map(ToString::to_string),
            data: Some(json!({ "answer": answer })),
        };
        Self {
            workflow: workflow.to_string(),
            run: run.to_string(),
            reports: vec![report],
            seen: Some(seen),
            ..Self::default()
        }
    }
}

/// A request whose payloads are valid.
pub(super) struct CheckedRequest<'a> {
    pub(super) request: &'a EmitRequest,
    pub(super) run: RunId,
    /// The id of the event.
    pub(super) id: EventId,
    pub(super) emit: Emit,
    /// Whether a driver reports, which sees the end of its commands.
    pub(super) is_of_driver: bool,
    /// Whether the caller knows the reports as events of a batch.
    pub(super) names_events: bool,
}
